// The part of Replica that keeps sublite_tables and sublite_columns.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "applier/replica.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr std::string_view kStateNames[] = {"pending", "copying", "ready",
                                            "failed", "unpublished"};

absl::StatusOr<TableState> ParseTableState(std::string_view name) {
  for (int i = 0; i < 5; ++i) {
    if (kStateNames[i] == name) return static_cast<TableState>(i);
  }
  return absl::DataLossError(
      absl::StrCat("sublite_tables holds the unknown state ", View(name)));
}

}  // namespace

std::string_view TableStateName(TableState state) {
  return kStateNames[static_cast<int>(state)];
}

absl::Status Replica::LoadTables() {
  // The file does not say how often a copy had to begin anew.
  absl::flat_hash_map<std::int64_t, int> copies_lost;
  for (const auto& table : tables_) copies_lost[table->id] = table->copies_lost;
  tables_.clear();
  by_name_.clear();
  ++generation_;
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare(
          "select id, pg_schema, pg_table, sqlite_table, state, oid, "
          "replica_identity, "
          "publishes_changes, published_as, snapshot, copy_pos, missing_rows, "
          "replaced_rows, "
          "error, attributes, storage, failed_as, retry_at is not null, "
          "labels from sublite_tables order by id"));
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) break;
    auto table = std::make_unique<ReplicaTable>();
    table->id = select.Int(0);
    table->shape.pg_schema = std::string(select.Text(1));
    table->shape.pg_table = std::string(select.Text(2));
    table->shape.name = std::string(select.Text(3));
    ASSIGN_OR_RETURN(table->state, ParseTableState(select.Text(4)));
    table->shape.oid = static_cast<std::uint32_t>(select.Int(5));
    const std::string_view identity = select.Text(6);
    table->shape.replica_identity = identity.empty() ? 'd' : identity[0];
    table->shape.publishes_update_or_delete = select.Int(7) != 0;
    table->published_as = std::string(select.Text(8));
    if (!select.IsNull(9)) {
      ASSIGN_OR_RETURN(table->snapshot, Snapshot::Parse(select.Text(9)));
    }
    table->copy_pos = Lsn(static_cast<std::uint64_t>(select.Int(10)));
    table->missing_rows = select.Int(11);
    table->replaced_rows = select.Int(12);
    table->error = std::string(select.Text(13));
    table->attributes = std::string(select.Text(14));
    table->storage = std::string(select.Text(15));
    table->failed_as = std::string(select.Text(16));
    table->retries = select.Int(17) != 0;
    table->shape.labels = std::string(select.Text(18));
    table->copies_lost = copies_lost[table->id];
    by_name_[TableName(table->shape.pg_schema, table->shape.pg_table)] =
        table.get();
    tables_.push_back(std::move(table));
  }
  RETURN_IF_ERROR(LoadColumns());
  for (const auto& table : tables_) MakeWriter(*table);
  return absl::OkStatus();
}

absl::Status Replica::LoadColumns() {
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare("select table_id, \"column\", pg_column, pg_type, "
                         "type_oid, type_modifier, codec, "
                         "key_place, identity_place, not_null, attnum from "
                         "sublite_columns order by table_id, position"));
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return absl::OkStatus();
    ReplicaTable* table = FindTable(select.Int(0));
    if (table == nullptr) continue;
    TableColumn column;
    column.name = std::string(select.Text(1));
    column.pg_name = std::string(select.Text(2));
    column.pg_type = std::string(select.Text(3));
    column.type_oid = static_cast<std::uint32_t>(select.Int(4));
    column.type_modifier = static_cast<std::int32_t>(select.Int(5));
    ASSIGN_OR_RETURN(column.type, ColumnType::Parse(select.Text(6)));
    column.key_place = static_cast<int>(select.Int(7));
    column.identity_place = static_cast<int>(select.Int(8));
    column.not_null = select.Int(9) != 0;
    column.attnum = static_cast<int>(select.Int(10));
    table->shape.columns.push_back(std::move(column));
  }
}

void Replica::MakeWriter(ReplicaTable& table) {
  table.writer.reset();
  if (table.shape.columns.empty()) return;
  table.writer =
      std::make_unique<TableWriter>(*database_, table.shape, table.shape.name);
}

ReplicaTable* Replica::FindTable(std::string_view pg_schema,
                                 std::string_view pg_table) {
  const auto found = by_name_.find(TableName(pg_schema, pg_table));
  return found == by_name_.end() ? nullptr : found->second;
}

ReplicaTable* Replica::FindTable(std::int64_t id) {
  const auto found =
      std::lower_bound(tables_.begin(), tables_.end(), id,
                       [](const auto& table, std::int64_t wanted) {
                         return table->id < wanted;
                       });
  return found == tables_.end() || (*found)->id != id ? nullptr : found->get();
}

absl::StatusOr<ReplicaTable*> Replica::AddTable(
    const PublishedTable& from, const std::string& sqlite_name) {
  ASSIGN_OR_RETURN(
      Statement insert,
      database_->Prepare("insert into sublite_tables (pg_schema, pg_table, "
                         "sqlite_table, state, oid, "
                         "replica_identity, rows_estimated, published_as) "
                         "values (?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?7)"));
  const std::string identity(1, from.replica_identity);
  RETURN_IF_ERROR(insert.BindText(1, from.pg_schema));
  RETURN_IF_ERROR(insert.BindText(2, from.pg_table));
  RETURN_IF_ERROR(insert.BindText(3, sqlite_name));
  RETURN_IF_ERROR(insert.BindInt(4, from.oid));
  RETURN_IF_ERROR(insert.BindText(5, identity));
  RETURN_IF_ERROR(
      from.estimated_rows < 0
          ? insert.BindNull(6)
          : insert.BindInt(6, static_cast<std::int64_t>(from.estimated_rows)));
  RETURN_IF_ERROR(insert.BindText(7, from.published_as));
  RETURN_IF_ERROR(insert.Run());
  auto table = std::make_unique<ReplicaTable>();
  table->id = database_->last_insert_rowid();
  table->shape.pg_schema = from.pg_schema;
  table->shape.pg_table = from.pg_table;
  table->shape.name = sqlite_name;
  table->shape.oid = from.oid;
  table->shape.replica_identity = from.replica_identity;
  table->published_as = from.published_as;
  by_name_[TableName(table->shape.pg_schema, table->shape.pg_table)] =
      table.get();
  tables_.push_back(std::move(table));
  ++generation_;
  return tables_.back().get();
}

absl::Status Replica::SetTableState(ReplicaTable& table, TableState state,
                                    std::string_view error) {
  if (table.state == state && table.error == error) return absl::OkStatus();
  return Transaction([&] {
    ASSIGN_OR_RETURN(Statement update,
                     database_->Prepare(
                         "update sublite_tables set state = ?2, error = ?3, "
                         "failed_as = null, retry_at = null, "
                         "unpublished_since = case ?2 when 'unpublished' then "
                         "coalesce(unpublished_since, ?4) end where id = ?1"));
    const std::string now = NowText();
    RETURN_IF_ERROR(update.BindText(4, now));
    RETURN_IF_ERROR(update.BindInt(1, table.id));
    RETURN_IF_ERROR(update.BindText(2, TableStateName(state)));
    RETURN_IF_ERROR(error.empty() ? update.BindNull(3)
                                  : update.BindText(3, error));
    RETURN_IF_ERROR(update.Run());
    table.state = state;
    table.error = std::string(error);
    table.failed_as.clear();
    table.retries = false;
    if (state != TableState::kCopying) RETURN_IF_ERROR(DropCopy(table.id));
    // Whoever writes to it from now on is not sent either.
    if (state == TableState::kUnpublished) table.writers.reset();
    ++generation_;
    return absl::OkStatus();
  });
}

absl::Status Replica::SetPublished(ReplicaTable& table,
                                   const PublishedTable& published) {
  ASSIGN_OR_RETURN(
      Statement update,
      database_->Prepare("update sublite_tables set published_as = ?2, "
                         "attributes = ?3, storage = ?4 where id = ?1"));
  RETURN_IF_ERROR(update.BindInt(1, table.id));
  RETURN_IF_ERROR(update.BindText(2, published.published_as));
  RETURN_IF_ERROR(update.BindText(3, published.attributes));
  RETURN_IF_ERROR(update.BindText(4, published.storage));
  RETURN_IF_ERROR(update.Run());
  table.published_as = published.published_as;
  table.settled_as.reset();
  table.attributes = published.attributes;
  table.storage = published.storage;
  return absl::OkStatus();
}

absl::Status Replica::SetFailed(ReplicaTable& table, std::string_view error,
                                std::string_view failed_as,
                                std::optional<absl::Time> retry_at) {
  return Transaction([&]() -> absl::Status {
    RETURN_IF_ERROR(SetTableState(table, TableState::kFailed, error));
    ASSIGN_OR_RETURN(
        Statement update,
        database_->Prepare("update sublite_tables set failed_as = ?2, retry_at "
                           "= ?3 where id = ?1"));
    const std::string at = retry_at.has_value()
                               ? FormatPgTime(ToPgTime(*retry_at))
                               : std::string();
    RETURN_IF_ERROR(update.BindInt(1, table.id));
    RETURN_IF_ERROR(update.BindText(2, failed_as));
    RETURN_IF_ERROR(at.empty() ? update.BindNull(3) : update.BindText(3, at));
    RETURN_IF_ERROR(update.Run());
    table.failed_as = std::string(failed_as);
    table.retries = retry_at.has_value();
    return absl::OkStatus();
  });
}

absl::Status Replica::RemoveTable(std::int64_t id) {
  return Transaction([&]() -> absl::Status {
    ReplicaTable* table = FindTable(id);
    if (table == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(DropCopy(id));
    table->writer.reset();
    if (!table->shape.columns.empty()) {
      RETURN_IF_ERROR(database_->Execute(absl::StrCat(
          "drop table if exists ", QuoteIdentifier(table->shape.name))));
    }
    for (const char* of : {"sublite_columns", "sublite_indexes"}) {
      RETURN_IF_ERROR(database_->Execute(
          absl::StrCat("delete from ", of, " where table_id = ", id)));
    }
    RETURN_IF_ERROR(database_->Execute(
        absl::StrCat("delete from sublite_tables where id = ", id)));
    by_name_.erase(TableName(table->shape.pg_schema, table->shape.pg_table));
    tables_.erase(std::find_if(
        tables_.begin(), tables_.end(),
        [&](const auto& candidate) { return candidate->id == id; }));
    ++generation_;
    return absl::OkStatus();
  });
}

absl::Status Replica::SetCopyProgress(ReplicaTable& table, std::int64_t rows,
                                      double estimated) {
  ASSIGN_OR_RETURN(
      Statement update,
      database_->Prepare("update sublite_tables set rows_copied = ?2, "
                         "rows_estimated = ?3 where id = ?1"));
  RETURN_IF_ERROR(update.BindInt(1, table.id));
  RETURN_IF_ERROR(update.BindInt(2, rows));
  RETURN_IF_ERROR(
      estimated < 0 ? update.BindNull(3)
                    : update.BindInt(3, static_cast<std::int64_t>(estimated)));
  return update.Run();
}

absl::Status Replica::SetCopied(ReplicaTable& table, const TableShape& shape,
                                const PublishedTable& published,
                                const Snapshot& snapshot, Lsn copy_pos,
                                std::int64_t rows) {
  ASSIGN_OR_RETURN(
      Statement update,
      database_->Prepare("update sublite_tables set sqlite_table = ?2, state = "
                         "'ready', error = null, unpublished_since = null, "
                         "failed_as = null, retry_at = null, "
                         "oid = ?3, replica_identity = ?4, snapshot = ?5, "
                         "copy_pos = ?6, rows_copied = ?7, "
                         "copied_at = ?8, publishes_changes = ?9, published_as "
                         "= ?10, attributes = ?11, "
                         "storage = ?12, labels = ?13 where id = ?1"));
  const std::string identity(1, shape.replica_identity);
  const std::string snapshot_text = snapshot.ToString();
  const std::string now = NowText();
  RETURN_IF_ERROR(update.BindInt(1, table.id));
  RETURN_IF_ERROR(update.BindText(2, shape.name));
  RETURN_IF_ERROR(update.BindInt(3, shape.oid));
  RETURN_IF_ERROR(update.BindText(4, identity));
  // Rows that the stream has reached already need neither.
  RETURN_IF_ERROR(copy_pos.valid() ? update.BindText(5, snapshot_text)
                                   : update.BindNull(5));
  RETURN_IF_ERROR(
      copy_pos.valid()
          ? update.BindInt(6, static_cast<std::int64_t>(copy_pos.value()))
          : update.BindNull(6));
  RETURN_IF_ERROR(update.BindInt(7, rows));
  RETURN_IF_ERROR(update.BindText(8, now));
  RETURN_IF_ERROR(update.BindInt(9, shape.publishes_update_or_delete ? 1 : 0));
  RETURN_IF_ERROR(update.BindText(10, published.published_as));
  RETURN_IF_ERROR(update.BindText(11, published.attributes));
  RETURN_IF_ERROR(update.BindText(12, published.storage));
  RETURN_IF_ERROR(update.BindText(13, shape.labels));
  RETURN_IF_ERROR(update.Run());
  RETURN_IF_ERROR(database_->Execute(
      absl::StrCat("delete from sublite_copies where table_id = ", table.id)));
  table.partial.reset();
  table.writer.reset();
  table.shape = shape;
  table.state = TableState::kReady;
  table.error.clear();
  table.failed_as.clear();
  table.retries = false;
  table.stale = false;
  table.snapshot = snapshot;
  table.copy_pos = copy_pos;
  table.copies_lost = 0;
  table.published_as = published.published_as;
  table.settled_as.reset();
  table.attributes = published.attributes;
  table.storage = published.storage;
  table.decided_for = 0;
  ++generation_;
  RETURN_IF_ERROR(StoreColumns(table));
  MakeWriter(table);
  return absl::OkStatus();
}

absl::Status Replica::SetIdentity(ReplicaTable& table,
                                  const TableShape& shape) {
  ASSIGN_OR_RETURN(
      Statement update,
      database_->Prepare("update sublite_tables set replica_identity = ?2, "
                         "publishes_changes = ?3, labels = ?4 where id = "
                         "?1"));
  const std::string identity(1, shape.replica_identity);
  RETURN_IF_ERROR(update.BindInt(1, table.id));
  RETURN_IF_ERROR(update.BindText(2, identity));
  RETURN_IF_ERROR(update.BindInt(3, shape.publishes_update_or_delete ? 1 : 0));
  RETURN_IF_ERROR(update.BindText(4, shape.labels));
  RETURN_IF_ERROR(update.Run());
  table.writer.reset();
  table.shape = shape;
  ++generation_;
  RETURN_IF_ERROR(StoreColumns(table));
  MakeWriter(table);
  return absl::OkStatus();
}

absl::Status Replica::StoreColumns(const ReplicaTable& table) {
  RETURN_IF_ERROR(database_->Execute(
      absl::StrCat("delete from sublite_columns where table_id = ", table.id)));
  ASSIGN_OR_RETURN(
      Statement insert,
      database_->Prepare("insert into sublite_columns (sqlite_table, "
                         "\"column\", position, pg_type, sqlite_type, "
                         "\"key\", table_id, pg_column, type_oid, "
                         "type_modifier, codec, key_place, "
                         "identity_place, not_null, attnum) values (?1, ?2, "
                         "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
                         "?13, ?14, ?15)"));
  int position = 0;
  for (const TableColumn& column : table.shape.columns) {
    const std::string declared = column.type.DeclaredType();
    const std::string codec = column.type.Encode();
    RETURN_IF_ERROR(insert.BindText(1, table.shape.name));
    RETURN_IF_ERROR(insert.BindText(2, column.name));
    RETURN_IF_ERROR(insert.BindInt(3, ++position));
    RETURN_IF_ERROR(insert.BindText(4, column.pg_type));
    RETURN_IF_ERROR(insert.BindText(5, declared));
    RETURN_IF_ERROR(insert.BindInt(6, column.key_place > 0 ? 1 : 0));
    RETURN_IF_ERROR(insert.BindInt(7, table.id));
    RETURN_IF_ERROR(insert.BindText(8, column.pg_name));
    RETURN_IF_ERROR(insert.BindInt(9, column.type_oid));
    RETURN_IF_ERROR(insert.BindInt(10, column.type_modifier));
    RETURN_IF_ERROR(insert.BindText(11, codec));
    RETURN_IF_ERROR(insert.BindInt(12, column.key_place));
    RETURN_IF_ERROR(insert.BindInt(13, column.identity_place));
    RETURN_IF_ERROR(insert.BindInt(14, column.not_null ? 1 : 0));
    RETURN_IF_ERROR(insert.BindInt(15, column.attnum));
    RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status Replica::CountConflict(ReplicaTable& table, Outcome outcome) {
  const bool missing = outcome == Outcome::kMissing;
  metrics_->CountConflict(missing);
  ++(missing ? table.missing_rows : table.replaced_rows);
  RETURN_IF_ERROR(database_->Execute(absl::StrCat(
      "update sublite_tables set missing_rows = ", table.missing_rows,
      ", replaced_rows = ", table.replaced_rows, " where id = ", table.id)));
  if (table.conflict_noted) return absl::OkStatus();
  table.conflict_noted = true;
  return AddEvent("conflict", table.shape.name, state_.applied,
                  missing
                      ? "an update or delete found no row: something else "
                        "wrote to the table, `sublite resync` mends it"
                      : "an insert found its key taken: something else wrote "
                        "to the table; the publisher's row was taken");
}

absl::StatusOr<std::string> Replica::NameTakenBy(const ReplicaTable* self,
                                                 std::string_view name) {
  for (const auto& table : tables_) {
    if (table.get() == self) continue;
    // Of two that are not there yet, the one that was known first has the name.
    const bool there = !table->shape.columns.empty();
    const bool first = table->state != TableState::kFailed &&
                       (self == nullptr || table->id < self->id);
    if (!there && !first) continue;
    if (FoldForSqlite(table->shape.name) == FoldForSqlite(name))
      return table->shape.FullName();
  }
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare("select type || ' ' || name from sqlite_schema where "
                         "name = ?1 collate nocase"));
  RETURN_IF_ERROR(select.BindText(1, name));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  if (!row) return std::string();
  // Its own earlier copy.
  if (self != nullptr && !self->shape.columns.empty() &&
      FoldForSqlite(self->shape.name) == FoldForSqlite(name)) {
    return std::string();
  }
  return absl::StrCat("the local ", View(select.Text(0)));
}

}  // namespace sublite
