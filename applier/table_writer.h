// Writes rows of one replicated table: the only place where a row becomes a
// statement.
//
// Statements are prepared once and kept; values are bound without copies. A
// writer belongs to one shape: after the shape or the SQLite table changed,
// make a new one. Runs inside the caller's SQLite transaction.
//
// Errors (all leave the table as before the call):
//   OutOfRange           the row does not fit the table (a value that
//   PostgreSQL would not print for the type, NULL where
//                        the table has NOT NULL, a change that names no row):
//                        copying the table again is the cure
//   InvalidArgument      SQLite cannot hold the row, however it comes
//   FailedPrecondition   what a local administrator made refuses the row: a
//                        trigger, an index, a check, a table that is gone
//   others               as Database gives them: of the file, not of the row
// Texts name the table and the column, never a value.
#ifndef SUBLITE_APPLIER_TABLE_WRITER_H_
#define SUBLITE_APPLIER_TABLE_WRITER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "applier/io/sqlite.h"
#include "applier/wire/message.h"
#include "schema/statement.h"
#include "schema/table.h"

namespace sublite {

enum class Outcome {
  kDone,
  kReplaced,  // an insert, or an update of the key, found the key taken; the
              // publisher's row is there now
  kMissing,   // an update or delete found no row; an update that carries every
              // column has put it in
};

class TableWriter {
 public:
  // Writes into the table `target` (shape.name, or the hidden table of a copy).
  // Both references must outlive the writer.
  TableWriter(Database& database, const TableShape& shape, std::string target);

  absl::StatusOr<Outcome> Insert(Tuple row);
  absl::StatusOr<Outcome> Update(OldTuple old_kind, Tuple old_row,
                                 Tuple new_row);
  absl::StatusOr<Outcome> Delete(OldTuple old_kind, Tuple old_row);
  absl::Status Truncate();

 private:
  // Values of a row with the memory that they need.
  struct Row {
    std::vector<SqlValue> values;
    std::vector<std::string> scratch;
  };

  absl::Status Convert(Tuple tuple, const std::vector<int>& places, Row* row);
  // Frees what a huge value needed: the next one may be a year away.
  void DropLargeScratch();
  absl::Status BindColumn(Statement& statement, int place, const Row& row,
                          int offset);
  absl::Status BindColumns(Statement& statement, const std::vector<int>& places,
                           const Row& row, int offset);
  absl::StatusOr<Statement*> UpdateStatement(const std::vector<bool>& set);
  absl::Status RunInsert(const Row& row);
  absl::StatusOr<std::int64_t> RunDelete(RowMatch match, const Row& key,
                                         bool all_equal);
  // What the failure of a statement means for the row.
  absl::Status Explain(const absl::Status& status) const;
  // Removes the row that holds the key of `new_row`.
  absl::Status MakeRoom(Tuple new_row);
  absl::StatusOr<Outcome> InsertMissing(Tuple new_row);
  absl::StatusOr<Outcome> UpdateEqualRows(Tuple old_row, Tuple new_row);
  absl::Status CheckWidth(Tuple tuple) const;
  // SQLite itself would make up a number for a NULL in an INTEGER PRIMARY KEY.
  absl::Status CheckNotNull(Tuple new_row) const;

  Database& database_;
  const TableShape& shape_;
  std::string target_;
  RowMatch match_;
  std::vector<int> match_columns_;
  std::vector<int> all_columns_;
  std::vector<bool> in_match_;
  bool rowid_hidden_ = false;

  Statement insert_;
  Statement delete_;
  Statement delete_equal_;
  Statement make_room_;
  Statement truncate_;
  absl::flat_hash_map<std::vector<bool>, Statement> updates_;  // by SET list
  std::vector<bool> set_;
  Row new_;
  Row old_;
  bool scratch_is_large_ = false;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_TABLE_WRITER_H_
