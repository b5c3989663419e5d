// A table's copy that is under way beside the stream: its rows up to some key
// are in a hidden table, which is followed like any other, and the rest is
// still to come.
//
// The rows come in chunks in the order of the primary key, each in a snapshot
// of its own. A change of a row goes
//   nowhere             if its key is ahead: a later chunk sees the change,
//                       because that chunk's snapshot sees every transaction
//                       that has ended in the stream (see TableCopy)
//   nowhere             if the snapshot of the chunk that holds its key sees
//   the
//                       transaction: the row was read with the change
//   into the table      otherwise
// so at each moment the hidden table holds, of the keys that are not ahead, the
// rows of the stream's position, or newer ones whose changes the stream is
// going to bring and which are then left out. When all chunks are there and the
// stream has passed the last one's position, the table is the publisher's.
//
// Which keys can be compared here as PostgreSQL compares them (copy_key.h)
// decides which tables are copied like this.
//
// A copy that was made whole and cannot be shown yet (all tables are copied
// again after a gap, and take their names at once) is one chunk that holds
// every key.
//
// Pure data; kept in sublite_copies (schema/bookkeeping.h). Threads: one.
#ifndef SUBLITE_APPLIER_PARTIAL_COPY_H_
#define SUBLITE_APPLIER_PARTIAL_COPY_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/copy_key.h"
#include "applier/snapshot.h"
#include "applier/table_writer.h"
#include "applier/wire/lsn.h"
#include "schema/relation.h"
#include "schema/table.h"

namespace sublite {

struct CopyChunk {
  CopyKey after;  // exclusive; empty: from the beginning
  CopyKey upto;   // inclusive; empty: to the end
  Snapshot snapshot;
  Lsn lsn;  // commits from here on are not in it

  bool Has(const CopyKey& key) const {
    return (after.empty() || key > after) && (upto.empty() || key <= upto);
  }
  bool Sees(Xid xid, Lsn commit_lsn) const {
    return commit_lsn < lsn && snapshot.Sees(xid);
  }
};

// One chunk a line. DataLoss where the text is none.
std::string FormatChunks(const std::deque<CopyChunk>& chunks);
absl::StatusOr<std::deque<CopyChunk>> ParseChunks(std::string_view text);

// Which table it is that is being copied, and in which form: a copy that was
// begun as something else cannot be gone on with.
std::string CopyMadeAs(const PublishedTable& published,
                       const TableShape& shape);

// Whether the table can be copied in chunks.
bool CanCopyInChunks(const TableShape& shape);

struct PartialCopy {
  enum class Place { kAhead, kHeld, kHere };

  TableShape shape;   // as it will be
  TableShape hidden;  // the same under the hidden table's name
  PublishedTable published;
  std::string made_as;
  std::vector<int> key;  // places of the key's columns; none: a whole copy

  CopyKey upto;  // copied so far; empty: nothing yet
  bool complete = false;
  std::deque<CopyChunk> chunks;  // ascending; without those that were passed
  std::int64_t rows = 0;
  std::int64_t chunk_rows = 0;  // how many the next chunk asks for; 0: no idea
  std::unique_ptr<TableWriter> writer;  // of the hidden table

  // Where a change of the row with this key goes.
  Place PlaceOf(const CopyKey& key, Xid xid, Lsn commit_lsn) const;
  // A TRUNCATE is in all the rows already.
  bool AllSee(Xid xid, Lsn commit_lsn) const;
  // The position that the stream has to pass before the rows are one state.
  Lsn last_lsn() const { return chunks.empty() ? Lsn() : chunks.back().lsn; }
  void ForgetPassed(Lsn applied);

  // The key of a row; OutOfRange if it has none that could be compared.
  absl::StatusOr<CopyKey> KeyOf(Tuple row) const;
  // What the rows that are still to come are behind, as PostgreSQL reads it;
  // empty: nothing yet.
  std::vector<std::string> UptoTexts() const;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_PARTIAL_COPY_H_
