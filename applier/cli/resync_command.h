// `sublite resync [TABLE...]`: asks for another copy of the named tables, or of
// all.
//
// Only leaves requests in the file (sublite_requests), durably; `sublite run`
// takes them up, at once or at its next start. Readers keep the old rows until
// the new ones are complete. A table is named as in SQLite, as schema.table, or
// by its plain name where only one has it. If one name is wrong nothing is
// asked for.
//
// Returns the exit code: 0; 64 for an unknown or ambiguous name; 75 if the file
// stays locked for 30 s; 78 if there is no replica or a table is not published
// any more.
#ifndef SUBLITE_APPLIER_CLI_RESYNC_COMMAND_H_
#define SUBLITE_APPLIER_CLI_RESYNC_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

namespace sublite {

int ResyncCommand(const std::string& database,
                  const std::vector<std::string>& names, std::ostream& out,
                  std::ostream& err);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_RESYNC_COMMAND_H_
