#include "applier/retry_plan.h"

#include <algorithm>

namespace sublite {

bool RetryPlan::Failed(std::int64_t table, std::string_view why, absl::Time now,
                       absl::Duration took) {
  Entry& entry = tables_[table];
  const bool news = entry.why != why;
  if (now - entry.failed_at > entry.pause + kForgotten) entry.pause = kFirst;
  entry.why = std::string(why);
  entry.failed_at = now;
  entry.at = now + std::max(entry.pause, took * kShare);
  entry.pause = std::min(entry.pause * 2, kLongest);
  return news;
}

absl::Time RetryPlan::At(std::int64_t table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? absl::InfinitePast() : found->second.at;
}

void RetryPlan::Healed(std::int64_t table) {
  const auto found = tables_.find(table);
  if (found != tables_.end()) found->second.why.clear();
}

}  // namespace sublite
