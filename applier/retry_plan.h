// When a table that could not be copied is tried again by itself.
//
// After kFirst, then after twice that, at last once in kLongest; and never
// before a hundred times as long as the attempt took, so that a large table
// which breaks at its end costs a hundredth of the line at most. A table that
// held for kForgotten begins anew.
//
// Lives as long as the process: a new one tries at once. Pure: the clock is an
// argument. Threads: one.
#ifndef SUBLITE_APPLIER_RETRY_PLAN_H_
#define SUBLITE_APPLIER_RETRY_PLAN_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace sublite {

class RetryPlan {
 public:
  static constexpr absl::Duration kFirst = absl::Seconds(1);
  static constexpr absl::Duration kLongest = absl::Minutes(10);
  static constexpr absl::Duration kForgotten = absl::Hours(1);
  static constexpr int kShare = 100;

  // An attempt that took so long ended at `now`. True if `why` is news: not
  // what the attempt before said.
  bool Failed(std::int64_t table, std::string_view why, absl::Time now,
              absl::Duration took);
  // When to try again; at once where nothing is known of the table.
  absl::Time At(std::int64_t table) const;
  // It is copied: whatever comes now is news.
  void Healed(std::int64_t table);
  // A person asked for the copy.
  void Forget(std::int64_t table) { tables_.erase(table); }

 private:
  struct Entry {
    std::string why;
    absl::Duration pause = kFirst;  // the next
    absl::Time failed_at = absl::InfinitePast();
    absl::Time at = absl::InfinitePast();
  };
  std::map<std::int64_t, Entry> tables_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_RETRY_PLAN_H_
