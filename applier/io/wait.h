// Waiting for descriptors, with an end to every wait.
//
// Deadlines are on the monotonic clock: the wall clock of a device may jump by
// decades when it first meets a time server. Errors of poll() itself count as
// "ready": the read or write that follows tells what is wrong. Threads: any.
#ifndef SUBLITE_APPLIER_IO_WAIT_H_
#define SUBLITE_APPLIER_IO_WAIT_H_

#include <chrono>

#include "absl/time/time.h"
#include "applier/stop_signal.h"

namespace sublite {

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime SteadyNow() { return std::chrono::steady_clock::now(); }
// Saturates: an infinite duration gives the end of time.
SteadyTime SteadyAfter(SteadyTime from, absl::Duration duration);
inline SteadyTime SteadyIn(absl::Duration duration) {
  return SteadyAfter(SteadyNow(), duration);
}
// What poll() takes: milliseconds until `deadline`, rounded up, 0 if it is
// past, -1 if there is none.
int PollTimeout(SteadyTime deadline);

enum class Waited { kReady, kTimedOut, kStopped };

// Waits until `fd` is ready for `events` (POLLIN, POLLOUT), `deadline` passes,
// or `stop` (may be null) is requested, which wins.
Waited WaitFor(int fd, short events, SteadyTime deadline,
               const StopSignal* stop);

// A counter that wakes a poll() in another thread. Owns its descriptor.
class EventFd {
 public:
  EventFd();
  ~EventFd();
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;

  void Set();    // fd() becomes readable
  void Clear();  // fd() becomes unreadable
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_WAIT_H_
