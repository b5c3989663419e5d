#include "applier/io/log_format.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sublite {
namespace {

// The values of syslog: debug 7, info 6, warning 4, error 3.
int Priority(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return 7;
    case LogLevel::kInfo:
      return 6;
    case LogLevel::kWarn:
      return 4;
    case LogLevel::kError:
      break;
  }
  return 3;
}

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      break;
  }
  return "error";
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

std::string FormatLogText(std::string_view time, LogLevel level,
                          std::string_view message, LogFields fields) {
  std::string line(time);
  absl::StrAppendFormat(&line, " %-5s ", LevelName(level));
  AppendEscaped(message, false, &line);
  for (const LogField& field : fields) {
    line.append(" ").append(field.name).append("=");
    AppendValue(field.value, &line);
  }
  return line;
}

std::string FormatLogJson(std::string_view time, LogLevel level,
                          std::string_view message, LogFields fields) {
  nlohmann::ordered_json line = {
      {"time", time}, {"level", LevelName(level)}, {"message", message}};
  for (const LogField& field : fields) {
    line[std::string(field.name)] = field.value;
  }
  return line.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

std::vector<std::string> FormatLogJournal(LogLevel level,
                                          std::string_view message,
                                          LogFields fields) {
  std::vector<std::string> entry = {
      absl::StrCat("MESSAGE=", std::string(message)),
      absl::StrCat("PRIORITY=", Priority(level)),
      "SYSLOG_IDENTIFIER=sublite",
  };
  for (const LogField& field : fields) {
    entry.push_back(absl::StrCat("SUBLITE_",
                                 absl::AsciiStrToUpper(std::string(field.name)),
                                 "=", field.value));
  }
  return entry;
}

}  // namespace sublite
