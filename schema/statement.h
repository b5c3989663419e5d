// The SQL that changes rows of a replicated table, and what to bind to it.
//
// Pure text. Parameters ?1 … ?n (n: number of columns) are the new row's
// columns in order; ?n+1 … ?2n the old row's or key's. A statement uses only
// those that it needs.
#ifndef SUBLITE_SCHEMA_STATEMENT_H_
#define SUBLITE_SCHEMA_STATEMENT_H_

#include <string>
#include <vector>

#include "schema/table.h"

namespace sublite {

// How the one row that a change speaks of is found.
enum class RowMatch {
  kKey,       // by the primary key's columns
  kIdentity,  // by the replica identity index's columns
  kWholeRow,  // REPLICA IDENTITY FULL without a key: by all columns, NULL-safe
              // and byte by byte, one of equal rows
  kNone,      // the table has no way to name a row
};

// What fits the table: FULL and DEFAULT go by the primary key if there is one.
RowMatch RowMatchFor(const TableShape& shape);
// The columns (places from 0) that kKey and kIdentity compare; all for
// kWholeRow.
std::vector<int> MatchColumns(const TableShape& shape, RowMatch match);

std::string InsertSql(const TableShape& shape, std::string_view table);

// `set`: for each column whether it is in the SET list; at least one must be.
std::string UpdateSql(const TableShape& shape, RowMatch match,
                      const std::vector<bool>& set);

// Deletes the row; with `all_equal` every row that equals the old one (for
// tables whose columns hide every name of the rowid: the caller counts them and
// puts all but one back).
std::string DeleteSql(const TableShape& shape, RowMatch match, bool all_equal);

// A local DELETE of everything: SQLite empties the b-tree at once if no trigger
// watches.
std::string TruncateSql(const TableShape& shape);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_STATEMENT_H_
