#include "applier/io/notify.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace sublite {
namespace notify {
namespace {

struct NotifyState {
  absl::Mutex mutex;
  bool ready = false;
  std::string status;
};

// Never destroyed: threads may notify while the process ends.
NotifyState& State() {
  static auto* const kState = new NotifyState;
  return *kState;
}

}  // namespace

void Ready() {
  absl::MutexLock lock(&State().mutex);
  if (State().ready) return;
  State().ready = true;
  sd_notify(0, "READY=1");
}

void Status(const std::string& text) {
  std::string line = text;
  // A newline would begin another assignment of the protocol.
  std::replace(line.begin(), line.end(), '\n', ' ');
  absl::MutexLock lock(&State().mutex);
  if (State().status == line) return;
  State().status = line;
  sd_notify(0, absl::StrCat("STATUS=", line).c_str());
}

void Stopping() { sd_notify(0, "STOPPING=1"); }

absl::Duration WatchdogInterval() {
  std::uint64_t interval_us = 0;
  if (sd_watchdog_enabled(0, &interval_us) <= 0) return absl::ZeroDuration();
  return absl::Microseconds(static_cast<std::int64_t>(interval_us));
}

void WatchdogPing() { sd_notify(0, "WATCHDOG=1"); }

void ExtendTimeout(absl::Duration duration) {
  sd_notify(0, absl::StrCat("EXTEND_TIMEOUT_USEC=",
                            absl::ToInt64Microseconds(duration))
                   .c_str());
}

}  // namespace notify
}  // namespace sublite
