// What the state of a replica means, in words: for `sublite status` and the
// status page. Pure; times are absolute, the clock is the caller's.
#ifndef SUBLITE_APPLIER_CLI_STATUS_WORDS_H_
#define SUBLITE_APPLIER_CLI_STATUS_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "applier/cli/replica_file.h"

namespace sublite {

// How long before `now` the stored time `since` was, 0 for one in the future;
// false if it is no time.
bool Age(const std::string& since, absl::Time now, absl::Duration* age);

// "1 table", "2 tables".
std::string Count(std::int64_t number, const char* one, const char* many);
// "3 minutes".
std::string DurationText(absl::Duration duration);
// "3 minutes ago", "just now".
std::string AgeText(absl::Duration age);
// "2024-02-29 12:00:00+00:00 (3 minutes ago)", "never".
std::string TimeAndAge(const std::string& time, absl::Time now);
// "1.5 GB", in PostgreSQL's units.
std::string BytesText(std::int64_t bytes);

std::string StateText(const ReplicaStatus& status);
std::string ConsistentText(const ReplicaStatus& status);
// How old what readers see is.
std::string FreshText(const ReplicaStatus& status, absl::Time now);
std::string RowsText(const TableRow& table);
// "GID, since …, 12 changes, 1.5 MB".
std::string PreparedText(const PreparedRow& prepared, absl::Time now);
// What the publisher keeps for this replica; "" where that is not known.
std::string RetainedText(const ReplicaStatus& status, absl::Time now);
// How long this device may be without its publisher; "" where that is not
// known.
std::string OfflineText(const ReplicaStatus& status, absl::Time now);
// What help a person needs, most urgent first.
std::vector<std::string> NextSteps(const ReplicaStatus& status, absl::Time now);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_STATUS_WORDS_H_
