// When the receiver naps: a walsender sends message by message, and a reader
// that sleeps in poll() is woken for nearly each one, which costs the publisher
// and us more than the messages do. Where reads come densely the receiver
// therefore lets the socket fill for a moment before it reads.
//
// It naps only between dense reads and never long enough to fill the socket's
// buffer; a nap in which nothing arrived is the last. Pure: time and the bytes
// that wait come in as arguments. Threads: one.
#ifndef SUBLITE_APPLIER_IO_RECEIVE_PACE_H_
#define SUBLITE_APPLIER_IO_RECEIVE_PACE_H_

#include <algorithm>
#include <cstddef>

#include "absl/time/time.h"
#include "applier/io/wait.h"

namespace sublite {

class ReceivePace {
 public:
  // With this much in the socket there is nothing to wait for.
  static constexpr std::size_t kEnoughBytes = 16 * 1024;

  // After a nap in which nothing came, this much longer is waited for the next
  // byte before the stream counts as quiet.
  static constexpr absl::Duration kGrace = absl::Milliseconds(1);

  // After each read of the socket.
  void OnRead(SteadyTime now) {
    streak_ = now - last_read_ < kDense ? std::min(streak_ + 1, kStreak) : 0;
    last_read_ = now;
    if (streak_ == kStreak && nap_ == absl::ZeroDuration()) nap_ = kShortest;
  }

  bool dense() const { return nap_ > absl::ZeroDuration(); }
  // How long to nap before the next read, if less than kEnoughBytes wait.
  absl::Duration nap() const { return nap_; }

  // After a nap: what waits in the socket now.
  void OnWoken(std::size_t bytes) {
    if (bytes == 0) {
      nap_ = absl::ZeroDuration();
      streak_ = 0;
    } else if (bytes >= kEnoughBytes) {
      nap_ = std::max(nap_ / 2, kShortest);
    } else if (bytes < kEnoughBytes / 4) {
      nap_ = std::min(nap_ * 2, kLongest);
    }
  }

 private:
  static constexpr std::chrono::microseconds kDense{1000};
  // More reads in a row than a transaction of a few rows causes.
  static constexpr int kStreak = 16;
  static constexpr absl::Duration kShortest = absl::Microseconds(100);
  static constexpr absl::Duration kLongest = absl::Milliseconds(2);

  SteadyTime last_read_;
  int streak_ = 0;
  absl::Duration nap_ = absl::ZeroDuration();
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_RECEIVE_PACE_H_
