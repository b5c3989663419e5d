// For how long transactions in progress are not asked for, after those that
// were open could not all be staged.
//
// A publisher that is not asked to stream keeps an open transaction with itself
// and sends it whole when it is committed; then it is applied as it arrives and
// needs no staging. So the way on is a stream without `streaming`, until every
// transaction that was staged then has ended and the replica's position has
// passed its end. Whoever fills the spill file all day must not wear out the
// flash: the next try comes after kFirst, then after twice that, at last once
// in kLongest.
//
// Lives as long as the process: a new one tries once. Pure: clock and publisher
// are arguments. Threads: one.
#ifndef SUBLITE_APPLIER_STREAMING_PAUSE_H_
#define SUBLITE_APPLIER_STREAMING_PAUSE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "applier/snapshot.h"
#include "applier/wire/lsn.h"
#include "applier/wire/message.h"

namespace sublite {

class StreamingPause {
 public:
  static constexpr absl::Duration kFirst = absl::Minutes(10);
  static constexpr absl::Duration kLongest = absl::Hours(24);
  static constexpr absl::Duration kAskEvery = absl::Seconds(10);

  explicit StreamingPause(absl::Duration first = kFirst,
                          absl::Duration ask_every = kAskEvery)
      : next_(first), ask_every_(ask_every) {}

  // `open`: the transactions that were staged.
  void Begin(std::vector<Xid> open, std::string why, absl::Time now);
  bool active() const { return active_; }
  const std::string& why() const { return why_; }

  // Whether it is time to ask the publisher for a snapshot, and after that its
  // position. True at most every kAskEvery.
  bool ShouldAsk(absl::Time now);
  void Answer(const Snapshot& snapshot, Lsn position);
  // True once, when streaming may be asked for again.
  bool TryEnd(Lsn applied);

  // Another publisher: its transactions are others.
  void Clear() { active_ = false; }

 private:
  bool active_ = false;
  std::string why_;
  std::vector<Xid> open_;
  absl::Duration next_;  // the length of the next pause
  absl::Duration ask_every_;
  absl::Time ask_at_;
  std::optional<Lsn>
      ended_before_;  // all of `open_` ended before this position
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_STREAMING_PAUSE_H_
