#include "applier/io/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "schema/status.h"

namespace sublite {
namespace {

absl::StatusCode CodeFor(int extended) {
  switch (extended) {
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_ROWID:
      return absl::StatusCode::kAlreadyExists;
    case SQLITE_CONSTRAINT_NOTNULL:
      return absl::StatusCode::kOutOfRange;
    default:
      break;
  }
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
    case SQLITE_SCHEMA:
      return absl::StatusCode::kUnavailable;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_INTERRUPT:
    case SQLITE_ABORT:
      return absl::StatusCode::kCancelled;
    case SQLITE_TOOBIG:
      return absl::StatusCode::kInvalidArgument;
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      sync_lost_(other.sync_lost_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    sqlite3_finalize(statement_);
    statement_ = std::exchange(other.statement_, nullptr);
    sync_lost_ = other.sync_lost_;
  }
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

absl::Status Statement::Fail(int code) {
  sqlite3* db = sqlite3_db_handle(statement_);
  const int extended = sqlite3_errcode(db) == code || code == SQLITE_ROW
                           ? sqlite3_extended_errcode(db)
                           : code;
  if (extended == SQLITE_IOERR_FSYNC && sync_lost_ != nullptr)
    *sync_lost_ = true;
  return absl::Status(CodeFor(extended),
                      absl::StrCat("SQLite: ", sqlite3_errmsg(db)));
}

absl::Status Statement::BindNull(int index) {
  const int code = sqlite3_bind_null(statement_, index);
  return code == SQLITE_OK ? absl::OkStatus() : Fail(code);
}

absl::Status Statement::BindInt(int index, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_, index, value);
  return code == SQLITE_OK ? absl::OkStatus() : Fail(code);
}

absl::Status Statement::BindText(int index, std::string_view text) {
  // A null pointer would bind NULL, so an empty text needs a real one.
  const int code = sqlite3_bind_text64(
      statement_, index, text.data() == nullptr ? "" : text.data(), text.size(),
      SQLITE_STATIC, SQLITE_UTF8);
  return code == SQLITE_OK ? absl::OkStatus() : Fail(code);
}

absl::Status Statement::BindBlob(int index, std::string_view bytes) {
  const int code = sqlite3_bind_blob64(
      statement_, index, bytes.data() == nullptr ? "" : bytes.data(),
      bytes.size(), SQLITE_STATIC);
  return code == SQLITE_OK ? absl::OkStatus() : Fail(code);
}

absl::Status Statement::Bind(int index, const SqlValue& value) {
  switch (value.kind) {
    case SqlValue::Kind::kNull:
      return BindNull(index);
    case SqlValue::Kind::kInteger:
      return BindInt(index, value.integer);
    case SqlValue::Kind::kReal: {
      const int code = sqlite3_bind_double(statement_, index, value.real);
      return code == SQLITE_OK ? absl::OkStatus() : Fail(code);
    }
    case SqlValue::Kind::kText:
      return BindText(index, value.bytes);
    case SqlValue::Kind::kBlob:
      return BindBlob(index, value.bytes);
  }
  return absl::InternalError("a SqlValue of no kind");
}

absl::StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  absl::Status status = Fail(code);
  sqlite3_reset(statement_);
  return status;
}

absl::Status Statement::Run() {
  ASSIGN_OR_RETURN(const bool row, Step());
  if (row) Reset();
  return absl::OkStatus();
}

void Statement::Reset() { sqlite3_reset(statement_); }

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::Text(int column) const {
  const auto* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Statement::Blob(int column) const {
  const void* blob = sqlite3_column_blob(statement_, column);
  if (blob == nullptr) return {};
  return {static_cast<const char*>(blob),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(
    const std::string& path, Mode mode, absl::Duration busy_timeout) {
  auto database = std::unique_ptr<Database>(new Database());
  database->path_ = path;
  int flags = SQLITE_OPEN_NOMUTEX;
  if (mode == Mode::kReadOnly) flags |= SQLITE_OPEN_READONLY;
  if (mode != Mode::kReadOnly) flags |= SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_CREATE;
  const int code =
      sqlite3_open_v2(path.c_str(), &database->db_, flags, nullptr);
  if (code != SQLITE_OK) return database->Fail(code, "cannot open it");
  sqlite3_extended_result_codes(database->db_, 1);
  sqlite3_busy_timeout(
      database->db_, static_cast<int>(absl::ToInt64Milliseconds(busy_timeout)));
  return database;
}

Database::~Database() { sqlite3_close_v2(db_); }

absl::Status Database::Fail(int code, std::string_view doing) {
  const int extended = db_ == nullptr ? code : sqlite3_extended_errcode(db_);
  if (extended == SQLITE_IOERR_FSYNC) sync_lost_ = true;
  return absl::Status(
      CodeFor(extended == SQLITE_OK ? code : extended),
      absl::StrCat(
          "SQLite file ", path_, ": ", View(doing), ": ",
          db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_)));
}

absl::StatusOr<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) {
    return Fail(code,
                absl::StrCat("cannot prepare ", View(sql.substr(0, 200))));
  }
  return Statement(statement, &sync_lost_);
}

absl::Status Database::Execute(std::string_view sql) {
  const std::string text(sql);
  const int code = sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    return Fail(code, absl::StrCat("cannot run ", View(sql.substr(0, 200))));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> Database::QueryInt(std::string_view sql) {
  ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row || statement.IsNull(0)) {
    return absl::NotFoundError(absl::StrCat("no value: ", View(sql)));
  }
  return statement.Int(0);
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(db_) == 0;
}

bool Database::locked_out() const {
  const int code = sqlite3_errcode(db_) & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

std::int64_t Database::changes() const { return sqlite3_changes(db_); }

std::string Database::file_name() const {
  const char* name = sqlite3_db_filename(db_, "main");
  return name == nullptr ? path_ : name;
}

std::int64_t Database::last_insert_rowid() const {
  return sqlite3_last_insert_rowid(db_);
}

std::int64_t Database::wal_bytes_written() {
  constexpr std::int64_t kFrameHeader = 24;
  if (frame_bytes_ == 0) {
    frame_bytes_ = kFrameHeader + QueryInt("pragma page_size").value_or(4096);
  }
  int pages = 0;
  int unused = 0;
  // Counts pages that were spilled into the log before a commit, too. Begun
  // anew each time, since it is an int.
  if (sqlite3_db_status(db_, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, 1) ==
      SQLITE_OK)
    wal_frames_written_ += pages;
  return wal_frames_written_ * frame_bytes_;
}

absl::Status Database::KeepWalFiles() {
  int on = 1;
  int code = sqlite3_file_control(db_, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
  if (code == SQLITE_OK) {
    code = sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  return code == SQLITE_OK ? absl::OkStatus() : Fail(code, "cannot keep -wal");
}

absl::Status Database::SyncWalFile() {
  sqlite3_file* file = nullptr;
  int code =
      sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (code != SQLITE_OK) return Fail(code, "cannot reach -wal");
  // Not opened yet: nothing was written by this connection.
  if (file == nullptr || file->pMethods == nullptr) return absl::OkStatus();
  code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  if (code == SQLITE_OK) return absl::OkStatus();
  sync_lost_ = true;
  return absl::UnavailableError(absl::StrCat(
      "SQLite file ", path_, ": cannot sync -wal: ", sqlite3_errstr(code)));
}

absl::Status Database::SyncWal() {
  if (doubted_) return EndDoubt();
  return sync_lost_ ? EmptyWal() : SyncWalFile();
}

absl::Status Database::EndDoubt() {
  const absl::Status emptied = EmptyWal();
  doubted_ = false;
  // Only readers leave it at that.
  return emptied.ok() || sync_lost_ ? emptied : SyncWalFile();
}

absl::Status Database::EmptyWal() {
  // What stands in the log may be gone from the device, all of it or a part, so
  // not even its beginning may be left for recovery to find.
  const int code = sqlite3_wal_checkpoint_v2(
      db_, "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  if (code != SQLITE_OK) {
    // Readers will go away; of all else it is not known what it left behind.
    if ((code & 0xff) != SQLITE_BUSY) sync_lost_ = true;
    return Fail(code, "cannot empty -wal");
  }
  RETURN_IF_ERROR(SyncWalFile());
  sync_lost_ = false;
  return absl::OkStatus();
}

void Database::CheckpointAt(int pages) {
  checkpoint_pages_ = pages;
  // Takes the place of SQLite's own.
  sqlite3_wal_hook(
      db_,
      [](void* self, sqlite3*, const char*, int wal_pages) {
        static_cast<Database*>(self)->wal_pages_ = wal_pages;
        return SQLITE_OK;
      },
      this);
}

void Database::CheckpointIfDue() {
  // Not while the log on the device may be other than it seems: it must not
  // become older than the main file.
  if (checkpoint_pages_ == 0 || sync_lost_) return;
  if (doubted_) {
    if (doubted_pages_ == 0) doubted_pages_ = wal_pages_;
    if (wal_pages_ >= doubted_pages_ + checkpoint_pages_)
      EndDoubt().IgnoreError();
    return;
  }
  if (wal_pages_ < checkpoint_pages_) return;
  sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
  if (sqlite3_extended_errcode(db_) == SQLITE_IOERR_FSYNC) sync_lost_ = true;
}

void Database::LimitLength(int bytes) {
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, bytes);
}

void Database::StopWhen(std::function<bool()> stop) {
  stop_ = std::move(stop);
  // Often enough to notice a stop within milliseconds, seldom enough to cost
  // nothing.
  sqlite3_progress_handler(
      db_, 20000,
      [](void* self) -> int {
        return static_cast<Database*>(self)->stop_() ? 1 : 0;
      },
      this);
}

void Database::Interrupt() { sqlite3_interrupt(db_); }

std::string SqliteVersion() { return sqlite3_libversion(); }

}  // namespace sublite
