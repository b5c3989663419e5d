#include "applier/cli/check_published.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/identifier.h"
#include "schema/table.h"

namespace sublite {
namespace {

std::string SqlName(const std::string& pg_schema, const std::string& pg_table) {
  return absl::StrCat(QuoteIdentifier(pg_schema), ".",
                      QuoteIdentifier(pg_table));
}

std::string SqlName(const PublishedTable& table) {
  return SqlName(table.pg_schema, table.pg_table);
}

void CheckOperations(const PublicationFacts& publication, Findings* findings) {
  if (publication.left_out.empty()) return;
  findings->Warn(absl::StrCat(
      "publication ", QuoteIdentifier(publication.name), " does not publish ",
      absl::StrJoin(publication.left_out, ", "),
      ", so the replica keeps rows as they were before: ALTER PUBLICATION ",
      QuoteIdentifier(publication.name),
      " SET (publish = 'insert, update, delete, truncate')"));
}

void CheckPartition(const PublishedTable& root, const PartitionFacts& leaf,
                    Findings* findings) {
  const std::string name = SqlName(leaf.pg_schema, leaf.pg_table);
  const std::string partition =
      absl::StrCat("partition ", leaf.pg_schema, ".", leaf.pg_table, " of ",
                   root.FullName());
  if (leaf.unlogged) {
    findings->Fail(absl::StrCat(
        partition,
        " is unlogged: its rows are copied, but its changes never come: ALTER "
        "TABLE ",
        name, " SET LOGGED"));
  }
  if (leaf.foreign) {
    findings->Fail(absl::StrCat(
        partition,
        " is a foreign table: its rows are copied, but its changes never come: "
        "ALTER TABLE ",
        SqlName(root), " DETACH PARTITION ", name,
        ", or publish the other partitions by themselves"));
    return;
  }
  if (!root.publishes_update_or_delete) return;
  if (!leaf.has_identity) {
    findings->Warn(absl::StrCat(
        partition,
        " has no usable replica identity, so the publisher refuses UPDATE and "
        "DELETE on it (INSERT works): ALTER TABLE ",
        name, " REPLICA IDENTITY FULL, or give the table a primary key"));
    return;
  }
  // The stream speaks in the root's name, with the leaf's old values.
  const bool by_key = !root.primary_key.empty() && root.replica_identity != 'i';
  if (leaf.replica_identity == root.replica_identity || by_key) return;
  findings->Fail(absl::StrCat(
      partition,
      " has another replica identity than the table itself, so that its old "
      "rows cannot be told: ALTER TABLE ",
      name, " REPLICA IDENTITY ",
      root.replica_identity == 'f' ? "FULL" : "… as the table has"));
}

// Numbers that 15 digits do not hold.
void CheckNumeric(const Config& config, const PublishedTable& table,
                  const PgTypes& types, Findings* findings) {
  const auto setting = config.tables.find(table.FullName());
  const bool own =
      setting != config.tables.end() && setting->second.has_numeric;
  const NumericMode mode =
      own ? setting->second.numeric : config.replica.numeric;
  if (mode != NumericMode::kReal) return;
  std::vector<std::string> lossy;
  for (const TableColumn& column :
       ShapeFor(table, types, NamingOptions()).columns) {
    if (column.type.kind == ValueKind::kNumericText)
      lossy.push_back(column.pg_name);
  }
  if (lossy.empty()) return;
  findings->Warn(absl::StrCat(
      table.FullName(), ": the setting ",
      own ? absl::StrCat("tables.\"", table.FullName(), "\".numeric")
          : "replica.numeric",
      " = \"real\" loses digits of ", absl::StrJoin(lossy, ", "),
      " beyond the 15th: set it to \"auto\" where they matter"));
}

void CheckFilter(const PublishedTable& table, const PublishedFacts& facts,
                 Findings* findings) {
  if (table.replica_identity == 'f' || !table.publishes_update_or_delete)
    return;
  std::set<std::string> identity;
  for (const ColumnName& name : facts.identity) {
    if (name.table == table.oid) identity.insert(name.column);
  }
  std::set<std::string> outside;
  for (const ColumnName& name : facts.filter) {
    if (name.table == table.oid && identity.count(name.column) == 0)
      outside.insert(name.column);
  }
  if (outside.empty()) return;
  findings->Warn(absl::StrCat(
      table.FullName(), ": the row filter asks for ",
      absl::StrJoin(outside, ", "),
      ", which is not in the replica identity, so the publisher refuses UPDATE "
      "and DELETE (INSERT works): ALTER TABLE ",
      SqlName(table), " REPLICA IDENTITY FULL"));
}

}  // namespace

std::map<std::uint32_t, std::vector<std::string>> UnpublishedIdentity(
    const Publications& publications, const PublishedFacts& facts) {
  std::map<std::uint32_t, std::vector<std::string>> unpublished;
  for (const PublishedTable& table : publications.tables) {
    if (!table.publishes_update_or_delete) continue;
    for (const ColumnName& name : facts.identity) {
      if (name.table != table.oid) continue;
      const auto& columns = table.columns;
      if (std::none_of(columns.begin(), columns.end(),
                       [&](const PublishedColumn& column) {
                         return column.name == name.column;
                       })) {
        unpublished[table.oid].push_back(name.column);
      }
    }
  }
  return unpublished;
}

void CheckPublished(const Config& config, const Publications& publications,
                    const PublishedFacts& facts, Findings* findings) {
  for (const PublicationFacts& publication : facts.publications)
    CheckOperations(publication, findings);
  for (const std::string& table : facts.unlogged) {
    findings->Warn(
        absl::StrCat(table,
                     " is unlogged, so the publication leaves it out: ALTER "
                     "TABLE ",
                     table, " SET LOGGED if it is wanted"));
  }
  const auto unpublished = UnpublishedIdentity(publications, facts);
  for (const PublishedTable& table : publications.tables) {
    for (const PartitionFacts& leaf : facts.partitions) {
      if (leaf.root == table.oid) CheckPartition(table, leaf, findings);
    }
    CheckNumeric(config, table, publications.types, findings);
    CheckFilter(table, facts, findings);
    const auto columns = unpublished.find(table.oid);
    if (columns == unpublished.end()) continue;
    findings->Warn(absl::StrCat(
        table.FullName(), ": the column list leaves out ",
        absl::StrJoin(columns->second, ", "),
        " of the replica identity, so the publisher refuses UPDATE and DELETE "
        "(INSERT works): ALTER PUBLICATION … SET TABLE ",
        SqlName(table), " (…) with ", absl::StrJoin(columns->second, ", "),
        " in the list"));
  }
}

}  // namespace sublite
