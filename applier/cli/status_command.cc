#include "applier/cli/status_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "applier/cli/exit_code.h"

namespace sublite {
namespace {

using Json = nlohmann::ordered_json;

// Longer without a word than any status interval explains.
constexpr absl::Duration kSilence = absl::Minutes(5);

bool Age(const std::string& since, absl::Time now, absl::Duration* age) {
  absl::Time time;
  if (!ParseTimeText(since, &time)) return false;
  *age = std::max(now - time, absl::ZeroDuration());
  return true;
}

std::string Count(std::int64_t number, const char* one, const char* many) {
  return absl::StrCat(number, " ", number == 1 ? one : many);
}

std::string AgeText(absl::Duration age) {
  const std::int64_t seconds = absl::ToInt64Seconds(age);
  if (seconds < 1) return "just now";
  if (seconds < 120) return Count(seconds, "second ago", "seconds ago");
  if (seconds < 7200) return absl::StrCat(seconds / 60, " minutes ago");
  if (seconds < 172800) return absl::StrCat(seconds / 3600, " hours ago");
  return absl::StrCat(seconds / 86400, " days ago");
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

std::int64_t CountTables(const ReplicaStatus& status, const char* state) {
  return std::count_if(
      status.tables.begin(), status.tables.end(),
      [&](const TableRow& table) { return table.state == state; });
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

// What help a person needs, most urgent first.
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

std::string OrUnknown(const std::string& text) {
  return text.empty() ? "not known yet" : text;
}

void AppendLine(const char* label, const std::string& text, std::string* out) {
  absl::StrAppendFormat(out, "%-12s %s\n", label, text);
}

void AppendTables(const ReplicaStatus& status, std::string* out) {
  if (status.tables.empty()) {
    AppendLine("tables", "none yet", out);
    return;
  }
  std::size_t name_width = 5;
  for (const TableRow& table : status.tables) {
    name_width = std::max(name_width, table.sqlite_table.size());
  }
  absl::StrAppendFormat(out, "\n%-*s  %-11s  %s\n",
                        static_cast<int>(name_width), "table", "state",
                        "rows copied");
  for (const TableRow& table : status.tables) {
    absl::StrAppendFormat(out, "%-*s  %-11s  %s", static_cast<int>(name_width),
                          table.sqlite_table, table.state, RowsText(table));
    if (table.sqlite_table != table.pg_table &&
        table.sqlite_table != table.PgName()) {
      absl::StrAppend(out, "  (", table.PgName(), ")");
    }
    absl::StrAppend(out, "\n");
    if (!table.unpublished_since.empty()) {
      absl::StrAppend(out, "    not published since ", table.unpublished_since,
                      "; its rows stay as they were\n");
    } else if (!table.error.empty()) {
      absl::StrAppend(out, "    error: ", table.error, "\n");
    }
  }
  absl::StrAppend(out, "\n");
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json AgeOrNull(const std::string& since, absl::Time now) {
  absl::Duration age;
  return Age(since, now, &age) ? Json(absl::ToDoubleSeconds(age))
                               : Json(nullptr);
}

Json TableJson(const TableRow& table) {
  Json json;
  json["pg_schema"] = table.pg_schema;
  json["pg_table"] = table.pg_table;
  json["sqlite_table"] = table.sqlite_table;
  json["state"] = table.state;
  json["rows_copied"] = table.rows_copied;
  json["rows_estimated"] =
      table.rows_estimated ? Json(*table.rows_estimated) : Json(nullptr);
  json["copied_at"] = TextOrNull(table.copied_at);
  json["unpublished_since"] = TextOrNull(table.unpublished_since);
  json["retry_at"] = TextOrNull(table.retry_at);
  json["error"] = TextOrNull(table.error);
  return json;
}

}  // namespace

std::string StatusText(const std::string& database, const ReplicaStatus& status,
                       absl::Time now) {
  std::string out;
  AppendLine("replica", database, &out);
  AppendLine("state", StateText(status), &out);
  if (status.started) {
    if (!status.activity.empty()) AppendLine("", status.activity, &out);
    AppendLine("consistent", ConsistentText(status), &out);
    AppendLine("applied",
               absl::StrCat(status.applied_lsn, ", last change committed ",
                            TimeAndAge(status.applied_commit_time, now)),
               &out);
    AppendLine("contact", TimeAndAge(status.contact_at, now), &out);
    AppendLine("publisher",
               absl::StrCat("PostgreSQL ", OrUnknown(status.server_version),
                            ", system ", OrUnknown(status.system_identifier),
                            ", publications ", status.publications, ", slot ",
                            OrUnknown(status.slot)),
               &out);
    if (!status.slot_note.empty()) {
      AppendLine("other slot", status.slot_note, &out);
    }
    if (status.prepared > 0) {
      AppendLine("prepared",
                 absl::StrCat(Count(status.prepared, "transaction waits",
                                    "transactions wait"),
                              " for COMMIT PREPARED or ROLLBACK PREPARED"),
                 &out);
    }
    if (status.missing_rows + status.replaced_rows > 0) {
      AppendLine("conflicts",
                 absl::StrCat(status.missing_rows, " changes found no row, ",
                              status.replaced_rows, " found their key taken"),
                 &out);
    }
    AppendTables(status, &out);
  }
  if (!status.last_error.empty()) {
    AppendLine("last error",
               absl::StrCat(TimeAndAge(status.last_error_at, now), ": ",
                            status.last_error),
               &out);
  }
  const char* label = "next";
  for (const std::string& step : NextSteps(status, now)) {
    AppendLine(label, step, &out);
    label = "";
  }
  return out;
}

std::string StatusJson(const std::string& database, const ReplicaStatus& status,
                       absl::Time now) {
  Json json;
  json["database"] = database;
  json["state"] = status.started ? status.state : "new";
  json["consistent"] = status.consistent;
  json["applied_lsn"] = TextOrNull(status.applied_lsn);
  json["applied_commit_time"] = TextOrNull(status.applied_commit_time);
  json["applied_age_seconds"] = AgeOrNull(status.applied_commit_time, now);
  json["contact_at"] = TextOrNull(status.contact_at);
  json["contact_age_seconds"] = AgeOrNull(status.contact_at, now);
  json["publications"] = status.publications;
  json["slot"] = status.slot;
  json["system_identifier"] = TextOrNull(status.system_identifier);
  json["server_version"] = TextOrNull(status.server_version);
  json["prepared"] = status.prepared;
  json["last_error"] = TextOrNull(status.last_error);
  json["last_error_at"] = TextOrNull(status.last_error_at);
  json["sublite_version"] = TextOrNull(status.sublite_version);
  json["activity"] = TextOrNull(status.activity);
  json["missing_rows"] = status.missing_rows;
  json["replaced_rows"] = status.replaced_rows;
  json["file_id"] = TextOrNull(status.file_id);
  json["slot_note"] = TextOrNull(status.slot_note);
  json["requests"] = status.requests;
  json["tables"] = Json::array();
  for (const TableRow& table : status.tables) {
    json["tables"].push_back(TableJson(table));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int StatusCommand(const std::string& database, bool json, std::ostream& out,
                  std::ostream& err) {
  const auto file = OpenReplicaForReading(database);
  if (!file.ok()) return Fail(err, file.status());
  const absl::StatusOr<ReplicaStatus> status = ReadReplicaStatus(file->get());
  if (!status.ok()) return Fail(err, status.status());
  const absl::Time now = absl::Now();
  out << (json ? StatusJson(database, *status, now)
               : StatusText(database, *status, now));
  return kExitDone;
}

}  // namespace sublite
