#include "applier/streaming_pause.h"

#include <algorithm>

namespace sublite {

void StreamingPause::Begin(std::vector<Xid> open, std::string why,
                           absl::Time now) {
  active_ = true;
  open_ = std::move(open);
  why_ = std::move(why);
  ask_at_ = now + next_;
  next_ = std::min(2 * next_, kLongest);
  ended_before_.reset();
}

bool StreamingPause::ShouldAsk(absl::Time now) {
  if (!active_ || ended_before_.has_value() || now < ask_at_) return false;
  ask_at_ = now + ask_every_;
  return true;
}

void StreamingPause::Answer(const Snapshot& snapshot, Lsn position) {
  const bool all_ended = std::all_of(
      open_.begin(), open_.end(), [&](Xid xid) { return snapshot.Sees(xid); });
  if (all_ended) ended_before_ = position;
}

bool StreamingPause::TryEnd(Lsn applied) {
  if (!active_ || !ended_before_.has_value() || applied < *ended_before_)
    return false;
  active_ = false;
  return true;
}

}  // namespace sublite
