// The seam to the publisher: everything that sublite asks of a PostgreSQL
// server.
//
// io/LibpqPublisher is the real one; tests have a fake. All calls block, end
// early with Cancelled when sublite is told to stop, and never throw. Errors:
// Unavailable where trying again can help (network, server starting or shutting
// down, slot still active), FailedPrecondition where only a person can
// (password, missing publication, wal_level, privileges), NotFound as noted,
// DataLoss for answers that contradict the protocol. No error text ever holds a
// password.
//
// Threads: one Publisher and what it returned belong to one thread;
// ReplicationStream has a receiver thread inside.
#ifndef SUBLITE_APPLIER_PUBLISHER_H_
#define SUBLITE_APPLIER_PUBLISHER_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/snapshot.h"
#include "applier/wire/copy_rows.h"
#include "applier/wire/lsn.h"
#include "schema/relation.h"

namespace sublite {

// Where the server's history left a timeline: what that timeline holds from
// this position on is not in this server.
struct TimelineSwitch {
  std::uint32_t timeline = 0;
  Lsn left_at;
};

struct PublisherIdentity {
  std::string system_identifier;  // IDENTIFY_SYSTEM systemid
  std::uint32_t timeline = 0;
  std::vector<TimelineSwitch> history;  // TIMELINE_HISTORY, ascending; empty on
                                        // timeline 1 or where the file is gone
  Lsn wal_end;                          // IDENTIFY_SYSTEM xlogpos
  bool in_recovery = false;  // a standby; it may be promoted at any moment
  // When this very server was started, in its own words: tells it from its
  // standbys, which have the same system identifier.
  std::string started_at;
  // Where the timeline left its parent; 0 on timeline 1, or if not known.
  Lsn timeline_began() const {
    return history.empty() ? Lsn() : history.back().left_at;
  }
  std::string database;
  int server_version = 0;  // PQserverVersion: 150018 for 15.18
  std::string
      server_version_text;  // "15.18 (Debian …)": parameter server_version
};

struct SlotState {
  bool exists = false;
  std::string plugin;
  std::string database;
  bool active = false;
  int active_pid = 0;
  std::string active_name;    // application_name of that process; "": hidden
  std::string active_client;  // its address, as far as the role may see it
  Lsn confirmed_flush;        // 0 while NULL (still being made)
  Lsn restart;
  bool two_phase = false;
  bool failover = false;
  // A copy on a standby of the primary's slot, which cannot be used before the
  // standby is promoted. Without a meaning on a primary.
  bool synced = false;
  bool lost =
      false;  // wal_status = 'lost', or an invalidation_reason, or conflicting
  std::string lost_reason;  // in PostgreSQL's words where it gives any
};

struct SlotOptions {
  std::string name;
  bool two_phase = false;  // server 15+
  bool failover = false;   // server 17+
};

struct CreatedSlot {
  Lsn consistent_point;
  // What the slot's exported snapshot sees: exactly the transactions that
  // committed before consistent_point.
  Snapshot snapshot;
};

enum class Streaming { kOff, kOn, kParallel };

struct StreamOptions {
  std::string slot;
  Lsn start;
  int protocol_version = 1;
  std::vector<std::string> publications;
  Streaming streaming = Streaming::kOff;
  bool two_phase = false;
  bool binary = false;
  bool messages = false;
  bool origin_none = false;
};

// One CopyData message from the server, whole. Owns its bytes.
class Frame {
 public:
  using Deleter = void (*)(void*);
  Frame() = default;
  Frame(char* data, std::size_t size, Deleter deleter)
      : data_(data, deleter), size_(size) {}
  // A copy of `bytes`, for tests.
  static Frame Copy(std::string_view bytes) {
    char* data = static_cast<char*>(std::malloc(bytes.size() + 1));
    if (data == nullptr) std::abort();
    std::memcpy(data, bytes.data(), bytes.size());
    return Frame(data, bytes.size(), std::free);
  }

  std::string_view bytes() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char, Deleter> data_{nullptr, +[](void*) {}};
  std::size_t size_ = 0;
};

// What may be told to the publisher (DESIGN.md decision 2).
struct Positions {
  Lsn flushed;  // survives power loss here; the publisher may forget what is
                // before it
  Lsn applied;  // visible to readers here
};

class ReplicationStream {
 public:
  virtual ~ReplicationStream() = default;

  // Appends the frames that have arrived to `*frames`; waits up to `timeout`
  // for the first. OK with nothing appended is a time-out. Frames that arrived
  // before the connection was lost are delivered before its error. NotFound
  // where a publication did not exist at the position that the server decodes,
  // which will not change.
  virtual absl::Status Receive(absl::Duration timeout,
                               std::vector<Frame>* frames) = 0;

  // Sets what the next status updates say; with `now` one is sent at once.
  // Positions never go back.
  virtual void Confirm(const Positions& positions, bool now) = 0;

  // True when frames wait that Receive has not yet delivered, or follow so
  // densely that more are certain within a moment. Never blocks; Receive
  // returns when it becomes false.
  virtual bool HasMore() const = 0;

  // When the server was last heard (frame or keepalive), by absl::Now().
  virtual absl::Time LastHeard() const = 0;
};

// What is to be read of a table: all of it, or a part by its primary key.
struct CopyRequest {
  std::vector<std::string> after;  // the key, as text, behind which the rows
                                   // begin; empty: from the first
  std::int64_t limit = 0;          // rows at most, in the order of the key; 0:
                                   // all, in any order
  bool binary = false;  // in binary form if every column has a decoder
};

// The rows of one table in one snapshot: one REPEATABLE READ, READ ONLY
// transaction with row_security = off. Destroying it ends the transaction.
class TableReader {
 public:
  virtual ~TableReader() = default;

  // What the rows are a picture of.
  virtual const Snapshot& snapshot() const = 0;
  // A position at or after the commit of everything that the snapshot sees.
  virtual Lsn snapshot_lsn() const = 0;
  // The table as the catalog described it in this snapshot. NotFound from
  // ReadTable where it is no longer published.
  virtual const PublishedTable& table() const = 0;
  virtual const PgTypes& types() const = 0;

  // What CopyRows (wire/copy_rows.h) has to take the messages as.
  virtual CopyForm form() const = 0;

  // The next CopyData message, false at the end: in text format a row with its
  // newline. `*message` is valid until the next call.
  virtual absl::StatusOr<bool> Next(std::string_view* message) = 0;
};

class Publisher {
 public:
  virtual ~Publisher() = default;

  // What the replication connection is called from the next Connect on
  // (application_name), unless the connection string names it.
  virtual void Introduce(const std::string& name) = 0;

  // (Re)connects: a replication connection and an ordinary one, both with the
  // session settings of CONTRACT.md section 3, verified. Drops whatever was
  // open before.
  virtual absl::StatusOr<PublisherIdentity> Connect() = 0;

  virtual absl::StatusOr<SlotState> ReadSlot(const std::string& name) = 0;

  // Waits until every transaction that runs now has ended (PostgreSQL's rule).
  // `on_wait` is called about once a second with a text that says for whom
  // ("transaction 804 of pid 77 since …").
  virtual absl::StatusOr<CreatedSlot> CreateSlot(
      const SlotOptions& options,
      const std::function<void(std::string_view)>& on_wait) = 0;
  // Makes slot `to` at the position of `from`, which may be in use (server
  // 12+). It decodes prepared transactions when they are committed, whatever
  // `from` does.
  virtual absl::Status CopySlot(const std::string& from,
                                const std::string& to) = 0;
  // Lets standbys keep a copy of the slot (server 17+, not on a standby).
  virtual absl::Status EnableFailover(const std::string& name) = 0;
  // NotFound if there is none; Unavailable while it is active.
  virtual absl::Status DropSlot(const std::string& name) = 0;

  // Everything that the publications publish, in one catalog snapshot. Tables
  // whose row in it has a `problem` are included.
  virtual absl::StatusOr<Publications> ReadPublications(
      const std::vector<std::string>& publications) = 0;

  // Transactions (as "pid/virtual id" texts or the like, for comparing and
  // showing only) that hold a lock on the table with this OID, or on its
  // partitions, with which they can have written to it; prepared ones too.
  virtual absl::StatusOr<std::vector<std::string>> ReadWriters(
      std::uint32_t relation) = 0;

  // NotFound if it does not exist or is not published; FailedPrecondition and
  // Aborted, here and from Next, where the server does not give this very
  // table: Aborted may be a passing trouble. The table's description
  // is read inside the same snapshot. A range with a limit is for tables with a
  // primary key; of one that turns out to have none all rows are read.
  virtual absl::StatusOr<std::unique_ptr<TableReader>> ReadTable(
      const std::string& pg_schema, const std::string& pg_table,
      const std::vector<std::string>& publications,
      const CopyRequest& request) = 0;

  // Runs one statement on the ordinary connection; rows of values in text form,
  // NULL as "". For questions that only `check` asks (privileges, free slots),
  // so that the seam does not grow a method for each. The statement is
  // sublite's own text; names from outside go through QuoteLiteral.
  virtual absl::StatusOr<std::vector<std::vector<std::string>>> Query(
      std::string_view sql) = 0;

  // Starts streaming on the replication connection. FailedPrecondition if the
  // publication is not there for the slot (message of the server), Unavailable
  // while the slot is active for another process.
  virtual absl::StatusOr<std::unique_ptr<ReplicationStream>> StartReplication(
      const StreamOptions& options) = 0;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_PUBLISHER_H_
