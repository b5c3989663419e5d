// What a standby (server 16 and later) sees of its primary's transactions, told
// exactly.
//
// On a standby pg_current_snapshot() leaves out which transactions run: it says
// "734:737:" although 734 does (seen on 16, 17 and 18: a snapshot that was
// taken in recovery keeps its list where the function does not look). At its
// word a copy would hold the changes of 734, and they would be lost. So each
// transaction of the range is asked for, just before the snapshot and just
// after it: one that had ended before is seen, one that runs afterwards is not,
// and where any ended between the two a new snapshot is taken.
//
// Errors: as Connection::Query; Unavailable where transactions end so fast that
// there is never a moment between two of them. Threads: as Connection.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_STANDBY_H_
#define SUBLITE_APPLIER_IO_LIBPQ_STANDBY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/io/libpq_connection.h"
#include "applier/snapshot.h"

namespace sublite {

// Gives the REPEATABLE READ transaction of `reader`, which must not have run a
// query yet, a snapshot, and says what it sees. `helper` is another session of
// the same database; it is in no transaction before and after.
absl::StatusOr<Snapshot> SetKnownSnapshot(Connection& reader,
                                          Connection& helper,
                                          std::string_view doing);

// "transaction N" for all that run on the primary, of any database, as far as
// this standby has heard. Which tables they write to is not known here.
absl::StatusOr<std::vector<std::string>> ReadRunningTransactions(
    Connection& connection);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_STANDBY_H_
