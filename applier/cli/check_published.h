// What `sublite check` says of tables that are published in a way which the
// replica cannot follow, or which the publisher will refuse.
//
// Pure: check_facts reads the catalog.
#ifndef SUBLITE_APPLIER_CLI_CHECK_PUBLISHED_H_
#define SUBLITE_APPLIER_CLI_CHECK_PUBLISHED_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "applier/cli/check_findings.h"
#include "applier/config.h"
#include "applier/publisher.h"

namespace sublite {

struct PublicationFacts {
  std::string name;
  std::vector<std::string> left_out;  // of insert, update, delete, truncate
};

// A leaf of a partitioned table that is published through its root.
struct PartitionFacts {
  std::uint32_t root = 0;
  std::string pg_schema;
  std::string pg_table;
  bool unlogged = false;
  bool foreign = false;
  char replica_identity = 'd';
  bool has_identity = true;  // one with which it may be updated
};

struct ColumnName {
  std::uint32_t table = 0;
  std::string column;
};

struct PublishedFacts {
  std::vector<PublicationFacts> publications;
  std::vector<std::string> unlogged;  // tables, as SQL names them, that FOR ALL
                                      // TABLES or a schema would publish
  std::vector<PartitionFacts> partitions;
  // From server 15 on, for tables that publish updates or deletes:
  std::vector<ColumnName> identity;  // columns of the replica identity
  std::vector<ColumnName> filter;    // columns that a row filter names
};

void CheckPublished(const Config& config, const Publications& publications,
                    const PublishedFacts& facts, Findings* findings);

// Columns of the replica identity that are not published: with them the
// publisher refuses UPDATE and DELETE. By table.
std::map<std::uint32_t, std::vector<std::string>> UnpublishedIdentity(
    const Publications& publications, const PublishedFacts& facts);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_CHECK_PUBLISHED_H_
