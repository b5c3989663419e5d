#include "applier/repeat_guard.h"

#include <algorithm>

namespace sublite {

bool RepeatGuard::Pass(const std::string& line, absl::Time now) {
  Entry& entry = entries_[line];
  if (entry.count == 0) entry.since = now;
  ++entry.count;
  const bool pass = entry.count <= kLinesPerWindow;
  if (entries_.size() > kLinesMax) ForgetOldest();
  return pass;
}

std::vector<RepeatGuard::Summary> RepeatGuard::TakeSummaries(absl::Time now) {
  std::vector<Summary> summaries;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    // A clock that was set back must not silence a line for ever.
    const bool over =
        now >= entry->second.since + kWindow || now < entry->second.since;
    if (!over) {
      ++entry;
      continue;
    }
    if (entry->second.count > kLinesPerWindow) {
      summaries.push_back(
          {entry->first, entry->second.count - kLinesPerWindow});
    }
    entry = entries_.erase(entry);
  }
  return summaries;
}

void RepeatGuard::ForgetOldest() {
  const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                       [](const auto& a, const auto& b) {
                                         return a.second.since < b.second.since;
                                       });
  entries_.erase(oldest);
}

}  // namespace sublite
