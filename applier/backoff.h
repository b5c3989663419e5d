// Growing, jittered pauses between attempts: half a second at first, 30 seconds
// at most.
//
// The jitter keeps a fleet of devices from coming back in step after their
// publisher restarted. Threads: one.
#ifndef SUBLITE_APPLIER_BACKOFF_H_
#define SUBLITE_APPLIER_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace sublite {

class Backoff {
 public:
  explicit Backoff(std::uint64_t seed) : random_(seed) {}

  // Between half of the step and the whole; the next step is twice as long.
  absl::Duration Next() {
    const absl::Duration step = step_;
    step_ = std::min(step_ * 2, absl::Seconds(30));
    return step * std::uniform_real_distribution<double>(0.5, 1.0)(random_);
  }
  void Reset() { step_ = absl::Milliseconds(500); }

 private:
  std::mt19937_64 random_;
  absl::Duration step_ = absl::Milliseconds(500);
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_BACKOFF_H_
