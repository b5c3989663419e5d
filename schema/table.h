// The SQLite side of a published table: its shape, and the SQL text that
// follows from the shape alone.
//
// A TableShape is made from the catalog when the table is made (ShapeFor), kept
// in sublite_columns, and compared with the Relation messages of the stream:
// rows of a relation that no longer fits the shape are never written into the
// table. Plain data that owns its strings. All SQL is SQLite's, names quoted.
// Nothing here touches a database.
#ifndef SUBLITE_SCHEMA_TABLE_H_
#define SUBLITE_SCHEMA_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/relation.h"
#include "schema/type_map.h"

namespace sublite {

struct TableColumn {
  std::string name;  // SQLite name
  std::string pg_name;
  std::string pg_type;  // as format_type prints it
  int attnum =
      0;  // pg_attribute.attnum: a column dropped and added again has another
  std::uint32_t type_oid = 0;
  std::int32_t type_modifier = -1;
  ColumnType type;
  bool not_null = false;
  int key_place = 0;  // place in the primary key, from 1; 0 if not in it
  int identity_place =
      0;  // place in the replica identity index, from 1; 0 if not in it
};

struct TableShape {
  std::string pg_schema;
  std::string pg_table;
  std::string name;  // SQLite name
  std::uint32_t oid = 0;
  char replica_identity = 'd';
  std::vector<TableColumn> columns;
  std::vector<PublishedIndex>
      indexes;  // to be mirrored; columns by SQLite name
  bool publishes_update_or_delete = true;

  std::string FullName() const { return pg_schema + "." + pg_table; }
  // Places (from 0) of the primary key's columns in key order; empty without
  // one.
  std::vector<int> KeyColumns() const;
  std::vector<int> IdentityColumns() const;
};

struct NamingOptions {
  std::string separator = ".";
  std::string name;  // "" unless the configuration names the table
  NumericMode numeric = NumericMode::kAuto;
};

TableShape ShapeFor(const PublishedTable& table, const PgTypes& types,
                    const NamingOptions& options);

// True if rows of one fit the other: same table OID, names, columns, types,
// codecs and key. Indexes, the replica identity and binary forms may differ.
bool SameRows(const TableShape& a, const TableShape& b);

// The first column whose values the stream cannot be asked for in binary form;
// nullptr without one.
const TableColumn* FindUndecodable(const TableShape& shape);
// The same for COPY, which, unlike the stream, refuses types that have no send
// function.
const TableColumn* FindUncopyable(const TableShape& shape);

// CREATE TABLE under `name`.
std::string CreateTableSql(const TableShape& shape, std::string_view name);

// An index that sublite makes on a table of its own.
struct TableIndex {
  std::string name;         // wanted name; the caller looks whether it is free
  std::string sql_columns;  // what stands between the parentheses
  bool unique = false;
  bool needed = false;  // rows are found through it, so it is made whatever
                        // `mirror_indexes` says
};

// The replica identity index (unique where it stands for a missing primary
// key), an index to find rows of a table without any key, and the mirrored
// ones, in this order.
std::vector<TableIndex> IndexesFor(const TableShape& shape, bool mirror,
                                   std::string_view separator);

// A name for "the row itself" that no column of the table hides (rowid, _rowid_
// or oid), or "" where all are hidden.
std::string RowidName(const TableShape& shape);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_TABLE_H_
