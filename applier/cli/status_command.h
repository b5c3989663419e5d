// `sublite status [--json]`: what the replica holds and how fresh it is.
//
// Reads only the SQLite file, as an ordinary reader, so it works while the
// publisher is down and while sublite is stopped. The text is for a person at
// three in the morning: what the state means and what to do next. The JSON is
// for programs: the columns of sublite_status and sublite_tables under their
// names, ages in seconds; more may follow.
//
// Returns the exit code: 0 whatever the state is; 78 where there is no replica.
#ifndef SUBLITE_APPLIER_CLI_STATUS_COMMAND_H_
#define SUBLITE_APPLIER_CLI_STATUS_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "applier/cli/replica_file.h"

namespace sublite {

int StatusCommand(const std::string& database, bool json, std::ostream& out,
                  std::ostream& err);

// Its two forms, pure: for tests.
std::string StatusText(const std::string& database, const ReplicaStatus& status,
                       absl::Time now);
std::string StatusJson(const std::string& database, const ReplicaStatus& status,
                       absl::Time now);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_STATUS_COMMAND_H_
