// Copies a table chunk by chunk, while the stream goes on (partial_copy.h has
// the rules).
//
// Each chunk is one SQLite transaction that holds its rows and how far the copy
// has come, so a copy that is interrupted goes on behind its last chunk.
//
// Errors: as TableCopy. Call only between transactions. Threads: one.
#ifndef SUBLITE_APPLIER_CHUNK_COPY_H_
#define SUBLITE_APPLIER_CHUNK_COPY_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/config.h"
#include "applier/publisher.h"
#include "applier/replica.h"
#include "applier/table_copy.h"

namespace sublite {

class ChunkCopy {
 public:
  ChunkCopy(Replica& replica, TableCopy& copy, const Config& config,
            std::function<bool()> stop, TableCopy::Progress progress);

  // Goes on with the copies that an earlier session left, as far as
  // `publications` still describes their tables as they were begun; removes the
  // others.
  absl::Status Resume(const Publications& publications);

  enum class Step {
    kNotYet,    // no snapshot to be had for now that sees all that has ended
    kCopied,    // once `partial->complete` see ShowIfPassed
    kUnsuited,  // the table is none to be copied in chunks (any more)
    kPublishedAnew,  // as something else than what its writers were waited for
    kBegunAnew,      // it is another table than the one whose copy was begun
  };
  // For a table whose copy is not complete.
  absl::StatusOr<Step> Next(ReplicaTable& table);

  // Keeps a copy that was made whole, and has columns, to be followed and shown
  // like one in chunks.
  absl::Status Hold(ReplicaTable& table, const CopiedTable& copied);

  // Whether the copy is complete and the stream has `reached` all of it.
  static bool IsPassed(const ReplicaTable& table, Lsn reached);
  // Inside a transaction whose position is one that passed it: gives the copy
  // its name.
  absl::Status Show(ReplicaTable& table);

 private:
  absl::Status Begin(ReplicaTable& table, const TableReader& reader,
                     const TableShape& shape);
  // `*cut` is why the rows ended too early, if they did; those that had come
  // are a chunk all the same, so that a copy gets on however short connections
  // live.
  absl::Status Load(ReplicaTable& table, TableReader& reader,
                    std::int64_t limit, absl::Status* cut);
  absl::Status Store(const ReplicaTable& table, const PartialCopy& progress);
  void AdaptSize(PartialCopy& partial, std::int64_t limit,
                 absl::Duration took) const;

  Replica& replica_;
  TableCopy& copy_;
  const Config& config_;
  std::function<bool()> stop_;
  TableCopy::Progress progress_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CHUNK_COPY_H_
