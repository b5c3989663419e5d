#include "applier/cli/check_facts.h"

#include <cstdlib>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr int kVersion11 = 110000;
constexpr int kVersion13 = 130000;
constexpr int kVersion15 = 150000;

std::uint32_t ToOid(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

absl::StatusOr<Rows> Ask(Publisher* publisher, const std::string& sql,
                         std::size_t columns) {
  ASSIGN_OR_RETURN(Rows rows, publisher->Query(sql));
  for (const auto& row : rows) {
    if (row.size() != columns)
      return absl::DataLossError("the catalog did not answer as asked");
  }
  return rows;
}

// For `… = any (…)`.
std::string Names(const std::vector<std::string>& names) {
  return absl::StrCat("(array[",
                      absl::StrJoin(names, ",",
                                    [](std::string* out, const auto& name) {
                                      out->append(QuoteLiteral(name));
                                    }),
                      "]::name[])");
}

// The OIDs of the tables for which `wanted`; "" if there are none.
template <typename Wanted>
std::string Oids(const Publications& publications, Wanted wanted) {
  std::string oids;
  for (const PublishedTable& table : publications.tables) {
    if (!wanted(table)) continue;
    absl::StrAppend(&oids, oids.empty() ? "" : ",", table.oid);
  }
  return oids;
}

absl::Status ReadOperations(int version, const std::string& names,
                            Publisher* publisher, PublishedFacts* facts) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      Ask(publisher,
          absl::StrCat("select pubname, pubinsert, pubupdate, pubdelete, ",
                       version >= kVersion11 ? "pubtruncate" : "true",
                       " from pg_catalog.pg_publication where pubname = any ",
                       names, " order by pubname"),
          5));
  constexpr const char* kOperations[] = {"insert", "update", "delete",
                                         "truncate"};
  for (const auto& row : rows) {
    PublicationFacts publication;
    publication.name = row[0];
    for (int i = 0; i < 4; ++i) {
      if (row[i + 1] != "t") publication.left_out.emplace_back(kOperations[i]);
    }
    facts->publications.push_back(std::move(publication));
  }
  return absl::OkStatus();
}

absl::Status ReadUnlogged(int version, const std::string& names,
                          Publisher* publisher, PublishedFacts* facts) {
  std::string sql = absl::StrCat(
      "select n.nspname, c.relname from pg_catalog.pg_class c join "
      "pg_catalog.pg_namespace n on n.oid = c.relnamespace where "
      "c.relkind = 'r' and c.relpersistence = 'u' and c.oid >= 16384 and "
      "not c.relispartition and (exists (select from pg_catalog.pg_publication "
      "p where p.puballtables and p.pubname = any ",
      names, ")");
  if (version >= kVersion15) {
    absl::StrAppend(
        &sql,
        " or exists (select from pg_catalog.pg_publication_namespace s join "
        "pg_catalog.pg_publication p on p.oid = s.pnpubid where s.pnnspid = "
        "n.oid and p.pubname = any ",
        names, ")");
  }
  ASSIGN_OR_RETURN(const Rows rows,
                   Ask(publisher, absl::StrCat(sql, ") order by 1, 2"), 2));
  for (const auto& row : rows) {
    facts->unlogged.push_back(
        absl::StrCat(QuoteIdentifier(row[0]), ".", QuoteIdentifier(row[1])));
  }
  return absl::OkStatus();
}

absl::Status ReadPartitions(const std::string& roots, Publisher* publisher,
                            PublishedFacts* facts) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      Ask(publisher,
          absl::StrCat(
              "select r.oid, n.nspname, c.relname, c.relpersistence, "
              "c.relkind, c.relreplident, c.relreplident = 'f' or exists "
              "(select from pg_catalog.pg_index i where i.indrelid = c.oid and "
              "i.indimmediate and i.indisvalid and case c.relreplident when "
              "'d' then i.indisprimary when 'i' then i.indisreplident else "
              "false end) from pg_catalog.unnest(array[",
              roots,
              "]::oid[]) r(oid), lateral "
              "pg_catalog.pg_partition_tree(r.oid::pg_catalog.regclass) t join "
              "pg_catalog.pg_class c on c.oid = t.relid::oid join "
              "pg_catalog.pg_namespace n on n.oid = c.relnamespace where "
              "t.isleaf and c.oid <> r.oid order by 1, 2, 3"),
          7));
  for (const auto& row : rows) {
    PartitionFacts leaf;
    leaf.root = ToOid(row[0]);
    leaf.pg_schema = row[1];
    leaf.pg_table = row[2];
    leaf.unlogged = row[3] == "u";
    leaf.foreign = row[4] == "f";
    leaf.replica_identity = row[5].empty() ? 'd' : row[5][0];
    leaf.has_identity = row[6] == "t";
    facts->partitions.push_back(std::move(leaf));
  }
  return absl::OkStatus();
}

absl::Status ReadColumnNames(const std::string& sql, Publisher* publisher,
                             std::vector<ColumnName>* names) {
  ASSIGN_OR_RETURN(const Rows rows, Ask(publisher, sql, 2));
  for (const auto& row : rows) names->push_back({ToOid(row[0]), row[1]});
  return absl::OkStatus();
}

// Column lists and row filters came with 15.
absl::Status ReadListsAndFilters(const std::string& names,
                                 const std::string& tables,
                                 Publisher* publisher, PublishedFacts* facts) {
  RETURN_IF_ERROR(ReadColumnNames(
      absl::StrCat(
          "select c.oid, a.attname from pg_catalog.pg_class c join "
          "pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 "
          "and not a.attisdropped where c.oid in (",
          tables,
          ") and case c.relreplident when 'f' then a.attgenerated = '' when "
          "'n' then false else exists (select from pg_catalog.pg_index i where "
          "i.indrelid = c.oid and i.indimmediate and i.indisvalid and "
          "a.attnum = any (i.indkey) and case c.relreplident when 'd' then "
          "i.indisprimary else i.indisreplident end) end order by 1, a.attnum"),
      publisher, &facts->identity));
  // As PostgreSQL prints an expression: {VAR :varno 1 :varattno 2 …
  return ReadColumnNames(
      absl::StrCat(
          "select distinct pr.prrelid, a.attname from "
          "pg_catalog.pg_publication_rel pr join pg_catalog.pg_publication p "
          "on p.oid = pr.prpubid cross join lateral "
          "pg_catalog.regexp_matches(pr.prqual::pg_catalog.text, "
          "':varattno ([0-9]+)', 'g') m join pg_catalog.pg_attribute a on "
          "a.attrelid = pr.prrelid and a.attnum = m[1]::int where p.pubname = "
          "any ",
          names,
          " and (p.pubupdate or p.pubdelete) and pr.prqual is not null "
          "order by 1, 2"),
      publisher, &facts->filter);
}

}  // namespace

absl::StatusOr<SettingFacts> ReadSettings(Publisher* publisher) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      Ask(publisher,
          "select name, setting, coalesce(unit, '') from "
          "pg_catalog.pg_settings where name in ('max_slot_wal_keep_size', "
          "'idle_replication_slot_timeout', 'wal_sender_timeout', "
          "'synchronous_standby_names', 'application_name')",
          3));
  SettingFacts facts;
  for (const auto& row : rows) {
    std::int64_t number = 0;
    const bool is_number = absl::SimpleAtoi(row[1], &number);
    if (row[0] == "synchronous_standby_names") {
      facts.synchronous_standby_names = row[1];
    } else if (row[0] == "application_name") {
      facts.application_name = row[1];
    } else if (!is_number) {
      return absl::DataLossError(
          absl::StrCat("the setting ", row[0], " is no number: ", row[1]));
    } else if (row[0] == "max_slot_wal_keep_size") {
      facts.max_slot_wal_keep_size_mb = number;
    } else if (row[0] == "wal_sender_timeout") {
      facts.wal_sender_timeout = absl::Milliseconds(number);
    } else {
      facts.idle_replication_slot_timeout =
          row[2] == "min" ? absl::Minutes(number) : absl::Seconds(number);
    }
  }
  return facts;
}

absl::StatusOr<PublishedFacts> ReadPublishedFacts(
    int server_version, const std::vector<std::string>& names,
    const Publications& publications, Publisher* publisher) {
  PublishedFacts facts;
  if (names.empty()) return facts;
  const std::string literals = Names(names);
  RETURN_IF_ERROR(ReadOperations(server_version, literals, publisher, &facts));
  RETURN_IF_ERROR(ReadUnlogged(server_version, literals, publisher, &facts));
  const std::string roots = Oids(publications, [](const PublishedTable& table) {
    return table.relkind == 'p';
  });
  if (!roots.empty() && server_version >= kVersion13)
    RETURN_IF_ERROR(ReadPartitions(roots, publisher, &facts));
  const std::string changing =
      Oids(publications, [](const PublishedTable& table) {
        return table.publishes_update_or_delete;
      });
  if (!changing.empty() && server_version >= kVersion15) {
    RETURN_IF_ERROR(ReadListsAndFilters(literals, changing, publisher, &facts));
  }
  return facts;
}

}  // namespace sublite
