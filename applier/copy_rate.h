// How fast copies may go: the setting replica.copy_rate.
//
// Bytes are counted as they come from the publisher; the average since the last
// time that the copies were behind what is allowed never exceeds the rate. Time
// comes in as an argument. Threads: one.
#ifndef SUBLITE_APPLIER_COPY_RATE_H_
#define SUBLITE_APPLIER_COPY_RATE_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace sublite {

class CopyRate {
 public:
  // 0: no limit.
  explicit CopyRate(std::uint64_t bytes_per_second) : rate_(bytes_per_second) {}

  bool limited() const { return rate_ > 0; }
  std::uint64_t bytes_per_second() const { return rate_; }

  void Take(std::int64_t bytes, absl::Time now) {
    if (rate_ == 0) return;
    free_at_ =
        std::max(free_at_, now) +
        absl::Seconds(static_cast<double>(bytes) / static_cast<double>(rate_));
  }
  // When more may be taken.
  absl::Time free_at() const { return free_at_; }

 private:
  const std::uint64_t rate_;
  absl::Time free_at_ = absl::InfinitePast();
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_COPY_RATE_H_
