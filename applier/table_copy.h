// The copy of one table (DESIGN.md, decision 4): its rows in one snapshot of
// the publisher, into a hidden table, which then takes the name.
//
// Fill reads; SwapIn shows. Between the two readers see the old rows, or no
// table. Fill commits as it goes unless a SQLite transaction is open when it is
// called: then all of it belongs to that transaction (a table whose shape
// changes inside a publisher transaction). What the snapshot sees is not
// applied again: SwapIn stores the snapshot with the table.
//
// The copy is exact because a change is dropped only where its top-level
// transaction is visible in the snapshot, and the snapshot sees every
// transaction whose changes went by while the table was not followed: Fill
// takes the snapshot again while one that has ended in the stream, or before
// the slot began, is still in progress in it (a commit is decoded before it
// becomes visible, longest while the publisher waits for a synchronous
// standby).
//
// Errors: NotFound where the table is not published any more; OutOfRange and
// InvalidArgument where a row of this one table cannot be stored;
// FailedPrecondition and Aborted where the table cannot be copied for now (a
// name that is taken, a missing privilege, an error of the publisher); others
// concern the connection or the file.
#ifndef SUBLITE_APPLIER_TABLE_COPY_H_
#define SUBLITE_APPLIER_TABLE_COPY_H_

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "applier/config.h"
#include "applier/copy_rate.h"
#include "applier/publisher.h"
#include "applier/replica.h"

namespace sublite {

// Top-level transactions of the slot that ended in the stream lately, for as
// long as the process lives.
class EndedTransactions {
 public:
  void Add(Xid xid);
  // A new slot: its snapshot says what had ended before.
  void Clear();
  const std::deque<Xid>& all() const { return order_; }

  // Transactions that an earlier process saw end are not known here. `Settle`
  // notes that none of them can still be invisible at the publisher and have
  // written to the table.
  bool Settled(std::int64_t table) const { return settled_.contains(table); }
  void Settle(std::int64_t table) { settled_.insert(table); }

 private:
  std::deque<Xid> order_;
  absl::flat_hash_set<Xid> set_;
  absl::flat_hash_set<std::int64_t> settled_;
};

// True for errors of Fill that concern the one table: the others go on.
inline bool ConcernsOneTable(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsOutOfRange(status) ||
         absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status) || absl::IsAborted(status);
}

// Of those: the cause may go away without a word in the stream, so that trying
// again helps.
inline bool MayPass(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsAborted(status);
}

// The same status, with the row's name if it is about the row.
absl::Status OfRow(const absl::Status& status, const TableShape& shape,
                   Tuple row);

struct CopiedTable {
  TableShape shape;
  PublishedTable published;
  Snapshot snapshot;
  Lsn snapshot_lsn;
  std::int64_t rows = 0;
  std::string
      hidden;  // "" for a table without columns, which has nothing to store
};

class TableCopy {
 public:
  // `progress` is told now and then: the table, rows so far, rows expected (-1:
  // unknown).
  using Progress =
      std::function<void(const ReplicaTable&, std::int64_t, double)>;

  TableCopy(Replica& replica, Publisher& publisher, const Config& config,
            const EndedTransactions& ended, std::function<bool()> stop,
            Progress progress);

  absl::StatusOr<CopiedTable> Fill(ReplicaTable& table);
  // For a copy in parts: the rows of `request`, or nullptr if the publisher's
  // snapshots do not yet see all that has ended in the stream.
  absl::StatusOr<std::unique_ptr<TableReader>> TryRead(
      const ReplicaTable& table, const CopyRequest& request);
  // FailedPrecondition where something else has the table's name.
  absl::Status CheckName(const ReplicaTable& table, const TableShape& shape);
  // An empty hidden table; CheckName is asked first.
  absl::Status MakeHidden(const ReplicaTable& table, const TableShape& shape,
                          const std::string& hidden);
  // Inside a transaction, which has to be rolled back where it fails.
  absl::Status SwapIn(ReplicaTable& table, const CopiedTable& copied);
  // Inside a transaction: makes the indexes of `table` what its shape asks for.
  absl::Status RebuildIndexes(ReplicaTable& table);
  // Removes what an interrupted copy left, but for those that can be gone on
  // with (sublite_copies).
  absl::Status DropHidden();

  // What had committed before the slot began; the replica's own unless a new
  // slot is being made.
  void SetSlotSnapshot(const Snapshot& snapshot) { slot_snapshot_ = snapshot; }

  // Whether the publisher can be asked for rows in binary form.
  void SetBinary(bool binary) { binary_ = binary; }

  // What all copies of this connection share.
  CopyRate& rate() { return rate_; }

  // The SQLite name that the rules and the configuration give to a table.
  std::string NameOf(const PublishedTable& table) const {
    return ShapeOf(table, {}).name;
  }
  TableShape ShapeOf(const PublishedTable& table, const PgTypes& types) const;

 private:
  absl::StatusOr<std::unique_ptr<TableReader>> Read(const ReplicaTable& table);
  void SayIfText(const TableReader& reader);
  bool SeesAllEnded(const Snapshot& snapshot, std::uint64_t* missing) const;
  absl::StatusOr<std::int64_t> Load(ReplicaTable& table, TableReader& reader,
                                    const TableShape& shape,
                                    const std::string& hidden);
  absl::Status WaitForRate();
  absl::StatusOr<std::string> FreeIndexName(const std::string& wanted);
  // The hidden table takes its name.
  absl::Status GiveName(const CopiedTable& copied);

  Replica& replica_;
  Publisher& publisher_;
  const Config& config_;
  const EndedTransactions& ended_;
  std::function<bool()> stop_;
  Progress progress_;
  std::optional<Snapshot> slot_snapshot_;
  CopyRate rate_;
  bool binary_ = false;
  absl::flat_hash_set<std::string> said_text_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_TABLE_COPY_H_
