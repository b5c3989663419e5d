// Rows of ReplicaModel: what a tuple stores, which rows it names, which it
// would collide with.
//
// Plain functions over lists; columns are places from 0.
#ifndef SUBLITE_TESTS_FUZZ_MODEL_ROWS_H_
#define SUBLITE_TESTS_FUZZ_MODEL_ROWS_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/datum.h"
#include "schema/table.h"
#include "tests/fuzz/fuzz_tables.h"
#include "tests/fuzz/replica_model.h"

namespace sublite::testing {

// A tuple's values as they are stored; none where one was not sent.
struct NewRow {
  std::vector<std::optional<std::string>> values;
  bool Whole() const;
  ModelRow Values() const;
};

// None if the tuple has another width or a value that is none of its type's.
// `only`: the columns that count, others stay none.
std::optional<NewRow> Convert(const TableShape& shape, Tuple tuple);
std::optional<NewRow> Convert(const TableShape& shape, Tuple tuple,
                              const std::set<std::size_t>& only);

// How a change names its row.
struct Match {
  std::set<std::size_t> columns;
  bool whole = false;  // by all columns, NULL equal to NULL; one of equal rows
  bool none = false;
};
Match MatchOf(const TableShape& shape);
// Columns that no two rows have equal; empty if there are none such.
std::set<std::size_t> UniqueColumns(const TableShape& shape);

std::vector<std::size_t> Find(
    const ModelTable& table, const Match& match,
    const std::vector<std::optional<std::string>>& values);
bool HasEqual(const ModelTable& table, const std::set<std::size_t>& columns,
              const ModelRow& row);
void RemoveEqual(ModelTable& table, const std::set<std::size_t>& columns,
                 const ModelRow& row);
bool BreaksNotNull(const TableShape& shape, const ModelRow& row);

// Rows of a relation described so can be rows of the table.
bool SameRowsAs(const Definition& definition, const TableShape& shape);
// Gives the table the replica identity that the definition has. False if its
// rows are not unique by it.
bool TakeIdentity(const Definition& definition, ModelTable* table);

std::vector<ModelRow> CopiedRows(const TableShape& shape,
                                 const std::vector<FuzzRow>& rows);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_MODEL_ROWS_H_
