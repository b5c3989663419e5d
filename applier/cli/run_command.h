// `sublite run`: the main job, until SIGTERM or SIGINT.
//
// Returns the exit code: 0 stopped by a signal; 78 where only a person can go
// on; 70 a defect in sublite. It does not end because the publisher cannot be
// reached.
#ifndef SUBLITE_APPLIER_CLI_RUN_COMMAND_H_
#define SUBLITE_APPLIER_CLI_RUN_COMMAND_H_

#include "applier/config.h"

namespace sublite {

int RunCommand(const Config& config);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_RUN_COMMAND_H_
