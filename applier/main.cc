// The program: which command, with which configuration, and its exit code.

#include <signal.h>

#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applier/cli/backup_command.h"
#include "applier/cli/check_command.h"
#include "applier/cli/command_line.h"
#include "applier/cli/decode_command.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/init_command.h"
#include "applier/cli/resync_command.h"
#include "applier/cli/run_command.h"
#include "applier/cli/skip_command.h"
#include "applier/cli/status_command.h"
#include "applier/cli/teardown_command.h"
#include "applier/cli/wait_command.h"
#include "applier/config.h"
#include "applier/io/config_file.h"
#include "applier/io/libpq_publisher.h"
#include "applier/io/log_setup.h"
#include "applier/io/sqlite.h"
#include "applier/log.h"
#include "applier/stop_signal.h"
#include "schema/bookkeeping.h"

namespace sublite {
namespace {

// What a command cannot do without.
ConfigNeeds NeedsOf(Command command) {
  ConfigNeeds needs;
  switch (command) {
    case Command::kRun:
    case Command::kCheck:
      needs.conninfo = true;
      needs.publications = true;
      needs.database = true;
      break;
    case Command::kTeardown:
      needs.conninfo = true;
      needs.slot = true;
      break;
    default:
      needs.database = true;
      break;
  }
  return needs;
}

// For commands that end quickly once told to; `run` has handlers of its own.
// Never destroyed: a signal may come while the process ends.
StopSignal& StopOnSignal() {
  static auto* const kStop = [] {
    static StopSignal* stop = nullptr;
    stop = new StopSignal;
    struct sigaction action = {};
    action.sa_handler = [](int) { stop->Request(); };
    // The second signal ends the process the hard way.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return stop;
  }();
  return *kStop;
}

int RunOnPublisher(Command command, Config* config) {
  std::string warning;
  const absl::Status password = LoadPassword(config, &warning);
  if (!password.ok()) {
    return command == Command::kCheck ? CheckBrokenConfig(password, std::cout)
                                      : Fail(std::cerr, password);
  }
  if (command == Command::kRun) {
    SetUpLog(config->log.format, config->log.level);
    if (!warning.empty()) LogWarn(warning);
    return RunCommand(*config);
  }
  if (!warning.empty()) std::cerr << "sublite: " << warning << "\n";
  LibpqPublisher publisher(
      {config->publisher.conninfo, config->publisher.password, {}},
      &StopOnSignal());
  if (command == Command::kCheck) {
    return CheckCommand(*config, &publisher, std::cout);
  }
  return TeardownCommand(*config, &publisher, std::cout, std::cerr);
}

int RunConfigured(const CommandLine& line) {
  absl::StatusOr<Config> config =
      LoadConfig({line.config_file, line.settings}, NeedsOf(line.command));
  if (!config.ok()) {
    return line.command == Command::kCheck
               ? CheckBrokenConfig(config.status(), std::cout)
               : Fail(std::cerr, config.status());
  }
  const std::string& database = config->replica.database;
  switch (line.command) {
    case Command::kStatus:
      return StatusCommand(database, line.json, std::cout, std::cerr);
    case Command::kWait:
      return WaitCommand(database, line.lsn, line.timeout, std::cerr);
    case Command::kResync:
      return ResyncCommand(database, line.arguments, std::cout, std::cerr);
    case Command::kSkip:
      return SkipCommand(database, line.lsn, std::cout, std::cerr);
    case Command::kBackup:
      StopOnSignal();
      return BackupCommand(
          database, line.arguments.front(), line.force,
          [] { return StopOnSignal().requested(); }, std::cout, std::cerr);
    default:
      return RunOnPublisher(line.command, &*config);
  }
}

int RunLine(const CommandLine& line) {
  switch (line.command) {
    case Command::kError:
      std::cerr << line.text;
      return kExitUsage;
    case Command::kHelp:
      std::cout << line.text;
      return kExitDone;
    case Command::kVersion:
      std::cout << "sublite " << kVersion << "\nlibpq " << LibpqVersion()
                << "\nSQLite " << SqliteVersion() << "\n";
      return kExitDone;
    case Command::kInit:
      std::cout << InitText();
      return kExitDone;
    case Command::kDecode:
      return DecodeCommand(
          line.arguments.empty() ? "-" : line.arguments.front(), std::cin,
          std::cout, std::cerr);
    default:
      return RunConfigured(line);
  }
}

int Main(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  const CommandLine line = ParseCommandLine(arguments);
  const int code = RunLine(line);
  // A full disk under a redirection must not look like success.
  if (!std::cout.flush() && code == kExitDone) {
    std::cerr << "sublite: cannot write to standard output\n";
    return kExitTimeout;
  }
  return code;
}

}  // namespace
}  // namespace sublite

int main(int argc, char** argv) {
  try {
    return sublite::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "sublite: defect: " << error.what() << "\n";
    return sublite::kExitDefect;
  }
}
