// `sublite check`: what would stand in the way of `run`, one line a finding.
//
// Changes nothing anywhere: reads the publisher's catalogs, and the SQLite file
// as an ordinary reader if there is one. Needs the connection of `run`, since
// it asks whether `run` will get it.
//
// Returns the exit code: 0; 1 if any finding failed.
#ifndef SUBLITE_APPLIER_CLI_CHECK_COMMAND_H_
#define SUBLITE_APPLIER_CLI_CHECK_COMMAND_H_

#include <ostream>

#include "absl/status/status.h"
#include "applier/config.h"
#include "applier/publisher.h"

namespace sublite {

int CheckCommand(const Config& config, Publisher* publisher, std::ostream& out);

// The findings of a configuration that cannot even be read: one for each line
// of the message.
int CheckBrokenConfig(const absl::Status& status, std::ostream& out);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_CHECK_COMMAND_H_
