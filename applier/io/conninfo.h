// From the configured connection string to what libpq is handed for a
// connection, and what of it may be shown.
//
// libpq's environment variables, service file and password file apply as usual;
// libpq itself merges them (see Resolve). On top of that come sublite's
// defaults, where neither the string, the environment nor the service file says
// otherwise: sslmode=verify-full if any host is neither a socket nor the
// loopback, gssencmode=disable, TCP keepalives and a connect time-out; and what
// is never left to choice: session settings (session_settings.h), UTF-8, and
// whether the connection is a replication one.
//
// Errors: FailedPrecondition; no text of this file's making ever holds a
// secret. Threads: immutable once made; Resolve reads the environment.
#ifndef SUBLITE_APPLIER_IO_CONNINFO_H_
#define SUBLITE_APPLIER_IO_CONNINFO_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/config.h"

namespace sublite {

enum class ConnectionKind { kReplication, kOrdinary };

// One of the hosts of the connection string. `host` and `hostaddr` as in
// libpq; both empty is the default socket.
struct ConnectTarget {
  std::string host;
  std::string hostaddr;
  std::string port;
  std::string session_attrs;  // target_session_attrs

  // True for a name that has to be looked up before connecting.
  bool NeedsLookup() const;
};

// Keywords and values for PQconnectStartParams. Holds the password.
using ConnectParameters = std::map<std::string, std::string>;

class Conninfo {
 public:
  // `conninfo` is a keyword string or URI and may be empty; `password`, unless
  // empty, goes before any other. Opens no connection.
  static absl::StatusOr<Conninfo> Resolve(const Secret& conninfo,
                                          const Secret& password);

  // In the order in which they are to be tried; never empty.
  const std::vector<ConnectTarget>& targets() const { return targets_; }

  ConnectParameters Parameters(const ConnectTarget& target,
                               ConnectionKind kind) const;

  // The application_name of replication connections, where nobody chose one.
  void NameReplication(const std::string& name) { replication_name_ = name; }

  // For one target.
  absl::Duration connect_timeout() const { return connect_timeout_; }

  const std::string& sslmode() const { return effective_.at("sslmode"); }
  // True where sslmode is sublite's choice and not the user's.
  bool sslmode_is_default() const { return sslmode_is_default_; }

  // `host=… port=… dbname=… user=… sslmode=…`: all that may be shown.
  std::string Redacted() const;

  // `text` with every occurrence of a secret replaced.
  std::string Scrub(std::string_view text) const;

 private:
  Conninfo() = default;
  void ApplyDefaults(const std::map<std::string, std::string>& in_string);
  void FindTargets();
  std::string Get(const std::string& keyword) const;

  ConnectParameters effective_;  // never NULL values; secrets included
  std::vector<ConnectTarget> targets_;
  std::string replication_name_;
  absl::Duration connect_timeout_ = absl::Seconds(10);
  bool sslmode_is_default_ = false;
};

// True if `host` (as in libpq's host or hostaddr) cannot leave this machine: a
// socket, 127.0.0.0/8, ::1 or localhost.
bool IsLocalHost(std::string_view host);

// `text` without what stands between its first and last double quote: libpq
// quotes pieces of a connection string that it cannot read.
std::string ElideQuoted(std::string_view text);

// Replaces `secret` in `*text`. Secrets of under four bytes are left alone:
// they are no secrets, and hiding them would point them out.
void ScrubSecret(std::string_view secret, std::string* text);

// True if `[service]` in one of libpq's service files sets `keyword`.
bool ServiceSets(const std::string& service, std::string_view keyword);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_CONNINFO_H_
