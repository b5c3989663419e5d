// What the publisher's catalogs say: publications, tables, columns, keys, types
// and locks.
//
// Servers 10 to 18 differ in columns and functions; the differences are here
// and nowhere else. Names come back as the catalogs hold them. Every name
// inside the statements is qualified or resolved by an empty search_path
// (session_settings.h), so nothing a user created can be called by them.
//
// Functions take a session of libpq_session.h. Errors: as libpq_error.h;
// DataLoss for an answer of the wrong shape. Threads: as Connection.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_CATALOG_H_
#define SUBLITE_APPLIER_IO_LIBPQ_CATALOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/io/libpq_connection.h"
#include "applier/publisher.h"
#include "applier/snapshot.h"
#include "schema/relation.h"

namespace sublite {

// All that `publications` publish; with `only` not 0, no more than that table.
// To be called in a REPEATABLE READ transaction. Leaves search_path empty for
// the rest of the transaction.
//
// Lists of published tables come from the server's own functions, which look at
// the newest catalogs, not at the transaction's: a table that is too new for
// the transaction is left out.
absl::StatusOr<Publications> ReadPublished(
    Connection& connection, const std::vector<std::string>& publications,
    std::uint32_t only);

// See Publisher::ReadWriters.
absl::StatusOr<std::vector<std::string>> ReadLockHolders(
    Connection& connection, std::uint32_t relation);

// `pg_current_snapshot()` or what the server calls it.
std::string_view CurrentSnapshotFunction(int server_version);

// SQL for a position at or after the commit of all that is visible by now.
std::string_view VisibleLsnExpression();

// `ARRAY['a','b']::text[]`
std::string TextArray(const std::vector<std::string>& texts);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_CATALOG_H_
