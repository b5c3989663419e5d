#include "tests/fuzz/fuzz_replica.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "applier/log.h"
#include "tests/fuzz/fuzz_tables.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/replica_model.h"

namespace sublite::testing {
namespace {

constexpr const char* kKept[] = {"sublite_state", "sublite_tables",
                                 "sublite_columns", "sublite_indexes"};
constexpr const char* kEmpty[] = {"sublite_prepared", "sublite_staged",
                                  "sublite_messages", "sublite_events",
                                  "sublite_requests"};

void RequireOk(const absl::Status& status, std::string_view what) {
  Require(status.ok(), what, status.ToString());
}

absl::Status NotHere() { return absl::UnimplementedError("not in this fake"); }

std::string CopyText(const FuzzRow& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    absl::StrAppend(&line, i == 0 ? "" : "\t", row[i].value_or("\\N"));
  }
  return line + "\n";
}

class FuzzReader : public TableReader {
 public:
  explicit FuzzReader(const CatalogAnswer& answer)
      : answer_(answer), snapshot_(SnapshotOf(answer)) {
    const bool wider = answer.kind == CatalogAnswer::Kind::kWider;
    table_ = FuzzTable(answer.table, wider);
    if (answer.kind == CatalogAnswer::Kind::kProblem) table_.problem = "why";
    rows_ = FuzzRows(answer.table, answer.rows, wider);
  }

  const Snapshot& snapshot() const override { return snapshot_; }
  Lsn snapshot_lsn() const override { return answer_.position; }
  const PublishedTable& table() const override { return table_; }
  const PgTypes& types() const override { return FuzzTypes(); }
  CopyForm form() const override { return CopyForm::kText; }
  absl::StatusOr<bool> Next(std::string_view* row) override {
    if (next_ == rows_.size()) return false;
    line_ = CopyText(rows_[next_++]);
    *row = line_;
    return true;
  }

 private:
  CatalogAnswer answer_;
  Snapshot snapshot_;
  PublishedTable table_;
  std::vector<FuzzRow> rows_;
  std::size_t next_ = 0;
  std::string line_;
};

}  // namespace

// ------------------------------------------------------------------ publisher

absl::StatusOr<std::unique_ptr<TableReader>> FuzzPublisher::ReadTable(
    const std::string&, const std::string& pg_table,
    const std::vector<std::string>&, const CopyRequest&) {
  for (const CatalogAnswer& answer : catalog) {
    if (FuzzTable(answer.table).pg_table != pg_table) continue;
    switch (answer.kind) {
      case CatalogAnswer::Kind::kLost:
        return absl::UnavailableError("the connection is lost");
      case CatalogAnswer::Kind::kNotPublished:
        return absl::NotFoundError("not published");
      default:
        return std::make_unique<FuzzReader>(answer);
    }
  }
  return absl::NotFoundError("no such table");
}

absl::StatusOr<PublisherIdentity> FuzzPublisher::Connect() { return NotHere(); }
absl::StatusOr<SlotState> FuzzPublisher::ReadSlot(const std::string&) {
  return NotHere();
}
absl::StatusOr<CreatedSlot> FuzzPublisher::CreateSlot(
    const SlotOptions&, const std::function<void(std::string_view)>&) {
  return NotHere();
}
absl::Status FuzzPublisher::CopySlot(const std::string&, const std::string&) {
  return NotHere();
}
absl::Status FuzzPublisher::EnableFailover(const std::string&) {
  return NotHere();
}
absl::Status FuzzPublisher::DropSlot(const std::string&) { return NotHere(); }
absl::StatusOr<Publications> FuzzPublisher::ReadPublications(
    const std::vector<std::string>&) {
  return NotHere();
}
absl::StatusOr<std::vector<std::string>> FuzzPublisher::ReadWriters(
    std::uint32_t) {
  return NotHere();
}
absl::StatusOr<std::vector<std::vector<std::string>>> FuzzPublisher::Query(
    std::string_view) {
  return NotHere();
}
absl::StatusOr<std::unique_ptr<ReplicationStream>>
FuzzPublisher::StartReplication(const StreamOptions&) {
  return NotHere();
}

// -------------------------------------------------------------------- replica

FuzzReplica::FuzzReplica() {
  // SQLite's many small allocations, of which a sanitizer makes much.
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1024, 1000);
  SetLogSink(
      +[](LogLevel, std::string_view, std::initializer_list<LogField>) {});
  folder_ = ScratchFolder() + "/sublite-fuzz-XXXXXX";
  Require(mkdtemp(folder_.data()) != nullptr, "cannot make a folder", folder_);
  path_ = folder_ + "/replica.db";
  Make();
}

FuzzReplica::~FuzzReplica() {
  CloseReader();
  restore_.clear();
  replica_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void FuzzReplica::Open() {
  absl::StatusOr<std::unique_ptr<Replica>> opened =
      Replica::Open(path_, [] { return false; });
  RequireOk(opened.status(), "the replica cannot be opened");
  replica_ = *std::move(opened);
}

void FuzzReplica::CloseReader() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  statements_.clear();
  sqlite3_close(std::exchange(reader_, nullptr));
}

void FuzzReplica::OpenReader() {
  CloseReader();
  const int code =
      sqlite3_open_v2(path_.c_str(), &reader_, SQLITE_OPEN_READONLY, nullptr);
  Require(code == SQLITE_OK, "the file cannot be read");
}

std::unique_ptr<TableCopy> FuzzReplica::MakeCopy() {
  return std::make_unique<TableCopy>(
      *replica_, publisher_, config_, ended_, [] { return true; },
      [](const ReplicaTable&, std::int64_t, double) {});
}

// The file at the beginning, once; its bytes are kept.
void FuzzReplica::Make() {
  config_.replica.database = path_;
  config_.publisher.slot = "s";
  config_.publisher.publications = {"p"};
  for (int table = 0; table < kTables; ++table) {
    CatalogAnswer answer;
    answer.table = table;
    publisher_.catalog.push_back(answer);
  }
  Open();
  const std::unique_ptr<TableCopy> copy = MakeCopy();
  RequireOk(replica_->Transaction([&]() -> absl::Status {
    PublisherIdentity identity;
    identity.system_identifier = "1";
    identity.timeline = 1;
    absl::Status status = replica_->SetSlot(
        "s", identity, {kStart, *Snapshot::Parse("700:700:")});
    for (int i = 0; i < kTables && status.ok(); ++i) {
      const absl::StatusOr<ReplicaTable*> table =
          replica_->AddTable(FuzzTable(i), copy->NameOf(FuzzTable(i)));
      if (!table.ok()) return table.status();
      const absl::StatusOr<CopiedTable> copied = copy->Fill(**table);
      if (!copied.ok()) return copied.status();
      status = copy->SwapIn(**table, *copied);
    }
    return status;
  }),
            "the file cannot be made");
  std::string sql;
  for (const char* name : kKept) {
    absl::StrAppend(&sql, "create table saved_", name, " as select * from ",
                    name, ";");
  }
  for (const auto& table : replica_->tables()) {
    absl::StrAppend(&sql, "create table \"saved_", table->shape.name,
                    "\" as select * from \"", table->shape.name, "\";");
  }
  for (const char* name : kEmpty)
    absl::StrAppend(&sql, "delete from ", name, ";");
  RequireOk(
      replica_->Transaction([&] { return replica_->database().Execute(sql); }),
      "the file cannot be saved");
  RequireOk(replica_->database().EmptyWal(), "the log cannot be emptied");
  base_schema_ = *replica_->database().QueryInt("pragma schema_version");
  std::ifstream file(path_, std::ios::binary);
  base_ = std::string(std::istreambuf_iterator<char>(file), {});
  Require(!base_.empty(), "the file cannot be kept");
  PrepareRestore();
  OpenReader();
}

void FuzzReplica::PrepareRestore() {
  std::vector<std::string> sql = {"begin immediate"};
  for (const char* name : kEmpty)
    sql.push_back(absl::StrCat("delete from ", name));
  const auto restore = [&](std::string_view name) {
    sql.push_back(absl::StrCat("delete from \"", std::string(name), "\""));
    sql.push_back(absl::StrCat("insert into \"", std::string(name),
                               "\" select * from \"saved_", std::string(name),
                               "\""));
  };
  for (const char* name : kKept) restore(name);
  for (int table = 0; table < kTables; ++table) {
    restore(FuzzTable(table).pg_table);
  }
  sql.emplace_back("commit");
  for (const std::string& one : sql) {
    absl::StatusOr<Statement> statement = replica_->database().Prepare(one);
    RequireOk(statement.status(), "cannot prepare to restore the file");
    restore_.push_back(*std::move(statement));
  }
}

void FuzzReplica::Reset() {
  ended_.Clear();
  for (int table = 0; table < kTables; ++table) {
    publisher_.catalog[static_cast<std::size_t>(table)] = CatalogAnswer();
    publisher_.catalog[static_cast<std::size_t>(table)].table = table;
  }
  replica_->Rollback();
  const absl::StatusOr<std::int64_t> schema =
      replica_->database().QueryInt("pragma schema_version");
  if (schema.ok() && *schema == base_schema_) {
    for (Statement& statement : restore_) {
      RequireOk(statement.Run(), "the file cannot be restored");
    }
    return;
  }
  restore_.clear();
  CloseReader();
  replica_.reset();
  for (const char* end : {"-wal", "-shm"}) unlink((path_ + end).c_str());
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << base_;
  Open();
  PrepareRestore();
  OpenReader();
}

std::vector<std::string> FuzzReplica::Query(const std::string& sql) {
  std::vector<std::string> rows;
  sqlite3_stmt*& statement = statements_[sql];
  int code = SQLITE_OK;
  if (statement == nullptr) {
    code = sqlite3_prepare_v2(reader_, sql.c_str(), -1, &statement, nullptr);
  }
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(statement);
    if (code != SQLITE_ROW) break;
    std::string row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      if (i > 0) row += '|';
      const int type = sqlite3_column_type(statement, i);
      if (type == SQLITE_NULL) {
        row += "null";
        continue;
      }
      const char* kind = type == SQLITE_INTEGER ? "i:"
                         : type == SQLITE_TEXT  ? "t:"
                         : type == SQLITE_BLOB  ? "b:"
                                                : "r:";
      const auto* bytes =
          static_cast<const char*>(sqlite3_column_blob(statement, i));
      const auto size =
          static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
      row += kind + std::string(bytes == nullptr ? "" : bytes, size);
    }
    rows.push_back(std::move(row));
  }
  Require(code == SQLITE_DONE, "the file cannot be read",
          sqlite3_errmsg(reader_));
  sqlite3_reset(statement);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace sublite::testing
