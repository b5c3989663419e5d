// The replica file: one SQLite database, of which this is the only writer.
//
// Rows, bookkeeping and position share SQLite transactions: Begin … SetPosition
// … Commit. What Commit wrote is visible to readers; what Sync has seen since
// survives power loss (WAL mode with synchronous = NORMAL plus an explicit
// fsync), and only that may be confirmed to the publisher. Without an open
// transaction nothing is pending.
//
// Errors: as Database gives them; Begin waits while others hold the write lock
// and ends with Cancelled when told to stop. After an error inside a
// transaction call Rollback and Reload: memory then shows what the file holds.
// Where files_changed() is true the file was deleted or replaced: nothing more
// is confirmed, and the Replica has to be opened again. Threads: one.
#ifndef SUBLITE_APPLIER_REPLICA_H_
#define SUBLITE_APPLIER_REPLICA_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/change_feed.h"
#include "applier/clock.h"
#include "applier/file_guard.h"
#include "applier/io/sqlite.h"
#include "applier/metrics.h"
#include "applier/publisher.h"
#include "applier/replica_table.h"
#include "applier/retention.h"
#include "applier/snapshot.h"
#include "applier/wire/lsn.h"

namespace sublite {

struct ReplicaState {
  std::optional<Lsn> applied;  // end position of everything applied; none until
                               // the slot exists
  std::string slot;
  std::optional<Snapshot> slot_snapshot;
  std::string system_identifier;
  std::uint32_t timeline = 0;       // the publisher's at the last contact
  Lsn timeline_began;               // where it left its parent, if known
  std::uint32_t slot_timeline = 0;  // the publisher's when the slot was made
  bool slot_on_standby = false;
  // Set while all tables are copied again after a gap: the position of the rows
  // that readers see. `applied` is that of the copies then, which take the
  // tables' names all at once.
  std::optional<Lsn> shown;
  std::int64_t source = 0;

  // As in sublite_state.
  std::string slot_from;
  std::string slot_asked;
  static constexpr std::uint64_t kMaking = 1;
  std::uint64_t slot_making = 0;
  int slot_passed = 0;
  std::string file_id;
  std::string home_machine;
  std::string home_path;

  // The position is not of `slot` yet, but of `slot_from`.
  bool slot_is_new() const { return !slot_from.empty(); }
};

struct SlotPlan {
  std::string file_id;  // the new identity
  std::string slot;
  std::string from;   // the slot that the position comes from
  std::string asked;  // publisher.slot where that is another replica's
  std::string note;   // for a person, see sublite_state.slot_note
};

// Which slot a file uses when it is asked to use `asked`: that one, unless it
// turned out to be another replica's and the file has one of its own.
std::string SlotFor(std::string_view asked, const ReplicaState& state);

// A slot's name for one replica: `asked` and the beginning of its identity.
std::string OwnSlotName(std::string_view asked, std::string_view file_id);

// A row of sublite_copies.
struct StoredCopy {
  std::int64_t table_id = 0;
  std::string made_as;
  std::string upto;
  bool complete = false;
  std::string chunks;
  std::int64_t rows = 0;
  bool hidden_exists = false;
};

struct Request {
  std::int64_t id = 0;
  std::string kind;  // resync, skip
  std::string argument;
};

class Replica {
 public:
  // Opens or makes the file, and locks it for this process. FailedPrecondition
  // where it is of a newer format, cannot be written, or belongs to another
  // running sublite; DataLoss where it is damaged. `metrics` are the process's;
  // without any it has its own.
  static absl::StatusOr<std::unique_ptr<Replica>> Open(
      const std::string& path, std::function<bool()> stop,
      std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>());

  Database& database() { return *database_; }
  Metrics& metrics() { return *metrics_; }
  // nullptr where replica.changes is off.
  ChangeFeed* changes() { return changes_.get(); }
  // Outside of a transaction, once; without options what is there goes.
  absl::Status KeepChanges(const std::optional<ChangeFeedOptions>& options);
  const std::string& path() const { return path_; }

  // ---- transactions
  absl::Status Begin();  // does nothing if one is open
  absl::Status Commit();
  void Rollback();
  bool in_transaction() const { return database_->in_transaction(); }
  // Begin, `body`, Commit; Rollback on an error.
  absl::Status Transaction(const std::function<absl::Status()>& body);
  absl::Status Sync();
  // False inside a transaction after a sync that failed.
  bool can_sync() const { return database_->can_sync(); }
  // Unavailable, and files_changed(), if the database or a file beside it was
  // deleted or replaced. What -wal held alone is saved into the database first,
  // where that is still in its place.
  absl::Status CheckFiles();
  bool files_changed() const { return files_changed_; }
  absl::Status Reload();

  // ---- where it stands
  const ReplicaState& state() const { return state_; }
  // The position that Commit will write. `commit_time` is that of the
  // transaction which ends there, if one does.
  void SetPosition(Lsn end, std::optional<PgTime> commit_time);
  void SetContact(absl::Time heard) { contact_ = heard; }
  // What the slot keeps at the publisher. Written with whatever is committed
  // next, never by itself.
  const std::optional<Retention>& retention() const { return retention_; }
  void SetRetention(const Retention& retention);
  // Inside a transaction: everything that ties the file to a publisher and
  // slot.
  absl::Status SetSlot(const std::string& slot,
                       const PublisherIdentity& publisher,
                       const CreatedSlot& created);
  // Inside a transaction, before SetSlot: readers go on seeing the rows, and
  // the position, of now until EndHold.
  absl::Status HoldShown();
  absl::Status EndHold();
  absl::Status SetPublisher(const PublisherIdentity& publisher);

  // ---- whose slot (replica_slot.cc); each in a transaction of its own unless
  // one is open
  // From now on the file is a replica of its own with a slot of its own, which
  // is still to be made or looked for.
  absl::Status PlanSlot(const SlotPlan& plan);
  // The planned slot is there, at or before the position. `sure` tells that
  // what is prepared at the publisher is either staged here or still to come;
  // else a COMMIT PREPARED without its work is a gap.
  absl::Status AdoptSlot(const PublisherIdentity& publisher, bool sure);
  // Before the slot is made anew. `passed`: the old one had moved past the
  // file.
  absl::Status NoteSlotMaking(bool passed);
  // After it, until SetSlot.
  absl::Status NoteSlotMade(Lsn consistent_point);
  // What was prepared through a slot that the file does not use any more, and
  // comes again.
  absl::Status ForgetPrepared();
  // Notes where the file is followed now.
  absl::Status SetHome(const std::string& machine);
  // The path of the file that this one is a copy of: on this machine, where
  // this one was last followed, with the same identity. "" if there is none.
  std::string TwinBeside(const std::string& machine);
  // `state`: copying, streaming, disconnected, failed. Each in a transaction of
  // its own unless one is open.
  absl::Status SetState(std::string_view state);
  // The state of a replica that nobody follows for now; does not wait for the
  // write lock.
  absl::Status NoteStopped();
  // What is waited for, in words; "" when nothing is.
  absl::Status SetActivity(std::string_view text);
  absl::Status SetPublications(const std::vector<std::string>& publications);
  absl::Status RecordError(std::string_view text);
  absl::Status AddEvent(std::string_view kind, std::string_view sqlite_table,
                        std::optional<Lsn> lsn, std::string_view detail);
  absl::StatusOr<std::int64_t> CountEvents(std::string_view kind,
                                           absl::Time since);
  // Whether the last event of the kind says just this.
  absl::StatusOr<bool> IsNewestEvent(std::string_view kind,
                                     std::string_view detail);
  // Whether there is such an event from `until` or before.
  absl::StatusOr<bool> HasEvent(std::string_view kind,
                                std::string_view sqlite_table, Lsn lsn,
                                absl::Time until);

  // ---- tables
  const std::vector<std::unique_ptr<ReplicaTable>>& tables() const {
    return tables_;
  }
  ReplicaTable* FindTable(std::string_view pg_schema,
                          std::string_view pg_table);
  ReplicaTable* FindTable(std::int64_t id);
  // Grows whenever a table is added, changed or reloaded: what was looked up
  // before may be wrong.
  std::uint64_t generation() const { return generation_; }

  // The following run inside a transaction.
  absl::StatusOr<ReplicaTable*> AddTable(const PublishedTable& table,
                                         const std::string& sqlite_name);
  absl::Status SetTableState(ReplicaTable& table, TableState state,
                             std::string_view error);
  // What the publisher says of a table that is about to be copied.
  absl::Status SetPublished(ReplicaTable& table,
                            const PublishedTable& published);
  // Puts the table aside. `retry_at`: when it is tried again by itself.
  absl::Status SetFailed(ReplicaTable& table, std::string_view error,
                         std::string_view failed_as,
                         std::optional<absl::Time> retry_at);
  absl::Status SetCopyProgress(ReplicaTable& table, std::int64_t rows,
                               double estimated);
  // After the rows of `shape` took the table's name: writes shape, snapshot and
  // state `ready`.
  absl::Status SetCopied(ReplicaTable& table, const TableShape& shape,
                         const PublishedTable& published,
                         const Snapshot& snapshot, Lsn copy_pos,
                         std::int64_t rows);
  // Removes the table, its rows and all that is known of it. Pointers to it are
  // invalid afterwards.
  absl::Status RemoveTable(std::int64_t id);

  // ---- copies beside the stream
  absl::StatusOr<std::vector<StoredCopy>> StoredCopies();
  absl::Status StoreCopy(const StoredCopy& copy);
  // Removes the hidden table and all that is known of the copy.
  absl::Status DropCopy(std::int64_t table_id);
  absl::Status DropCopies();
  void SetPartial(ReplicaTable& table, std::unique_ptr<PartialCopy> partial);

  // Only the replica identity changed.
  absl::Status SetIdentity(ReplicaTable& table, const TableShape& shape);
  absl::Status CountConflict(ReplicaTable& table, Outcome outcome);
  // The SQLite name is taken by another table of the replica, or by something
  // else in the file; "" if it is free. Names compare without case.
  absl::StatusOr<std::string> NameTakenBy(const ReplicaTable* self,
                                          std::string_view name);

  // ---- requests of other processes
  absl::StatusOr<std::vector<Request>> Requests();
  absl::Status RemoveRequest(std::int64_t id);

 private:
  Replica() = default;
  absl::Status Prepare();
  absl::Status LoadState();
  absl::Status LoadTables();
  absl::Status LoadColumns();
  absl::Status StoreColumns(const ReplicaTable& table);
  absl::Status WriteState();
  absl::Status WriteRetention();
  absl::Status LoadRetention();
  // What the file says until something newer is known.
  absl::Status BeginMetrics();
  void NoteRetention();
  void NoteTables();
  // After each commit.
  void NoteCommitted();
  // All of -wal into the main file. Gentler to readers than EmptyWal: they may
  // go on using -wal.
  absl::Status Checkpoint();
  void MakeWriter(ReplicaTable& table);

  std::string path_;
  std::function<bool()> stop_;
  std::shared_ptr<Metrics> metrics_;
  std::uint64_t metrics_generation_ = 0;  // of the tables counted there
  std::int64_t wal_bytes_counted_ = 0;
  std::unique_ptr<FileGuard> guard_;  // outlives the connection
  std::unique_ptr<Database> database_;
  std::unique_ptr<ChangeFeed> changes_;  // gone before the database
  ReplicaState state_;
  std::vector<std::unique_ptr<ReplicaTable>> tables_;        // by id, ascending
  absl::flat_hash_map<std::string, ReplicaTable*> by_name_;  // TableName
  std::uint64_t generation_ = 1;

  bool position_pending_ = false;
  bool files_changed_ = false;
  std::optional<PgTime> commit_time_;
  std::optional<absl::Time> contact_;
  std::optional<Retention> retention_;
  bool retention_pending_ = false;
  Statement write_state_;
  Statement begin_;
  Statement commit_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_REPLICA_H_
