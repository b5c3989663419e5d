// The one way to tell everything that waits to stop: a flag, and a descriptor
// that poll() can wait on beside a socket.
//
// Set once, never taken back. Errors: none; a process that cannot even get an
// eventfd is ended. Threads: any. Request() is safe in a signal handler.
#ifndef SUBLITE_APPLIER_STOP_SIGNAL_H_
#define SUBLITE_APPLIER_STOP_SIGNAL_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace sublite {

class StopSignal {
 public:
  StopSignal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) abort();
  }
  ~StopSignal() { close(fd_); }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void Request() {
    const int saved_errno = errno;
    requested_.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    // Can only fail when the counter is full, and then fd_ is readable anyway.
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
    errno = saved_errno;
  }

  bool requested() const { return requested_.load(std::memory_order_acquire); }

  // Readable from Request() on, for ever. Only poll it; never read it.
  int fd() const { return fd_; }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);

  std::atomic<bool> requested_{false};
  const int fd_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_STOP_SIGNAL_H_
