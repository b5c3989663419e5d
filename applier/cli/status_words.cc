#include "applier/cli/status_words.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "applier/retention.h"

namespace sublite {
namespace {

// Longer without a word than any status interval explains.
constexpr absl::Duration kSilence = absl::Minutes(5);

std::int64_t CountTables(const ReplicaStatus& status, const char* state) {
  return std::count_if(
      status.tables.begin(), status.tables.end(),
      [&](const TableRow& table) { return table.state == state; });
}

}  // namespace

bool Age(const std::string& since, absl::Time now, absl::Duration* age) {
  absl::Time time;
  if (!ParseTimeText(since, &time)) return false;
  *age = std::max(now - time, absl::ZeroDuration());
  return true;
}

std::string Count(std::int64_t number, const char* one, const char* many) {
  return absl::StrCat(number, " ", number == 1 ? one : many);
}

std::string DurationText(absl::Duration duration) {
  const std::int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 120) return Count(seconds, "second", "seconds");
  if (seconds < 7200) return absl::StrCat(seconds / 60, " minutes");
  if (seconds < 172800) return absl::StrCat(seconds / 3600, " hours");
  return absl::StrCat(seconds / 86400, " days");
}

std::string AgeText(absl::Duration age) {
  return age < absl::Seconds(1) ? "just now"
                                : absl::StrCat(DurationText(age), " ago");
}

std::string BytesText(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  double number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1024 && unit + 1 < std::size(kUnits)) {
    number /= 1024;
    ++unit;
  }
  return unit == 0 ? absl::StrCat(bytes, " bytes")
                   : absl::StrFormat("%.1f %s", number, kUnits[unit]);
}

std::string TimeAndAge(const std::string& time, absl::Time now) {
  absl::Duration age;
  if (time.empty()) return "never";
  if (!Age(time, now, &age)) return time;
  return absl::StrCat(time, " (", AgeText(age), ")");
}

std::string StateText(const ReplicaStatus& status) {
  if (!status.started) return "new: `sublite run` has not begun yet";
  std::string meaning;
  if (status.state == "copying") {
    meaning = "tables are being copied; what is ready can be read";
  } else if (status.state == "streaming") {
    meaning = "changes are applied as the publisher commits them";
  } else if (status.state == "disconnected") {
    meaning = "not connected to the publisher; the last state can be read";
  } else if (status.state == "failed") {
    meaning = "stopped until a person helps; the last state can be read";
  }
  return meaning.empty() ? status.state
                         : absl::StrCat(status.state, ": ", meaning);
}

std::string ConsistentText(const ReplicaStatus& status) {
  if (status.consistent) return "yes: all rows belong to one publisher state";
  std::string why;
  for (const char* state : {"pending", "copying", "failed"}) {
    const std::int64_t tables = CountTables(status, state);
    if (tables == 0) continue;
    absl::StrAppend(&why, why.empty() ? "" : ", ",
                    Count(tables, "table", "tables"), " ", state);
  }
  if (why.empty() && status.requests > 0) why = "a resync is asked for";
  if (why.empty() && status.tables.empty()) why = "nothing is copied yet";
  if (why.empty()) why = "a copy is newer than what is applied";
  return absl::StrCat("no: ", why);
}

std::string FreshText(const ReplicaStatus& status, absl::Time now) {
  absl::Duration age;
  if (!Age(status.contact_at, now, &age))
    return "the publisher was never heard";
  std::string text =
      absl::StrFormat("as of %s (%.1f s), when the publisher was last heard",
                      AgeText(age), absl::ToDoubleSeconds(age));
  const std::int64_t behind = status.behind_bytes();
  if (behind > 0)
    absl::StrAppend(&text, "; ", BytesText(behind),
                    " of its WAL were not applied then");
  return text;
}

std::string PreparedText(const PreparedRow& prepared, absl::Time now) {
  absl::Duration age;
  const std::string since = Age(prepared.prepared_at, now, &age)
                                ? absl::StrCat("prepared ", AgeText(age))
                                : "prepared";
  return absl::StrCat(prepared.gid, " (xid ", prepared.xid, "), ", since, ", ",
                      Count(prepared.changes, "change", "changes"), ", ",
                      BytesText(prepared.bytes));
}

std::string RetainedText(const ReplicaStatus& status, absl::Time now) {
  if (!status.retention.has_value()) return "";
  const Retention& retention = *status.retention;
  const absl::Duration age = std::max(now - retention.at, absl::ZeroDuration());
  if (retention.wal_status == "lost") {
    return absl::StrCat("the slot was lost ", AgeText(age),
                        ": everything is copied again");
  }
  return absl::StrCat(BytesText(retention.retained_bytes()),
                      " at the publisher for this replica, as of ",
                      AgeText(age));
}

std::string OfflineText(const ReplicaStatus& status, absl::Time now) {
  if (!status.retention.has_value()) return "";
  const Retention& retention = *status.retention;
  const std::optional<absl::Duration> time = OfflineTime(retention);
  if (!time.has_value()) {
    return retention.safe_bytes.has_value()
               ? absl::StrCat("until the publisher has written ",
                              BytesText(*retention.safe_bytes),
                              " more of WAL; its rate is not known yet")
               : "without a limit: the publisher keeps WAL until its disk is "
                 "full (max_slot_wal_keep_size)";
  }
  const bool idle = *time == retention.idle_timeout;
  const std::string why =
      idle
          ? "idle_replication_slot_timeout ends the slot then"
          : absl::StrCat(
                BytesText(retention.safe_bytes.value_or(0)),
                " of WAL are left of max_slot_wal_keep_size, at ",
                BytesText(static_cast<std::int64_t>(retention.wal_rate)), "/s");
  // While it is followed the time begins anew.
  if (status.state == "streaming" || status.state == "copying")
    return absl::StrCat("about ", DurationText(*time), ": ", why);
  const absl::Duration left = *time - (now - retention.at);
  if (left <= absl::ZeroDuration()) {
    return absl::StrCat(
        "that time is over, the slot may be lost by now (everything is copied "
        "again then): ",
        why);
  }
  return absl::StrCat("about ", DurationText(left), " more: ", why);
}

std::string RowsText(const TableRow& table) {
  const bool copying = table.state == "copying" || table.state == "pending";
  if (!copying || !table.rows_estimated || *table.rows_estimated <= 0) {
    return absl::StrCat(table.rows_copied);
  }
  const std::int64_t percent = std::min<std::int64_t>(
      99, table.rows_copied * 100 / *table.rows_estimated);
  return absl::StrCat(table.rows_copied, " of about ", *table.rows_estimated,
                      " (", percent, " %)");
}

std::vector<std::string> NextSteps(const ReplicaStatus& status,
                                   absl::Time now) {
  std::vector<std::string> steps;
  absl::Duration silence;
  const bool silent =
      Age(status.contact_at, now, &silence) && silence > kSilence;
  if (!status.started) {
    return {
        "start `sublite run`; `sublite check` says beforehand what is "
        "missing"};
  }
  if (status.state == "failed") {
    steps.push_back(
        "mend what the last error names, then start sublite again; `sublite "
        "check` looks for causes");
  }
  if (!status.error_lsn.empty() && status.state != "streaming") {
    steps.push_back(absl::StrCat(
        "only if that transaction is not wanted at all: `sublite skip --lsn=",
        status.error_lsn, "`"));
  }
  for (const TableRow& table : status.tables) {
    if (table.state != "failed") continue;
    steps.push_back(
        absl::StrCat("mend the error of ", table.PgName(),
                     table.retry_at.empty()
                         ? ", then "
                         : absl::StrCat("; it is tried again by itself (",
                                        table.retry_at, "), or at once by "),
                     "`sublite resync ", table.sqlite_table, "`"));
  }
  if (status.requests > 0) {
    steps.push_back(
        absl::StrCat(Count(status.requests, "request waits", "requests wait"),
                     " for `sublite run` to take up"));
  }
  if (status.state == "disconnected") {
    steps.push_back(
        "nothing, if sublite runs: it tries again by itself; else start it");
  }
  if (status.state == "streaming" && silent) {
    steps.push_back(absl::StrCat(
        "look whether sublite still runs: nothing was noted since ",
        AgeText(silence)));
  }
  if (status.missing_rows + status.replaced_rows > 0) {
    steps.push_back(
        "`sublite resync` the tables that sublite_events names as conflicts: "
        "something else wrote to them");
  }
  if (steps.empty() && !status.activity.empty()) {
    steps.push_back("end what is waited for, or be patient");
  }
  if (steps.empty() && status.state == "copying") steps.push_back("wait");
  if (steps.empty()) steps.push_back("nothing to do");
  return steps;
}

}  // namespace sublite
