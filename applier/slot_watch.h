// Whether a slot that is about to be used is somebody else's: what successive
// looks at it tell.
//
// Two devices may hold copies of one file (a cloned disk, a restored backup),
// and PostgreSQL tells a subscriber neither who made a slot nor who used it
// last. What can be seen: that it is in use, by which server process, and how
// far it has been confirmed. This replica does not use it while it looks, and
// has confirmed nothing behind `applied`. So another one uses it for certain if
// - it moves meanwhile to a position behind `applied`, or
// - it is in use by one server process, and later by another.
// One process that stays may be an earlier connection of our own which the
// server has not given up yet. Where it is gone, and taking the slot would take
// it from an owner that comes back, that owner is waited for: a sublite comes
// back within half a minute.
//
// Pure: the clock is an argument. Threads: one.
#ifndef SUBLITE_APPLIER_SLOT_WATCH_H_
#define SUBLITE_APPLIER_SLOT_WATCH_H_

#include <string>

#include "absl/time/time.h"
#include "applier/publisher.h"
#include "applier/wire/lsn.h"

namespace sublite {

class SlotWatch {
 public:
  static constexpr absl::Duration kPatience = absl::Minutes(1);
  SlotWatch() = default;
  explicit SlotWatch(absl::Duration patience) : patience_(patience) {}

  enum class Verdict {
    kFree,   // nobody uses it
    kWait,   // look again
    kTaken,  // another one does, for certain
  };
  struct Finding {
    Verdict verdict = Verdict::kFree;
    std::string why;  // a clause; "" where it is free
  };

  struct Intent {
    Lsn applied;         // 0 where the file holds nothing
    bool harms = false;  // another owner would lose the slot
    // Another file may own it although nobody was seen: wait for it, too.
    bool doubtful = false;
  };

  Finding Look(const std::string& name, const SlotState& slot,
               const Intent& intent, absl::Time now);

  // This replica itself is about to use it, or to make it: what was seen before
  // says nothing of what is seen afterwards.
  void Reset();

 private:
  absl::Duration patience_ = kPatience;
  std::string name_;
  bool looked_ = false;
  Lsn confirmed_;  // at the last look
  int pid_ = 0;    // that used it at the last look that found it in use
  absl::Time first_look_ = absl::InfiniteFuture();
  absl::Time last_active_ = absl::InfinitePast();
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_SLOT_WATCH_H_
