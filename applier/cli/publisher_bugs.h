// Mistakes of PostgreSQL's releases that can make a replica wrong or slow, and
// the release that mended each (release notes of the back branches).
//
// Pure.
#ifndef SUBLITE_APPLIER_CLI_PUBLISHER_BUGS_H_
#define SUBLITE_APPLIER_CLI_PUBLISHER_BUGS_H_

#include <string>

namespace sublite {

// `server_version` as PQserverVersion gives it: 150018 for 15.18. What this
// release does wrong and which one does not, on one line; "" if nothing is
// known of it.
std::string KnownBugs(int server_version);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_PUBLISHER_BUGS_H_
