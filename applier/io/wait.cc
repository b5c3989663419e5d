#include "applier/io/wait.h"

#include <poll.h>

#include <algorithm>
#include <limits>

namespace sublite {

SteadyTime SteadyAfter(SteadyTime from, absl::Duration duration) {
  // A century is "for ever" here, and far from overflow.
  constexpr absl::Duration kLongest = absl::Hours(24 * 36500);
  if (duration >= kLongest) return SteadyTime::max();
  if (duration <= absl::ZeroDuration()) return from;
  return from + absl::ToChronoNanoseconds(duration);
}

int PollTimeout(SteadyTime deadline) {
  if (deadline == SteadyTime::max()) return -1;
  const SteadyTime now = SteadyNow();
  if (deadline <= now) return 0;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(
      std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
}

Waited WaitFor(int fd, short events, SteadyTime deadline,
               const StopSignal* stop) {
  while (true) {
    if (stop != nullptr && stop->requested()) return Waited::kStopped;
    pollfd fds[2] = {{fd, events, 0},
                     {stop != nullptr ? stop->fd() : -1, POLLIN, 0}};
    const int ready = poll(fds, 2, PollTimeout(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (fds[1].revents != 0) return Waited::kStopped;
    if (ready != 0) return Waited::kReady;
    if (SteadyNow() >= deadline) return Waited::kTimedOut;
  }
}

EventFd::EventFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) abort();
}

EventFd::~EventFd() { close(fd_); }

void EventFd::Set() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
}

void EventFd::Clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(fd_, &count, sizeof count);
}

}  // namespace sublite
