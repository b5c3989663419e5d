// Name lookup that can be left. getaddrinfo() blocks for as long as the
// resolver likes, so it runs in a thread of its own that nobody has to wait
// for.
//
// Errors: Unavailable if the name cannot be looked up now (also for a name that
// does not exist: an edge device may only be offline), Cancelled on stop.
// Threads: any.
#ifndef SUBLITE_APPLIER_IO_RESOLVE_HOST_H_
#define SUBLITE_APPLIER_IO_RESOLVE_HOST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/io/wait.h"
#include "applier/stop_signal.h"

namespace sublite {

// The numeric addresses of `host` in the order of the resolver; never empty.
absl::StatusOr<std::vector<std::string>> ResolveHost(const std::string& host,
                                                     SteadyTime deadline,
                                                     const StopSignal* stop);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_RESOLVE_HOST_H_
