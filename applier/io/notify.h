// What sublite tells systemd: readiness, status line, watchdog (sd_notify).
//
// Everything is a no-op where systemd does not listen ($NOTIFY_SOCKET is not
// set). Nothing here fails: a supervisor that cannot be reached is no reason to
// stop replicating. Threads: any.
//
// READY does not wait for the publisher: a device starts offline, and its
// readers need the last state. What is going on stands in the status line.
#ifndef SUBLITE_APPLIER_IO_NOTIFY_H_
#define SUBLITE_APPLIER_IO_NOTIFY_H_

#include <string>

#include "absl/time/time.h"

namespace sublite {
namespace notify {

// The file is open and the configuration is valid. Sent once, later calls do
// nothing.
void Ready();

// One line for `systemctl status`; sent only when it differs from the last.
void Status(const std::string& text);

void Stopping();

// How often WatchdogPing must come at least; zero where no watchdog runs. Ping
// at half of it, from the loop that does the work.
absl::Duration WatchdogInterval();
void WatchdogPing();

// "This start, stop or step takes up to `duration` longer": before a long WAL
// recovery or checkpoint, and again while it lasts.
void ExtendTimeout(absl::Duration duration);

}  // namespace notify
}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_NOTIFY_H_
