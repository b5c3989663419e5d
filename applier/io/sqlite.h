// SQLite, as far as sublite needs it: a connection, statements, and result
// codes as absl::Status.
//
// Codes: Unavailable for BUSY, LOCKED and IOERR, ResourceExhausted for FULL and
// NOMEM, DataLoss for CORRUPT and NOTADB, Cancelled for INTERRUPT,
// InvalidArgument for TOOBIG, AlreadyExists for a broken UNIQUE or PRIMARY KEY,
// OutOfRange for a broken NOT NULL, FailedPrecondition for any other constraint
// (a local trigger's RAISE), PermissionDenied for READONLY, PERM, AUTH and
// CANTOPEN, Internal for ERROR and MISUSE. Messages hold SQLite's own text.
//
// Ownership: a Statement must be destroyed before its Database. Threads: one at
// a time, but Interrupt from any.
#ifndef SUBLITE_APPLIER_IO_SQLITE_H_
#define SUBLITE_APPLIER_IO_SQLITE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "schema/value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sublite {

class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  explicit operator bool() const { return statement_ != nullptr; }

  // Parameters count from 1. Text and blobs are not copied: their bytes must
  // stay until Reset.
  absl::Status BindNull(int index);
  absl::Status BindInt(int index, std::int64_t value);
  absl::Status BindText(int index, std::string_view text);
  absl::Status BindBlob(int index, std::string_view bytes);
  absl::Status Bind(int index, const SqlValue& value);

  // True with a row, false when done. After an error or done the statement is
  // reset already; bindings stay.
  absl::StatusOr<bool> Step();
  // Step for statements that give no rows; resets.
  absl::Status Run();
  void Reset();

  bool IsNull(int column) const;
  std::int64_t Int(int column) const;
  std::string_view Text(
      int column) const;  // valid until the next Step or Reset; "" for NULL
  std::string_view Blob(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, bool* sync_lost)
      : statement_(statement), sync_lost_(sync_lost) {}
  absl::Status Fail(int code);
  sqlite3_stmt* statement_ = nullptr;
  bool* sync_lost_ = nullptr;  // the database's
};

class Database {
 public:
  enum class Mode {
    kReadOnly,   // an ordinary reader; the file must exist
    kReadWrite,  // the file must exist
    kCreate,     // made if it does not exist
  };

  static absl::StatusOr<std::unique_ptr<Database>> Open(
      const std::string& path, Mode mode, absl::Duration busy_timeout);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // Runs all statements of `sql`; rows are thrown away.
  absl::Status Execute(std::string_view sql);
  // The first column of the first row as an integer; NotFound without a row or
  // for NULL.
  absl::StatusOr<std::int64_t> QueryInt(std::string_view sql);

  bool in_transaction() const;
  // The last call failed because another connection holds a lock, not because
  // of an I/O error: both are Unavailable.
  bool locked_out() const;
  std::int64_t changes()
      const;  // rows of the last INSERT, UPDATE or DELETE, without triggers'
  std::int64_t last_insert_rowid() const;
  // Bytes that this connection wrote into the write-ahead log so far.
  std::int64_t wal_bytes_written();

  // Keeps -wal and -shm when this is the last connection to close, so that
  // readers without write permission can open the file while nothing runs; and
  // does not checkpoint then, so that closing is quick.
  absl::Status KeepWalFiles();
  // Makes every commit so far survive power loss: one fsync of the write-ahead
  // log, no write. After any sync that failed the kernel may call lost pages
  // clean, and a further one proves nothing: then it is EmptyWal that has to
  // succeed, which it cannot inside a transaction.
  absl::Status SyncWal();
  bool can_sync() const {
    return (!sync_lost_ && !doubted_) || !in_transaction();
  }
  // What stands in the log was written by an earlier process, which may have
  // died of a sync that failed: the next SyncWal empties the log, unless
  // readers are in its way. Not before, since it costs as much as the log is
  // long.
  void DoubtWal() { doubted_ = true; }
  // Writes everything that is in the log again, into the main file, and empties
  // the log; durable. Unavailable while readers are in its way.
  absl::Status EmptyWal();
  // From now on CheckpointIfDue moves the write-ahead log into the main file
  // when it has grown to so many pages, in place of SQLite's own checkpoints,
  // which keep to themselves that a sync failed.
  void CheckpointAt(int pages);
  // Call after a commit. Trouble is left to the next one, and to SyncWal.
  void CheckpointIfDue();

  // No value and no row may be longer from now on; SQLite's own limit is 10^9
  // bytes. For tests.
  void LimitLength(int bytes);

  // `stop` is asked often during statements; when it says true they end with
  // Cancelled.
  void StopWhen(std::function<bool()> stop);
  // Ends running statements (and checkpoints) with Cancelled; from any thread.
  void Interrupt();

  // The database's file, absolute and without symbolic links.
  std::string file_name() const;

 private:
  Database() = default;
  absl::Status Fail(int code, std::string_view doing);
  absl::Status SyncWalFile();
  absl::Status EndDoubt();
  sqlite3* db_ = nullptr;
  bool sync_lost_ = false;
  bool doubted_ = false;
  int doubted_pages_ = 0;  // how long the log was at the first commit
  int checkpoint_pages_ = 0;
  std::int64_t wal_frames_written_ = 0;
  std::int64_t frame_bytes_ = 0;  // 0: not asked yet
  int wal_pages_ = 0;
  std::string path_;
  std::function<bool()> stop_;
};

// The library's own, at run time: "3.40.1".
std::string SqliteVersion();

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_SQLITE_H_
