#include "applier/table_writer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Wide tables with many unchanged large values would otherwise collect
// statements without end.
constexpr std::size_t kUpdateStatementsMax = 32;
// One huge value must not keep its memory.
constexpr std::size_t kScratchKept = 64 * 1024;

bool SameDatum(const Datum& a, const Datum& b) {
  return a.kind == b.kind && a.bytes == b.bytes;
}

}  // namespace

TableWriter::TableWriter(Database& database, const TableShape& shape,
                         std::string target)
    : database_(database),
      shape_(shape),
      target_(std::move(target)),
      match_(RowMatchFor(shape)),
      match_columns_(MatchColumns(shape, match_)),
      all_columns_(shape.columns.size()),
      in_match_(shape.columns.size()),
      rowid_hidden_(match_ == RowMatch::kWholeRow && RowidName(shape).empty()) {
  std::iota(all_columns_.begin(), all_columns_.end(), 0);
  if (match_ != RowMatch::kWholeRow) {
    for (int place : match_columns_) in_match_[place] = true;
  }
  for (Row* row : {&new_, &old_}) {
    row->values.resize(shape.columns.size());
    row->scratch.resize(shape.columns.size());
  }
}

absl::Status TableWriter::CheckWidth(Tuple tuple) const {
  if (tuple.size() == shape_.columns.size()) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("table ", shape_.FullName(), ": a row of ", tuple.size(),
                   " columns for ", shape_.columns.size()));
}

absl::Status TableWriter::CheckNotNull(Tuple new_row) const {
  for (int place : all_columns_) {
    const TableColumn& column = shape_.columns[place];
    if (!new_row[place].is_null() ||
        (!column.not_null && column.key_place == 0))
      continue;
    return absl::OutOfRangeError(
        absl::StrCat("table ", shape_.FullName(), ", column ", column.pg_name,
                     ": NULL where the table has NOT NULL"));
  }
  return absl::OkStatus();
}

absl::Status TableWriter::Convert(Tuple tuple, const std::vector<int>& places,
                                  Row* row) {
  for (int place : places) {
    if (tuple[place].is_unchanged()) continue;
    std::string& scratch = row->scratch[place];
    const absl::Status status =
        ToSqlValue(tuple[place], shape_.columns[place].type, &scratch,
                   &row->values[place]);
    if (scratch.capacity() > kScratchKept) scratch_is_large_ = true;
    if (!status.ok()) {
      return absl::OutOfRangeError(
          absl::StrCat("table ", shape_.FullName(), ", column ",
                       shape_.columns[place].pg_name, " (",
                       shape_.columns[place].pg_type, "): ", status.message()));
    }
  }
  return absl::OkStatus();
}

void TableWriter::DropLargeScratch() {
  if (!scratch_is_large_) return;
  scratch_is_large_ = false;
  for (Row* row : {&new_, &old_}) {
    for (std::string& scratch : row->scratch) {
      // Assigning an empty string would keep the memory.
      if (scratch.capacity() > kScratchKept) std::string().swap(scratch);
    }
  }
}

absl::Status TableWriter::BindColumn(Statement& statement, int place,
                                     const Row& row, int offset) {
  const absl::Status status =
      statement.Bind(place + 1 + offset, row.values[place]);
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "table ", shape_.FullName(), ", column ", shape_.columns[place].pg_name,
      ": a value of ", row.values[place].bytes.size(),
      " bytes is more than SQLite can store"));
}

absl::Status TableWriter::BindColumns(Statement& statement,
                                      const std::vector<int>& places,
                                      const Row& row, int offset) {
  for (int place : places)
    RETURN_IF_ERROR(BindColumn(statement, place, row, offset));
  return absl::OkStatus();
}

absl::Status TableWriter::RunInsert(const Row& row) {
  if (!insert_) {
    ASSIGN_OR_RETURN(insert_, database_.Prepare(InsertSql(shape_, target_)));
  }
  RETURN_IF_ERROR(BindColumns(insert_, all_columns_, row, 0));
  return insert_.Run();
}

absl::Status TableWriter::Explain(const absl::Status& status) const {
  const std::string table = absl::StrCat("table ", shape_.FullName());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      if (absl::StartsWith(status.message(), table)) return status;
      return absl::InvalidArgumentError(
          absl::StrCat(table, ": a row is more than SQLite can store"));
    case absl::StatusCode::kAlreadyExists:
      return absl::FailedPreconditionError(absl::StrCat(
          table, ": a local unique index refuses the row: ", status.message()));
    // NULLs were looked for before, so it is another table's NOT NULL; and
    // SQLite's general error is a trigger that names what is not there.
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kInternal:
      return absl::FailedPreconditionError(
          absl::StrCat(table, ": ", status.message()));
    default:
      return Annotate(status, table);
  }
}

absl::StatusOr<std::int64_t> TableWriter::RunDelete(RowMatch match,
                                                    const Row& key,
                                                    bool all_equal) {
  Statement* slot = all_equal         ? &delete_equal_
                    : match == match_ ? &delete_
                                      : &make_room_;
  if (!*slot) {
    auto prepared = database_.Prepare(DeleteSql(shape_, match, all_equal));
    if (!prepared.ok()) return Explain(prepared.status());
    *slot = *std::move(prepared);
  }
  RETURN_IF_ERROR(BindColumns(*slot, MatchColumns(shape_, match), key,
                              static_cast<int>(shape_.columns.size())));
  RETURN_IF_ERROR(Explain(slot->Run()));
  return database_.changes();
}

absl::Status TableWriter::MakeRoom(Tuple new_row) {
  const RowMatch unique =
      shape_.KeyColumns().empty() ? RowMatch::kIdentity : RowMatch::kKey;
  if (MatchColumns(shape_, unique).empty())
    return absl::OkStatus();  // a local index; the second attempt will say so
  for (int place : MatchColumns(shape_, unique)) {
    if (new_row[place].is_unchanged()) {
      return absl::OutOfRangeError(absl::StrCat(
          "table ", shape_.FullName(), ": a key that was not sent is taken"));
    }
  }
  return RunDelete(unique, new_, false).status();
}

absl::StatusOr<Outcome> TableWriter::Insert(Tuple row) {
  const absl::Cleanup cleanup = [this] { DropLargeScratch(); };
  RETURN_IF_ERROR(CheckWidth(row));
  for (int place : all_columns_) {
    if (row[place].is_unchanged()) {
      return absl::OutOfRangeError(absl::StrCat(
          "table ", shape_.FullName(), ", column ",
          shape_.columns[place].pg_name, ": a new row without a value for it"));
    }
  }
  RETURN_IF_ERROR(CheckNotNull(row));
  RETURN_IF_ERROR(Convert(row, all_columns_, &new_));
  absl::Status status = RunInsert(new_);
  if (status.ok() && database_.changes() == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", shape_.FullName(),
        ": a local trigger left a row out (RAISE(IGNORE)): mend or drop it"));
  }
  if (status.ok()) return Outcome::kDone;
  if (!absl::IsAlreadyExists(status)) return Explain(status);
  if (target_ != shape_.name) {
    return absl::OutOfRangeError(absl::StrCat(
        "table ", shape_.FullName(),
        ": two rows have the same key by SQLite's rules: ", status.message()));
  }
  RETURN_IF_ERROR(MakeRoom(row));
  RETURN_IF_ERROR(Explain(RunInsert(new_)));
  return Outcome::kReplaced;
}

absl::StatusOr<Statement*> TableWriter::UpdateStatement(
    const std::vector<bool>& set) {
  if (updates_.size() >= kUpdateStatementsMax && !updates_.contains(set))
    updates_.clear();
  Statement& statement = updates_[set];
  if (!statement) {
    auto prepared = database_.Prepare(UpdateSql(shape_, match_, set));
    if (!prepared.ok()) return Explain(prepared.status());
    statement = *std::move(prepared);
  }
  return &statement;
}

absl::StatusOr<Outcome> TableWriter::InsertMissing(Tuple new_row) {
  const bool whole =
      std::none_of(new_row.begin(), new_row.end(),
                   [](const Datum& d) { return d.is_unchanged(); });
  if (whole) RETURN_IF_ERROR(Insert(new_row).status());
  return Outcome::kMissing;
}

absl::StatusOr<Outcome> TableWriter::Update(OldTuple old_kind, Tuple old_row,
                                            Tuple new_row) {
  const absl::Cleanup cleanup = [this] { DropLargeScratch(); };
  RETURN_IF_ERROR(CheckWidth(new_row));
  const bool has_old = old_kind != OldTuple::kNone;
  if (has_old) RETURN_IF_ERROR(CheckWidth(old_row));
  if (match_ == RowMatch::kNone ||
      (match_ == RowMatch::kWholeRow && old_kind != OldTuple::kFull)) {
    return absl::OutOfRangeError(
        absl::StrCat("table ", shape_.FullName(),
                     ": an update that does not say of which row"));
  }
  if (rowid_hidden_) return UpdateEqualRows(old_row, new_row);

  const Tuple key = has_old ? old_row : new_row;
  set_.assign(shape_.columns.size(), false);
  bool any = false;
  for (int place : all_columns_) {
    // The key is set only where it changes: setting it makes SQLite move the
    // row.
    const bool same_key =
        in_match_[place] &&
        (!has_old || SameDatum(old_row[place], new_row[place]));
    set_[place] = !new_row[place].is_unchanged() && !same_key;
    any = any || set_[place];
  }
  for (int place : match_columns_) {
    if (key[place].is_unchanged()) {
      return absl::OutOfRangeError(absl::StrCat(
          "table ", shape_.FullName(), ": an update whose key was not sent"));
    }
  }
  if (!any) return Outcome::kDone;
  RETURN_IF_ERROR(CheckNotNull(new_row));
  RETURN_IF_ERROR(Convert(key, match_columns_, &old_));
  RETURN_IF_ERROR(Convert(new_row, all_columns_, &new_));

  ASSIGN_OR_RETURN(Statement * statement, UpdateStatement(set_));
  for (int place : all_columns_) {
    if (set_[place]) RETURN_IF_ERROR(BindColumn(*statement, place, new_, 0));
  }
  RETURN_IF_ERROR(BindColumns(*statement, match_columns_, old_,
                              static_cast<int>(shape_.columns.size())));
  absl::Status status = statement->Run();
  Outcome outcome = Outcome::kDone;
  if (absl::IsAlreadyExists(status)) {
    RETURN_IF_ERROR(MakeRoom(new_row));
    status = statement->Run();
    outcome = Outcome::kReplaced;
  }
  RETURN_IF_ERROR(Explain(status));
  return database_.changes() == 0 ? InsertMissing(new_row)
                                  : absl::StatusOr<Outcome>(outcome);
}

absl::StatusOr<Outcome> TableWriter::UpdateEqualRows(Tuple old_row,
                                                     Tuple new_row) {
  RETURN_IF_ERROR(Convert(old_row, all_columns_, &old_));
  ASSIGN_OR_RETURN(const std::int64_t equal, RunDelete(match_, old_, true));
  for (std::int64_t i = 1; i < equal; ++i)
    RETURN_IF_ERROR(Explain(RunInsert(old_)));
  // What was not sent is what the old row holds.
  std::vector<Datum> row(new_row.begin(), new_row.end());
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].is_unchanged()) row[i] = old_row[i];
  }
  RETURN_IF_ERROR(Insert(row).status());
  return equal == 0 ? Outcome::kMissing : Outcome::kDone;
}

absl::StatusOr<Outcome> TableWriter::Delete(OldTuple old_kind, Tuple old_row) {
  const absl::Cleanup cleanup = [this] { DropLargeScratch(); };
  RETURN_IF_ERROR(CheckWidth(old_row));
  if (match_ == RowMatch::kNone ||
      (match_ == RowMatch::kWholeRow && old_kind != OldTuple::kFull)) {
    return absl::OutOfRangeError(
        absl::StrCat("table ", shape_.FullName(),
                     ": a delete that does not say of which row"));
  }
  for (int place : match_columns_) {
    if (old_row[place].is_unchanged()) {
      return absl::OutOfRangeError(absl::StrCat(
          "table ", shape_.FullName(), ": a delete whose key was not sent"));
    }
  }
  RETURN_IF_ERROR(Convert(old_row, match_columns_, &old_));
  ASSIGN_OR_RETURN(const std::int64_t deleted,
                   RunDelete(match_, old_, rowid_hidden_));
  if (rowid_hidden_) {
    for (std::int64_t i = 1; i < deleted; ++i)
      RETURN_IF_ERROR(Explain(RunInsert(old_)));
  }
  return deleted == 0 ? Outcome::kMissing : Outcome::kDone;
}

absl::Status TableWriter::Truncate() {
  if (!truncate_) {
    auto prepared = database_.Prepare(TruncateSql(shape_));
    if (!prepared.ok()) return Explain(prepared.status());
    truncate_ = *std::move(prepared);
  }
  return Explain(truncate_.Run());
}

}  // namespace sublite
