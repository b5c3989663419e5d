// The configuration: a TOML file, flags over it, checked as a whole.
//
// Input: CONTRACT.md section 1. Output: an immutable Config. All mistakes are
// reported at once, one a line, each with the place and the key:
//   /etc/sublite/sublite.toml:4: publisher.status_intervall: unknown key; did
//   you mean "status_interval"?
//   --status_interval: is "soon", must be a time like "10s", "500ms", "1m"
// The text of the file is not expanded in any way. Errors: InvalidArgument
// where the command line is wrong, FailedPrecondition where the file is. No
// message holds the connection string or a part of it.
#ifndef SUBLITE_APPLIER_IO_CONFIG_FILE_H_
#define SUBLITE_APPLIER_IO_CONFIG_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/config.h"
#include "applier/settings.h"

namespace sublite {

inline constexpr char kDefaultConfigFile[] = "/etc/sublite/sublite.toml";

// Which settings a command cannot do without.
struct ConfigNeeds {
  bool conninfo = false;
  bool publications = false;
  bool database = false;
  bool slot = false;  // given, or derived from the database
};

struct ConfigSource {
  std::string file;  // "" takes kDefaultConfigFile if that exists
  std::vector<FlagValue> flags;
};

absl::StatusOr<Config> LoadConfig(const ConfigSource& source,
                                  const ConfigNeeds& needs);

// The same for the text of a file that is called `name` in messages; LoadConfig
// reads the file and calls this. `name` "" says that there is no file.
absl::StatusOr<Config> ParseConfig(std::string_view text,
                                   const std::string& name,
                                   const std::vector<FlagValue>& flags,
                                   const ConfigNeeds& needs);

// Reads publisher.password_file, else systemd's credential `password`
// ($CREDENTIALS_DIRECTORY), into config->publisher.password; the line's end is
// no part of it. Only commands that connect call this, so that `status` works
// for a reader who may not see the password. Sets `*warning` where others than
// the owner can read the file ("" if not). Error: FailedPrecondition.
absl::Status LoadPassword(Config* config, std::string* warning);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_CONFIG_FILE_H_
