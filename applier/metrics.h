// What `run` counts, for the metrics page: written by the thread that works,
// read by any.
//
// Counters begin at 0 with the process. Times are microseconds since 1970,
// positions and sizes bytes, -1 where something is not known. Rows,
// transactions and conflicts are counted while a SQLite transaction is open, in
// plain integers, and can be read from its commit on; a rollback forgets them.
// So a row costs an addition and no lock.
//
// Threads: Tally as it says; SetNote, note and TableRows from any; all
// else from the one thread that works. Lifetime: the process's; TableMetrics
// live as long as the Metrics that made them.
#ifndef SUBLITE_APPLIER_METRICS_H_
#define SUBLITE_APPLIER_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace sublite {

// A number that one thread writes and any may read. Adding is a load, an
// addition and a store: no bus lock.
class Tally {
 public:
  explicit Tally(std::int64_t value = 0) : value_(value) {}
  void Set(std::int64_t value) {
    value_.store(value, std::memory_order_relaxed);
  }
  void Add(std::int64_t more) { Set(get() + more); }
  std::int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_;
};

enum class RowKind { kInsert, kUpdate, kDelete, kTruncate };
inline constexpr std::array<const char*, 4> kRowKindNames = {
    "insert", "update", "delete", "truncate"};

// What the process is doing; a stopped one is not asked any more.
enum class Phase { kStarting, kConnecting, kCopying, kStreaming, kWaiting };
inline constexpr std::array<const char*, 5> kPhaseNames = {
    "starting", "connecting", "copying", "streaming", "waiting"};

// By whom it has to be mended: nobody (the connection), or a person.
enum class ErrorKind { kConnection, kTable, kTransaction, kOther };
inline constexpr std::array<const char*, 4> kErrorKindNames = {
    "connection", "table", "transaction", "other"};

// The changes of one table.
class TableMetrics {
 public:
  TableMetrics(std::string_view pg_schema, std::string_view pg_table)
      : schema(pg_schema), table(pg_table) {}
  const std::string schema;
  const std::string table;

 private:
  friend class Metrics;
  std::array<Tally, kRowKindNames.size()> rows_;
  std::array<std::uint32_t, kRowKindNames.size()> pending_ = {};
  bool changed_ = false;  // it is in Metrics::changed_
};

class Metrics {
 public:
  // Tables with series of their own: the first so many that changed. What all
  // others did is summed up, since each series costs memory in Prometheus.
  static constexpr std::size_t kTablesShown = 1000;

  Metrics();

  // ---- positions and times
  Tally received_lsn;   // as in status updates: how far the publisher has sent
  Tally applied_lsn;    // readers see it
  Tally flushed_lsn;    // it survives power loss here
  Tally publisher_lsn;  // the end of the publisher's WAL when last asked
  Tally applied_commit_at{-1};
  Tally contact_at{-1};  // when the publisher was last heard
  // The rows are those that the publisher had then, or newer, as far as one can
  // tell from here.
  Tally as_of{-1};

  // ---- counters
  Tally received_bytes;  // of the stream
  Tally copied_bytes;
  Tally copied_rows;
  Tally copies;  // tables
  Tally transactions;
  Tally commits;  // of SQLite
  Tally syncs;
  Tally wal_written_bytes;    // into the replica's write-ahead log
  Tally spill_written_bytes;  // beside the replica
  Tally connects;
  Tally missing_rows;
  Tally replaced_rows;
  std::array<Tally, kErrorKindNames.size()> errors;

  // ---- gauges
  Tally staged_transactions;
  Tally staged_bytes;
  Tally prepared_transactions;
  Tally prepared_bytes;
  Tally oldest_prepared_at{-1};
  // Tables by TableState, in its order.
  std::array<Tally, 5> tables;
  Tally connected;

  // ---- the slot, when last asked
  Tally slot_retained_bytes{-1};
  Tally slot_safe_bytes{-1};       // -1: without a limit
  Tally slot_offline_seconds{-1};  // -1: without a limit

  // When the process began.
  absl::Time started() const { return started_; }

  // ---- while a SQLite transaction is open
  // `*of` is a place to remember the table in, nullptr before its first row.
  void CountRow(TableMetrics** of, RowKind kind, std::string_view pg_schema,
                std::string_view pg_table) {
    if (*of == nullptr) *of = Table(pg_schema, pg_table);
    TableMetrics& table = **of;
    ++table.pending_[static_cast<std::size_t>(kind)];
    if (table.changed_) return;
    table.changed_ = true;
    changed_.push_back(&table);
  }
  void CountTransaction() { ++pending_transactions_; }
  void CountConflict(bool missing) {
    ++(missing ? pending_missing_ : pending_replaced_);
  }
  void Committed();
  void RolledBack();

  // ---- what is going on
  void SetPhase(Phase phase) { phase_.Set(static_cast<int>(phase)); }
  Phase phase() const { return static_cast<Phase>(phase_.get()); }
  void CountError(ErrorKind kind) {
    errors[static_cast<std::size_t>(kind)].Add(1);
  }
  // In words; any thread.
  void SetNote(std::string_view note);
  std::string note() const;

  struct Rows {
    std::string schema;  // both empty: all tables that have no series
    std::string table;
    std::array<std::int64_t, kRowKindNames.size()> rows = {};
  };
  // Of tables that changed since the process began; any thread.
  std::vector<Rows> TableRows() const;

 private:
  TableMetrics* Table(std::string_view pg_schema, std::string_view pg_table);

  const absl::Time started_;
  Tally phase_;
  std::vector<TableMetrics*> changed_;
  std::int64_t pending_transactions_ = 0;
  std::int64_t pending_missing_ = 0;
  std::int64_t pending_replaced_ = 0;

  mutable std::mutex mutex_;  // of note_ and all_
  std::string note_;
  // In the order of their first change; never moved, never taken away.
  std::deque<TableMetrics> all_;
  // By length of the schema's name, a colon, and both names.
  absl::flat_hash_map<std::string, TableMetrics*> by_name_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_METRICS_H_
