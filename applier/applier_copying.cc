// The part of Applier that follows tables whose copy is under way beside the
// stream: see partial_copy.h for what goes where.
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applier/applier.h"
#include "applier/log.h"
#include "schema/status.h"

namespace sublite {
namespace {

using Place = PartialCopy::Place;

// The row that an update made, where its old row is not in the table: what was
// not sent is what the old row held, if that was sent.
absl::StatusOr<std::vector<Datum>> WholeRow(const UpdateMessage& update) {
  std::vector<Datum> row(update.new_tuple.begin(), update.new_tuple.end());
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row[i].is_unchanged()) continue;
    if (update.old_kind != OldTuple::kFull || i >= update.old_tuple.size()) {
      return absl::OutOfRangeError(
          "a row came from keys that are not copied yet, without all of its "
          "values");
    }
    row[i] = update.old_tuple[i];
  }
  return row;
}

}  // namespace

absl::Status Applier::ApplyToCopy(ReplicaTable& table, const Message& message) {
  const absl::StatusOr<Outcome> outcome = ChangeCopy(*table.partial, message);
  if (outcome.ok()) {
    Count(table,
          std::holds_alternative<InsertMessage>(message)   ? RowKind::kInsert
          : std::holds_alternative<DeleteMessage>(message) ? RowKind::kDelete
                                                           : RowKind::kUpdate);
    return *outcome == Outcome::kDone ? absl::OkStatus()
                                      : replica_.CountConflict(table, *outcome);
  }
  return absl::IsOutOfRange(outcome.status())
             ? BeginCopyAnew(table, View(outcome.status().message()))
             : CannotApply(table, table.partial->shape, message,
                           outcome.status());
}

absl::StatusOr<Outcome> Applier::ChangeCopy(PartialCopy& copy,
                                            const Message& message) {
  const auto place_of = [&](Tuple row) -> absl::StatusOr<Place> {
    ASSIGN_OR_RETURN(const CopyKey key, copy.KeyOf(row));
    return copy.PlaceOf(key, applying_->xid, applying_->commit_lsn);
  };
  TableWriter& writer = *copy.writer;
  if (const auto* insert = std::get_if<InsertMessage>(&message)) {
    ASSIGN_OR_RETURN(const Place place, place_of(insert->new_tuple));
    if (place != Place::kHere) return Outcome::kDone;
    return writer.Insert(insert->new_tuple);
  }
  if (const auto* del = std::get_if<DeleteMessage>(&message)) {
    ASSIGN_OR_RETURN(const Place place, place_of(del->old_tuple));
    if (place != Place::kHere) return Outcome::kDone;
    return writer.Delete(del->old_kind, del->old_tuple);
  }
  const auto& update = std::get<UpdateMessage>(message);
  const bool has_old = update.old_kind != OldTuple::kNone;
  ASSIGN_OR_RETURN(const Place to, place_of(update.new_tuple));
  ASSIGN_OR_RETURN(const Place from,
                   place_of(has_old ? update.old_tuple : update.new_tuple));
  if (from == Place::kHere && to == Place::kHere) {
    return writer.Update(update.old_kind, update.old_tuple, update.new_tuple);
  }
  if (from == Place::kHere)
    return writer.Delete(update.old_kind, update.old_tuple);
  if (to == Place::kHere) {
    ASSIGN_OR_RETURN(const std::vector<Datum> row, WholeRow(update));
    return writer.Insert(row);
  }
  return Outcome::kDone;
}

absl::Status Applier::TruncateCopy(ReplicaTable& table) {
  if (table.partial->AllSee(applying_->xid, applying_->commit_lsn))
    return absl::OkStatus();
  return BeginCopyAnew(table, "it was truncated");
}

// What was copied goes; the first chunk of the new copy sees this transaction.
absl::Status Applier::BeginCopyAnew(ReplicaTable& table, std::string_view why) {
  LogInfo("the copy begins anew",
          {{"table", table.shape.FullName()}, {"why", std::string(why)}});
  ++table.copies_lost;
  catalog_due_ = true;
  RETURN_IF_ERROR(replica_.Begin());
  return replica_.DropCopy(table.id);
}

}  // namespace sublite
