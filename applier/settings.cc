#include "applier/settings.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "applier/units.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr absl::Duration kShortestStatusInterval = absl::Milliseconds(10);
constexpr absl::Duration kLongestStatusInterval = absl::Hours(1);
constexpr absl::Duration kLongestPatience = absl::Hours(720);
constexpr absl::Duration kLongestChangesAge = absl::Hours(87600);
constexpr std::size_t kSlotNameMax = 63;  // NAMEDATALEN - 1

absl::Status Bad(const std::string& message) {
  return absl::InvalidArgumentError(message);
}

absl::Status GetText(const SettingValue& value, std::string* out) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return Bad("must be a text in quotes");
  if (text->find('\0') != std::string::npos) {
    return Bad("must not contain a zero byte");
  }
  *out = *text;
  return absl::OkStatus();
}

absl::Status GetBoolean(const SettingValue& value, bool* out) {
  const auto* boolean = std::get_if<bool>(&value);
  if (boolean == nullptr) return Bad("must be true or false, without quotes");
  *out = *boolean;
  return absl::OkStatus();
}

template <typename Enum>
using Choices = std::vector<std::pair<const char*, Enum>>;

template <typename Enum>
absl::Status GetChoice(const SettingValue& value, const Choices<Enum>& choices,
                       Enum* out) {
  std::string list;
  const auto* text = std::get_if<std::string>(&value);
  for (const auto& [name, choice] : choices) {
    if (text != nullptr && *text == name) {
      *out = choice;
      return absl::OkStatus();
    }
    absl::StrAppend(&list, list.empty() ? "\"" : ", \"", name, "\"");
  }
  if (text == nullptr) return Bad(absl::StrCat("must be one of ", list));
  return Bad(absl::StrCat("is \"", *text, "\", must be one of ", list));
}

absl::Status GetNumericMode(const SettingValue& value, NumericMode* out) {
  return GetChoice<NumericMode>(value,
                                {{"auto", NumericMode::kAuto},
                                 {"text", NumericMode::kText},
                                 {"real", NumericMode::kReal}},
                                out);
}

absl::Status SetConninfo(const SettingValue& value, Config* config) {
  std::string text;
  RETURN_IF_ERROR(GetText(value, &text));
  config->publisher.conninfo = Secret(std::move(text));
  return absl::OkStatus();
}

absl::Status SetPasswordFile(const SettingValue& value, Config* config) {
  RETURN_IF_ERROR(GetText(value, &config->publisher.password_file));
  if (config->publisher.password_file.empty()) return Bad("must not be empty");
  return absl::OkStatus();
}

absl::Status SetPublications(const SettingValue& value, Config* config) {
  std::vector<std::string> names;
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::size_t from = 0;
    while (from <= text->size()) {
      const std::size_t comma = std::min(text->find(',', from), text->size());
      names.emplace_back(
          absl::StripAsciiWhitespace(text->substr(from, comma - from)));
      from = comma + 1;
    }
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    names = *list;
  } else {
    return Bad("must be a list of names: [\"first\", \"second\"]");
  }
  if (names.empty()) return Bad("must name at least one publication");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) return Bad("holds an empty name");
    if (names[i].find('\0') != std::string::npos) {
      return Bad("must not contain a zero byte");
    }
    if (std::find(names.begin(), names.begin() + i, names[i]) !=
        names.begin() + i) {
      return Bad(absl::StrCat("names \"", names[i], "\" twice"));
    }
  }
  config->publisher.publications = std::move(names);
  return absl::OkStatus();
}

absl::Status SetSlot(const SettingValue& value, Config* config) {
  std::string slot;
  RETURN_IF_ERROR(GetText(value, &slot));
  const bool legal =
      !slot.empty() && slot.size() <= kSlotNameMax &&
      std::all_of(slot.begin(), slot.end(), [](char c) {
        return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
      });
  if (!legal) {
    return Bad(
        absl::StrCat("is \"", slot,
                     "\", which PostgreSQL does not take: lower-case "
                     "letters, digits and underscores, 1 to 63 of them"));
  }
  config->publisher.slot = std::move(slot);
  return absl::OkStatus();
}

absl::Status SetTwoPhase(const SettingValue& value, Config* config) {
  return GetBoolean(value, &config->publisher.two_phase);
}

absl::Status SetStreaming(const SettingValue& value, Config* config) {
  return GetChoice<StreamingSetting>(
      value,
      {{"auto", StreamingSetting::kAuto},
       {"off", StreamingSetting::kOff},
       {"on", StreamingSetting::kOn},
       {"parallel", StreamingSetting::kParallel}},
      &config->publisher.streaming);
}

absl::Status SetBinary(const SettingValue& value, Config* config) {
  return GetBoolean(value, &config->publisher.binary);
}

absl::Status SetOrigin(const SettingValue& value, Config* config) {
  return GetChoice<bool>(value, {{"any", false}, {"none", true}},
                         &config->publisher.origin_none);
}

absl::Status SetMessages(const SettingValue& value, Config* config) {
  return GetBoolean(value, &config->publisher.messages);
}

absl::Status SetFailover(const SettingValue& value, Config* config) {
  return GetBoolean(value, &config->publisher.failover);
}

absl::Status SetStatusInterval(const SettingValue& value, Config* config) {
  if (!std::holds_alternative<std::string>(value)) {
    return Bad("needs a unit, in quotes: \"10s\", \"500ms\", \"1m\"");
  }
  ASSIGN_OR_RETURN(const absl::Duration interval,
                   ParseDurationText(std::get<std::string>(value)));
  if (interval < kShortestStatusInterval || interval > kLongestStatusInterval) {
    return Bad(absl::StrCat("is ", absl::FormatDuration(interval),
                            ", must be between 10ms and 1h"));
  }
  config->publisher.status_interval = interval;
  return absl::OkStatus();
}

absl::Status SetDatabase(const SettingValue& value, Config* config) {
  std::string path;
  RETURN_IF_ERROR(GetText(value, &path));
  if (path.empty()) return Bad("must be the path of a file, is empty");
  if (path[0] == ':' || path.rfind("file:", 0) == 0) {
    return Bad("must be the path of a file, not an SQLite URI or \":memory:\"");
  }
  if (path.rfind("~/", 0) == 0) {
    return Bad("must not begin with \"~\": write the whole path");
  }
  if (path.back() == '/') return Bad("is a folder, must be a file");
  config->replica.database = std::move(path);
  return absl::OkStatus();
}

absl::Status SetSeed(const SettingValue& value, Config* config) {
  RETURN_IF_ERROR(GetText(value, &config->replica.seed));
  if (config->replica.seed.empty()) return Bad("must name a file, is empty");
  return absl::OkStatus();
}

absl::Status SetNumeric(const SettingValue& value, Config* config) {
  return GetNumericMode(value, &config->replica.numeric);
}

absl::Status SetSchemaSeparator(const SettingValue& value, Config* config) {
  RETURN_IF_ERROR(GetText(value, &config->replica.schema_separator));
  if (config->replica.schema_separator.empty()) {
    return Bad("must not be empty: the tables a.bc and ab.c would be one");
  }
  return absl::OkStatus();
}

absl::Status SetMirrorIndexes(const SettingValue& value, Config* config) {
  return GetBoolean(value, &config->replica.mirror_indexes);
}

absl::Status SetCopyRate(const SettingValue& value, Config* config) {
  const auto* rate = std::get_if<std::int64_t>(&value);
  if (rate == nullptr || *rate < 0) {
    return Bad("must be a whole number of bytes a second, 0 for no limit");
  }
  config->replica.copy_rate = static_cast<std::uint64_t>(*rate);
  return absl::OkStatus();
}

absl::Status GetSize(const SettingValue& value, std::int64_t* out) {
  if (const auto* bytes = std::get_if<std::int64_t>(&value)) {
    if (*bytes < 0) return Bad("must not be negative; 0 is no limit");
    *out = *bytes;
    return absl::OkStatus();
  }
  if (!std::holds_alternative<std::string>(value))
    return Bad("must be a number of bytes, or a text like \"500MB\"");
  ASSIGN_OR_RETURN(*out, ParseByteSize(std::get<std::string>(value)));
  return absl::OkStatus();
}

absl::Status SetSpillLimit(const SettingValue& value, Config* config) {
  return GetSize(value, &config->replica.spill_limit);
}

absl::Status SetOnGap(const SettingValue& value, Config* config) {
  return GetChoice<OnGap>(value,
                          {{"resync", OnGap::kResync}, {"stop", OnGap::kStop}},
                          &config->replica.on_gap);
}

absl::Status SetDropUnpublished(const SettingValue& value, Config* config) {
  return GetBoolean(value, &config->replica.drop_unpublished);
}

absl::Status SetRefusalPatience(const SettingValue& value, Config* config) {
  if (!std::holds_alternative<std::string>(value)) {
    return Bad("needs a unit, in quotes: \"5m\", \"0s\", \"1h\"");
  }
  ASSIGN_OR_RETURN(const absl::Duration patience,
                   ParseDurationText(std::get<std::string>(value)));
  if (patience > kLongestPatience) return Bad("must be 720h at most");
  config->replica.refusal_patience = patience;
  return absl::OkStatus();
}

absl::Status SetChanges(const SettingValue& value, Config* config) {
  return GetBoolean(value, &config->replica.changes);
}

absl::Status SetChangesAge(const SettingValue& value, Config* config) {
  if (!std::holds_alternative<std::string>(value))
    return Bad("needs a unit, in quotes: \"24h\", \"30m\"");
  ASSIGN_OR_RETURN(config->replica.changes_age,
                   ParseDurationText(std::get<std::string>(value)));
  if (config->replica.changes_age < absl::Minutes(1) ||
      config->replica.changes_age > kLongestChangesAge)
    return Bad("must be between a minute and 87600h");
  return absl::OkStatus();
}

absl::Status SetChangesSize(const SettingValue& value, Config* config) {
  RETURN_IF_ERROR(GetSize(value, &config->replica.changes_size));
  if (config->replica.changes_size < 64 << 10)
    return Bad("must be 64kB at least");
  return absl::OkStatus();
}

absl::Status SetLogLevel(const SettingValue& value, Config* config) {
  return GetChoice<LogLevel>(value,
                             {{"debug", LogLevel::kDebug},
                              {"info", LogLevel::kInfo},
                              {"warn", LogLevel::kWarn},
                              {"error", LogLevel::kError}},
                             &config->log.level);
}

absl::Status SetLogFormat(const SettingValue& value, Config* config) {
  return GetChoice<LogFormat>(value,
                              {{"auto", LogFormat::kAuto},
                               {"text", LogFormat::kText},
                               {"json", LogFormat::kJson},
                               {"journal", LogFormat::kJournal}},
                              &config->log.format);
}

absl::Status SetListen(const SettingValue& value, Config* config) {
  std::string text;
  RETURN_IF_ERROR(GetText(value, &text));
  config->listen.reset();
  if (text.empty() || text == "off") return absl::OkStatus();
  ASSIGN_OR_RETURN(config->listen, ParseListenAddress(text));
  return absl::OkStatus();
}

std::vector<Setting> PublisherSettings() {
  using K = SettingKind;
  return {
      {"publisher.conninfo", "publisher", K::kText, "CONNINFO",
       "\"host=db.example.com dbname=app user=sublite\"", true,
       "A libpq connection string or URI. libpq's environment variables, "
       "service file\n"
       "and password file apply; \"\" takes everything from them. Without an "
       "sslmode\n"
       "it is verify-full, except for a socket and the loopback. With several\n"
       "hosts say which is meant: target_session_attrs=read-write.",
       SetConninfo},
      {"publisher.password_file", "", K::kText, "FILE",
       "\"/etc/sublite/password\"", false,
       "A file that holds the password. Under systemd the credential "
       "\"password\"\n"
       "is used if there is one.",
       SetPasswordFile},
      {"publisher.publications", "publication", K::kList, "NAME[,NAME]",
       "[\"app\"]", true, "The publications to follow.", SetPublications},
      {"publisher.slot", "slot", K::kText, "NAME", "\"sublite_replica\"", false,
       "The replication slot. Default: sublite_ and the name of the SQLite "
       "file.",
       SetSlot},
      {"publisher.two_phase", "two_phase", K::kBoolean, "", "true", false,
       "Decode prepared transactions at PREPARE (server 15 and later).",
       SetTwoPhase},
      {"publisher.streaming", "streaming", K::kChoice, "auto|off|on|parallel",
       "\"auto\"", false,
       "Streaming of transactions in progress; auto takes the best that the "
       "server\n"
       "has: parallel (16 and later), on (14, 15), else off.",
       SetStreaming},
      {"publisher.binary", "binary", K::kBoolean, "", "false", false,
       "Ask for rows in binary form (server 14 and later, else as text).",
       SetBinary},
      {"publisher.origin", "origin", K::kChoice, "any|none", "\"any\"", false,
       "none: only changes that have no origin. An older server than 16 "
       "cannot\n"
       "tell, and is then not followed.",
       SetOrigin},
      {"publisher.messages", "messages", K::kBoolean, "", "false", false,
       "Keep logical decoding messages in sublite_messages (server 14 and "
       "later).",
       SetMessages},
      {"publisher.status_interval", "status_interval", K::kDuration, "TIME",
       "\"10s\"", false,
       "At most this long between two status updates to the publisher.",
       SetStatusInterval},
      {"publisher.failover", "failover", K::kBoolean, "", "false", false,
       "Let standbys keep a copy of the slot, for failovers (server 17 and "
       "later).",
       SetFailover},
  };
}

std::vector<Setting> OtherSettings() {
  using K = SettingKind;
  return {
      {"replica.database", "database", K::kText, "FILE",
       "\"/var/lib/sublite/replica.db\"", true,
       "The SQLite file; made if it is missing.", SetDatabase},
      {"replica.seed", "seed", K::kText, "FILE", "\"/var/lib/sublite/seed.db\"",
       false,
       "A prepared replica file (as `sublite backup` makes them) that a "
       "missing\n"
       "database is made from, instead of copying all tables.",
       SetSeed},
      {"replica.numeric", "numeric", K::kChoice, "auto|text|real", "\"auto\"",
       false,
       "How numeric is stored: auto as a number where 15 digits are enough, "
       "else as\n"
       "text; text always as text; real always as a number, which loses "
       "digits.",
       SetNumeric},
      {"replica.schema_separator", "schema_separator", K::kText, "TEXT",
       "\".\"", false,
       "What stands between schema and table in the name of a SQLite table.",
       SetSchemaSeparator},
      {"replica.mirror_indexes", "mirror_indexes", K::kBoolean, "", "true",
       false, "Make the publisher's plain indexes in the replica, too.",
       SetMirrorIndexes},
      {"replica.copy_rate", "copy_rate", K::kInteger, "BYTES", "0", false,
       "Bytes a second that copies may take; 0 is no limit.", SetCopyRate},
      {"replica.spill_limit", "spill_limit", K::kSize, "SIZE", "0", false,
       "What staged changes of open transactions may take on disk beside the "
       "file,\n"
       "e.g. \"2GB\"; 0: all but the last 64 MB that are free. Where it is "
       "reached the\n"
       "publisher is asked to keep open transactions until they are committed.",
       SetSpillLimit},
      {"replica.on_gap", "on_gap", K::kChoice, "resync|stop", "\"resync\"",
       false,
       "After a lost slot or another gap: copy again beside the old rows, or "
       "stop and\n"
       "wait for a person.",
       SetOnGap},
      {"replica.drop_unpublished", "drop_unpublished", K::kBoolean, "", "false",
       false,
       "Drop a table that left the publication, instead of keeping it marked.",
       SetDropUnpublished},
      {"replica.refusal_patience", "refusal_patience", K::kDuration, "TIME",
       "\"5m\"", false,
       "How long a transaction that a local trigger, index or check refuses "
       "is waited\n"
       "for (`sublite skip`); then the table is put aside, and the others go "
       "on.",
       SetRefusalPatience},
      {"replica.changes", "changes", K::kBoolean, "", "false", false,
       "Keep the table sublite_changes for local programs: which rows changed. "
       "After\n"
       "each commit the file DATABASE-notify is written, for inotify.",
       SetChanges},
      {"replica.changes_age", "changes_age", K::kDuration, "TIME", "\"24h\"",
       false, "How long changes are kept there.", SetChangesAge},
      {"replica.changes_size", "changes_size", K::kSize, "SIZE", "\"64MB\"",
       false, "How much they may take, about; the oldest go first.",
       SetChangesSize},
      {"log.level", "log_level", K::kChoice, "debug|info|warn|error",
       "\"info\"", false, "What is logged at least.", SetLogLevel},
      {"log.format", "log_format", K::kChoice, "auto|text|json|journal",
       "\"auto\"", false,
       "auto is the journal's fields under systemd, text elsewhere.",
       SetLogFormat},
      {"http.listen", "listen", K::kText, "ADDRESS", "\"off\"", false,
       "Where /metrics (for Prometheus), / (a status page) and /healthz are "
       "served, e.g.\n"
       "127.0.0.1:9187 or [::1]:9187. Whoever can reach it sees the names of "
       "tables\n"
       "and errors; there is no password. An address that is taken is tried "
       "again.",
       SetListen},
  };
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1,
                         diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

const std::vector<Setting>& Settings() {
  static const auto* const kSettings = [] {
    auto* settings = new std::vector<Setting>(PublisherSettings());
    const std::vector<Setting> others = OtherSettings();
    settings->insert(settings->end(), others.begin(), others.end());
    return settings;
  }();
  return *kSettings;
}

const Setting* FindSetting(std::string_view key) {
  for (const Setting& setting : Settings()) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

const Setting* FindSettingByFlag(std::string_view flag) {
  if (flag.empty()) return nullptr;
  for (const Setting& setting : Settings()) {
    if (setting.flag == flag) return &setting;
  }
  return nullptr;
}

absl::Status ApplySetting(const Setting& setting, const SettingValue& value,
                          Config* config) {
  return setting.set(value, config);
}

absl::StatusOr<SettingValue> ValueFromFlag(const Setting& setting,
                                           std::string_view text) {
  switch (setting.kind) {
    case SettingKind::kBoolean: {
      const std::string lower =
          absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
      for (const char* yes : {"true", "on", "yes", "1"}) {
        if (lower == yes) return SettingValue(true);
      }
      for (const char* no : {"false", "off", "no", "0"}) {
        if (lower == no) return SettingValue(false);
      }
      return Bad(absl::StrCat("is \"", std::string(text),
                              "\", must be true or false"));
    }
    case SettingKind::kInteger: {
      std::int64_t number = 0;
      const char* const end = text.data() + text.size();
      const auto read = std::from_chars(text.data(), end, number);
      if (read.ec != std::errc() || read.ptr != end) {
        return Bad(absl::StrCat("is \"", std::string(text),
                                "\", must be a whole number"));
      }
      return SettingValue(number);
    }
    case SettingKind::kText:
    case SettingKind::kDuration:
    case SettingKind::kSize:
    case SettingKind::kList:
    case SettingKind::kChoice:
      break;
  }
  return SettingValue(std::string(text));
}

absl::Status ApplyTableSetting(std::string_view key, const SettingValue& value,
                               TableSetting* table) {
  if (key == "numeric") {
    table->has_numeric = true;
    return GetNumericMode(value, &table->numeric);
  }
  RETURN_IF_ERROR(GetText(value, &table->name));
  if (table->name.empty()) return Bad("must not be empty");
  const std::string folded = FoldForSqlite(table->name);
  for (const char* reserved : {"sqlite_", "sublite_"}) {
    if (folded.rfind(reserved, 0) == 0) {
      return Bad(absl::StrCat("must not begin with \"", reserved,
                              "\", which is reserved"));
    }
  }
  return absl::OkStatus();
}

std::vector<SettingProblem> FinishConfig(Config* config) {
  std::vector<SettingProblem> problems;
  std::map<std::string, std::string> seen;  // folded SQLite name to its table
  for (const auto& [table, setting] : config->tables) {
    if (setting.name.empty()) continue;
    const auto [other, fresh] =
        seen.emplace(FoldForSqlite(setting.name), table);
    if (fresh) continue;
    problems.push_back(
        {absl::StrCat("tables.\"", table, "\".name"),
         absl::StrCat("is the name that tables.\"", other->second,
                      "\" has already (SQLite compares names without case)")});
  }
  if (config->publisher.slot.empty() && !config->replica.database.empty()) {
    config->publisher.slot = DefaultSlotName(config->replica.database);
  }
  return problems;
}

std::string NearestName(std::string_view name,
                        const std::vector<std::string>& known) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = EditDistance(name, candidate);
    // Half of the letters must stay, else it is another word.
    if (distance < least && distance * 2 <= candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace sublite
