// READ FIRST. One replication connection, from frames to rows: Consume(frame)
// and Tick(now) are all that moves it.
//
//     frame -> decode -> Assembler -> apply now | stage in a Spool | seal in
//     the PreparedStore | replay
//                                                             \-> SQLite
//                                                             transaction ->
//                                                             committed ->
//                                                             synced ->
//                                                             confirmed
//
// Publisher transactions share a SQLite transaction while more frames wait, and
// are committed at once when none do. Every commit is on the boundary of a
// publisher transaction and carries its end position. Positions: `committed`
// (readers see it), `durable` (synced: at least once an interval, at a PREPARE,
// and when the publisher asks); only `durable` is told to the publisher as
// flushed. With nothing to do nothing is written.
//
// A change whose row does not fit its table makes the table stale: its further
// changes are dropped, and before the SQLite transaction commits, the table is
// copied again inside it. Tables that wait for other things (new in the
// publication, a resync) are copied by Session between transactions.
//
// Errors end the connection; the caller rolls back and begins again from the
// stored position. That is also how one table is put aside: at the last
// boundary that all tables share its rows are whole, and the next run leaves
// its changes out, so nothing has to be undone and no change pays for a
// savepoint.
// - FailedPrecondition: a transaction that something local refuses (a trigger,
//   a constraint); `refused()` says which.
// - Aborted: a table cannot hold a row, or cannot be copied; `failed_table()`
//   says which.
// - Any, with `spill_full()`: open transactions cannot be staged. In a stream
//   that is not asked for them they need not be.
// - DataLoss: the stream contradicts itself.
// - Others: of the file or of the connection.
// Threads: one. Time comes in as an argument, so a run can be replayed.
#ifndef SUBLITE_APPLIER_APPLIER_H_
#define SUBLITE_APPLIER_APPLIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "applier/assembler.h"
#include "applier/metrics.h"
#include "applier/prepared_store.h"
#include "applier/publisher.h"
#include "applier/relation_map.h"
#include "applier/replica.h"
#include "applier/spill_file.h"
#include "applier/staging.h"
#include "applier/table_copy.h"
#include "applier/wire/decode.h"
#include "applier/wire/frame.h"

namespace sublite {

// What the publisher's catalog says of a table that is followed.
enum class CatalogFit {
  kSame,
  kDifferent,
  kPublishedAnew,  // it left the publication and came back, or is filtered
                   // otherwise: whoever wrote to it before has to end first
};

struct ApplierOptions {
  int protocol_version = 1;
  bool parallel_streaming = false;
  bool keep_messages = false;
  bool binary = false;  // the stream was asked for binary values
  absl::Duration status_interval = absl::Seconds(10);
  SpillOptions spill;
  // The publisher is not the server that the slot was made on (a standby was
  // promoted): its slot may have begun two-phase decoding later than ours, so a
  // COMMIT PREPARED of unknown work is a gap. On the slot's own server it is
  // work that changed nothing.
  bool doubt_prepared = false;
  // Asked when the publisher describes a relation: whether the catalog, as of
  // `commit_lsn` or later, still describes the table as it was made here.
  std::function<absl::StatusOr<CatalogFit>(const ReplicaTable&, Lsn commit_lsn)>
      still_fits;
  std::function<bool()> stop = [] { return false; };
  std::optional<Lsn>
      skip;  // the commit LSN of a transaction that a person has chosen to skip
};

class Applier {
 public:
  Applier(Replica& replica, TableCopy& copy, EndedTransactions& ended,
          ApplierOptions options);

  absl::Status Consume(std::string_view frame, absl::Time now);

  // Call after each batch of frames and at least once a second. `more`: frames
  // are waiting. Commits, syncs and notes idle positions as due.
  absl::Status Tick(absl::Time now, bool more);

  // Commits and syncs what is whole, before the connection is closed.
  absl::Status Finish(absl::Time now);

  Positions positions() const { return {durable_, committed_}; }
  // True once after positions moved such that the publisher should hear it now.
  bool TakeConfirm();

  // At a boundary: everything before it is applied, or was not for us.
  Lsn reached() const { return reached_; }
  // No publisher transaction is half applied and no SQLite transaction is open:
  // tables may be copied.
  bool at_boundary() const { return !applying_ && !replica_.in_transaction(); }
  // A change came for a table that the replica does not know: the publication
  // should be read again.
  bool TakeCatalogDue();
  void SetSkip(std::optional<Lsn> commit_lsn) { options_.skip = commit_lsn; }
  // Tables are held to the catalog's description too: see Session.
  struct FailedTable {
    std::int64_t id = 0;
    absl::Status why;
    Lsn commit_lsn;  // of the transaction that it cannot take
  };
  const std::optional<FailedTable>& failed_table() const {
    return failed_table_;
  }
  struct Refused {
    Lsn commit_lsn;
    std::int64_t table = 0;
    std::string error;
  };
  const std::optional<Refused>& refused() const { return refused_; }
  // What was staged when no more could be. Spools of streamed transactions
  // only: a prepared transaction has to be staged in any case.
  struct SpillFull {
    std::vector<Xid> open;
    std::string error;
  };
  const std::optional<SpillFull>& spill_full() const { return spill_full_; }
  // A table came whose values have no binary decoder: the stream has to be
  // asked for text.
  bool needs_text() const { return needs_text_; }

 private:
  // The publisher transaction whose changes are being applied.
  struct Applying {
    Xid xid = 0;
    Lsn commit_lsn;
    bool skip = false;  // applied before, or skipped by a person
  };

  absl::Status OnMessage(const XLogData& data);
  void NoteReceived(Lsn position);
  absl::Status Do(const Step& step, const Message& message,
                  std::string_view payload);
  void StartApplying(Xid xid, Lsn commit_lsn, PgTime commit_time);
  absl::Status EndApplying(Lsn end_lsn, PgTime commit_time);
  absl::Status Apply(const Message& message, RelationMap& relations);
  absl::Status ApplyTruncate(const TruncateMessage& message,
                             RelationMap& relations);
  absl::Status ApplyRow(ReplicaTable& table, RowKind kind,
                        const Message& message,
                        const absl::StatusOr<Outcome>& outcome);
  void Count(ReplicaTable& table, RowKind kind);
  absl::Status NoteChange(const ReplicaTable& table, const Message& message);
  // A change that is not applied because of the row or of what is in its way.
  absl::Status CannotApply(const ReplicaTable& table, const TableShape& shape,
                           const Message& message, const absl::Status& why);
  // Aborted; the table is to be put aside.
  absl::Status Fail(const ReplicaTable& table, const absl::Status& why);
  absl::Status KeepMessage(const LogicalMessage& message);
  absl::Status NoteLostMessage(const LogicalMessage& message);

  // ---- tables whose copy is under way
  absl::Status ApplyToCopy(ReplicaTable& table, const Message& message);
  absl::StatusOr<Outcome> ChangeCopy(PartialCopy& copy, const Message& message);
  absl::Status TruncateCopy(ReplicaTable& table);
  absl::Status BeginCopyAnew(ReplicaTable& table, std::string_view why);
  // Whether the copy is of what the relation describes; if not, it is gone.
  absl::StatusOr<bool> FitsCopy(RelationDefinition& relation,
                                ReplicaTable& table);

  // The table to which a change of relation `oid` is to be applied; nullptr
  // where it is not.
  absl::StatusOr<ReplicaTable*> Target(Oid oid, RelationMap& relations);
  absl::Status ExpectTable(const RelationDefinition& relation,
                           ReplicaTable* table);
  absl::StatusOr<bool> Fits(RelationDefinition& relation, ReplicaTable& table);
  bool HoldsAlready(ReplicaTable& table);
  absl::Status MarkStale(ReplicaTable& table,
                         const std::string& relation_message,
                         std::string_view why);
  absl::Status CopyStale();

  void OpenSpool(Xid xid, Spool::Limit limit);
  absl::Status Stage(const Step& step, const Message& message,
                     std::string_view payload);
  void NoteSpillFull(const absl::Status& status);
  absl::Status StageDefinition(Spool& spool, Xid xid, Oid oid);
  absl::Status Seal(Xid xid, std::string_view gid, Lsn prepare_lsn, Lsn end_lsn,
                    PgTime time);
  absl::Status ReplayRecord(const StagedRecord& record, RelationMap& relations);
  absl::Status Replay(const StreamCommitMessage& message);
  absl::Status CommitPrepared(const CommitPreparedMessage& message);
  absl::Status RollbackPrepared(const RollbackPreparedMessage& message);
  absl::Status MissingPrepared(const CommitPreparedMessage& message,
                               bool had_changes);
  absl::StatusOr<Spool*> FindSpool(Xid xid);

  absl::Status CommitGroup(absl::Time now);
  absl::Status SyncNow(absl::Time now);
  // What is staged and prepared, for those who watch.
  absl::Status NoteStaged(absl::Time now);

  Replica& replica_;
  Metrics& metrics_;
  TableCopy& copy_;
  EndedTransactions& ended_;
  ApplierOptions options_;
  PreparedStore prepared_;

  Assembler assembler_;
  RelationMap relations_;
  SpillFile spill_;  // outlives the spools
  absl::flat_hash_map<Xid, std::unique_ptr<Spool>> spools_;
  DecodeScratch scratch_;
  DecodeScratch replay_scratch_;
  std::uint64_t serial_ = 0;
  std::uint64_t replayed_ = 0;

  std::optional<Applying> applying_;
  std::uint64_t applying_number_ = 0;
  std::vector<ReplicaTable*> stale_;
  bool sync_soon_ = false;

  Lsn reached_;  // everything up to here is applied or was not for us
  Lsn committed_;
  Lsn durable_;
  absl::Time now_;
  absl::Time group_began_ = absl::InfinitePast();
  PgTime last_commit_;  // of the transaction that was applied last
  absl::Time last_written_ = absl::InfinitePast();
  absl::Time last_synced_ = absl::InfinitePast();
  absl::Time staged_noted_ = absl::InfinitePast();
  std::int64_t spill_noted_ = 0;
  bool prepared_changed_ = true;
  bool confirm_ = false;
  bool catalog_due_ = false;
  std::optional<FailedTable> failed_table_;
  std::optional<Refused> refused_;
  std::optional<SpillFull> spill_full_;
  bool needs_text_ = false;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_APPLIER_H_
