// The part of Applier that turns changes into rows: which table, whether at
// all, and what if the row does not fit.
#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "applier/applier.h"
#include "applier/log.h"
#include "applier/row_name.h"
#include "schema/bookkeeping.h"
#include "schema/status.h"

namespace sublite {
namespace {

enum class Fit {
  kSame,
  kIdentity,   // only the way in which rows are found changed
  kDifferent,  // the rows are others
};

std::vector<int> FlaggedColumns(const RelationDefinition& relation) {
  std::vector<int> flagged;
  for (std::size_t i = 0; i < relation.columns.size(); ++i) {
    if (relation.columns[i].key) flagged.push_back(static_cast<int>(i));
  }
  return flagged;
}

std::vector<int> Sorted(std::vector<int> places) {
  std::sort(places.begin(), places.end());
  return places;
}

Fit Compare(const RelationDefinition& relation, const TableShape& shape) {
  if (relation.oid != shape.oid ||
      relation.columns.size() != shape.columns.size())
    return Fit::kDifferent;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    const RelationDefinition::Column& theirs = relation.columns[i];
    const TableColumn& ours = shape.columns[i];
    if (theirs.name != ours.pg_name || theirs.type != ours.type_oid ||
        theirs.type_modifier != ours.type_modifier) {
      return Fit::kDifferent;
    }
  }
  const char identity = static_cast<char>(relation.identity);
  const std::vector<int> flagged = FlaggedColumns(relation);
  // Where only inserts are published, the column list may leave out a part of
  // the key.
  const bool key_matters =
      !shape.KeyColumns().empty() || shape.publishes_update_or_delete;
  if (identity == 'd' && key_matters && flagged != Sorted(shape.KeyColumns()))
    return Fit::kDifferent;
  if (identity == 'i' && flagged != Sorted(shape.IdentityColumns()))
    return Fit::kIdentity;
  return identity == shape.replica_identity ? Fit::kSame : Fit::kIdentity;
}

}  // namespace

absl::Status Applier::Apply(const Message& message, RelationMap& relations) {
  if (applying_->skip) return absl::OkStatus();
  if (const auto* insert = std::get_if<InsertMessage>(&message)) {
    ASSIGN_OR_RETURN(ReplicaTable * table, Target(insert->relation, relations));
    if (table == nullptr) return absl::OkStatus();
    if (table->partial != nullptr) return ApplyToCopy(*table, message);
    return ApplyRow(*table, RowKind::kInsert, message,
                    table->writer->Insert(insert->new_tuple));
  }
  if (const auto* update = std::get_if<UpdateMessage>(&message)) {
    ASSIGN_OR_RETURN(ReplicaTable * table, Target(update->relation, relations));
    if (table == nullptr) return absl::OkStatus();
    if (table->partial != nullptr) return ApplyToCopy(*table, message);
    return ApplyRow(*table, RowKind::kUpdate, message,
                    table->writer->Update(update->old_kind, update->old_tuple,
                                          update->new_tuple));
  }
  if (const auto* del = std::get_if<DeleteMessage>(&message)) {
    ASSIGN_OR_RETURN(ReplicaTable * table, Target(del->relation, relations));
    if (table == nullptr) return absl::OkStatus();
    if (table->partial != nullptr) return ApplyToCopy(*table, message);
    return ApplyRow(*table, RowKind::kDelete, message,
                    table->writer->Delete(del->old_kind, del->old_tuple));
  }
  if (const auto* truncate = std::get_if<TruncateMessage>(&message))
    return ApplyTruncate(*truncate, relations);
  if (const auto* logical = std::get_if<LogicalMessage>(&message))
    return KeepMessage(*logical);
  return absl::InternalError("a message that is no change");
}

absl::Status Applier::ApplyTruncate(const TruncateMessage& message,
                                    RelationMap& relations) {
  // CASCADE has been followed by the publisher: the message lists every table
  // that is to be emptied.
  for (Oid oid : message.relations) {
    ASSIGN_OR_RETURN(ReplicaTable * table, Target(oid, relations));
    if (table == nullptr) continue;
    Count(*table, RowKind::kTruncate);
    if (table->partial != nullptr) {
      RETURN_IF_ERROR(TruncateCopy(*table));
      continue;
    }
    const absl::Status truncated = table->writer->Truncate();
    if (!truncated.ok())
      return CannotApply(*table, table->shape, Message(message), truncated);
    RETURN_IF_ERROR(NoteChange(*table, message));
  }
  return absl::OkStatus();
}

void Applier::Count(ReplicaTable& table, RowKind kind) {
  metrics_.CountRow(&table.metrics, kind, table.shape.pg_schema,
                    table.shape.pg_table);
}

absl::Status Applier::NoteChange(const ReplicaTable& table,
                                 const Message& message) {
  ChangeFeed* changes = replica_.changes();
  if (changes == nullptr) return absl::OkStatus();
  if (const auto* insert = std::get_if<InsertMessage>(&message))
    return changes->Insert(table.shape, insert->new_tuple);
  if (const auto* update = std::get_if<UpdateMessage>(&message)) {
    return changes->Update(table.shape, update->old_kind, update->old_tuple,
                           update->new_tuple);
  }
  if (const auto* del = std::get_if<DeleteMessage>(&message))
    return changes->Delete(table.shape, del->old_tuple);
  return changes->Truncate(table.shape);
}

absl::Status Applier::ApplyRow(ReplicaTable& table, RowKind kind,
                               const Message& message,
                               const absl::StatusOr<Outcome>& outcome) {
  if (outcome.ok()) {
    Count(table, kind);
    RETURN_IF_ERROR(NoteChange(table, message));
    return *outcome == Outcome::kDone ? absl::OkStatus()
                                      : replica_.CountConflict(table, *outcome);
  }
  // The table may have changed at the publisher in a way that the stream does
  // not tell (NOT NULL was dropped).
  if (absl::IsOutOfRange(outcome.status()))
    return MarkStale(table, "", View(outcome.status().message()));
  return CannotApply(table, table.shape, message, outcome.status());
}

absl::Status Applier::CannotApply(const ReplicaTable& table,
                                  const TableShape& shape,
                                  const Message& message,
                                  const absl::Status& why) {
  const std::string text = absl::StrCat(why.message(), RowName(shape, message));
  if (absl::IsInvalidArgument(why))
    return Fail(table, absl::InvalidArgumentError(text));
  if (!absl::IsFailedPrecondition(why)) return why;
  refused_ = Refused{applying_->commit_lsn, table.id, text};
  return absl::FailedPreconditionError(text);
}

absl::Status Applier::Fail(const ReplicaTable& table, const absl::Status& why) {
  failed_table_ = FailedTable{table.id, why, applying_->commit_lsn};
  return absl::AbortedError(why.message());
}

absl::Status Applier::KeepMessage(const LogicalMessage& message) {
  if (!options_.keep_messages) return absl::OkStatus();
  RETURN_IF_ERROR(replica_.Begin());
  ASSIGN_OR_RETURN(
      Statement insert,
      replica_.database().Prepare(
          "insert into sublite_messages (lsn, transactional, prefix, content, "
          "sent_at, "
          "source) values (?1, ?2, ?3, ?4, ?5, ?6) on conflict do nothing"));
  const std::string lsn = message.lsn.ToString();
  const std::string now = FormatPgTime(ToPgTime(now_));
  RETURN_IF_ERROR(insert.BindText(1, lsn));
  RETURN_IF_ERROR(insert.BindInt(2, message.transactional ? 1 : 0));
  RETURN_IF_ERROR(insert.BindText(3, message.prefix));
  const absl::Status bound = insert.BindBlob(4, message.content);
  if (absl::IsInvalidArgument(bound)) return NoteLostMessage(message);
  RETURN_IF_ERROR(bound);
  RETURN_IF_ERROR(insert.BindText(5, now));
  RETURN_IF_ERROR(insert.BindInt(6, replica_.state().source));
  const absl::Status kept = insert.Run();
  return absl::IsInvalidArgument(kept) ? NoteLostMessage(message) : kept;
}

absl::Status Applier::NoteLostMessage(const LogicalMessage& message) {
  return replica_.AddEvent(
      "message_too_large", "", message.lsn,
      absl::StrCat("a message of ", message.content.size(),
                   " bytes is more than SQLite can store; it is left out"));
}

// ------------------------------------------------------------------------------------------------
// which table

bool Applier::HoldsAlready(ReplicaTable& table) {
  if (table.decided_for == applying_number_) return table.decided_skip;
  table.decided_for = applying_number_;
  table.decided_skip = table.copy_pos.valid() &&
                       applying_->commit_lsn < table.copy_pos &&
                       table.snapshot.Sees(applying_->xid);
  return table.decided_skip;
}

absl::StatusOr<ReplicaTable*> Applier::Target(Oid oid, RelationMap& relations) {
  RelationDefinition* relation = relations.Find(oid);
  if (relation == nullptr) {
    return absl::DataLossError(absl::StrCat("a change of relation ", oid,
                                            ", which was never described"));
  }
  if (relation->generation != replica_.generation()) {
    relation->table =
        replica_.FindTable(relation->pg_schema, relation->pg_table);
    relation->generation = replica_.generation();
    relation->fits = false;
  }
  ReplicaTable* table = relation->table;
  if (table == nullptr || table->state == TableState::kUnpublished) {
    RETURN_IF_ERROR(ExpectTable(*relation, table));
    return nullptr;
  }
  if (table->state == TableState::kFailed &&
      table->copied_for != relation->message) {
    // Of another shape, perhaps, than the one that could not be copied.
    catalog_due_ = true;
    table->copied_for = relation->message;
    return nullptr;
  }
  if (table->partial != nullptr) {
    ASSIGN_OR_RETURN(const bool fits, FitsCopy(*relation, *table));
    if (!fits) return nullptr;
    RETURN_IF_ERROR(replica_.Begin());
    return table;
  }
  if (!table->follows() || HoldsAlready(*table)) return nullptr;
  if (!relation->fits) {
    ASSIGN_OR_RETURN(relation->fits, Fits(*relation, *table));
    relation->generation = replica_.generation();
    if (!relation->fits) return nullptr;
  }
  if (table->writer == nullptr) return nullptr;  // no columns, nothing to store
  RETURN_IF_ERROR(replica_.Begin());
  return table;
}

// A table that is new here, or published again. It is copied between
// transactions, and its copy will hold this change; until then the replica says
// that it is not complete.
absl::Status Applier::ExpectTable(const RelationDefinition& relation,
                                  ReplicaTable* table) {
  catalog_due_ = true;
  RETURN_IF_ERROR(replica_.Begin());
  if (table != nullptr) {
    table->newly_published = true;
    return replica_.SetTableState(*table, TableState::kPending, "");
  }
  PublishedTable published;
  published.oid = relation.oid;
  published.pg_schema = relation.pg_schema;
  published.pg_table = relation.pg_table;
  published.replica_identity = static_cast<char>(relation.identity);
  ASSIGN_OR_RETURN(table,
                   replica_.AddTable(published, copy_.NameOf(published)));
  table->newly_published = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> Applier::FitsCopy(RelationDefinition& relation,
                                       ReplicaTable& table) {
  if (relation.fits) return true;
  const TableShape& shape = table.partial->shape;
  const bool same = Compare(relation, shape) == Fit::kSame;
  const bool undecodable = options_.binary && FindUndecodable(shape) != nullptr;
  // What is older than the copy is in it, and may well have another shape.
  if ((!same || undecodable) &&
      table.partial->AllSee(applying_->xid, applying_->commit_lsn))
    return false;
  CatalogFit catalog = CatalogFit::kSame;
  if (same && options_.still_fits && !relation.checked) {
    ASSIGN_OR_RETURN(catalog,
                     options_.still_fits(table, applying_->commit_lsn));
    relation.checked = true;
  }
  if (!same || catalog != CatalogFit::kSame) {
    table.newly_published = true;  // perhaps
    RETURN_IF_ERROR(BeginCopyAnew(table, "it changed at the publisher"));
    return false;
  }
  if (undecodable) {
    needs_text_ = true;
    return absl::AbortedError(absl::StrCat(
        "table ", shape.FullName(), " has values without a binary decoder"));
  }
  relation.fits = true;
  return true;
}

absl::StatusOr<bool> Applier::Fits(RelationDefinition& relation,
                                   ReplicaTable& table) {
  const Fit fit = Compare(relation, table.shape);
  // What a description does not carry may have changed as well: the primary key
  // under REPLICA IDENTITY FULL, NOT NULL, a column dropped and added under the
  // same name, values rewritten in place, a table that left the publication and
  // came back.
  CatalogFit catalog = CatalogFit::kSame;
  if (options_.still_fits && !relation.checked) {
    ASSIGN_OR_RETURN(catalog,
                     options_.still_fits(table, applying_->commit_lsn));
    relation.checked = true;
  }
  if (catalog == CatalogFit::kPublishedAnew) {
    RETURN_IF_ERROR(replica_.Begin());
    RETURN_IF_ERROR(
        replica_.AddEvent("schema", table.shape.name, applying_->commit_lsn,
                          "published anew, or a label of an enum was "
                          "renamed; it is copied again"));
    RETURN_IF_ERROR(ExpectTable(relation, &table));
    return false;
  }
  if (fit == Fit::kDifferent) {
    RETURN_IF_ERROR(MarkStale(table, relation.message,
                              "its shape changed at the publisher"));
    return false;
  }
  if (options_.binary && FindUndecodable(table.shape) != nullptr) {
    needs_text_ = true;
    return absl::AbortedError(
        absl::StrCat("table ", table.shape.FullName(),
                     " has values without a binary decoder"));
  }
  if (catalog == CatalogFit::kDifferent) {
    RETURN_IF_ERROR(MarkStale(
        table, "", "the publisher's catalog describes it differently"));
    return false;
  }
  if (fit == Fit::kSame) return true;
  TableShape shape = table.shape;
  shape.replica_identity = static_cast<char>(relation.identity);
  for (TableColumn& column : shape.columns) column.identity_place = 0;
  if (shape.replica_identity == 'i') {
    int place = 0;
    for (int column : FlaggedColumns(relation))
      shape.columns[column].identity_place = ++place;
  }
  RETURN_IF_ERROR(replica_.Begin());
  RETURN_IF_ERROR(replica_.SetIdentity(table, shape));
  if (shape.columns.empty()) return true;
  const absl::Status rebuilt = copy_.RebuildIndexes(table);
  if (rebuilt.ok()) return true;
  if (absl::IsFailedPrecondition(rebuilt)) return Fail(table, rebuilt);
  if (!absl::IsAlreadyExists(rebuilt)) return rebuilt;
  // Something else wrote to the table.
  RETURN_IF_ERROR(MarkStale(table, relation.message,
                            "its rows are not unique by the replica identity"));
  return false;
}

absl::Status Applier::MarkStale(ReplicaTable& table,
                                const std::string& relation_message,
                                std::string_view why) {
  if (!relation_message.empty() && table.copied_for == relation_message) {
    // Copied for this very description a moment ago: stream and catalog
    // disagree, and copying again would not end.
    return Fail(table, absl::OutOfRangeError(absl::StrCat(
                           "table ", table.shape.FullName(),
                           ": the publisher's stream and its catalog describe "
                           "it differently")));
  }
  LogInfo("the table is copied again",
          {{"table", table.shape.FullName()}, {"why", std::string(why)}});
  RETURN_IF_ERROR(replica_.Begin());
  RETURN_IF_ERROR(replica_.AddEvent("schema", table.shape.name,
                                    applying_->commit_lsn, why));
  table.stale = true;
  table.copied_for = relation_message;
  stale_.push_back(&table);
  return absl::OkStatus();
}

absl::Status Applier::CopyStale() {
  while (!stale_.empty()) {
    ReplicaTable& table = *stale_.back();
    stale_.pop_back();
    catalog_due_ = true;
    const absl::StatusOr<CopiedTable> copied = copy_.Fill(table);
    if (copied.ok() && !table.IsPublishedAsSettled(copied->published)) {
      // It left the publication and came back: who wrote to it meanwhile has to
      // be waited for.
      table.newly_published = true;
      table.stale = false;
      RETURN_IF_ERROR(replica_.SetTableState(table, TableState::kPending, ""));
      continue;
    }
    const absl::Status status =
        copied.ok() ? copy_.SwapIn(table, *copied) : copied.status();
    if (status.ok()) continue;
    if (absl::IsNotFound(status)) {
      // It has left the publication, or the publisher, since: its rows stay as
      // they were before this.
      RETURN_IF_ERROR(replica_.SetTableState(table, TableState::kUnpublished,
                                             "not published any more"));
      table.stale = false;
      continue;
    }
    return ConcernsOneTable(status) ? Fail(table, status) : status;
  }
  return absl::OkStatus();
}

}  // namespace sublite
