#include "applier/io/libpq_catalog.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "applier/io/libpq_types.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr int kVersion11 = 110000;
constexpr int kVersion12 = 120000;
constexpr int kVersion13 = 130000;
constexpr int kVersion14 = 140000;
constexpr int kVersion15 = 150000;
constexpr int kVersion16 = 160000;
constexpr int kVersion17 = 170000;
constexpr int kVersion18 = 180000;

constexpr std::string_view kDoing = "reading the publications";

template <typename Int>
Int ToInt(std::string_view text, Int otherwise = 0) {
  Int value = 0;
  return absl::SimpleAtoi(View(text), &value) ? value : otherwise;
}

bool ToBool(std::string_view text) { return text == "t"; }

// An int2vector's text: "1 3 4".
std::vector<int> ToNumbers(std::string_view text) {
  std::vector<int> numbers;
  for (absl::string_view part :
       absl::StrSplit(View(text), ' ', absl::SkipEmpty())) {
    int number = 0;
    if (absl::SimpleAtoi(part, &number)) numbers.push_back(number);
  }
  return numbers;
}

template <typename Container>
std::string OidArray(const Container& oids) {
  return absl::StrCat("'{", absl::StrJoin(oids, ","), "}'::pg_catalog.oid[]");
}

// What one publication says of one table.
struct Membership {
  std::string publication;
  std::optional<std::vector<int>> columns;  // attribute numbers; none: all
  std::string filter;                       // "": all rows
  bool update_or_delete = true;
  std::string rows;  // the catalog rows that make it so, see MembershipRows
};

using Memberships = std::map<std::uint32_t, std::vector<Membership>>;

// The OIDs of the catalog rows through which publication `pub` publishes table
// `m.relid`. A table that leaves a publication and comes back has others.
std::string MembershipRows(int version) {
  std::string sql =
      "(SELECT pg_catalog.string_agg(r.oid::text, '+' ORDER BY r.oid) FROM"
      " (SELECT p.oid FROM pg_catalog.pg_publication p WHERE p.oid = m.pubid"
      " AND p.puballtables UNION ALL SELECT pr.oid"
      " FROM pg_catalog.pg_publication_rel pr WHERE pr.prpubid = m.pubid"
      " AND (pr.prrelid = m.relid";
  if (version >= kVersion13) {
    absl::StrAppend(
        &sql,
        " OR pr.prrelid IN (SELECT a.relid::pg_catalog.oid FROM"
        " pg_catalog.pg_partition_ancestors(m.relid::pg_catalog.regclass) a)");
  }
  absl::StrAppend(&sql, ")");
  if (version >= kVersion15) {
    absl::StrAppend(
        &sql,
        " UNION ALL SELECT pn.oid FROM pg_catalog.pg_publication_namespace pn"
        " JOIN pg_catalog.pg_class c ON c.relnamespace = pn.pnnspid"
        " WHERE pn.pnpubid = m.pubid AND c.oid = m.relid");
  }
  absl::StrAppend(&sql, ") r)");
  if (version >= kVersion13) {
    // Rows come and go with partitions, without a word in the stream.
    absl::StrAppend(
        &sql,
        " || coalesce(':' || (SELECT pg_catalog.string_agg("
        "t.relid::pg_catalog.oid::text, '+' ORDER BY t.relid::pg_catalog.oid)"
        " FROM pg_catalog.pg_partition_tree(m.relid::pg_catalog.regclass) t),"
        " '')");
  }
  return sql;
}

// One row a publication and table: relid, pubname, attrs, filter, changes,
// rows.
std::string MembershipSql(const std::vector<std::string>& publications,
                          std::uint32_t only, int version) {
  std::string sql = absl::StrCat(
      "WITH pub AS (SELECT oid, pubname, pubupdate OR pubdelete AS changes"
      " FROM pg_catalog.pg_publication WHERE pubname = ANY (",
      TextArray(publications), "::pg_catalog.name[])), ");
  if (version >= kVersion16) {
    // Asked for all publications at once, the server itself leaves out
    // partitions that another publication publishes through their root.
    absl::StrAppend(
        &sql,
        "member AS (SELECT g.relid, pub.oid AS pubid, pub.pubname, "
        "g.attrs::text AS attrs,"
        " pg_catalog.pg_get_expr(g.qual, g.relid) AS filter, pub.changes"
        " FROM pg_catalog.pg_get_publication_tables(VARIADIC"
        " (SELECT pg_catalog.array_agg(pubname::text) FROM pub)) g"
        " JOIN pub ON pub.oid = g.pubid)");
  } else if (version >= kVersion15) {
    absl::StrAppend(
        &sql,
        "member AS (SELECT g.relid, pub.oid AS pubid, pub.pubname, "
        "g.attrs::text AS attrs,"
        " pg_catalog.pg_get_expr(g.qual, g.relid) AS filter, pub.changes"
        " FROM pub, LATERAL"
        " pg_catalog.pg_get_publication_tables(pub.pubname::text) g)");
  } else {
    absl::StrAppend(
        &sql,
        "member AS (SELECT g.relid, pub.oid AS pubid, pub.pubname, NULL::text "
        "AS attrs,"
        " NULL::text AS filter, pub.changes FROM pub, LATERAL"
        " pg_catalog.pg_get_publication_tables(pub.pubname::text) g(relid))");
  }
  absl::StrAppend(&sql,
                  " SELECT m.relid, m.pubname, m.attrs, m.filter, m.changes, ",
                  MembershipRows(version), " FROM member m WHERE true");
  if (only != 0) absl::StrAppend(&sql, " AND m.relid = ", only);
  if (version >= kVersion13 && version < kVersion16) {
    // A partitioned table is listed only where it is published through its
    // root, and then the stream names the topmost such one.
    absl::StrAppend(
        &sql,
        " AND NOT EXISTS (SELECT FROM"
        " pg_catalog.pg_partition_ancestors(m.relid::pg_catalog.regclass) a"
        " JOIN member up ON up.relid = a.relid::pg_catalog.oid"
        " WHERE up.relid <> m.relid)");
  }
  return absl::StrCat(sql, " ORDER BY 1, 2");
}

absl::StatusOr<Memberships> ReadMemberships(
    Connection& connection, const std::vector<std::string>& publications,
    std::uint32_t only) {
  ASSIGN_OR_RETURN(const Result result,
                   connection.Query(MembershipSql(publications, only,
                                                  connection.server_version()),
                                    kDoing));
  Memberships memberships;
  for (int row = 0; row < result.rows(); ++row) {
    Membership membership;
    membership.publication = result.Text(row, 1);
    if (!result.IsNull(row, 2)) {
      membership.columns = ToNumbers(result.Get(row, 2));
      std::sort(membership.columns->begin(), membership.columns->end());
    }
    membership.filter = result.Text(row, 3);
    membership.update_or_delete = ToBool(result.Get(row, 4));
    membership.rows = result.Text(row, 5);
    memberships[ToInt<std::uint32_t>(result.Get(row, 0))].push_back(
        std::move(membership));
  }
  return memberships;
}

std::string TablesSql(const std::string& oids, int version) {
  std::string estimate =
      version >= kVersion14
          ? "c.reltuples"
          : "CASE WHEN c.relpages = 0 AND c.reltuples = 0 THEN -1"
            " ELSE c.reltuples END";
  if (version >= kVersion13) {
    estimate = absl::StrCat(
        "CASE c.relkind WHEN 'p' THEN (SELECT pg_catalog.sum(CASE WHEN"
        " leaf.reltuples > 0 THEN leaf.reltuples ELSE 0 END) FROM"
        " pg_catalog.pg_partition_tree(c.oid::pg_catalog.regclass) t"
        " JOIN pg_catalog.pg_class leaf"
        " ON leaf.oid = t.relid::pg_catalog.oid WHERE t.isleaf) ELSE ",
        estimate, " END");
  }
  return absl::StrCat(
      "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relreplident, ",
      estimate,
      ", (SELECT pg_catalog.string_agg(a.attnum || ':' || a.xmin::text, ','"
      " ORDER BY a.attnum) FROM pg_catalog.pg_attribute a"
      " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), ",
      version >= kVersion13
          ? "coalesce((SELECT pg_catalog.string_agg(leaf.relfilenode::text,"
            " ',' ORDER BY leaf.oid) FROM"
            " pg_catalog.pg_partition_tree(c.oid::pg_catalog.regclass) t"
            " JOIN pg_catalog.pg_class leaf"
            " ON leaf.oid = t.relid::pg_catalog.oid), c.relfilenode::text)"
          : "c.relfilenode::text",
      " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
      " ON n.oid = c.relnamespace WHERE c.oid = ANY (",
      oids, ") ORDER BY n.nspname, c.relname");
}

absl::StatusOr<std::vector<PublishedTable>> ReadTables(
    Connection& connection, const std::string& oids) {
  ASSIGN_OR_RETURN(
      const Result result,
      connection.Query(TablesSql(oids, connection.server_version()), kDoing));
  std::vector<PublishedTable> tables(result.rows());
  for (int row = 0; row < result.rows(); ++row) {
    PublishedTable& table = tables[row];
    table.oid = ToInt<std::uint32_t>(result.Get(row, 0));
    table.pg_schema = result.Text(row, 1);
    table.pg_table = result.Text(row, 2);
    table.relkind = result.Text(row, 3)[0];
    table.replica_identity = result.Text(row, 4)[0];
    double rows = -1;
    if (!result.IsNull(row, 5) &&
        absl::SimpleAtod(View(result.Get(row, 5)), &rows)) {
      table.estimated_rows = rows;
    }
    table.attributes = result.Text(row, 6);
    table.storage = result.Text(row, 7);
  }
  return tables;
}

struct CatalogColumn {
  PublishedColumn column;
  bool generated = false;
};

using Columns = std::map<std::uint32_t, std::vector<CatalogColumn>>;

// format_type leaves out the schema of types that the search_path finds; here
// it is the usual one, for this statement alone (it calls nothing else).
std::string ColumnsSql(const std::string& oids, int version) {
  std::string not_null = "a.attnotnull";
  if (version >= kVersion18) {
    // NOT NULL … NOT VALID: rows from before may hold NULL.
    not_null =
        "a.attnotnull AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k"
        " WHERE k.conrelid = a.attrelid AND k.contype = 'n'"
        " AND NOT k.convalidated AND k.conkey[1] = a.attnum)";
  }
  return absl::StrCat(
      "SET LOCAL search_path = pg_catalog, public;"
      " SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod,"
      " pg_catalog.format_type(a.atttypid, a.atttypmod), ",
      not_null, ", ",
      version >= kVersion12 ? "a.attgenerated <> ''::\"char\"" : "false",
      " FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY (", oids,
      ") AND a.attnum > 0 AND NOT a.attisdropped"
      " ORDER BY a.attrelid, a.attnum");
}

absl::StatusOr<Columns> ReadColumns(Connection& connection,
                                    const std::string& oids) {
  ASSIGN_OR_RETURN(
      const Result result,
      connection.Query(ColumnsSql(oids, connection.server_version()), kDoing));
  RETURN_IF_ERROR(
      connection.Query("SET LOCAL search_path = ''", kDoing).status());
  Columns columns;
  for (int row = 0; row < result.rows(); ++row) {
    CatalogColumn c;
    c.column.attnum = ToInt<int>(result.Get(row, 1));
    c.column.name = result.Text(row, 2);
    c.column.type = ToInt<std::uint32_t>(result.Get(row, 3));
    c.column.type_modifier = ToInt<std::int32_t>(result.Get(row, 4), -1);
    c.column.type_text = result.Text(row, 5);
    c.column.not_null = ToBool(result.Get(row, 6));
    c.generated = ToBool(result.Get(row, 7));
    columns[ToInt<std::uint32_t>(result.Get(row, 0))].push_back(std::move(c));
  }
  return columns;
}

struct CatalogIndex {
  std::string name;
  bool primary = false;
  bool immediate = true;
  bool replica_identity = false;
  bool mirrorable = false;   // btree, plain columns only, not partial
  std::vector<int> columns;  // key columns; 0 where it is an expression
};

using Indexes = std::map<std::uint32_t, std::vector<CatalogIndex>>;

absl::StatusOr<Indexes> ReadIndexes(Connection& connection,
                                    const std::string& oids) {
  const char* key_columns = connection.server_version() >= kVersion11
                                ? "i.indnkeyatts"
                                : "i.indnatts";
  ASSIGN_OR_RETURN(
      const Result result,
      connection.Query(
          absl::StrCat(
              "SELECT i.indrelid, x.relname, i.indisprimary, i.indimmediate,"
              " i.indisreplident, m.amname = 'btree' AND i.indexprs IS NULL"
              " AND i.indpred IS NULL AND i.indnatts = ",
              key_columns, ", ", key_columns,
              ", i.indkey::text FROM pg_catalog.pg_index i"
              " JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid"
              " JOIN pg_catalog.pg_am m ON m.oid = x.relam"
              " WHERE i.indrelid = ANY (",
              oids,
              ") AND i.indisvalid AND i.indisready AND i.indislive"
              " ORDER BY i.indrelid, x.relname"),
          kDoing));
  Indexes indexes;
  for (int row = 0; row < result.rows(); ++row) {
    CatalogIndex index;
    index.name = result.Text(row, 1);
    index.primary = ToBool(result.Get(row, 2));
    index.immediate = ToBool(result.Get(row, 3));
    index.replica_identity = ToBool(result.Get(row, 4));
    index.mirrorable = ToBool(result.Get(row, 5));
    index.columns = ToNumbers(result.Get(row, 7));
    index.columns.resize(std::min<std::size_t>(
        index.columns.size(), ToInt<std::size_t>(result.Get(row, 6))));
    indexes[ToInt<std::uint32_t>(result.Get(row, 0))].push_back(
        std::move(index));
  }
  return indexes;
}

// Columns, filter and problem of a table from what its publications say.
void MergeMemberships(const std::vector<Membership>& memberships,
                      const std::vector<CatalogColumn>& columns,
                      PublishedTable* table) {
  std::vector<int> all;
  for (const CatalogColumn& c : columns) {
    if (!c.generated) all.push_back(c.column.attnum);
  }
  const std::vector<int>& listed =
      memberships[0].columns.has_value() ? *memberships[0].columns : all;
  table->publishes_update_or_delete = false;
  bool every_row = false;
  std::vector<std::string> filters;
  for (const Membership& m : memberships) {
    table->publishes_update_or_delete |= m.update_or_delete;
    absl::StrAppend(&table->published_as, m.rows, " ", m.filter, ";");
    if ((m.columns.has_value() ? *m.columns : all) != listed) {
      table->problem = absl::StrCat(
          "the publications ", QuoteIdentifier(memberships[0].publication),
          " and ", QuoteIdentifier(m.publication),
          " list different columns of it, which PostgreSQL refuses to send: "
          "make the column lists equal, or subscribe to one of the two");
    }
    every_row |= m.filter.empty();
    if (std::find(filters.begin(), filters.end(), m.filter) == filters.end()) {
      filters.push_back(m.filter);
    }
  }
  if (!every_row) {
    table->row_filter =
        absl::StrCat("(", absl::StrJoin(filters, ") OR ("), ")");
    if (filters.size() == 1) table->row_filter = filters[0];
  }
  for (const CatalogColumn& c : columns) {
    if (std::find(listed.begin(), listed.end(), c.column.attnum) !=
        listed.end()) {
      table->columns.push_back(c.column);
    }
  }
}

// The names of an index's columns; empty if one of them is not published.
std::vector<std::string> PublishedNames(const CatalogIndex& index,
                                        const PublishedTable& table) {
  std::vector<std::string> names;
  for (const int attnum : index.columns) {
    const auto found = std::find_if(
        table.columns.begin(), table.columns.end(),
        [attnum](const PublishedColumn& c) { return c.attnum == attnum; });
    if (found == table.columns.end()) return {};
    names.push_back(found->name);
  }
  return names;
}

void AddIndexes(const std::vector<CatalogIndex>& indexes,
                PublishedTable* table) {
  for (const CatalogIndex& index : indexes) {
    std::vector<std::string> names = PublishedNames(index, *table);
    if (names.empty()) continue;
    const bool is_key = index.primary && index.immediate;
    const bool is_identity = index.replica_identity && index.immediate &&
                             table->replica_identity == 'i';
    if (is_key) table->primary_key = names;
    if (is_identity) table->identity_index = names;
    if (!is_key && !is_identity && index.mirrorable) {
      table->indexes.push_back(PublishedIndex{index.name, std::move(names)});
    }
  }
}

absl::StatusOr<std::vector<std::string>> ReadMissing(
    Connection& connection, const std::vector<std::string>& publications) {
  ASSIGN_OR_RETURN(
      const Result result,
      connection.Query(
          absl::StrCat("SELECT w.name FROM pg_catalog.unnest(",
                       TextArray(publications),
                       ") w(name) WHERE NOT EXISTS (SELECT FROM"
                       " pg_catalog.pg_publication p"
                       " WHERE p.pubname = w.name::pg_catalog.name)"),
          kDoing));
  std::vector<std::string> missing;
  for (int row = 0; row < result.rows(); ++row) {
    missing.push_back(result.Text(row, 0));
  }
  return missing;
}

}  // namespace

std::string TextArray(const std::vector<std::string>& texts) {
  std::vector<std::string> literals;
  literals.reserve(texts.size());
  for (const std::string& text : texts) literals.push_back(QuoteLiteral(text));
  return absl::StrCat("ARRAY[", absl::StrJoin(literals, ","), "]::text[]");
}

std::string_view CurrentSnapshotFunction(int server_version) {
  return server_version >= kVersion13 ? "pg_catalog.pg_current_snapshot()"
                                      : "pg_catalog.txid_current_snapshot()";
}

std::string_view VisibleLsnExpression() {
  // On a standby a commit becomes visible just before the replay position
  // passes it; what was received is at or after both.
  return "CASE WHEN pg_catalog.pg_is_in_recovery() THEN GREATEST("
         "pg_catalog.pg_last_wal_receive_lsn(),"
         " pg_catalog.pg_last_wal_replay_lsn())"
         " ELSE pg_catalog.pg_current_wal_insert_lsn() END";
}

absl::StatusOr<Publications> ReadPublished(
    Connection& connection, const std::vector<std::string>& publications,
    std::uint32_t only) {
  Publications published;
  ASSIGN_OR_RETURN(published.missing, ReadMissing(connection, publications));
  ASSIGN_OR_RETURN(const Memberships memberships,
                   ReadMemberships(connection, publications, only));
  if (memberships.empty()) return published;
  std::vector<std::uint32_t> relations;
  for (const auto& [oid, membership] : memberships) relations.push_back(oid);
  const std::string oids = OidArray(relations);
  ASSIGN_OR_RETURN(published.tables, ReadTables(connection, oids));
  ASSIGN_OR_RETURN(const Indexes indexes, ReadIndexes(connection, oids));
  ASSIGN_OR_RETURN(const Columns columns, ReadColumns(connection, oids));

  std::set<std::uint32_t> types;
  for (PublishedTable& table : published.tables) {
    const auto own_columns = columns.find(table.oid);
    const auto own_indexes = indexes.find(table.oid);
    MergeMemberships(memberships.at(table.oid),
                     own_columns != columns.end()
                         ? own_columns->second
                         : std::vector<CatalogColumn>(),
                     &table);
    if (own_indexes != indexes.end()) AddIndexes(own_indexes->second, &table);
    for (const PublishedColumn& c : table.columns) types.insert(c.type);
  }
  ASSIGN_OR_RETURN(published.types, ReadTypes(connection, types, kDoing));
  return published;
}

absl::StatusOr<std::vector<std::string>> ReadLockHolders(
    Connection& connection, std::uint32_t relation) {
  // Whoever changes rows holds RowExclusiveLock, for TRUNCATE
  // AccessExclusiveLock, until its transaction has ended. The modes between
  // them do not allow a change by themselves; vacuum, which may run for hours,
  // holds one of those.
  ASSIGN_OR_RETURN(
      const Result result,
      connection.Query(
          absl::StrCat(
              "WITH RECURSIVE tree(oid) AS (SELECT ", relation,
              "::pg_catalog.oid UNION SELECT i.inhrelid FROM"
              " pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid)"
              " SELECT DISTINCT coalesce(l.pid::text, 'prepared') || ' '"
              " || l.virtualtransaction FROM pg_catalog.pg_locks l"
              " JOIN tree ON tree.oid = l.relation"
              " WHERE l.locktype = 'relation' AND l.granted"
              " AND l.mode IN ('RowExclusiveLock', 'AccessExclusiveLock')"
              " AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d"
              " WHERE d.datname = pg_catalog.current_database())"
              " AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()"
              " ORDER BY 1"),
          "reading who may have written to a table"));
  std::vector<std::string> holders;
  for (int row = 0; row < result.rows(); ++row) {
    holders.push_back(result.Text(row, 0));
  }
  return holders;
}

}  // namespace sublite
