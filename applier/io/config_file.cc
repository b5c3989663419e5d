#include "applier/io/config_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/status.h"

namespace sublite {
namespace {

// An error before it is a line of text, so that lines come out in order.
struct Problem {
  int line;
  std::string text;
};

std::string Quote(std::string_view text) {
  return absl::StrCat("\"", std::string(text), "\"");
}

// The last part of a dotted key.
std::string KeyName(std::string_view key) {
  return std::string(key.substr(key.rfind('.') + 1));
}

std::string KeySection(std::string_view key) {
  return std::string(key.substr(0, key.find('.')));
}

std::vector<std::string> KnownSections() {
  std::vector<std::string> sections;
  for (const Setting& setting : Settings()) {
    const std::string section = KeySection(setting.key);
    if (sections.empty() || sections.back() != section) {
      sections.push_back(section);
    }
  }
  sections.push_back("tables");
  return sections;
}

// "; did you mean …?" for a key that is not known in `section` ("" for one that
// stands outside any section).
std::string SuggestKey(const std::string& section, const std::string& name) {
  std::vector<std::string> here;
  std::vector<std::string> all;
  for (const Setting& setting : Settings()) {
    const std::string other = KeySection(setting.key);
    const std::string known = KeyName(setting.key);
    if (known == name) {
      return absl::StrCat("; it belongs into the section [", other, "]");
    }
    if (other == section) here.push_back(known);
    all.push_back(known);
  }
  std::string nearest = NearestName(name, here);
  if (!nearest.empty())
    return absl::StrCat("; did you mean ", Quote(nearest), "?");
  nearest = NearestName(name, all);
  if (!nearest.empty()) {
    for (const Setting& setting : Settings()) {
      if (KeyName(setting.key) == nearest) {
        return absl::StrCat("; did you mean ", setting.key, "?");
      }
    }
  }
  if (here.empty()) return "";
  return absl::StrCat("; known here: ", absl::StrJoin(here, ", "));
}

// False for what no setting takes: floats, dates, tables, lists of other things
// than texts.
bool ToSettingValue(const toml::node& node, SettingValue* value) {
  if (const auto* text = node.as_string()) {
    *value = text->get();
  } else if (const auto* boolean = node.as_boolean()) {
    *value = boolean->get();
  } else if (const auto* integer = node.as_integer()) {
    *value = integer->get();
  } else if (const auto* array = node.as_array()) {
    std::vector<std::string> list;
    for (const toml::node& element : *array) {
      if (!element.is_string()) return false;
      list.push_back(element.as_string()->get());
    }
    *value = std::move(list);
  } else {
    return false;
  }
  return true;
}

const char* TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a section";
    case toml::node_type::array:
      return "a list of something else than texts";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    case toml::node_type::none:
      break;
  }
  return "nothing";
}

const char* ExpectedType(SettingKind kind) {
  switch (kind) {
    case SettingKind::kBoolean:
      return "true or false, without quotes";
    case SettingKind::kInteger:
      return "a whole number";
    case SettingKind::kDuration:
      return "a time in quotes, like \"10s\", \"500ms\", \"1m\"";
    case SettingKind::kSize:
      return "a number of bytes, or a text like \"500MB\"";
    case SettingKind::kList:
      return "a list of names: [\"first\", \"second\"]";
    case SettingKind::kText:
    case SettingKind::kChoice:
      break;
  }
  return "a text in quotes";
}

// One reading of one file: collects problems, and remembers where things stood.
class FileReader {
 public:
  FileReader(std::string_view text, Config* config)
      : text_(text), config_(config) {
    last_line_ =
        1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    if (!text.empty() && text.back() == '\n') --last_line_;
  }

  void Read() {
    toml::table root;
    try {
      root = toml::parse(text_);
    } catch (const toml::parse_error& error) {
      const int line = static_cast<int>(error.source().begin.line);
      Add(line, WithoutContent(std::string(error.description())));
      broken_ = true;
      return;
    }
    for (auto&& [key, node] : root) ReadTop(key, node);
  }

  // Syntax is wrong: what is missing cannot be told.
  bool broken() const { return broken_; }

  void Add(int line, const std::string& text) {
    problems_.push_back({line, text});
  }

  bool Has(const std::string& key) const { return lines_.count(key) > 0; }

  // Where `key` stood; where it is missing, its section, or the end of the
  // file.
  int LineOf(const std::string& key) const {
    for (const std::string& place : {key, KeySection(key)}) {
      const auto found = lines_.find(place);
      if (found != lines_.end()) return found->second;
    }
    return last_line_;
  }

  std::vector<Problem> TakeProblems() {
    std::stable_sort(
        problems_.begin(), problems_.end(),
        [](const Problem& a, const Problem& b) { return a.line < b.line; });
    return std::move(problems_);
  }

 private:
  static int LineOf(const toml::key& key) {
    return static_cast<int>(key.source().begin.line);
  }

  // toml++ shows at most the character at which it stopped, which may be one of
  // an unquoted password.
  static std::string WithoutContent(std::string description) {
    const std::size_t saw = description.find(", saw '");
    if (saw != std::string::npos && saw + 7 < description.size() &&
        absl::ascii_isalnum(description[saw + 7])) {
      description.erase(saw);
    }
    return description;
  }

  void ReadTop(const toml::key& key, const toml::node& node) {
    const std::string name(key.str());
    const std::vector<std::string> sections = KnownSections();
    const bool known =
        std::find(sections.begin(), sections.end(), name) != sections.end();
    if (!known) {
      if (!node.is_table()) {
        Add(LineOf(key), absl::StrCat(name, ": unknown key outside any section",
                                      SuggestKey("", name)));
        return;
      }
      const std::string nearest = NearestName(name, sections);
      Add(LineOf(key),
          absl::StrCat(
              "[", name, "]: unknown section",
              nearest.empty()
                  ? absl::StrCat("; known: ", absl::StrJoin(sections, ", "))
                  : absl::StrCat("; did you mean [", nearest, "]?")));
      return;
    }
    lines_[name] = LineOf(key);
    if (!node.is_table()) {
      Add(LineOf(key), absl::StrCat(name, ": is ", TypeName(node),
                                    ", must be a section: [", name, "]"));
      return;
    }
    for (auto&& [inner, value] : *node.as_table()) {
      if (name == "tables") {
        ReadTableSection(inner, value);
      } else {
        ReadSetting(name, inner, value);
      }
    }
  }

  void ReadSetting(const std::string& section, const toml::key& name,
                   const toml::node& node) {
    const std::string key = absl::StrCat(section, ".", std::string(name.str()));
    const int line = LineOf(name);
    const Setting* setting = FindSetting(key);
    if (setting == nullptr) {
      Add(line, absl::StrCat(key, ": unknown key",
                             SuggestKey(section, std::string(name.str()))));
      return;
    }
    lines_[key] = line;
    SettingValue value;
    absl::Status status;
    if (!ToSettingValue(node, &value)) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "is ", TypeName(node), ", must be ", ExpectedType(setting->kind)));
    } else {
      status = ApplySetting(*setting, value, config_);
    }
    if (!status.ok()) {
      Add(line, absl::StrCat(key, ": ", status.message()));
    }
  }

  void ReadTableSection(const toml::key& name, const toml::node& node) {
    const std::string table(name.str());
    const std::string key = absl::StrCat("tables.", Quote(table));
    const int line = LineOf(name);
    if (!node.is_table()) {
      Add(line, absl::StrCat("tables.", table, ": is ", TypeName(node),
                             ", must be a section of its own: "
                             "[tables.\"schema.table\"]"));
      return;
    }
    if (table.find('.') == std::string::npos) {
      AddUnquotedTable(table, *node.as_table(), line);
      return;
    }
    TableSetting& setting = config_->tables[table];
    for (auto&& [inner, value] : *node.as_table()) {
      ReadTableSetting(key, inner, value, &setting);
    }
  }

  // [tables.public.item], which TOML reads as a table `item` in a table
  // `public`, or a name without its schema.
  void AddUnquotedTable(const std::string& table, const toml::table& content,
                        int line) {
    for (auto&& [inner, value] : content) {
      if (!value.is_table()) continue;
      Add(LineOf(inner),
          absl::StrCat("tables.", table, ".", std::string(inner.str()),
                       ": needs quotes around schema and table: [tables.\"",
                       table, ".", std::string(inner.str()), "\"]"));
      return;
    }
    Add(line,
        absl::StrCat("tables.", Quote(table),
                     ": needs the schema: [tables.\"public.", table, "\"]"));
  }

  void ReadTableSetting(const std::string& section, const toml::key& name,
                        const toml::node& node, TableSetting* setting) {
    const std::string inner(name.str());
    const std::string key = absl::StrCat(section, ".", inner);
    const int line = LineOf(name);
    if (inner != "name" && inner != "numeric") {
      const std::string nearest = NearestName(inner, {"name", "numeric"});
      Add(line, absl::StrCat(
                    key, ": unknown key; ",
                    nearest.empty()
                        ? std::string("known here: name, numeric")
                        : absl::StrCat("did you mean ", Quote(nearest), "?")));
      return;
    }
    lines_[key] = line;
    SettingValue value;
    if (!ToSettingValue(node, &value)) {
      Add(line, absl::StrCat(key, ": is ", TypeName(node),
                             ", must be a text in quotes"));
      return;
    }
    const absl::Status status = ApplyTableSetting(inner, value, setting);
    if (!status.ok()) Add(line, absl::StrCat(key, ": ", status.message()));
  }

  std::string_view text_;
  Config* config_;
  int last_line_ = 1;
  bool broken_ = false;
  std::map<std::string, int> lines_;
  std::vector<Problem> problems_;
};

void ApplyFlags(const std::vector<FlagValue>& flags, Config* config,
                std::vector<std::string>* errors) {
  for (const FlagValue& flag : flags) {
    const Setting* setting = FindSettingByFlag(flag.flag);
    if (setting == nullptr) {
      errors->push_back(absl::StrCat("--", flag.flag, ": unknown flag"));
      continue;
    }
    const absl::StatusOr<SettingValue> value =
        ValueFromFlag(*setting, flag.text);
    const absl::Status status =
        value.ok() ? ApplySetting(*setting, *value, config) : value.status();
    if (!status.ok()) {
      errors->push_back(absl::StrCat("--", flag.flag, ": ", status.message()));
    }
  }
}

bool IsNeeded(const Setting& setting, const ConfigNeeds& needs) {
  const std::string_view key = setting.key;
  return (key == "publisher.conninfo" && needs.conninfo) ||
         (key == "publisher.publications" && needs.publications) ||
         (key == "replica.database" && needs.database);
}

absl::Status ReadWhole(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  struct stat info = {};
  if (file && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", path, ": it is a folder"));
  }
  if (!file) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  }
  content << file.rdbuf();
  if (file.bad()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  }
  *text = content.str();
  return absl::OkStatus();
}

// What a command cannot do without and nobody has set.
void FindMissing(const ConfigNeeds& needs, const Config& config,
                 const std::string& name, const std::vector<FlagValue>& flags,
                 FileReader* file) {
  const auto has_flag = [&](std::string_view wanted) {
    return std::any_of(flags.begin(), flags.end(), [&](const FlagValue& flag) {
      return flag.flag == wanted;
    });
  };
  const std::string where =
      name.empty() ? absl::StrCat("set it in ", kDefaultConfigFile,
                                  " (which is not there), in a file that "
                                  "--config names, or with ")
                   : std::string("set it here or with ");
  for (const Setting& setting : Settings()) {
    if (!IsNeeded(setting, needs) || file->Has(setting.key) ||
        has_flag(setting.flag)) {
      continue;
    }
    file->Add(
        file->LineOf(setting.key),
        absl::StrCat(setting.key, ": is missing; ", where, "--", setting.flag,
                     ", e.g. ", KeyName(setting.key), " = ", setting.sample));
  }
  if (needs.slot && config.publisher.slot.empty() &&
      !file->Has("publisher.slot") && !has_flag("slot")) {
    file->Add(file->LineOf("publisher.slot"),
              absl::StrCat("publisher.slot: is missing, and there is no "
                           "replica.database to make it from; ",
                           where, "--slot"));
  }
}

absl::Status ReadPassword(const std::string& path, Config* config,
                          std::string* warning) {
  std::string text;
  RETURN_IF_ERROR(ReadWhole(path, &text));
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  if (text.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is empty"));
  }
  if (text.find('\0') != std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " holds a zero byte, no password does"));
  }
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    *warning = absl::StrCat("others than its owner can read ", path,
                            ", which holds a password: chmod 600 ", path);
  }
  config->publisher.password = Secret(std::move(text));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Config> ParseConfig(std::string_view text,
                                   const std::string& name,
                                   const std::vector<FlagValue>& flags,
                                   const ConfigNeeds& needs) {
  Config config;
  FileReader file(text, &config);
  file.Read();
  std::vector<std::string> flag_errors;
  ApplyFlags(flags, &config, &flag_errors);
  for (const SettingProblem& problem : FinishConfig(&config)) {
    file.Add(file.LineOf(problem.key),
             absl::StrCat(problem.key, ": ", problem.text));
  }
  if (!file.broken()) FindMissing(needs, config, name, flags, &file);
  std::vector<std::string> errors;
  for (const Problem& problem : file.TakeProblems()) {
    errors.push_back(name.empty() ? problem.text
                                  : absl::StrCat(name, ":", problem.line, ": ",
                                                 problem.text));
  }
  errors.insert(errors.end(), flag_errors.begin(), flag_errors.end());
  if (errors.empty()) return config;
  const std::string message = absl::StrJoin(errors, "\n");
  if (!flag_errors.empty()) return absl::InvalidArgumentError(message);
  return absl::FailedPreconditionError(message);
}

absl::StatusOr<Config> LoadConfig(const ConfigSource& source,
                                  const ConfigNeeds& needs) {
  std::string name = source.file;
  std::string text;
  // The default file need not be there: flags alone are enough.
  if (name.empty() && access(kDefaultConfigFile, F_OK) == 0) {
    name = kDefaultConfigFile;
  }
  if (!name.empty()) RETURN_IF_ERROR(ReadWhole(name, &text));
  return ParseConfig(text, name, source.flags, needs);
}

absl::Status LoadPassword(Config* config, std::string* warning) {
  warning->clear();
  if (!config->publisher.password_file.empty()) {
    return Annotate(
        ReadPassword(config->publisher.password_file, config, warning),
        "publisher.password_file");
  }
  const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr || *folder == '\0') return absl::OkStatus();
  const std::string path = absl::StrCat(folder, "/password");
  if (access(path.c_str(), F_OK) != 0) return absl::OkStatus();
  const absl::Status status = ReadPassword(path, config, warning);
  // systemd guards the folder; newer versions give the group of a file in it
  // the right to read.
  warning->clear();
  return Annotate(status, "systemd credential \"password\"");
}

}  // namespace sublite
