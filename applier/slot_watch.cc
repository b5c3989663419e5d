#include "applier/slot_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sublite {

void SlotWatch::Reset() { *this = SlotWatch(patience_); }

SlotWatch::Finding SlotWatch::Look(const std::string& name,
                                   const SlotState& slot, const Intent& intent,
                                   absl::Time now) {
  if (name != name_) Reset();
  name_ = name;
  Finding finding;
  // One that is being made has no position yet.
  const bool moved =
      looked_ && confirmed_.valid() && slot.confirmed_flush > confirmed_;
  if (moved && slot.confirmed_flush > intent.applied) {
    finding = {Verdict::kTaken,
               absl::StrCat("it moved from ", confirmed_.ToString(), " to ",
                            slot.confirmed_flush.ToString(),
                            " while this replica did not use it")};
  } else if (slot.active && pid_ != 0 && slot.active_pid != pid_) {
    finding = {Verdict::kTaken,
               absl::StrCat("it was in use by the server process ", pid_,
                            ", and then by ", slot.active_pid,
                            ", while this replica did not use it")};
  }
  looked_ = true;
  confirmed_ = slot.confirmed_flush;
  // A clock that was set back must not make it wait for long.
  first_look_ = std::min(first_look_, now);
  last_active_ = std::min(last_active_, now);
  if (slot.active) {
    pid_ = slot.active_pid;
    last_active_ = now;
  }
  if (finding.verdict == Verdict::kTaken) return finding;
  if (slot.active) return {Verdict::kWait, "it is in use"};
  const bool seen = intent.harms && now - last_active_ < patience_;
  const bool doubted = intent.doubtful && now - first_look_ < patience_;
  if (seen || doubted) {
    return {Verdict::kWait,
            absl::StrCat("waiting ", absl::FormatDuration(patience_),
                         " whether its owner comes back")};
  }
  return finding;
}

}  // namespace sublite
