#include "applier/cli/replica_file.h"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/wire/lsn.h"
#include "schema/bookkeeping.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr absl::Duration kReadBusyTimeout = absl::Seconds(5);
constexpr absl::Duration kWriteBusyTimeout = absl::Seconds(30);

absl::Status CheckFile(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) {
      return absl::FailedPreconditionError(absl::StrCat(
          "there is no replica at ", path,
          ": `sublite run` makes it, or replica.database names another file"));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("cannot look at ", path, ": ", std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a file, so it is no replica"));
  }
  return absl::OkStatus();
}

// An SQLite file of another program must not be written to, nor shown.
absl::Status CheckContent(const std::string& path, Database* database) {
  ASSIGN_OR_RETURN(
      const std::int64_t tables,
      database->QueryInt("select count(*) from sqlite_schema where name in "
                         "('sublite_state', 'sublite_status')"));
  if (tables != 2) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        " is an SQLite file, but no replica: it has no table sublite_state"));
  }
  const absl::StatusOr<std::int64_t> format =
      database->QueryInt("select format from sublite_state");
  if (!format.ok() && !absl::IsNotFound(format.status())) {
    return format.status();
  }
  if (format.ok() && *format > kFileFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " was written by a newer sublite (format ", *format,
        ", this one knows ", kFileFormat, "): update sublite here"));
  }
  return absl::OkStatus();
}

std::string GetText(const Statement& row, int column) {
  return std::string(row.Text(column));
}

absl::Status ReadIdentity(Database* database, ReplicaStatus* status) {
  ASSIGN_OR_RETURN(const bool known,
                   HasColumn(database, "sublite_status", "file_id"));
  if (!known) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare("select file_id, slot_note from sublite_status"));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  if (!found) return absl::OkStatus();
  status->file_id = GetText(row, 0);
  status->slot_note = GetText(row, 1);
  return absl::OkStatus();
}

absl::Status ReadState(Database* database, ReplicaStatus* status) {
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare(
          "select state, consistent, applied_lsn, applied_commit_time, "
          "contact_at, publications, slot, system_identifier, server_version, "
          "prepared, last_error, last_error_at, sublite_version, activity, "
          "missing_rows, replaced_rows "
          "from sublite_status"));
  ASSIGN_OR_RETURN(status->started, row.Step());
  if (!status->started) return absl::OkStatus();
  status->state = GetText(row, 0);
  status->consistent = row.Int(1) != 0;
  status->applied_lsn = GetText(row, 2);
  status->applied_commit_time = GetText(row, 3);
  status->contact_at = GetText(row, 4);
  status->publications = GetText(row, 5);
  status->slot = GetText(row, 6);
  status->system_identifier = GetText(row, 7);
  status->server_version = GetText(row, 8);
  status->prepared = row.Int(9);
  status->last_error = GetText(row, 10);
  status->last_error_at = GetText(row, 11);
  status->sublite_version = GetText(row, 12);
  status->activity = GetText(row, 13);
  status->missing_rows = row.Int(14);
  status->replaced_rows = row.Int(15);
  return ReadIdentity(database, status);
}

absl::Status ReadErrorLsn(Database* database, ReplicaStatus* status) {
  if (status->last_error.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare("select lsn from sublite_events where lsn is not null "
                        "and detail <> '' and (instr(detail, ?1) > 0 or "
                        "instr(?1, detail) > 0) order by id desc limit 1"));
  RETURN_IF_ERROR(row.BindText(1, status->last_error));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  if (found) status->error_lsn = GetText(row, 0);
  return absl::OkStatus();
}

absl::Status ReadPrepared(Database* database, ReplicaStatus* status) {
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare("select gid, xid, prepare_lsn, prepared_at, changes, "
                        "bytes from sublite_prepared order by prepared_at, id "
                        "limit 100"));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, row.Step());
    if (!more) return absl::OkStatus();
    status->prepared_rows.push_back({GetText(row, 0), row.Int(1),
                                     GetText(row, 2), GetText(row, 3),
                                     row.Int(4), row.Int(5)});
  }
}

absl::Status ReadEvents(Database* database, ReplicaStatus* status) {
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare("select at, kind, sqlite_table, lsn, detail from "
                        "sublite_events order by id desc limit 20"));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, row.Step());
    if (!more) return absl::OkStatus();
    status->events.push_back({GetText(row, 0), GetText(row, 1), GetText(row, 2),
                              GetText(row, 3), GetText(row, 4)});
  }
}

absl::Status ReadRetention(Database* database, ReplicaStatus* status) {
  // Not in a file that only an earlier sublite has written.
  if (!database
           ->QueryInt("select 1 from sqlite_schema where name = 'sublite_slot'")
           .ok())
    return absl::OkStatus();
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare("select observed_at, wal_pos, restart_pos, wal_status, "
                        "safe_bytes, keep_bytes, idle_timeout_seconds, "
                        "wal_rate from sublite_slot"));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  Retention retention;
  status->retention_at = found ? GetText(row, 0) : "";
  if (!ParseTimeText(status->retention_at, &retention.at))
    return absl::OkStatus();
  retention.wal_end = Lsn(static_cast<std::uint64_t>(row.Int(1)));
  retention.restart = Lsn(static_cast<std::uint64_t>(row.Int(2)));
  retention.wal_status = GetText(row, 3);
  if (!row.IsNull(4)) retention.safe_bytes = row.Int(4);
  if (!row.IsNull(5)) retention.keep_bytes = row.Int(5);
  retention.idle_timeout = absl::Seconds(row.Int(6));
  retention.wal_rate = static_cast<double>(row.Int(7));
  status->retention = retention;
  return absl::OkStatus();
}

absl::Status ReadAll(Database* database, ReplicaStatus* status) {
  RETURN_IF_ERROR(ReadState(database, status));
  RETURN_IF_ERROR(ReadPrepared(database, status));
  RETURN_IF_ERROR(ReadEvents(database, status));
  RETURN_IF_ERROR(ReadRetention(database, status));
  status->applied_pos =
      database->QueryInt("select applied_pos from sublite_state").value_or(0);
  ASSIGN_OR_RETURN(status->tables, ReadTables(database));
  ASSIGN_OR_RETURN(status->requests,
                   database->QueryInt("select count(*) from sublite_requests"));
  return ReadErrorLsn(database, status);
}

}  // namespace

std::int64_t ReplicaStatus::behind_bytes() const {
  if (!retention.has_value()) return 0;
  return std::max<std::int64_t>(
      static_cast<std::int64_t>(retention->wal_end.value()) - applied_pos, 0);
}

absl::StatusOr<std::unique_ptr<Database>> OpenReplicaForReading(
    const std::string& path) {
  RETURN_IF_ERROR(CheckFile(path));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Database> database,
      Database::Open(path, Database::Mode::kReadOnly, kReadBusyTimeout));
  RETURN_IF_ERROR(CheckContent(path, database.get()));
  return database;
}

absl::StatusOr<std::unique_ptr<Database>> OpenReplicaForWriting(
    const std::string& path) {
  RETURN_IF_ERROR(CheckFile(path));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Database> database,
      Database::Open(path, Database::Mode::kReadWrite, kWriteBusyTimeout));
  RETURN_IF_ERROR(CheckContent(path, database.get()));
  RETURN_IF_ERROR(database->KeepWalFiles());
  RETURN_IF_ERROR(database->Execute(
      "pragma wal_autocheckpoint = 0; pragma synchronous = full"));
  return database;
}

absl::StatusOr<bool> HasColumn(Database* database, const char* table,
                               const char* column) {
  ASSIGN_OR_RETURN(const std::int64_t columns,
                   database->QueryInt(
                       absl::StrCat("select count(*) from pragma_table_info('",
                                    table, "') where name = '", column, "'")));
  return columns > 0;
}

absl::StatusOr<FileSlot> ReadFileSlot(Database* database) {
  ASSIGN_OR_RETURN(const bool known,
                   HasColumn(database, "sublite_state", "slot_asked"));
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare(known ? "select slot, slot_from, slot_asked from "
                                "sublite_state"
                              : "select slot, '', '' from sublite_state"));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  if (!found) return FileSlot();
  return FileSlot{GetText(row, 0), GetText(row, 1), GetText(row, 2)};
}

absl::StatusOr<std::vector<TableRow>> ReadTables(Database* database) {
  ASSIGN_OR_RETURN(const bool since,
                   HasColumn(database, "sublite_tables", "unpublished_since"));
  ASSIGN_OR_RETURN(const bool retries,
                   HasColumn(database, "sublite_tables", "retry_at"));
  ASSIGN_OR_RETURN(Statement row,
                   database->Prepare(absl::StrCat(
                       "select id, pg_schema, pg_table, sqlite_table, state, "
                       "rows_copied, rows_estimated, copied_at, error, ",
                       since ? "unpublished_since, " : "null, ",
                       retries ? "retry_at" : "null",
                       " from sublite_tables order by pg_schema, pg_table")));
  std::vector<TableRow> tables;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, row.Step());
    if (!more) return tables;
    TableRow table;
    table.id = row.Int(0);
    table.pg_schema = GetText(row, 1);
    table.pg_table = GetText(row, 2);
    table.sqlite_table = GetText(row, 3);
    table.state = GetText(row, 4);
    table.rows_copied = row.Int(5);
    if (!row.IsNull(6)) table.rows_estimated = row.Int(6);
    table.copied_at = GetText(row, 7);
    table.error = GetText(row, 8);
    table.unpublished_since = GetText(row, 9);
    table.retry_at = GetText(row, 10);
    tables.push_back(std::move(table));
  }
}

absl::StatusOr<ReplicaStatus> ReadReplicaStatus(Database* database) {
  ReplicaStatus status;
  RETURN_IF_ERROR(database->Execute("begin"));
  const absl::Status read = ReadAll(database, &status);
  const absl::Status ended = database->Execute("commit");
  RETURN_IF_ERROR(read);
  RETURN_IF_ERROR(ended);
  return status;
}

absl::Status AddEvent(Database* database, std::string_view kind,
                      std::string_view detail) {
  ASSIGN_OR_RETURN(
      Statement insert,
      database->Prepare("insert into sublite_events (at, kind, detail) "
                        "values (?1, ?2, ?3)"));
  const std::string now = ClockText();
  RETURN_IF_ERROR(insert.BindText(1, now));
  RETURN_IF_ERROR(insert.BindText(2, kind));
  RETURN_IF_ERROR(insert.BindText(3, detail));
  return insert.Run();
}

absl::Status AddRequest(Database* database, std::string_view kind,
                        std::string_view argument) {
  ASSIGN_OR_RETURN(
      Statement insert,
      database->Prepare("insert into sublite_requests (kind, argument, at) "
                        "values (?1, ?2, ?3)"));
  const std::string now = ClockText();
  RETURN_IF_ERROR(insert.BindText(1, kind));
  RETURN_IF_ERROR(insert.BindText(2, argument));
  RETURN_IF_ERROR(insert.BindText(3, now));
  return insert.Run();
}

std::string ClockText() {
  return FormatPgTime(PgTimeFromUnixMicros(absl::ToUnixMicros(absl::Now())));
}

bool ParseTimeText(const std::string& text, absl::Time* time) {
  std::string error;
  return absl::ParseTime("%Y-%m-%d %H:%M:%E*S%Ez", text, time, &error);
}

}  // namespace sublite
