// The life of `sublite run`: open the file, say that it can be read, then one
// Session after another.
//
// It ends when told to stop, or where only a person can go on; a publisher that
// cannot be reached is waited for. Work happens on the thread that calls Run;
// Interrupt and alive_at are for another one, which has the signals.
#ifndef SUBLITE_APPLIER_SUPERVISOR_H_
#define SUBLITE_APPLIER_SUPERVISOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "applier/backoff.h"
#include "applier/config.h"
#include "applier/metrics.h"
#include "applier/publisher.h"
#include "applier/replica.h"
#include "applier/session.h"
#include "applier/stop_signal.h"
#include "applier/streaming_pause.h"

namespace sublite {

// What the outside is told: readiness once, and a line of what is going on.
struct Announcer {
  std::function<void()> ready;
  std::function<void(const std::string&)> status;
};

class Supervisor {
 public:
  // `seed` is asked, before the file is opened, to make it if it is missing.
  Supervisor(const Config& config, Publisher& publisher, const StopSignal& stop,
             Announcer announcer, std::function<absl::Status()> seed = nullptr,
             std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>());

  // OK or Cancelled: stopped. Anything else: only a person can go on, and the
  // text says how.
  absl::Status Run();

  // Ends long SQLite work once stop has been requested. Any thread.
  void Interrupt();
  // When work last showed a sign of life. Any thread.
  absl::Time alive_at() const {
    return absl::FromUnixMicros(alive_micros_.load(std::memory_order_relaxed));
  }

 private:
  bool Stopped();
  // What is going on, to all who want to know.
  void Announce(const std::string& text);
  absl::Status OpenReplica();
  // Until told to stop, or only a person can go on, or `*reopen`: the file is
  // not the one that was opened.
  absl::Status Follow(bool* reopen);
  void NoteEnd(const SessionEnd& end);
  // Until `pause` is over, told to stop, or a person asked for something. False
  // when told to stop.
  bool Pause(absl::Duration pause);

  const Config& config_;
  Publisher& publisher_;
  const StopSignal& stop_;
  Announcer announcer_;
  std::function<absl::Status()> seed_;
  const std::shared_ptr<Metrics> metrics_;
  SessionMemory memory_;
  Backoff backoff_;
  std::atomic<std::int64_t> alive_micros_{0};
  std::string noted_error_;
  absl::Time noted_at_ = absl::InfinitePast();

  // Of replica_. The standard one: ThreadSanitizer knows what it does, of
  // Debian's Abseil it does not.
  std::mutex mutex_;
  // Set and reset under the lock, used by Run's thread.
  std::unique_ptr<Replica> replica_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_SUPERVISOR_H_
