// A publisher in a few hundred lines: tables, transactions and their WAL, as
// far as a subscriber can tell it from PostgreSQL.
//
// It keeps the truth that a replica is held against. Rows are versions with the
// transactions that made and removed them, so the state of a table can be asked
// for any set of transactions: those before an LSN, or those that a snapshot
// sees. It is written from PostgreSQL's documentation, not from sublite:
//   - transaction ids are 64 bits wide here; subtransactions have their own
//   - a transaction that wrote its commit record (and so is decoded) can stay
//     invisible to snapshots for a while, and then still holds its locks
//   - a snapshot's xmax is the newest id that has ended, plus one
//   - TRUNCATE and ALTER TABLE exclude all other writers of the table
//   - what an aborted (sub)transaction did is undone, its WAL stays
// Operations that PostgreSQL would refuse or block return false and change
// nothing.
#ifndef SUBLITE_TESTS_SUPPORT_PG_MODEL_H_
#define SUBLITE_TESTS_SUPPORT_PG_MODEL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "applier/snapshot.h"
#include "applier/wire/lsn.h"
#include "schema/relation.h"

namespace sublite::testing {

using FullXid = std::uint64_t;
using ModelValue = std::optional<std::string>;  // as PostgreSQL prints it
using ModelRow = std::vector<ModelValue>;

// Type OIDs that the model's tables use.
inline constexpr std::uint32_t kBool = 16, kInt8 = 20, kInt4 = 23, kText = 25,
                               kDate = 1082, kUuid = 2950;

// Dates as PostgreSQL prints them, in its order.
inline constexpr std::array<const char*, 8> kDates = {
    "-infinity",  "0044-03-15 BC", "0001-12-31 BC", "0001-01-01",
    "2024-02-29", "9999-12-31",    "10000-01-01",   "infinity"};
const PgTypes& ModelTypes();

// A table between two changes of its definition.
struct TableVersion {
  PublishedTable def;
  // Values of these columns that are longer than kExternalBytes are not sent
  // again when they do not change.
  std::vector<bool> external;
};
using TableVersionPtr = std::shared_ptr<const TableVersion>;
inline constexpr std::size_t kExternalBytes = 60;

struct RowVersion {
  TableVersionPtr shape;
  ModelRow values;
  FullXid made_by = 0;  // top-level ids, and the subtransactions themselves
  FullXid made_by_sub = 0;
  FullXid removed_by = 0;
  FullXid removed_by_sub = 0;
  bool undone = false;
};

struct ModelTransaction {
  enum class State { kOpen, kPrepared, kInvisible, kCommitted, kAborted };
  FullXid xid = 0;
  State state = State::kOpen;
  std::vector<FullXid> savepoints;  // open ones, innermost last
  std::vector<FullXid> subs;        // every subtransaction that was not undone
  bool has_changes = false;         // undone ones count
  std::string gid;
  Lsn prepare_lsn;
  Lsn prepare_end;
  Lsn decided;  // end of the record that committed or aborted it
  std::int64_t time = 0;
};

struct ShapeChange {
  FullXid by = 0;
  FullXid by_sub = 0;
  TableVersionPtr shape;
};

struct ModelTable {
  std::vector<ShapeChange> shapes;  // newest last
  std::vector<RowVersion> rows;
  bool published = true;
  std::set<FullXid> writers;  // holding a lock
  FullXid exclusive = 0;

  const TableVersionPtr& shape() const { return shapes.back().shape; }
};

struct WalRecord {
  enum class Kind {
    kChange,
    kMessage,
    kAbortSubs,
    kAbort,
    kCommit,
    kPrepare,
    kCommitPrepared,
    kRollbackPrepared,
    kInvalidation,  // of `tables`, for no visible reason
  };
  Kind kind = Kind::kChange;
  Lsn start;
  Lsn end;
  std::int64_t time = 0;  // microseconds since 2000
  FullXid xid = 0;        // top level
  FullXid sub = 0;
  std::vector<FullXid> subs;            // kAbortSubs, kAbort
  char operation = 0;                   // I, U, D, T
  std::vector<int> tables;              // one; T: one or more
  std::vector<bool> published;          // each of them at that moment
  TableVersionPtr shape;                // of tables[0]
  std::vector<TableVersionPtr> shapes;  // T
  ModelRow old_row;
  ModelRow new_row;
  bool transactional = false;  // kMessage
  std::string prefix;
  std::string content;
  std::string gid;
};

class PgModel {
 public:
  explicit PgModel(FullXid first_xid = 750);

  // `def.oid` and `published_as` are set here.
  int AddTable(PublishedTable def, std::vector<bool> external);

  // ---- transactions
  FullXid Begin();
  FullXid Savepoint(FullXid xid);
  // Ends the innermost savepoint and keeps its work.
  void Release(FullXid xid);
  // Undoes `savepoint` and all that began after it.
  void RollbackTo(FullXid xid, FullXid savepoint);
  void Commit(FullXid xid, bool visible = true);
  void MakeVisible(FullXid xid);
  void Abort(FullXid xid);
  void Prepare(FullXid xid, const std::string& gid);
  void CommitPrepared(FullXid xid, bool visible = true);
  void RollbackPrepared(FullXid xid);

  // ---- changes
  bool Insert(FullXid xid, int table, const ModelRow& row);
  // `row`: a place in table(t).rows.
  bool Update(FullXid xid, int table, int row, const ModelRow& values);
  bool Delete(FullXid xid, int table, int row);
  bool Truncate(FullXid xid, const std::vector<int>& tables);
  // Every row is rewritten by `map`; the stream carries no row of it. `map`
  // must be a function of the row.
  bool Alter(FullXid xid, int table, PublishedTable def,
             std::vector<bool> external,
             const std::function<ModelRow(const ModelRow&)>& map);
  // xid 0: not transactional.
  void Message(FullXid xid, const std::string& prefix,
               const std::string& content);
  void Invalidate(int table);
  // Takes the table out of the publication, or puts it into it again.
  bool Publish(int table, bool published);
  // A line for each record, to follow what happened.
  std::string DescribeWal() const;
  // WAL that concerns no published table.
  void Noise(int bytes) { end_ = Lsn(end_.value() + bytes); }

  // ---- what others see
  Snapshot CurrentSnapshot() const;
  // As an exporting slot at the current position sees it.
  Snapshot SlotSnapshot() const;
  bool Visible(FullXid xid) const;
  bool CanTouch(FullXid xid, int table, int row) const;
  bool SeesRow(FullXid xid, const RowVersion& row) const;
  // Rows of a table made by the transactions that `in` holds.
  std::vector<const RowVersion*> Rows(
      int table, const std::function<bool(FullXid)>& in) const;
  // The definition that they left it with.
  TableVersionPtr ShapeAt(int table,
                          const std::function<bool(FullXid)>& in) const;
  // Its commit record ends at or before `lsn`.
  bool CommittedBy(FullXid xid, Lsn lsn) const;

  Lsn end() const { return end_; }
  const std::vector<WalRecord>& wal() const { return wal_; }
  std::vector<ModelTable>& tables() { return tables_; }
  const std::vector<ModelTable>& tables() const { return tables_; }
  const std::map<FullXid, ModelTransaction>& transactions() const {
    return transactions_;
  }
  ModelTransaction& transaction(FullXid xid) { return transactions_.at(xid); }
  int FindTable(const std::string& schema, const std::string& name) const;

 private:
  FullXid NewXid();
  FullXid Current(const ModelTransaction& transaction) const;
  WalRecord& Log(WalRecord::Kind kind, const ModelTransaction& transaction);
  bool LockForWrite(ModelTransaction& transaction, int table);
  bool LockExclusive(ModelTransaction& transaction, int table);
  bool UniqueFree(FullXid xid, int table, const ModelRow& values,
                  int except) const;
  void Undo(const std::set<FullXid>& subs);
  void Finish(ModelTransaction& transaction, bool committed, bool visible);
  void Unlock(FullXid xid);

  std::vector<ModelTable> tables_;
  std::map<FullXid, ModelTransaction> transactions_;
  std::vector<WalRecord> wal_;
  FullXid next_xid_;
  FullXid latest_ended_;
  Lsn end_{0x1500000};
  std::int64_t now_ = 700000000000000;
  std::uint32_t next_oid_ = 16384;
  int storage_ = 0;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_PG_MODEL_H_
