// What `sublite check` says of the publisher's settings that decide how long it
// keeps WAL and whom its commits wait for.
//
// Pure: check_facts reads them.
#ifndef SUBLITE_APPLIER_CLI_CHECK_SETTINGS_H_
#define SUBLITE_APPLIER_CLI_CHECK_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "applier/cli/check_findings.h"

namespace sublite {

struct SettingFacts {
  // None where the server does not have the setting.
  std::optional<std::int64_t> max_slot_wal_keep_size_mb;        // -1: no limit
  std::optional<absl::Duration> idle_replication_slot_timeout;  // 0: never
  absl::Duration wal_sender_timeout = absl::Seconds(60);        // 0: never
  std::string synchronous_standby_names;
  std::string application_name;  // ours
};

void CheckSettings(const SettingFacts& settings, Findings* findings);

// The names in synchronous_standby_names: "FIRST 2 (a, \"B\")", "ANY 1 (*)",
// "a, b".
std::vector<std::string> SynchronousNames(std::string_view setting);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_CHECK_SETTINGS_H_
