// `sublite wait --lsn=X/Y [--timeout=30s]`: read-your-writes.
//
// Returns as soon as the replica has applied everything that was committed up
// to X/Y: applied_lsn has reached it and no table is being copied (a table
// under copy shows its old rows until the copy is complete). A table that
// failed does not hold up the others; it is named on `err`.
//
// Polls the file as an ordinary reader, with no transaction open in between, so
// it never holds the write-ahead log. A file that is not there yet, or is
// replaced meanwhile, is waited for.
//
// Returns the exit code: 0 applied; 75 on time-out; 78 if the file is no
// replica.
#ifndef SUBLITE_APPLIER_CLI_WAIT_COMMAND_H_
#define SUBLITE_APPLIER_CLI_WAIT_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "applier/wire/lsn.h"

namespace sublite {

int WaitCommand(const std::string& database, Lsn lsn, absl::Duration timeout,
                std::ostream& err);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_WAIT_COMMAND_H_
