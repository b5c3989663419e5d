// Every setting of CONTRACT.md section 1, once: its key, its flag, its help,
// and how a value becomes a part of Config.
//
// Pure. io/config_file reads the values from TOML and from flags, the command
// line's help and `sublite init` print this table. Errors: InvalidArgument with
// a message that says what is legal, without the key, since the caller names it
// together with its place. A message never repeats the value of a setting that
// may hold a secret.
#ifndef SUBLITE_APPLIER_SETTINGS_H_
#define SUBLITE_APPLIER_SETTINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/config.h"

namespace sublite {

// What a person wrote, before it is checked. A flag's text becomes one of these
// by ValueFromFlag, so that both sources pass the same checks.
using SettingValue =
    std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;

enum class SettingKind {
  kText,
  kBoolean,
  kInteger,
  kDuration,
  kSize,
  kList,
  kChoice
};

struct Setting {
  const char* key;   // "publisher.slot"
  const char* flag;  // "slot"; "" where there is none
  SettingKind kind;
  const char* argument;  // what help calls the value: "NAME"
  // TOML text that `sublite init` prints: the default, or an example where
  // there is none.
  const char* sample;
  bool required;     // no default: `run` needs it
  const char* help;  // lines of what it means, divided by '\n'
  absl::Status (*set)(const SettingValue& value, Config* config);
};

// A setting as the command line gives it.
struct FlagValue {
  std::string flag;  // as in Setting::flag, with underscores
  std::string text;
};

// In the order in which a person reads them; keys of one section are adjacent.
const std::vector<Setting>& Settings();

// nullptr where there is none.
const Setting* FindSetting(std::string_view key);
const Setting* FindSettingByFlag(std::string_view flag);

// Checks `value` and puts it into `*config`.
absl::Status ApplySetting(const Setting& setting, const SettingValue& value,
                          Config* config);

// A flag's text as the kind of value that the setting takes.
absl::StatusOr<SettingValue> ValueFromFlag(const Setting& setting,
                                           std::string_view text);

// The two keys of a [tables."schema.table"] section; `key` is `name` or
// `numeric`, others are the caller's to refuse.
absl::Status ApplyTableSetting(std::string_view key, const SettingValue& value,
                               TableSetting* table);

// What does not fit together across settings, each with the key that is to
// blame: {"tables.\"public.b\".name", "…"}. Also fills the default slot name.
struct SettingProblem {
  std::string key;
  std::string text;
};
std::vector<SettingProblem> FinishConfig(Config* config);

// The name nearest to `name` among `known`; "" if none is near enough to be
// meant.
std::string NearestName(std::string_view name,
                        const std::vector<std::string>& known);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_SETTINGS_H_
