#include "applier/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "applier/units.h"

namespace sublite {
namespace {

struct CommandSpec {
  Command command;
  const char* name;
  const char* arguments;  // as help shows them
  const char* summary;
  const char* help;  // more lines, "" for none
  bool settings;     // reads the configuration
};

constexpr CommandSpec kCommands[] = {
    {Command::kRun, "run", "", "follow the publisher, until SIGTERM or SIGINT",
     "Makes the slot, copies the tables and follows the stream. Does not end\n"
     "because the publisher cannot be reached: it waits and goes on.",
     true},
    {Command::kCheck, "check", "",
     "look for what would stand in the way of run",
     "One line a finding: ok, warn or fail, with its mend. Changes nothing.\n"
     "Exit code 1 if any failed.",
     true},
    {Command::kStatus, "status", "[--json]",
     "show what the replica holds and how fresh it is",
     "Reads only the SQLite file, so it works offline and while sublite is\n"
     "stopped.",
     true},
    {Command::kWait, "wait", "--lsn=X/Y [--timeout=30s]",
     "wait until the replica has applied everything up to a position",
     "Exit code 75 on time-out.", true},
    {Command::kResync, "resync", "[TABLE...]",
     "copy the named tables, or all, again",
     "Readers keep the old rows until the new ones are complete. A TABLE is a\n"
     "name in SQLite or schema.table.",
     true},
    {Command::kSkip, "skip", "--lsn=X/Y",
     "skip the one transaction that cannot be applied",
     "The position stands in sublite_events beside the error, and in the\n"
     "output of status.",
     true},
    {Command::kTeardown, "teardown", "", "drop the slot on the publisher",
     "So that a retired device does not hold WAL there. Keeps the SQLite file.",
     true},
    {Command::kBackup, "backup", "FILE [--force]",
     "make a consistent, verified copy of the replica",
     "Works while sublite runs. --force replaces FILE if it is there.", true},
    {Command::kInit, "init", "", "print a commented configuration file", "",
     false},
    {Command::kDecode, "decode", "[FILE]",
     "print a captured pgoutput stream as JSON",
     "One JSON object a message. Without FILE, or with -, from standard input.",
     false},
};

// `--log-level=x` as `--log_level=x`, with a way back to what was typed.
class Spelling {
 public:
  std::vector<std::string> Normalize(const std::vector<std::string>& typed) {
    std::vector<std::string> normal;
    bool flags = true;
    for (const std::string& argument : typed) {
      if (argument == "--") flags = false;
      if (!flags || argument.size() <= 2 || argument.rfind("--", 0) != 0) {
        normal.push_back(argument);
        continue;
      }
      const std::size_t end = std::min(argument.find('='), argument.size());
      const std::string name = argument.substr(0, end);
      const std::string flag =
          absl::StrCat("--", absl::StrReplaceAll(name.substr(2), {{"-", "_"}}));
      typed_[flag] = name;
      // CLI11 takes the next word where nothing follows the sign.
      if (end + 1 == argument.size()) {
        normal.insert(normal.end(), {flag, ""});
      } else {
        normal.push_back(flag + argument.substr(end));
      }
    }
    return normal;
  }

  std::string Typed(const std::string& flag) const {
    const auto found = typed_.find(flag);
    return found == typed_.end() ? flag : found->second;
  }

  // In a message of CLI11.
  std::string Restore(const std::string& message) const {
    return absl::StrReplaceAll(message,
                               std::vector<std::pair<std::string, std::string>>(
                                   typed_.begin(), typed_.end()));
  }

 private:
  std::map<std::string, std::string> typed_;
};

std::string SettingsHelp() {
  std::string out =
      "\nSettings (each overrides the file; `sublite init` explains them):\n"
      "  --config=FILE\n"
      "      The configuration. Default: /etc/sublite/sublite.toml if it is "
      "there.\n";
  for (const Setting& setting : Settings()) {
    if (setting.flag[0] == '\0') continue;
    const bool boolean = setting.kind == SettingKind::kBoolean;
    absl::StrAppend(&out, "  --", setting.flag, "=",
                    boolean ? "true|false" : setting.argument, "\n      ",
                    absl::StrReplaceAll(setting.help, {{"\n", "\n      "}}));
    const bool has_default = std::string(setting.flag) != "slot" &&
                             std::string(setting.flag) != "seed";
    if (!setting.required && has_default) {
      absl::StrAppend(&out, " Default: ",
                      absl::StrReplaceAll(setting.sample, {{"\"", ""}}), ".");
    }
    out += "\n";
  }
  return out;
}

std::string GeneralHelp() {
  std::string out =
      "sublite follows a PostgreSQL publication into a SQLite file.\n\n"
      "Usage: sublite COMMAND [FLAGS]\n\nCommands:\n";
  for (const CommandSpec& command : kCommands) {
    absl::StrAppendFormat(&out, "  %-9s %s\n", command.name, command.summary);
  }
  absl::StrAppend(
      &out,
      "\n`sublite COMMAND --help` says more, `sublite --version` prints the "
      "versions.\nFlags may be written with dashes or underscores.\n",
      SettingsHelp(),
      "\nExit codes: 0 done; 1 a finding of check; 64 wrong command line; 70 a "
      "defect in\nsublite; 75 a time-out; 78 wrong configuration, or only a "
      "person can mend it.\n");
  return out;
}

std::string CommandHelp(const CommandSpec& command) {
  const std::string arguments = command.arguments;
  return absl::StrCat(
      "sublite ", command.name, ": ", command.summary, "\n\nUsage: sublite ",
      command.name, arguments.empty() ? "" : " ", arguments,
      command.settings ? " [FLAGS]\n" : "\n", command.help[0] ? "\n" : "",
      command.help, command.help[0] ? "\n" : "",
      command.settings ? SettingsHelp() : std::string());
}

// A word that may hold a password (`password=…` outside the quotes, a URI) is
// not repeated.
std::string Shown(const std::string& word) {
  if (word.find_first_of("=@:") != std::string::npos) return "…";
  return word;
}

// CLI11's own part: which words are flags, values and commands.
class Parser {
 public:
  Parser() : app_("sublite") {
    app_.set_help_flag("");
    app_.require_subcommand(0, 1);
    app_.allow_extras();
    app_.add_flag("-h,--help", help_);
    app_.add_flag("-V,--version", version_);
    AddText("--config", &config_);
    for (const Setting& setting : Settings()) {
      if (setting.flag[0] == '\0') continue;
      const std::string name = absl::StrCat("--", setting.flag);
      CLI::Option* option = setting.kind == SettingKind::kBoolean
                                ? app_.add_flag(name)
                                : app_.add_option(name);
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      settings_.emplace_back(&setting, option);
    }
    for (const CommandSpec& command : kCommands) AddCommand(command);
  }

  CommandLine Parse(const std::vector<std::string>& typed) {
    std::vector<std::string> words = spelling_.Normalize(typed);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string message = error.what();
      return Error(
          absl::StrCat(spelling_.Restore(message.substr(0, message.find(':'))),
                       " needs a value"));
    } catch (const CLI::ParseError& error) {
      return Error(spelling_.Restore(error.what()));
    }
    const CommandSpec* command = nullptr;
    for (const auto& [spec, sub] : commands_) {
      if (sub->parsed()) command = spec;
    }
    if (help_) return Text(command);
    if (version_) {
      line_.command = Command::kVersion;
      return line_;
    }
    const std::vector<std::string> extras = app_.remaining(true);
    if (!extras.empty()) return Unexpected(extras, command);
    if (command == nullptr) return Error("which command?");
    return Finish(*command);
  }

 private:
  // The last one counts where a flag is given twice.
  void AddText(const std::string& name, std::string* value,
               CLI::App* app = nullptr) {
    (app == nullptr ? &app_ : app)
        ->add_option(name, *value)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  void AddCommand(const CommandSpec& command) {
    CLI::App* const sub = app_.add_subcommand(command.name);
    sub->set_help_flag("");
    sub->fallthrough();
    sub->allow_extras();
    commands_.emplace_back(&command, sub);
    switch (command.command) {
      case Command::kStatus:
        sub->add_flag("--json", line_.json);
        break;
      case Command::kWait:
        AddText("--lsn", &lsn_, sub);
        AddText("--timeout", &timeout_, sub);
        break;
      case Command::kSkip:
        AddText("--lsn", &lsn_, sub);
        break;
      case Command::kBackup:
        sub->add_flag("--force", line_.force);
        sub->add_option("FILE", file_);
        break;
      case Command::kDecode:
        sub->add_option("FILE", file_);
        break;
      case Command::kResync:
        sub->add_option("TABLE", line_.arguments);
        break;
      default:
        break;
    }
  }

  CommandLine Error(const std::string& message) {
    line_.command = Command::kError;
    line_.text = absl::StrCat("sublite: ", message,
                              "\nsublite: `sublite --help` lists commands and "
                              "flags\n");
    return line_;
  }

  CommandLine Text(const CommandSpec* command) {
    line_.command = Command::kHelp;
    line_.text = command == nullptr ? GeneralHelp() : CommandHelp(*command);
    return line_;
  }

  CommandLine Unexpected(const std::vector<std::string>& extras,
                         const CommandSpec* command) {
    const std::string& word = extras.front();
    if (word.size() > 1 && word[0] == '-') {
      const std::string flag = word.substr(0, word.find('='));
      std::vector<std::string> known = {"--config"};
      for (const auto& [setting, option] : settings_) {
        known.push_back(absl::StrCat("--", setting->flag));
      }
      const std::string nearest = NearestName(flag, known);
      return Error(absl::StrCat(
          "unknown flag ", spelling_.Typed(flag),
          command == nullptr ? "" : absl::StrCat(" of ", command->name),
          nearest.empty() ? ""
                          : absl::StrCat("; did you mean ", nearest, "?")));
    }
    if (command != nullptr) {
      return Error(
          absl::StrCat(command->name, " does not take \"", Shown(word), "\""));
    }
    std::vector<std::string> names;
    for (const CommandSpec& spec : kCommands) names.emplace_back(spec.name);
    const std::string nearest = NearestName(word, names);
    return Error(absl::StrCat(
        "unknown command \"", Shown(word), "\"",
        nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
  }

  CommandLine Finish(const CommandSpec& command) {
    line_.config_file = config_;
    for (const auto& [setting, option] : settings_) {
      if (option->count() == 0) continue;
      const std::vector<std::string> values = option->results();
      const bool list = setting->kind == SettingKind::kList;
      line_.settings.push_back(
          {setting->flag, list ? absl::StrJoin(values, ",") : values.back()});
    }
    if (command.command == Command::kWait ||
        command.command == Command::kSkip) {
      if (lsn_.empty()) {
        return Error(absl::StrCat(command.name, " needs --lsn=X/Y"));
      }
      if (!Lsn::Parse(lsn_, &line_.lsn) || !line_.lsn.valid()) {
        return Error(absl::StrCat("--lsn: is \"", lsn_,
                                  "\", must be a position as PostgreSQL writes "
                                  "it, like 16/B374D848"));
      }
    }
    if (!timeout_.empty()) {
      const absl::StatusOr<absl::Duration> timeout =
          ParseDurationText(timeout_);
      if (!timeout.ok()) {
        return Error(absl::StrCat("--timeout: ",
                                  std::string(timeout.status().message())));
      }
      line_.timeout = *timeout;
    }
    if (command.command == Command::kBackup && file_.empty()) {
      return Error("backup needs the FILE to make");
    }
    if (!file_.empty()) line_.arguments.push_back(file_);
    line_.command = command.command;
    return line_;
  }

  CLI::App app_;
  Spelling spelling_;
  CommandLine line_;
  bool help_ = false;
  bool version_ = false;
  std::string config_;
  std::string lsn_;
  std::string timeout_;
  std::string file_;
  std::vector<std::pair<const Setting*, CLI::Option*>> settings_;
  std::vector<std::pair<const CommandSpec*, CLI::App*>> commands_;
};

}  // namespace

CommandLine ParseCommandLine(const std::vector<std::string>& arguments) {
  Parser parser;
  return parser.Parse(arguments);
}

}  // namespace sublite
