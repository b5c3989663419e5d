#include "applier/table_copy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/row_name.h"
#include "applier/wire/copy_rows.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr std::size_t kEndedKept = 32768;
// A commit this often keeps the WAL short and gives readers of sublite_tables
// something to see.
constexpr std::int64_t kBatchBytes = 16 << 20;
constexpr absl::Duration kProgressEvery = absl::Seconds(1);

// SQLite's own limits, such as the number of columns, and what a local
// administrator has made concern this table only.
absl::Status OfTable(const absl::Status& status) {
  return absl::IsInternal(status)
             ? absl::FailedPreconditionError(status.message())
             : status;
}

// What a local administrator added to a table, to be made again on its
// successor.
struct LocalObject {
  std::string type;
  std::string name;
  std::string sql;
};

absl::StatusOr<std::vector<LocalObject>> LocalObjects(Database& database,
                                                      std::string_view table) {
  ASSIGN_OR_RETURN(
      Statement select,
      database.Prepare(
          "select type, name, sql from sqlite_schema where tbl_name = ?1 "
          "collate nocase "
          "and type in ('index', 'trigger') and sql is not null "
          "and name not in (select name from sublite_indexes) order by rowid"));
  RETURN_IF_ERROR(select.BindText(1, table));
  std::vector<LocalObject> objects;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return objects;
    objects.push_back({std::string(select.Text(0)), std::string(select.Text(1)),
                       std::string(select.Text(2))});
  }
}

}  // namespace

absl::Status OfRow(const absl::Status& status, const TableShape& shape,
                   Tuple row) {
  if (!ConcernsOneTable(status)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), RowName(shape, row)));
}

void EndedTransactions::Clear() {
  order_.clear();
  set_.clear();
  settled_.clear();
}

void EndedTransactions::Add(Xid xid) {
  if (!set_.insert(xid).second) return;
  order_.push_back(xid);
  if (order_.size() <= kEndedKept) return;
  set_.erase(order_.front());
  order_.pop_front();
}

TableCopy::TableCopy(Replica& replica, Publisher& publisher,
                     const Config& config, const EndedTransactions& ended,
                     std::function<bool()> stop, Progress progress)
    : replica_(replica),
      publisher_(publisher),
      config_(config),
      ended_(ended),
      stop_(std::move(stop)),
      progress_(std::move(progress)),
      rate_(config.replica.copy_rate) {}

// The stream waits for a table that is copied whole, so this only spares the
// line. The receiver keeps the connection alive.
absl::Status TableCopy::WaitForRate() {
  constexpr absl::Duration kStep = absl::Milliseconds(50);
  while (true) {
    const absl::Duration left = rate_.free_at() - absl::Now();
    if (left <= absl::ZeroDuration()) return absl::OkStatus();
    if (stop_()) return absl::CancelledError("told to stop");
    absl::SleepFor(std::min(left, kStep));
  }
}

TableShape TableCopy::ShapeOf(const PublishedTable& table,
                              const PgTypes& types) const {
  NamingOptions options;
  options.separator = config_.replica.schema_separator;
  options.numeric = config_.replica.numeric;
  const auto setting = config_.tables.find(table.FullName());
  if (setting != config_.tables.end()) {
    options.name = setting->second.name;
    if (setting->second.has_numeric) options.numeric = setting->second.numeric;
  }
  return ShapeFor(table, types, options);
}

absl::Status TableCopy::CheckName(const ReplicaTable& table,
                                  const TableShape& shape) {
  ASSIGN_OR_RETURN(const std::string taken,
                   replica_.NameTakenBy(&table, shape.name));
  if (taken.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "table ", shape.FullName(), " would be named ", shape.name,
      " in SQLite, a name that ", taken,
      " has already (SQLite compares names without case): set tables.\"",
      shape.FullName(), "\".name"));
}

bool TableCopy::SeesAllEnded(const Snapshot& snapshot,
                             std::uint64_t* missing) const {
  for (Xid xid : ended_.all()) {
    if (snapshot.Sees(xid)) continue;
    *missing = xid;
    return false;
  }
  const std::optional<Snapshot>& slot = slot_snapshot_.has_value()
                                            ? slot_snapshot_
                                            : replica_.state().slot_snapshot;
  if (!slot.has_value()) return true;
  const auto before_slot = [&](std::uint64_t xid) {
    return xid < slot->xmax() && slot->SeesFull(xid);
  };
  for (std::uint64_t xid : snapshot.in_progress()) {
    if (!before_slot(xid)) continue;
    *missing = xid;
    return false;
  }
  // A snapshot ends behind the newest transaction that is done: a committed one
  // that is not visible yet may be past its end.
  for (std::uint64_t xid = snapshot.xmax(); xid < slot->xmax(); ++xid) {
    if (!before_slot(xid)) continue;
    *missing = xid;
    return false;
  }
  return true;
}

absl::StatusOr<std::unique_ptr<TableReader>> TableCopy::TryRead(
    const ReplicaTable& table, const CopyRequest& part) {
  CopyRequest request = part;
  request.binary = binary_;
  ASSIGN_OR_RETURN(
      std::unique_ptr<TableReader> reader,
      publisher_.ReadTable(table.shape.pg_schema, table.shape.pg_table,
                           config_.publisher.publications, request));
  std::uint64_t missing = 0;
  if (!SeesAllEnded(reader->snapshot(), &missing)) reader.reset();
  if (reader != nullptr) SayIfText(*reader);
  return reader;
}

void TableCopy::SayIfText(const TableReader& reader) {
  if (!binary_ || reader.form() == CopyForm::kBinary) return;
  const TableShape shape = ShapeOf(reader.table(), reader.types());
  const TableColumn* column = FindUncopyable(shape);
  if (column == nullptr || !said_text_.insert(shape.FullName()).second) return;
  LogInfo("the table is copied as text, since a type has no binary form here",
          {{"table", shape.FullName()},
           {"column", column->pg_name},
           {"type", column->pg_type}});
}

absl::StatusOr<std::unique_ptr<TableReader>> TableCopy::Read(
    const ReplicaTable& table) {
  absl::Duration pause = absl::Milliseconds(10);
  bool told = false;
  CopyRequest whole;
  whole.binary = binary_;
  while (true) {
    ASSIGN_OR_RETURN(
        std::unique_ptr<TableReader> reader,
        publisher_.ReadTable(table.shape.pg_schema, table.shape.pg_table,
                             config_.publisher.publications, whole));
    std::uint64_t missing = 0;
    if (SeesAllEnded(reader->snapshot(), &missing)) {
      SayIfText(*reader);
      return reader;
    }
    reader.reset();
    if (stop_()) return absl::CancelledError("told to stop");
    if (!told && pause > absl::Milliseconds(500)) {
      LogWarn(
          "waiting until a committed transaction becomes visible at the "
          "publisher (does it wait for a standby?)",
          {{"xid", absl::StrCat(missing)}, {"table", table.shape.FullName()}});
      told = true;
    }
    absl::SleepFor(pause);
    pause = std::min(pause * 2, absl::Milliseconds(1000));
  }
}

absl::Status TableCopy::MakeHidden(const ReplicaTable& table,
                                   const TableShape& shape,
                                   const std::string& hidden) {
  RETURN_IF_ERROR(CheckName(table, shape));
  const absl::Status status = replica_.Transaction([&] {
    RETURN_IF_ERROR(replica_.database().Execute(
        absl::StrCat("drop table if exists ", QuoteIdentifier(hidden))));
    return OfTable(replica_.database().Execute(CreateTableSql(shape, hidden)));
  });
  return Annotate(status, absl::StrCat("table ", shape.FullName()));
}

absl::StatusOr<CopiedTable> TableCopy::Fill(ReplicaTable& table) {
  ASSIGN_OR_RETURN(std::unique_ptr<TableReader> reader, Read(table));
  CopiedTable copied;
  copied.published = reader->table();
  if (!copied.published.problem.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", copied.published.FullName(), ": ", copied.published.problem));
  }
  copied.shape = ShapeOf(copied.published, reader->types());
  copied.snapshot = reader->snapshot();
  copied.snapshot_lsn = reader->snapshot_lsn();
  if (copied.shape.columns.empty()) return copied;

  copied.hidden = HiddenTableName(table.id);
  const bool inside = replica_.in_transaction();
  RETURN_IF_ERROR(MakeHidden(table, copied.shape, copied.hidden));
  const absl::StatusOr<std::int64_t> rows =
      Load(table, *reader, copied.shape, copied.hidden);
  if (!rows.ok()) {
    if (!inside) replica_.Rollback();
    return rows.status();
  }
  copied.rows = *rows;
  return copied;
}

absl::StatusOr<std::int64_t> TableCopy::Load(ReplicaTable& table,
                                             TableReader& reader,
                                             const TableShape& shape,
                                             const std::string& hidden) {
  TableWriter writer(replica_.database(), shape, hidden);
  CopyRows parser(reader.form(), shape.columns.size());
  std::string_view message;
  Tuple row;
  std::int64_t rows = 0;
  std::int64_t batch_bytes = 0;
  absl::Time told = absl::Now();
  const bool inside = replica_.in_transaction();
  const double expected = reader.table().estimated_rows;
  RETURN_IF_ERROR(replica_.Begin());
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&message));
    if (!more) break;
    ASSIGN_OR_RETURN(const bool has_row, parser.Parse(message, &row));
    if (!has_row) continue;
    const absl::Status stored = writer.Insert(row).status();
    if (!stored.ok()) return OfRow(stored, shape, row);
    ++rows;
    replica_.metrics().copied_rows.Add(1);
    replica_.metrics().copied_bytes.Add(
        static_cast<std::int64_t>(message.size()));
    batch_bytes += static_cast<std::int64_t>(message.size());
    if (rate_.limited()) {
      rate_.Take(static_cast<std::int64_t>(message.size()), absl::Now());
      RETURN_IF_ERROR(WaitForRate());
    }
    if (batch_bytes < kBatchBytes && (rows & 0xfff) != 0) continue;
    if (stop_()) return absl::CancelledError("told to stop");
    const absl::Time now = absl::Now();
    if (now - told > kProgressEvery) {
      progress_(table, rows, expected);
      told = now;
    } else if (batch_bytes < kBatchBytes) {
      continue;
    }
    batch_bytes = 0;
    if (inside) continue;
    RETURN_IF_ERROR(replica_.SetCopyProgress(table, rows, expected));
    RETURN_IF_ERROR(replica_.Commit());
    RETURN_IF_ERROR(replica_.Begin());
  }
  RETURN_IF_ERROR(parser.End());
  RETURN_IF_ERROR(replica_.SetCopyProgress(table, rows, expected));
  if (!inside) RETURN_IF_ERROR(replica_.Commit());
  progress_(table, rows, static_cast<double>(rows));
  return rows;
}

absl::StatusOr<std::string> TableCopy::FreeIndexName(
    const std::string& wanted) {
  ASSIGN_OR_RETURN(
      Statement select,
      replica_.database().Prepare(
          "select 1 from sqlite_schema where name = ?1 collate nocase"));
  for (int suffix = 1; suffix < 100; ++suffix) {
    const std::string name =
        suffix == 1 ? wanted : absl::StrCat(wanted, "_", suffix);
    RETURN_IF_ERROR(select.BindText(1, name));
    ASSIGN_OR_RETURN(const bool taken, select.Step());
    select.Reset();
    if (!taken) return name;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no free name for index ", wanted));
}

absl::Status TableCopy::RebuildIndexes(ReplicaTable& table) {
  Database& database = replica_.database();
  std::vector<std::string> names;
  {
    ASSIGN_OR_RETURN(
        Statement select,
        database.Prepare(
            "select name from sublite_indexes where table_id = ?1"));
    RETURN_IF_ERROR(select.BindInt(1, table.id));
    while (true) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) break;
      names.emplace_back(select.Text(0));
    }
  }
  for (const std::string& name : names) {
    RETURN_IF_ERROR(OfTable(database.Execute(
        absl::StrCat("drop index if exists ", QuoteIdentifier(name)))));
  }
  RETURN_IF_ERROR(database.Execute(
      absl::StrCat("delete from sublite_indexes where table_id = ", table.id)));
  ASSIGN_OR_RETURN(
      Statement note,
      database.Prepare(
          "insert into sublite_indexes (name, table_id, columns, is_unique) "
          "values (?1, ?2, ?3, ?4)"));
  for (const TableIndex& index :
       IndexesFor(table.shape, config_.replica.mirror_indexes,
                  config_.replica.schema_separator)) {
    ASSIGN_OR_RETURN(const std::string name, FreeIndexName(index.name));
    RETURN_IF_ERROR(OfTable(database.Execute(absl::StrCat(
        "create ", index.unique ? "unique " : "", "index ",
        QuoteIdentifier(name), " on ", QuoteIdentifier(table.shape.name), " (",
        index.sql_columns, ")"))));
    RETURN_IF_ERROR(note.BindText(1, name));
    RETURN_IF_ERROR(note.BindInt(2, table.id));
    RETURN_IF_ERROR(note.BindText(3, index.sql_columns));
    RETURN_IF_ERROR(note.BindInt(4, index.unique ? 1 : 0));
    RETURN_IF_ERROR(note.Run());
  }
  return absl::OkStatus();
}

absl::Status TableCopy::GiveName(const CopiedTable& copied) {
  // SQLite reads the whole schema to rename one table, which a thousand small
  // tables would pay a thousand times.
  constexpr std::int64_t kRowsMovedForEachTable = 10;
  const std::string& name = copied.shape.name;
  const auto tables = static_cast<std::int64_t>(replica_.tables().size());
  if (copied.rows > kRowsMovedForEachTable * tables) {
    return replica_.database().Execute(
        absl::StrCat("alter table ", QuoteIdentifier(copied.hidden),
                     " rename to ", QuoteIdentifier(name)));
  }
  return replica_.database().Execute(absl::StrCat(
      CreateTableSql(copied.shape, name), "; insert into ",
      QuoteIdentifier(name), " select * from ", QuoteIdentifier(copied.hidden),
      "; drop table ", QuoteIdentifier(copied.hidden)));
}

absl::Status TableCopy::SwapIn(ReplicaTable& table, const CopiedTable& copied) {
  Database& database = replica_.database();
  std::vector<LocalObject> local;
  if (!table.shape.columns.empty()) {
    ASSIGN_OR_RETURN(local, LocalObjects(database, table.shape.name));
    // Statements of the old table must not outlive it.
    table.writer.reset();
    RETURN_IF_ERROR(OfTable(database.Execute(absl::StrCat(
        "drop table if exists ", QuoteIdentifier(table.shape.name)))));
  }
  if (!copied.hidden.empty()) RETURN_IF_ERROR(OfTable(GiveName(copied)));
  RETURN_IF_ERROR(replica_.SetCopied(table, copied.shape, copied.published,
                                     copied.snapshot, copied.snapshot_lsn,
                                     copied.rows));
  if (!copied.hidden.empty()) {
    const absl::Status rebuilt = RebuildIndexes(table);
    if (absl::IsAlreadyExists(rebuilt)) {
      return absl::OutOfRangeError(absl::StrCat(
          "table ", table.shape.FullName(),
          ": two rows have the same replica identity by SQLite's rules"));
    }
    RETURN_IF_ERROR(rebuilt);
  }
  for (const LocalObject& object : local) {
    const absl::Status made = database.Execute(object.sql);
    if (made.ok()) continue;
    LogWarn("a local object does not fit the table any more and is gone",
            {{"table", table.shape.name},
             {"object", object.name},
             {"error", std::string(made.message())}});
    RETURN_IF_ERROR(replica_.AddEvent(
        "local_object_gone", table.shape.name, std::nullopt,
        absl::StrCat(object.type, " ", object.name,
                     " does not fit the table any more (", made.message(),
                     "). It was: ", object.sql)));
  }
  replica_.metrics().copies.Add(1);
  if (replica_.changes() != nullptr) {
    RETURN_IF_ERROR(replica_.changes()->Copied(table.shape,
                                               copied.snapshot_lsn.valid()
                                                   ? copied.snapshot_lsn
                                                   : replica_.state().applied,
                                               absl::Now()));
  }
  return replica_.AddEvent("copied", table.shape.name, copied.snapshot_lsn,
                           absl::StrCat(copied.rows, " rows"));
}

absl::Status TableCopy::DropHidden() {
  Database& database = replica_.database();
  std::vector<std::string> names;
  {
    ASSIGN_OR_RETURN(
        Statement select,
        database.Prepare("select name from sqlite_schema where type = 'table' "
                         "and name glob 'sublite_copy_[0-9]*' and name not in "
                         "(select 'sublite_copy_' || table_id from "
                         "sublite_copies)"));
    while (true) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) break;
      names.emplace_back(select.Text(0));
    }
  }
  for (const std::string& name : names) {
    RETURN_IF_ERROR(replica_.Transaction([&] {
      return database.Execute(
          absl::StrCat("drop table ", QuoteIdentifier(name)));
    }));
  }
  return absl::OkStatus();
}

}  // namespace sublite
