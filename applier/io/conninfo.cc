#include "applier/io/conninfo.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "applier/io/session_settings.h"
#include "schema/status.h"

namespace sublite {
namespace {

using Options = std::map<std::string, std::string>;

// The value that libpq must refuse, see EffectiveOptions.
constexpr char kRefused[] = "sublite-only-asks";

Options FromConninfoOptions(PQconninfoOption* raw) {
  std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      raw, PQconninfoFree);
  Options result;
  for (const PQconninfoOption* o = raw; o != nullptr && o->keyword != nullptr;
       ++o) {
    if (o->val != nullptr) result[o->keyword] = o->val;
  }
  return result;
}

// What stands in the string itself.
absl::StatusOr<Options> ParseString(const std::string& conninfo) {
  char* error = nullptr;
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), &error);
  if (options != nullptr) return FromConninfoOptions(options);
  std::string text = error != nullptr ? error : "out of memory";
  PQfreemem(error);
  // The piece that libpq could not read may be, or hold, a password.
  return absl::FailedPreconditionError(absl::StrCat(
      "publisher.conninfo cannot be read: ",
      absl::StripAsciiWhitespace(ElideQuoted(text)),
      ". It is a list of keyword=value (values with spaces in single quotes) "
      "or a postgresql:// URI (special characters as %XX)"));
}

// What is in force once libpq has put the string, the service file, the
// environment and its defaults together. Only libpq knows its rules, so it is
// asked: with a connection that it merges the settings for and then must
// refuse, before any name is looked up.
absl::StatusOr<Options> EffectiveOptions(const std::string& conninfo) {
  const char* keywords[] = {"dbname", "channel_binding", nullptr};
  const char* values[] = {conninfo.c_str(), kRefused, nullptr};
  // A string without "=" or "://" would be taken for a database's name.
  const int expand = conninfo.empty() ? 0 : 1;
  if (conninfo.empty()) {
    keywords[0] = "channel_binding";
    values[0] = kRefused;
    keywords[1] = nullptr;
  }
  std::unique_ptr<PGconn, void (*)(PGconn*)> conn(
      PQconnectStartParams(keywords, values, expand), PQfinish);
  if (conn == nullptr) return absl::ResourceExhaustedError("out of memory");
  Options effective = FromConninfoOptions(PQconninfo(conn.get()));
  std::string error = PQerrorMessage(conn.get());
  if (!absl::StrContains(error, kRefused)) {
    // In a URI an unescaped "@", ":" or "/" makes a piece of the password look
    // like a host or a port.
    if (absl::StrContains(conninfo, "://")) error = ElideQuoted(error);
    return absl::FailedPreconditionError(absl::StrCat(
        "publisher.conninfo: ", absl::StripAsciiWhitespace(error)));
  }
  effective.erase("channel_binding");
  return effective;
}

std::optional<std::string> Environment(const char* name) {
  const char* value = getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

// True if `file` has `[service]`; `*sets` tells if it sets `keyword`.
bool FindService(const std::string& file, const std::string& service,
                 std::string_view keyword, bool* sets) {
  std::ifstream in(file);
  std::string line;
  bool inside = false;
  while (std::getline(in, line)) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(text, "[")) {
      if (inside) return true;
      inside = absl::StartsWith(text, absl::StrCat("[", service, "]"));
    } else if (inside && absl::StartsWith(text, View(keyword)) &&
               absl::StartsWith(text.substr(keyword.size()), "=")) {
      *sets = true;
    }
  }
  return inside;
}

void SetIfUnset(const std::string& keyword, const std::string& value,
                Options* options) {
  std::string& slot = (*options)[keyword];
  if (slot.empty()) slot = value;
}

std::vector<std::string> SplitList(const std::string& list) {
  return absl::StrSplit(list, ',');
}

std::string QuoteForShow(const std::string& value) {
  const bool plain =
      !value.empty() && value.find_first_of(" '\\\t\n") == std::string::npos;
  if (plain) return value;
  return absl::StrCat(
      "'", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// libpq would show the piece that it cannot use. In a URI whose password was
// not escaped that may be a piece of the password.
absl::Status CheckTargets(const std::vector<ConnectTarget>& targets) {
  constexpr char kEscape[] =
      ". In a URI the characters @, :, / and % of a password are written as "
      "%40, %3A, %2F and %25";
  for (const ConnectTarget& target : targets) {
    if (target.host.find('@', 1) != std::string::npos) {
      return absl::FailedPreconditionError(absl::StrCat(
          "publisher.conninfo: a host name has an @ in it", kEscape));
    }
    int port = 0;
    if (!target.port.empty() &&
        (!absl::SimpleAtoi(target.port, &port) || port < 1 || port > 65535)) {
      return absl::FailedPreconditionError(
          absl::StrCat("publisher.conninfo: a port is not a number from 1 to "
                       "65535",
                       kEscape));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsLocalHost(std::string_view host) {
  if (host.empty() || host.front() == '/' || host.front() == '@') return true;
  if (absl::EqualsIgnoreCase(View(host), "localhost")) return true;
  const std::string text(host);
  in_addr v4;
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == 127;
  }
  in6_addr v6;
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  return false;
}

std::string ElideQuoted(std::string_view text) {
  const std::size_t first = text.find('"');
  const std::size_t last = text.rfind('"');
  if (first == std::string_view::npos || first == last) {
    return std::string(text);
  }
  return absl::StrCat(View(text.substr(0, first + 1)), "***",
                      View(text.substr(last)));
}

void ScrubSecret(std::string_view secret, std::string* text) {
  if (secret.size() < 4) return;
  absl::StrReplaceAll({{View(secret), "***"}}, text);
}

bool ServiceSets(const std::string& service, std::string_view keyword) {
  bool sets = false;
  std::string user_file = Environment("PGSERVICEFILE").value_or("");
  if (user_file.empty()) {
    std::string home = Environment("HOME").value_or("");
    if (home.empty()) {
      const passwd* self = getpwuid(geteuid());
      if (self != nullptr) home = self->pw_dir;
    }
    user_file = home + "/.pg_service.conf";
  }
  if (FindService(user_file, service, keyword, &sets)) return sets;
  const std::string folder =
      Environment("PGSYSCONFDIR").value_or("/etc/postgresql-common");
  FindService(folder + "/pg_service.conf", service, keyword, &sets);
  return sets;
}

bool ConnectTarget::NeedsLookup() const {
  if (!hostaddr.empty() || host.empty()) return false;
  if (host.front() == '/' || host.front() == '@') return false;
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) != 1 &&
         inet_pton(AF_INET6, host.c_str(), &address) != 1;
}

absl::StatusOr<Conninfo> Conninfo::Resolve(const Secret& conninfo,
                                           const Secret& password) {
  ASSIGN_OR_RETURN(const Options in_string, ParseString(conninfo.reveal()));
  absl::StatusOr<Options> effective = EffectiveOptions(conninfo.reveal());
  if (!effective.ok()) {
    std::string text(effective.status().message());
    for (const char* keyword : {"password", "sslpassword"}) {
      const auto secret = in_string.find(keyword);
      if (secret != in_string.end()) ScrubSecret(secret->second, &text);
    }
    return absl::Status(effective.status().code(), text);
  }
  Conninfo result;
  result.effective_ = *std::move(effective);
  // libpq's own default; it would hide what the user asked for.
  const auto binding = in_string.find("channel_binding");
  if (binding != in_string.end()) {
    result.effective_["channel_binding"] = binding->second;
  } else if (const auto asked = Environment("PGCHANNELBINDING")) {
    result.effective_["channel_binding"] = *asked;
  }
  if (!password.empty()) result.effective_["password"] = password.reveal();
  result.FindTargets();
  RETURN_IF_ERROR(CheckTargets(result.targets_));
  result.ApplyDefaults(in_string);
  return result;
}

std::string Conninfo::Get(const std::string& keyword) const {
  const auto found = effective_.find(keyword);
  return found == effective_.end() ? "" : found->second;
}

void Conninfo::FindTargets() {
  const std::string hosts = Get("host");
  const std::string addresses = Get("hostaddr");
  const std::string ports = Get("port");
  const std::string attrs = Get("target_session_attrs");
  const std::size_t count =
      SplitList(addresses.empty() ? hosts : addresses).size();
  const auto nth = [count](const std::string& list, std::size_t i) {
    const std::vector<std::string> parts = SplitList(list);
    if (parts.size() == 1 && count > 1) return parts[0];
    return i < parts.size() ? parts[i] : std::string();
  };
  const auto add_all = [&](const std::string& wanted) {
    for (std::size_t i = 0; i < count; ++i) {
      targets_.push_back(ConnectTarget{hosts.empty() ? "" : nth(hosts, i),
                                       nth(addresses, i), nth(ports, i),
                                       wanted});
    }
  };
  // Hosts are tried one by one, each with its own time-out, so that one that
  // accepts and never answers does not hide the next. prefer-standby then
  // means, as in libpq: any standby first, then anything.
  if (attrs == "prefer-standby" && count > 1) {
    add_all("standby");
    add_all("any");
  } else {
    add_all(attrs);
  }
}

void Conninfo::ApplyDefaults(const Options& in_string) {
  std::string service = Environment("PGSERVICE").value_or("");
  const auto named = in_string.find("service");
  if (named != in_string.end()) service = named->second;
  const auto chosen = [&](const std::string& keyword, const char* variable) {
    if (in_string.count(keyword) > 0) return true;
    if (Environment(variable).has_value()) return true;
    return !service.empty() && ServiceSets(service, keyword);
  };

  // "prefer" is libpq's own default; anything else was chosen by someone.
  const bool remote = std::any_of(
      targets_.begin(), targets_.end(), [](const ConnectTarget& target) {
        return !IsLocalHost(target.hostaddr.empty() ? target.host
                                                    : target.hostaddr);
      });
  SetIfUnset("sslmode", "prefer", &effective_);
  if (remote && effective_["sslmode"] == "prefer" &&
      !chosen("sslmode", "PGSSLMODE")) {
    effective_["sslmode"] = "verify-full";
    sslmode_is_default_ = true;
  }
  if (!chosen("gssencmode", "PGGSSENCMODE")) {
    effective_["gssencmode"] = "disable";  // saves a megabyte; TLS is the way
  }
  // A dead peer is noticed within half a minute, whichever side was sending.
  SetIfUnset("keepalives_idle", "15", &effective_);
  SetIfUnset("keepalives_interval", "5", &effective_);
  SetIfUnset("keepalives_count", "3", &effective_);
  SetIfUnset("tcp_user_timeout", "30000", &effective_);
  SetIfUnset("fallback_application_name", "sublite", &effective_);

  int seconds = 0;
  if (absl::SimpleAtoi(Get("connect_timeout"), &seconds)) {
    // As libpq reads it: 0 or less is no limit, and 2 the least.
    connect_timeout_ = seconds <= 0 ? absl::InfiniteDuration()
                                    : absl::Seconds(std::max(seconds, 2));
  }

  std::string& options = effective_["options"];
  for (const SessionSetting& setting : kSessionSettings) {
    absl::StrAppend(&options, options.empty() ? "" : " ", "-c ",
                    View(setting.name), "=", View(setting.value));
  }
  effective_["client_encoding"] = "UTF8";
}

ConnectParameters Conninfo::Parameters(const ConnectTarget& target,
                                       ConnectionKind kind) const {
  ConnectParameters parameters = effective_;
  const auto set = [&](const std::string& keyword, const std::string& value) {
    if (value.empty()) {
      parameters.erase(keyword);
    } else {
      parameters[keyword] = value;
    }
  };
  set("host", target.host);
  set("hostaddr", target.hostaddr);
  set("port", target.port);
  set("target_session_attrs", target.session_attrs);
  const bool replicates = kind == ConnectionKind::kReplication;
  set("replication", replicates ? "database" : "");
  if (replicates && !replication_name_.empty())
    set("fallback_application_name", replication_name_);
  return parameters;
}

std::string Conninfo::Redacted() const {
  std::string shown;
  for (const char* keyword :
       {"host", "hostaddr", "port", "dbname", "user", "sslmode"}) {
    const std::string value = Get(keyword);
    if (value.empty()) continue;
    absl::StrAppend(&shown, shown.empty() ? "" : " ", keyword, "=",
                    QuoteForShow(value));
  }
  return Scrub(shown);
}

std::string Conninfo::Scrub(std::string_view text) const {
  std::string scrubbed(text);
  for (const char* keyword : {"password", "sslpassword"}) {
    ScrubSecret(Get(keyword), &scrubbed);
  }
  return scrubbed;
}

}  // namespace sublite
