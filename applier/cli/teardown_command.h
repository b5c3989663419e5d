// `sublite teardown`: drops the slot on the publisher, so that a retired device
// does not hold WAL there; the SQLite file stays as it is, but for a note.
//
// A slot that is in use, or that is not sublite's (another plugin or database),
// is left alone. A slot that is gone already is no error.
//
// Returns the exit code: 0; 75 if the publisher cannot be reached; 78 where a
// person must do something first.
#ifndef SUBLITE_APPLIER_CLI_TEARDOWN_COMMAND_H_
#define SUBLITE_APPLIER_CLI_TEARDOWN_COMMAND_H_

#include <ostream>

#include "applier/config.h"
#include "applier/publisher.h"

namespace sublite {

int TeardownCommand(const Config& config, Publisher* publisher,
                    std::ostream& out, std::ostream& err);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_TEARDOWN_COMMAND_H_
