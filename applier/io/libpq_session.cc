#include "applier/io/libpq_session.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "applier/io/libpq_error.h"
#include "applier/io/resolve_host.h"
#include "applier/io/session_settings.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

absl::Status SettingMismatch(std::string_view name, std::string_view is,
                             std::string_view wanted) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the publisher's session has ", View(name), " = '", View(is),
      "' although the startup packet asked for '", View(wanted),
      "'. Something between sublite and the publisher drops startup options, "
      "as poolers do: connect to the server itself"));
}

// Reads every setting back.
absl::Status VerifySettings(Connection& connection, std::string_view encoding) {
  std::string sql = "SELECT pg_catalog.current_setting('client_encoding')";
  for (const SessionSetting& setting : kSessionSettings) {
    absl::StrAppend(&sql, ", pg_catalog.current_setting(",
                    QuoteLiteral(setting.name), ")");
  }
  ASSIGN_OR_RETURN(const Result result,
                   connection.Query(sql, "reading the session's settings"));
  if (result.rows() != 1 ||
      result.columns() != static_cast<int>(std::size(kSessionSettings)) + 1) {
    return absl::DataLossError("the session's settings: not one row");
  }
  if (result.Get(0, 0) != encoding) {
    return SettingMismatch("client_encoding", result.Get(0, 0), encoding);
  }
  int column = 1;
  for (const SessionSetting& setting : kSessionSettings) {
    const std::string_view is = result.Get(0, column++);
    if (is != setting.reads) {
      return SettingMismatch(setting.name, is, setting.reads);
    }
  }
  return absl::OkStatus();
}

// Settings that only newer servers have. Asking pg_settings for them works on
// all. Compiling a catalog query (jit) takes seconds, running it milliseconds.
absl::Status SetNewerSettings(Connection& connection) {
  return connection
      .Query(
          "SELECT pg_catalog.set_config(name, '0', false)"
          " FROM pg_catalog.pg_settings"
          " WHERE name IN"
          " ('idle_session_timeout', 'transaction_timeout', 'jit')",
          "setting up the session")
      .status();
}

absl::Status NotAWalSender(const absl::Status& status) {
  if (SqlState(status) != "42601") return status;
  return absl::FailedPreconditionError(
      "the server does not take replication commands on a connection with "
      "replication=database: a pooler stands between. Connect to the server "
      "itself");
}

// The lines of a timeline history file: timeline, tab, position, tab, reason.
absl::StatusOr<std::vector<TimelineSwitch>> ParseHistory(
    std::string_view text) {
  std::vector<TimelineSwitch> history;
  for (absl::string_view line : absl::StrSplit(View(text), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::ByAnyChar("\t "), absl::SkipEmpty());
    TimelineSwitch left;
    if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &left.timeline) ||
        !Lsn::Parse(View(parts[1]), &left.left_at)) {
      return absl::DataLossError(
          absl::StrCat("timeline history: cannot read \"", line, "\""));
    }
    history.push_back(left);
  }
  return history;
}

absl::StatusOr<std::vector<TimelineSwitch>> ReadHistory(
    Connection& replication, std::uint32_t timeline) {
  if (timeline <= 1) return std::vector<TimelineSwitch>();
  const absl::StatusOr<Result> result =
      replication.Query(absl::StrCat("TIMELINE_HISTORY ", timeline),
                        "reading the timeline's history");
  // The file may have been tidied away.
  if (SqlState(result.status()) == "58P01") {
    return std::vector<TimelineSwitch>();
  }
  RETURN_IF_ERROR(result.status());
  if (result->rows() != 1 || result->columns() < 2) {
    return absl::DataLossError("TIMELINE_HISTORY: not one row");
  }
  return ParseHistory(result->Get(0, 1));
}

// The server's own mark, which its standbys do not share, and whether it is
// one.
absl::StatusOr<Result> AskWhichServer(Connection& connection) {
  ASSIGN_OR_RETURN(
      Result result,
      connection.Query("SELECT pg_catalog.pg_postmaster_start_time()::text,"
                       " pg_catalog.pg_is_in_recovery()",
                       "identifying the publisher"));
  if (result.rows() != 1 || result.columns() != 2) {
    return absl::DataLossError("the server does not say when it was started");
  }
  return result;
}

// What is left of several targets' errors: any that may pass makes all worth
// another try.
absl::Status Combine(const std::vector<absl::Status>& errors) {
  if (errors.size() == 1) return errors[0];
  absl::StatusCode code = errors[0].code();
  std::vector<std::string> texts;
  for (const absl::Status& error : errors) {
    if (absl::IsUnavailable(error)) code = absl::StatusCode::kUnavailable;
    texts.emplace_back(error.message());
  }
  return absl::Status(code, absl::StrJoin(texts, "; "));
}

// The target once for each of its addresses.
absl::StatusOr<std::vector<ConnectTarget>> WithAddresses(
    const ConnectTarget& target, const Conninfo& conninfo,
    const StopSignal* stop) {
  if (!target.NeedsLookup()) return std::vector<ConnectTarget>{target};
  ASSIGN_OR_RETURN(
      const std::vector<std::string> addresses,
      ResolveHost(target.host, SteadyIn(conninfo.connect_timeout()), stop));
  std::vector<ConnectTarget> targets;
  for (const std::string& address : addresses) {
    targets.push_back(target);
    targets.back().hostaddr = address;
  }
  return targets;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> OpenSession(
    std::shared_ptr<const Conninfo> conninfo, const ConnectTarget& target,
    ConnectionKind kind, const StopSignal* stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                   Connection::Open(std::move(conninfo), target, kind, stop));
  constexpr int kOldestServer = 100000;
  if (connection->server_version() < kOldestServer) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the publisher is PostgreSQL ", connection->parameter("server_version"),
        "; logical replication needs 10 or later"));
  }
  // First, since an idle session may have little time.
  RETURN_IF_ERROR(SetNewerSettings(*connection));
  // A database without an encoding may hold any bytes, and refuses to send
  // those that are no UTF-8. They are taken as they are.
  std::string_view encoding = "UTF8";
  if (connection->parameter("server_encoding") == "SQL_ASCII") {
    encoding = "SQL_ASCII";
    RETURN_IF_ERROR(connection
                        ->Query("SET client_encoding = 'SQL_ASCII'",
                                "setting up the session")
                        .status());
  }
  RETURN_IF_ERROR(VerifySettings(*connection, encoding));
  return connection;
}

absl::StatusOr<std::unique_ptr<Connection>> OpenAnySession(
    const std::shared_ptr<const Conninfo>& conninfo, ConnectionKind kind,
    const StopSignal* stop, ConnectTarget* chosen) {
  std::vector<absl::Status> errors;
  for (const ConnectTarget& target : conninfo->targets()) {
    const absl::StatusOr<std::vector<ConnectTarget>> addresses =
        WithAddresses(target, *conninfo, stop);
    if (absl::IsCancelled(addresses.status())) return addresses.status();
    if (!addresses.ok()) {
      errors.push_back(addresses.status());
      continue;
    }
    for (const ConnectTarget& address : *addresses) {
      absl::StatusOr<std::unique_ptr<Connection>> connection =
          OpenSession(conninfo, address, kind, stop);
      if (connection.ok()) {
        *chosen = address;
        return connection;
      }
      if (absl::IsCancelled(connection.status())) return connection.status();
      errors.push_back(connection.status());
    }
  }
  return Combine(errors);
}

absl::StatusOr<PublisherIdentity> Identify(Connection& replication) {
  PublisherIdentity identity;
  // First: a standby that is promoted meanwhile then has its new timeline.
  ASSIGN_OR_RETURN(const Result server, AskWhichServer(replication));
  identity.started_at = server.Text(0, 0);
  identity.in_recovery = server.Get(0, 1) == "t";
  absl::StatusOr<Result> result =
      replication.Query("IDENTIFY_SYSTEM", "identifying the publisher");
  if (!result.ok()) return NotAWalSender(result.status());
  if (result->rows() != 1 || result->columns() < 4) {
    return absl::DataLossError("IDENTIFY_SYSTEM: not one row of four columns");
  }
  identity.system_identifier = result->Text(0, 0);
  if (!absl::SimpleAtoi(View(result->Get(0, 1)), &identity.timeline) ||
      !Lsn::Parse(result->Get(0, 2), &identity.wal_end)) {
    return absl::DataLossError(
        absl::StrCat("IDENTIFY_SYSTEM: timeline '", View(result->Get(0, 1)),
                     "', position '", View(result->Get(0, 2)), "'"));
  }
  ASSIGN_OR_RETURN(identity.history,
                   ReadHistory(replication, identity.timeline));
  if (result->IsNull(0, 3)) {
    return absl::FailedPreconditionError(
        "the replication connection is not connected to a database: a pooler "
        "stands between. Connect to the server itself");
  }
  identity.database = result->Text(0, 3);
  identity.server_version = replication.server_version();
  identity.server_version_text = replication.parameter("server_version");
  return identity;
}

absl::Status CheckSameServer(Connection& connection,
                             const PublisherIdentity& identity) {
  const absl::Status another = absl::UnavailableError(
      "the connections of sublite reached two different servers, or the server "
      "was restarted between them: let publisher.conninfo name servers, not a "
      "proxy in front of several");
  // A standby has the system identifier of its primary.
  ASSIGN_OR_RETURN(const Result server, AskWhichServer(connection));
  if (server.Get(0, 0) != identity.started_at) return another;
  const absl::StatusOr<Result> result = connection.Query(
      "SELECT system_identifier FROM pg_catalog.pg_control_system()",
      "identifying the publisher");
  // Somebody may have taken the right to call it; then the start has to do.
  if (SqlState(result.status()) == "42501") return absl::OkStatus();
  RETURN_IF_ERROR(result.status());
  if (result->rows() == 1 && result->Get(0, 0) == identity.system_identifier) {
    return absl::OkStatus();
  }
  return another;
}

}  // namespace sublite
