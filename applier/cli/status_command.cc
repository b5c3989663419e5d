#include "applier/cli/status_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/status_words.h"

namespace sublite {
namespace {

using Json = nlohmann::ordered_json;

std::string OrUnknown(const std::string& text) {
  return text.empty() ? "not known yet" : text;
}

void AppendLine(const char* label, const std::string& text, std::string* out) {
  absl::StrAppendFormat(out, "%-12s %s\n", label, text);
}

void AppendKnown(const char* label, const std::string& text, std::string* out) {
  if (!text.empty()) AppendLine(label, text, out);
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

Json PreparedJson(const PreparedRow& prepared) {
  Json json;
  json["gid"] = prepared.gid;
  json["xid"] = prepared.xid;
  json["prepare_lsn"] = prepared.prepare_lsn;
  json["prepared_at"] = prepared.prepared_at;
  json["changes"] = prepared.changes;
  json["bytes"] = prepared.bytes;
  return json;
}

// Numbers of bytes and seconds; null where there is no limit.
Json RetentionJson(const ReplicaStatus& status) {
  if (!status.retention.has_value()) return nullptr;
  const Retention& retention = *status.retention;
  const std::optional<absl::Duration> offline = OfflineTime(retention);
  Json json;
  json["observed_at"] = status.retention_at;
  json["wal_status"] = TextOrNull(retention.wal_status);
  json["retained_bytes"] = retention.retained_bytes();
  json["safe_bytes"] =
      retention.safe_bytes ? Json(*retention.safe_bytes) : Json(nullptr);
  json["keep_bytes"] =
      retention.keep_bytes ? Json(*retention.keep_bytes) : Json(nullptr);
  json["idle_timeout_seconds"] =
      retention.idle_timeout > absl::ZeroDuration()
          ? Json(absl::ToInt64Seconds(retention.idle_timeout))
          : Json(nullptr);
  json["wal_bytes_per_second"] = retention.wal_rate;
  json["offline_seconds"] =
      offline ? Json(absl::ToInt64Seconds(*offline)) : Json(nullptr);
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
    AppendLine("fresh", FreshText(status, now), &out);
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
      for (const PreparedRow& prepared : status.prepared_rows)
        AppendLine("", PreparedText(prepared, now), &out);
    }
    AppendKnown("WAL kept", RetainedText(status, now), &out);
    AppendKnown("may be away", OfflineText(status, now), &out);
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
  json["behind_bytes"] = status.behind_bytes();
  json["retention"] = RetentionJson(status);
  json["prepared_transactions"] = Json::array();
  for (const PreparedRow& prepared : status.prepared_rows)
    json["prepared_transactions"].push_back(PreparedJson(prepared));
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
