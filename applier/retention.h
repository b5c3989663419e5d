// What the publisher keeps for this replica, and how long it would go on doing
// so without being asked for it: for `status`, the metrics and the status page.
//
// Pure. Sizes are bytes of WAL. An observation is made while connected
// (Session), kept in sublite_slot, and read from there when nobody is
// connected. Facts relied on: safe_wal_size and wal_status of
// pg_replication_slots (server 13+), NULL without max_slot_wal_keep_size;
// idle_replication_slot_timeout (18+) invalidates a slot that nobody used for
// that long.
#ifndef SUBLITE_APPLIER_RETENTION_H_
#define SUBLITE_APPLIER_RETENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "applier/wire/lsn.h"

namespace sublite {

struct Retention {
  absl::Time at;  // when it was asked
  Lsn wal_end;    // of the publisher
  Lsn restart;    // the oldest WAL that the slot needs; 0 if it needs none
  std::string wal_status;  // reserved, extended, unreserved, lost; "": unknown
  // What may still be written before the slot is lost; none: without a limit,
  // or the server does not say.
  std::optional<std::int64_t> safe_bytes;
  std::optional<std::int64_t> keep_bytes;  // max_slot_wal_keep_size, if any
  absl::Duration idle_timeout;             // 0: none
  double wal_rate =
      0;  // bytes a second that the publisher writes; 0: not known

  std::int64_t retained_bytes() const;
};

// The question, one row of text values for ParseRetention; none without a slot
// of that name. `slot` is a legal slot name.
std::string RetentionSql(std::string_view slot);
// What that row says; nothing where it is no answer to the question.
std::optional<Retention> ParseRetention(const std::vector<std::string>& row,
                                        absl::Time at);

// The rate that follows from `before`, which may be days older, and a later
// position. Recent hours count more; what is not newer changes nothing.
double WalRate(const Retention& before, absl::Time at, Lsn wal_end);

// How long after `at` the slot would last if nobody connected; none: as long
// as the publisher's disk.
std::optional<absl::Duration> OfflineTime(const Retention& retention);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_RETENTION_H_
