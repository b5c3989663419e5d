// A connection made ready for use: session settings in force and verified, and
// known to lead to the server that was meant.
//
// Errors: FailedPrecondition naming the setting that did not take (a pooler
// between), and where the replication connection turns out not to be one.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_SESSION_H_
#define SUBLITE_APPLIER_IO_LIBPQ_SESSION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "applier/io/conninfo.h"
#include "applier/io/libpq_connection.h"
#include "applier/publisher.h"
#include "applier/stop_signal.h"

namespace sublite {

// Connects to one target (name looked up) and sets up the session.
absl::StatusOr<std::unique_ptr<Connection>> OpenSession(
    std::shared_ptr<const Conninfo> conninfo, const ConnectTarget& target,
    ConnectionKind kind, const StopSignal* stop);

// Tries the targets of `conninfo` in turn, looking names up, until one gives a
// session. `*chosen` is the target, with its address.
absl::StatusOr<std::unique_ptr<Connection>> OpenAnySession(
    const std::shared_ptr<const Conninfo>& conninfo, ConnectionKind kind,
    const StopSignal* stop, ConnectTarget* chosen);

// IDENTIFY_SYSTEM and the version, on a replication session.
absl::StatusOr<PublisherIdentity> Identify(Connection& replication);

// Unavailable if a session of either kind leads to another server than
// `identity`'s, one of its standbys included (proxies, addresses that move), or
// to one that was restarted since.
absl::Status CheckSameServer(Connection& connection,
                             const PublisherIdentity& identity);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_SESSION_H_
