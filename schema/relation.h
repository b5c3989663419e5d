// A published table as the publisher's catalog describes it, and a relation as
// the stream describes it.
//
// The stream decides what a change means; the catalog only describes what the
// stream does not carry: base types, type modifiers, keys, indexes, row
// filters. PublishedTable is plain data; it owns its strings.
#ifndef SUBLITE_SCHEMA_RELATION_H_
#define SUBLITE_SCHEMA_RELATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/type_map.h"

namespace sublite {

// A key for maps; no name of PostgreSQL's has a zero byte.
inline std::string TableName(std::string_view pg_schema,
                             std::string_view pg_table) {
  std::string name(pg_schema);
  name += '\0';
  name += pg_table;
  return name;
}

struct PublishedColumn {
  std::string name;
  std::uint32_t type = 0;           // pg_attribute.atttypid, a domain's own OID
  std::int32_t type_modifier = -1;  // atttypmod
  std::string type_text;            // format_type(atttypid, atttypmod)
  bool not_null = false;            // attnotnull
  int attnum = 0;                   // stable across a rename
};

struct PublishedIndex {
  std::string name;
  std::vector<std::string> columns;  // in index order
};

struct PublishedTable {
  std::uint32_t oid = 0;
  std::string pg_schema;
  std::string pg_table;
  char relkind = 'r';  // 'r' table, 'p' partitioned table that is published as
                       // its own root
  char replica_identity = 'd';  // relreplident: d, i, f, n
  std::vector<PublishedColumn>
      columns;  // those that are published, in attribute order
  std::vector<std::string> primary_key;  // in key order; empty if none, if
                                         // deferrable, or if not all published
  std::vector<std::string>
      identity_index;  // columns of the replica identity index, in index order;
                       // same conditions
  std::vector<PublishedIndex>
      indexes;  // other valid, plain-column, non-partial btree indexes whose
                // columns are all published
  std::string row_filter;  // SQL condition, "" if none; several publications'
                           // filters are joined with OR
  double estimated_rows = -1;  // reltuples; -1 unknown
  bool publishes_update_or_delete =
      true;  // any of the publications publishes update or delete for it
  // Changes when the table left a publication and came back, or got another row
  // filter: the OIDs of what publishes it (pg_publication_rel,
  // pg_publication_namespace or pg_publication) and the filter, as text.
  // Compared only.
  std::string published_as;
  // Which versions of its columns' catalog rows (pg_attribute), and which files
  // (relfilenode) it has. Both change when ALTER TABLE rewrites values without
  // changing a type; a file alone when VACUUM FULL or TRUNCATE makes a new one.
  // Compared only.
  std::string attributes;
  std::string storage;
  std::string problem;  // why it cannot be replicated (e.g. different column
                        // lists), "" if it can

  std::string FullName() const { return pg_schema + "." + pg_table; }
};

// All that is published, with the types that the columns need.
struct Publications {
  std::vector<PublishedTable> tables;  // ordered by schema and name
  PgTypes types;                       // closed over elements and base types
  std::vector<std::string> missing;  // asked-for publications that do not exist

  // Makes Find quick, until `tables` changes. (The order of `tables` is that of
  // the server.)
  void BuildIndex() {
    places.clear();
    for (std::size_t i = 0; i < tables.size(); ++i)
      places[TableName(tables[i].pg_schema, tables[i].pg_table)] = i;
  }
  std::unordered_map<std::string, std::size_t> places;

  // nullptr where it is not published.
  const PublishedTable* Find(std::string_view pg_schema,
                             std::string_view pg_table) const {
    if (!places.empty()) {
      const auto found = places.find(TableName(pg_schema, pg_table));
      return found == places.end() ? nullptr : &tables[found->second];
    }
    for (const PublishedTable& table : tables) {
      if (table.pg_table == pg_table && table.pg_schema == pg_schema)
        return &table;
    }
    return nullptr;
  }
};

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_RELATION_H_
