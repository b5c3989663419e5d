#include "applier/io/libpq_error.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr char kSqlStatePayload[] = "sublite/sqlstate";
constexpr char kLostPayload[] = "sublite/connection-lost";

struct Mend {
  std::string_view sqlstate;
  std::string_view text;  // must be in the message; "" matches all
  std::string_view mend;
};

// The first that fits.
constexpr Mend kMends[] = {
    {"55000", "wal_level",
     "set wal_level = logical on the publisher and restart it"},
    {"55006", "",
     "another process uses it, or the publisher has not yet noticed that an "
     "earlier connection is gone; trying again"},
    {"53300", "max_wal_senders",
     "raise max_wal_senders on the publisher and restart it, or end a standby "
     "or subscriber that nobody needs"},
    {"53300", "",
     "raise max_connections on the publisher, or the role's CONNECTION LIMIT"},
    {"53400", "",
     "raise max_replication_slots on the publisher, or drop a slot that nobody "
     "uses"},
    {"42501", "row-level security",
     "give the role BYPASSRLS (ALTER ROLE … BYPASSRLS), or connect as the "
     "table's owner: a copy must never be filtered in silence"},
    {"42501", "walsender",
     "give the role the attribute REPLICATION (ALTER ROLE … REPLICATION)"},
    {"42501", "WAL sender",
     "give the role the attribute REPLICATION (ALTER ROLE … REPLICATION)"},
    {"42501", "replication",
     "give the role the attribute REPLICATION (ALTER ROLE … REPLICATION)"},
    {"42501", "",
     "grant the role what is missing (GRANT USAGE ON SCHEMA …, GRANT SELECT ON "
     "…, or membership of pg_read_all_data)"},
    {"28P01", "",
     "check the user and the password (publisher.password_file, the "
     "credential `password`, or the password in publisher.conninfo)"},
    {"28000", "",
     "check the user in publisher.conninfo and the publisher's pg_hba.conf"},
    {"3D000", "", "check dbname in publisher.conninfo"},
    {"42704", "publication",
     "create the publication, or correct publisher.publications. If it was "
     "made after the slot, the slot still looks at the time before: drop the "
     "slot (sublite teardown) and start again with a new copy"},
    {"0A000", "column list",
     "make the column lists equal, or subscribe to one of the publications"},
};

std::string_view MendFor(std::string_view sqlstate, std::string_view message) {
  for (const Mend& mend : kMends) {
    if (mend.sqlstate == sqlstate &&
        absl::StrContains(View(message), View(mend.text))) {
      return mend.mend;
    }
  }
  return "";
}

std::string WithMend(std::string text, std::string_view mend) {
  if (mend.empty()) return text;
  return absl::StrCat(absl::StripTrailingAsciiWhitespace(text), ". ",
                      View(mend));
}

absl::Status WithSqlState(absl::Status status, std::string_view sqlstate) {
  if (!sqlstate.empty()) {
    status.SetPayload(kSqlStatePayload, absl::Cord(View(sqlstate)));
  }
  return status;
}

bool ContainsAny(std::string_view text,
                 std::initializer_list<const char*> pieces) {
  for (const char* piece : pieces) {
    if (absl::StrContains(View(text), piece)) return true;
  }
  return false;
}

bool IsTlsTrouble(std::string_view message) {
  return ContainsAny(message,
                     {"SSL was required", "certificate verify failed",
                      "does not match host name", "root certificate file",
                      "could not get server's host name", "weak sslmode",
                      "server certificate"});
}

// What libpq says by itself, without a SQLSTATE.
absl::Status StatusFromClientSide(const ConnectFailure& failure) {
  std::string text = OneLine(failure.message);
  if (text.empty()) text = "the connection failed without a message";
  if (failure.needs_password) {
    return absl::FailedPreconditionError(WithMend(
        text,
        "the publisher asks for a password and none is configured: set "
        "publisher.password_file, or use a password file of libpq"));
  }
  if (IsTlsTrouble(text)) {
    if (failure.clock_is_wrong && absl::StrContains(text, "verify failed")) {
      return absl::UnavailableError(WithMend(
          text,
          "this machine's clock is wrong, which makes every certificate "
          "invalid; waiting for the right time"));
    }
    const std::string_view mend =
        failure.sslmode_is_default
            ? "no sslmode is configured, so sublite asks for verify-full on a "
              "host that is not local: set sslmode in publisher.conninfo, or "
              "sslrootcert to the file of the CA that signed the publisher's "
              "certificate"
            : "see sslmode and sslrootcert in publisher.conninfo";
    return absl::FailedPreconditionError(WithMend(text, mend));
  }
  // Texts about a setting itself: no network is involved, nothing will change.
  if (ContainsAny(text, {"invalid ", "could not match", "fe_sendauth",
                         "channel binding", "certificate file",
                         "private key file", "authentication method", "GSSAPI",
                         "requirepeer", "is too long", "require_auth"})) {
    return absl::FailedPreconditionError(text);
  }
  return ConnectionLost(text, "");
}

}  // namespace

absl::StatusCode CodeForSqlState(std::string_view sqlstate) {
  struct Rule {
    std::string_view prefix;
    absl::StatusCode code;
  };
  constexpr absl::StatusCode kRetry = absl::StatusCode::kUnavailable;
  constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;
  static constexpr Rule kRules[] = {
      {"08", kRetry},      // connection exception; poolers: about everything
      {"25", kRetry},      // transaction state: timeouts of 25P03, 25P04
      {"40", kRetry},      // serialization failure, deadlock
      {"53400", kPerson},  // all replication slots are in use
      {"53", kRetry},      // too many connections, disk full, out of memory
      {"55006", kRetry},   // slot is active
      {"55P03", kRetry},   // lock not available
      {"57", kRetry},      // cancelled, shutting down, starting up
      {"58", kRetry},      // input/output error
      {"72", kRetry},      // snapshot too old
      {"XX001", kPerson},  // data corrupted
      {"XX002", kPerson},  // index corrupted
      {"XX", kRetry},      // internal error: often a race with DDL
  };
  if (sqlstate.empty()) return kRetry;
  for (const Rule& rule : kRules) {
    if (absl::StartsWith(View(sqlstate), View(rule.prefix))) return rule.code;
  }
  return kPerson;
}

absl::Status StatusFromServer(const ServerError& error,
                              std::string_view doing) {
  if (error.sqlstate.empty()) return ConnectionLost(error.message, doing);
  std::string text;
  if (!doing.empty()) absl::StrAppend(&text, View(doing), ": ");
  absl::StrAppend(&text, error.message);
  if (!error.detail.empty()) absl::StrAppend(&text, " (", error.detail, ")");
  const std::string_view mend = MendFor(error.sqlstate, error.message);
  text = WithMend(std::move(text), mend.empty() ? error.hint : mend);
  absl::Status status(CodeForSqlState(error.sqlstate), OneLine(text));
  if (absl::StartsWith(error.sqlstate, "57P")) {
    status.SetPayload(kLostPayload, absl::Cord());  // FATAL: it hangs up
  }
  return WithSqlState(std::move(status), error.sqlstate);
}

std::string SqlState(const absl::Status& status) {
  const auto payload = status.GetPayload(kSqlStatePayload);
  return payload.has_value() ? std::string(*payload) : "";
}

absl::Status ConnectionLost(std::string_view message, std::string_view doing) {
  std::string text = OneLine(message);
  if (text.empty()) text = "the connection was lost";
  if (!doing.empty()) text = absl::StrCat(View(doing), ": ", text);
  absl::Status status = absl::UnavailableError(text);
  status.SetPayload(kLostPayload, absl::Cord());
  return status;
}

bool IsConnectionLost(const absl::Status& status) {
  return status.GetPayload(kLostPayload).has_value();
}

std::string SqlStateInMessage(std::string_view message) {
  // `<severity, maybe translated>:  XXXXX: <text>`.
  constexpr std::string_view kBefore = ":  ";
  for (std::size_t at = message.find(kBefore); at != std::string_view::npos;
       at = message.find(kBefore, at + 1)) {
    const std::string_view code = message.substr(at + kBefore.size(), 6);
    if (code.size() < 6 || code[5] != ':') continue;
    bool fits = true;
    for (const char c : code.substr(0, 5)) {
      fits = fits && (absl::ascii_isdigit(c) || absl::ascii_isupper(c));
    }
    if (fits) return std::string(code.substr(0, 5));
  }
  return "";
}

std::string OneLine(std::string_view message) {
  std::vector<std::string> kept;
  for (absl::string_view line : absl::StrSplit(View(message), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    // "LOCATION:  auth_failed, auth.c:334" in verbose messages.
    const std::size_t colon = line.find(":  ");
    if (absl::StrContains(line, ".c:") && colon != absl::string_view::npos &&
        line.substr(0, colon).find(' ') == absl::string_view::npos) {
      continue;
    }
    if (!line.empty()) kept.emplace_back(line);
  }
  std::string text = absl::StrJoin(kept, " ");
  const std::string sqlstate = SqlStateInMessage(text);
  if (!sqlstate.empty()) {
    absl::StrReplaceAll({{absl::StrCat(":  ", sqlstate, ": "), ": "}}, &text);
  }
  return text;
}

absl::Status StatusFromConnect(const ConnectFailure& failure) {
  const std::string sqlstate = SqlStateInMessage(failure.message);
  if (sqlstate.empty()) return StatusFromClientSide(failure);
  const std::string text = OneLine(failure.message);
  std::string_view mend = MendFor(sqlstate, text);
  const bool pooler =
      ContainsAny(text, {"startup parameter", "startup option"});
  if (pooler) {
    mend =
        "a pooler stands between and refuses what a replication connection "
        "needs: connect to the server itself";
  } else if (sqlstate == "42704" || sqlstate == "22023") {
    mend = "see options in publisher.conninfo";
  }
  absl::StatusCode code = CodeForSqlState(sqlstate);
  if (pooler) code = absl::StatusCode::kFailedPrecondition;
  // A database that is still being restored or made ready.
  if (sqlstate == "55000") code = absl::StatusCode::kUnavailable;
  return WithSqlState(absl::Status(code, WithMend(text, mend)), sqlstate);
}

}  // namespace sublite
