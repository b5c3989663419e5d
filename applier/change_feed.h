// replica.changes: what local programs read to learn which rows changed,
// without looking at the rows.
//
//     sublite_changes   id | sqlite_table | key | kind | lsn | committed_at |
//                       applied_at
//
// One row a changed row, in the SQLite transaction of the change, in the order
// in which the changes were applied. `id` only grows, and is never used twice:
// a reader remembers the last one that it has seen. `key` is a JSON object of
// the key's columns (of the primary key, else of the replica identity index),
// NULL where the table has neither. `kind`: insert, update, delete; an update
// that changes the key is a delete and an insert; truncate and copied concern
// the whole table, key is NULL. `lsn` and `committed_at` are those of the
// publisher's commit, for `copied` the position that the copy is of.
//
// The oldest rows go when they are older than `age` (by this machine's clock,
// in `applied_at`) or all together are larger than `bytes`. A reader whose last
// id is smaller than min(id) - 1 has missed some and reads the tables anew.
//
// `<database>-notify` is written after each commit that changed something: one
// line, the position that readers see from then on. For inotify; it is not
// synced, and its content is for people.
//
// Threads: one. Errors: of Database. Lifetime: within the Database's.
#ifndef SUBLITE_APPLIER_CHANGE_FEED_H_
#define SUBLITE_APPLIER_CHANGE_FEED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "applier/io/sqlite.h"
#include "applier/wire/lsn.h"
#include "applier/wire/message.h"
#include "schema/table.h"

namespace sublite {

struct ChangeFeedOptions {
  absl::Duration age = absl::Hours(24);
  std::int64_t bytes = 64 << 20;  // about, as content
};

class ChangeFeed {
 public:
  ChangeFeed(Database& database, std::string path, ChangeFeedOptions options)
      : database_(database), path_(std::move(path)), options_(options) {}

  // Once, outside of a transaction; looks how much is there.
  absl::Status Open();
  // Removes what an earlier process left, where replica.changes is off.
  static absl::Status Clear(Database& database);

  // The changes that follow belong to this transaction of the publisher.
  void Begin(Lsn commit_lsn, PgTime commit_time, absl::Time now);
  absl::Status Insert(const TableShape& table, Tuple row);
  absl::Status Update(const TableShape& table, OldTuple old_kind, Tuple old_row,
                      Tuple new_row);
  absl::Status Delete(const TableShape& table, Tuple old_row);
  absl::Status Truncate(const TableShape& table);
  absl::Status Copied(const TableShape& table, std::optional<Lsn> as_of,
                      absl::Time now);

  // Before each commit: what is too old or too much goes.
  absl::Status Prune(absl::Time now);
  void Committed(Lsn applied);
  void RolledBack();

 private:
  // Sets *key; false where the row does not say its key.
  bool ReadKey(const TableShape& table, Tuple row, std::string* key);
  absl::Status Add(const TableShape& table, std::string_view kind,
                   const std::string* key);
  absl::Status DropOldest(absl::Time cutoff);
  void Notify(Lsn applied);

  Database& database_;
  const std::string path_;
  const ChangeFeedOptions options_;
  Statement insert_;
  std::string lsn_;
  std::string committed_at_;
  std::string applied_at_;
  std::string key_;
  std::string old_key_;
  std::string scratch_;
  std::int64_t bytes_ = 0;
  std::int64_t committed_bytes_ = 0;
  bool added_ = false;
  Lsn notified_;
  absl::Time pruned_at_ = absl::InfinitePast();
  bool notify_failed_ = false;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CHANGE_FEED_H_
