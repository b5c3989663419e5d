#include "applier/io/log_format.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "applier/io/json_line.h"

namespace sublite {
namespace {

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Control characters as \n, \t, \x1b.
void AppendEscaped(std::string_view text, bool quoted, std::string* out) {
  for (const char c : text) {
    if (c == '\n') {
      *out += "\\n";
    } else if (c == '\t') {
      *out += "\\t";
    } else if (IsControl(c)) {
      absl::StrAppendFormat(out, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      if (quoted && (c == '"' || c == '\\')) *out += '\\';
      *out += c;
    }
  }
}

void AppendValue(std::string_view value, std::string* out) {
  bool plain = !value.empty();
  for (const char c : value) {
    if (c == ' ' || c == '"' || c == '=' || c == '\\' || IsControl(c)) {
      plain = false;
    }
  }
  if (plain) {
    out->append(value);
    return;
  }
  *out += '"';
  AppendEscaped(value, true, out);
  *out += '"';
}

}  // namespace

const char* LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

std::string FormatLogText(absl::Time time, LogLevel level,
                          std::string_view message,
                          std::initializer_list<LogField> fields) {
  std::string line =
      absl::StrFormat("%s %-5s ", TimeText(time), LogLevelName(level));
  AppendEscaped(message, false, &line);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", std::string(field.name), "=");
    AppendValue(field.value, &line);
  }
  return line;
}

std::string FormatLogJson(absl::Time time, LogLevel level,
                          std::string_view message,
                          std::initializer_list<LogField> fields) {
  JsonObject line;
  line.AddText("time", TimeText(time));
  line.AddText("level", LogLevelName(level));
  line.AddText("message", message);
  for (const LogField& field : fields) line.AddText(field.name, field.value);
  return line.ToLine();
}

}  // namespace sublite
