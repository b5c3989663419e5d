#include "applier/cli/init_command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "applier/settings.h"

namespace sublite {

std::string InitText() {
  std::string out =
      "# sublite: follows a PostgreSQL publication into a SQLite file.\n"
      "# `sublite check` says what is missing, `sublite run` does the work.\n"
      "# Commented lines show the defaults, or an example. Each setting can "
      "be\n"
      "# given as a flag instead, which wins.\n";
  std::string section;
  for (const Setting& setting : Settings()) {
    const std::string key = setting.key;
    const std::size_t dot = key.find('.');
    if (key.substr(0, dot) != section) {
      section = key.substr(0, dot);
      absl::StrAppend(&out, "\n[", section, "]\n");
    }
    absl::StrAppend(&out, "\n# ",
                    absl::StrReplaceAll(setting.help, {{"\n", "\n# "}}));
    if (setting.flag[0] != '\0') {
      absl::StrAppend(&out, " Flag: --", setting.flag);
    }
    absl::StrAppend(&out, "\n", setting.required ? "" : "#",
                    key.substr(dot + 1), " = ", setting.sample, "\n");
  }
  absl::StrAppend(
      &out,
      "\n# Settings of one table: another name in SQLite, another form of its "
      "numerics.\n"
      "#[tables.\"public.item\"]\n"
      "#name = \"item_2\"\n"
      "#numeric = \"text\"\n");
  return out;
}

}  // namespace sublite
