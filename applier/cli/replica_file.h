// The replica's SQLite file as the commands beside `run` see it.
//
// Readers open it as any program does, so that what they show is what others
// see. Writers only leave requests for `run` (sublite_requests), or a note that
// a person did something; they never checkpoint, since only the one connection
// of `run` may (SQLite's WAL-reset race).
//
// Errors: FailedPrecondition where the file is not there, not sublite's or
// newer than this build; messages say what to do. Threads: one.
#ifndef SUBLITE_APPLIER_CLI_REPLICA_FILE_H_
#define SUBLITE_APPLIER_CLI_REPLICA_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/io/sqlite.h"
#include "applier/retention.h"

namespace sublite {

absl::StatusOr<std::unique_ptr<Database>> OpenReplicaForReading(
    const std::string& path);

// Waits up to 30 s for the file's write lock in each statement. What is
// committed through it survives power loss.
absl::StatusOr<std::unique_ptr<Database>> OpenReplicaForWriting(
    const std::string& path);

// A row of sublite_tables.
struct TableRow {
  std::int64_t id = 0;
  std::string pg_schema;
  std::string pg_table;
  std::string sqlite_table;
  std::string state;
  std::int64_t rows_copied = 0;
  std::optional<std::int64_t> rows_estimated;
  std::string copied_at;  // "" for NULL, as in all texts here
  std::string error;
  std::string unpublished_since;
  std::string retry_at;  // while it is failed: when it is tried again by itself

  std::string PgName() const { return pg_schema + "." + pg_table; }
};

// A row of sublite_prepared.
struct PreparedRow {
  std::string gid;
  std::int64_t xid = 0;
  std::string prepare_lsn;
  std::string prepared_at;
  std::int64_t changes = 0;
  std::int64_t bytes = 0;
};

// A row of sublite_events.
struct EventRow {
  std::string at;
  std::string kind;
  std::string sqlite_table;
  std::string lsn;
  std::string detail;
};

struct ReplicaStatus {
  // False for a file in which `run` has not got as far as a first row.
  bool started = false;
  std::string state;
  bool consistent = false;
  std::string applied_lsn;  // "0/0" until there is a slot
  std::string applied_commit_time;
  std::string contact_at;
  std::string publications;
  std::string slot;
  std::string system_identifier;
  std::string server_version;
  std::int64_t prepared = 0;
  std::string last_error;
  std::string last_error_at;
  std::string sublite_version;
  std::string activity;  // what a long wait is for
  std::string file_id;
  std::string slot_note;  // what a person has to know of another slot
  // Updates and deletes that found no row, inserts that found their key taken.
  std::int64_t missing_rows = 0;
  std::int64_t replaced_rows = 0;

  std::vector<TableRow> tables;
  std::int64_t requests = 0;  // not yet taken up by `run`
  // The newest event's position whose detail is in last_error: what `skip`
  // takes. "" if there is none.
  std::string error_lsn;

  std::vector<PreparedRow> prepared_rows;  // the oldest 100, oldest first
  std::vector<EventRow> events;            // the newest 20, newest first
  // Of sublite_slot, and its observed_at; none before the publisher was asked.
  std::optional<Retention> retention;
  std::string retention_at;
  std::int64_t applied_pos = 0;

  // WAL of the publisher that was not applied when it was last asked, published
  // or not.
  std::int64_t behind_bytes() const;
};

// All of it in one read transaction.
absl::StatusOr<ReplicaStatus> ReadReplicaStatus(Database* database);
absl::StatusOr<std::vector<TableRow>> ReadTables(Database* database);

// Whether a file made by an earlier sublite has it yet.
absl::StatusOr<bool> HasColumn(Database* database, const char* table,
                               const char* column);

// Which slot the file goes with.
struct FileSlot {
  std::string name;
  std::string from;   // as sublite_state.slot_from
  std::string asked;  // as sublite_state.slot_asked

  // The slot that `run` uses where publisher.slot is `configured`.
  std::string Used(const std::string& configured) const {
    return !asked.empty() && asked == configured ? name : configured;
  }
};
absl::StatusOr<FileSlot> ReadFileSlot(Database* database);

// Adds a row to sublite_events. The caller owns the transaction.
absl::Status AddEvent(Database* database, std::string_view kind,
                      std::string_view detail);

// Adds a row to sublite_requests. The caller owns the transaction.
absl::Status AddRequest(Database* database, std::string_view kind,
                        std::string_view argument);

// The clock's time in the form of a stored timestamptz.
std::string ClockText();
// False if `text` does not have that form.
bool ParseTimeText(const std::string& text, absl::Time* time);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_REPLICA_FILE_H_
