// The command line: which command, with which settings and arguments.
//
// Flags may be written with dashes or underscores, before or after the command.
// Settings' flags are kept as text; io/config_file checks them together with
// the file. Pure. Errors come back as text and exit code 64, one line each;
// what might be a part of a connection string is never repeated in them.
#ifndef SUBLITE_APPLIER_CLI_COMMAND_LINE_H_
#define SUBLITE_APPLIER_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "applier/settings.h"
#include "applier/wire/lsn.h"

namespace sublite {

enum class Command {
  kRun,
  kCheck,
  kStatus,
  kWait,
  kResync,
  kSkip,
  kTeardown,
  kBackup,
  kInit,
  kDecode,
  kHelp,     // `text` is to be printed
  kVersion,  // the versions are to be printed
  kError,    // `text` goes to standard error, exit code 64
};

struct CommandLine {
  Command command = Command::kError;
  std::string text;
  std::string config_file;  // "" if not given
  std::vector<FlagValue> settings;
  std::vector<std::string> arguments;          // tables, FILE
  bool json = false;                           // status
  bool force = false;                          // backup
  Lsn lsn;                                     // wait, skip
  absl::Duration timeout = absl::Seconds(30);  // wait
};

// `arguments` without the program's name.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_COMMAND_LINE_H_
