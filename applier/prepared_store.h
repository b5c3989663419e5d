// Transactions that are prepared at the publisher and not yet decided, kept in
// the replica file (sublite_prepared and sublite_staged, see
// schema/bookkeeping.h; records as in staging.h).
//
// A transaction is known by (xid, GID, prepare LSN): a GID may be used again.
// All calls run inside the caller's SQLite transaction; the work is durable
// when that is committed and synced. Errors as Database gives them.
#ifndef SUBLITE_APPLIER_PREPARED_STORE_H_
#define SUBLITE_APPLIER_PREPARED_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "applier/io/sqlite.h"
#include "applier/staging.h"
#include "applier/wire/message.h"

namespace sublite {

struct PreparedTransaction {
  Xid xid = 0;
  std::string_view gid;
  Lsn prepare_lsn;
  Lsn end_lsn;
  PgTime prepare_time;
  std::int64_t source = 0;  // ReplicaState::source
};

class PreparedStore {
 public:
  explicit PreparedStore(Database& database) : database_(database) {}

  // Stores what `spool` holds. Does nothing where the transaction is there
  // already: the publisher sends a PREPARE again when it has not heard that it
  // arrived.
  absl::Status Seal(const PreparedTransaction& transaction, Spool& spool);

  // The id of the newest one with this xid and GID.
  absl::StatusOr<std::optional<std::int64_t>> Find(Xid xid,
                                                   std::string_view gid,
                                                   std::int64_t source);

  absl::Status ForEach(
      std::int64_t id,
      const std::function<absl::Status(const StagedRecord&)>& visit);
  absl::Status Remove(std::int64_t id);

  struct Totals {
    std::int64_t transactions = 0;
    std::int64_t bytes = 0;
    std::int64_t oldest_micros = -1;  // since 1970, of the oldest PREPARE
  };
  absl::StatusOr<Totals> ReadTotals();

 private:
  absl::Status AddPart(std::int64_t id, int part, std::string_view data);

  Database& database_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_PREPARED_STORE_H_
