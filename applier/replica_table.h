// A replicated table as the running process sees it.
//
// Owned by Replica; pointers to it hold until Replica::Reload. What it holds is
// also in sublite_tables and sublite_columns; only Replica writes it.
#ifndef SUBLITE_APPLIER_REPLICA_TABLE_H_
#define SUBLITE_APPLIER_REPLICA_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "applier/metrics.h"
#include "applier/partial_copy.h"
#include "applier/snapshot.h"
#include "applier/table_writer.h"
#include "applier/wire/lsn.h"
#include "schema/table.h"

namespace sublite {

enum class TableState { kPending, kCopying, kReady, kFailed, kUnpublished };

std::string_view TableStateName(TableState state);

// Where the rows of a table that is being copied are kept.
inline std::string HiddenTableName(std::int64_t id) {
  return "sublite_copy_" + std::to_string(id);
}

struct ReplicaTable {
  std::int64_t id = 0;
  TableShape
      shape;  // of the table in the file; no columns before the first copy
  TableState state = TableState::kPending;
  std::string
      published_as;  // these three as in PublishedTable, of the last copy
  std::string attributes;
  std::string storage;
  std::string error;
  // While it is put aside (kFailed):
  std::string failed_as;  // CopyMadeAs of what could not be had; "" not known
  bool retries = false;   // it is tried again by itself

  // While copy_pos is set, transactions that `snapshot` sees are in the rows
  // already and are not applied again; commits from copy_pos on never are in
  // them.
  Lsn copy_pos;
  Snapshot snapshot;

  // The rows no longer fit what the publisher sends, or a person asked for a
  // new copy. Its changes are dropped until it is copied again, which happens
  // before the SQLite transaction in which it became stale is committed.
  bool stale = false;
  // The Relation message for which it was last copied in the stream: the same
  // one again means that stream and catalog describe the table differently, and
  // copying does not help.
  std::string copied_for;

  // Set while it is new in the publication: transactions that may have written
  // to it before are waited for, see Session::WritersGone.
  bool newly_published = false;
  std::optional<std::vector<std::string>> writers;  // none: not asked yet
  // As what it was published (PublishedTable::published_as) when they were
  // asked for; none: as in the last copy. A copy that finds it published as
  // something else would miss what was written in between.
  std::optional<std::string> settled_as;
  bool IsPublishedAsSettled(const PublishedTable& published) const {
    return published.published_as == settled_as.value_or(published_as);
  }

  std::int64_t missing_rows = 0;
  std::int64_t replaced_rows = 0;
  bool conflict_noted = false;

  // The decision about the current transaction, see Applier.
  std::uint64_t decided_for = 0;
  bool decided_skip = false;

  std::unique_ptr<TableWriter> writer;

  TableMetrics* metrics = nullptr;  // see Metrics::CountRow

  // A copy beside the stream, while there is one; the state is kCopying then.
  std::unique_ptr<PartialCopy> partial;
  // Whether it can be copied so, by the reading of the catalog of this number
  // (Session).
  std::uint64_t chunks_asked = 0;
  bool chunks_can = false;
  int copies_lost = 0;  // copies beside the stream that had to begin anew

  // Changes are applied to it: it is ready and not stale.
  bool follows() const { return state == TableState::kReady && !stale; }
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_REPLICA_TABLE_H_
