// `sublite skip --lsn=X/Y`: skips the one transaction that cannot be applied
// (the meaning of ALTER SUBSCRIPTION … SKIP).
//
// Only leaves a request in the file (sublite_requests), durably; `sublite run`
// takes it up. The position is the one that the error's row in sublite_events
// has; nothing else is ever skipped by it.
//
// Returns the exit code: 0; 75 if the file stays locked for 30 s; 78 if there
// is no replica or the position is applied already.
#ifndef SUBLITE_APPLIER_CLI_SKIP_COMMAND_H_
#define SUBLITE_APPLIER_CLI_SKIP_COMMAND_H_

#include <ostream>
#include <string>

#include "applier/wire/lsn.h"

namespace sublite {

int SkipCommand(const std::string& database, Lsn lsn, std::ostream& out,
                std::ostream& err);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_SKIP_COMMAND_H_
