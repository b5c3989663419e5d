// One log line as text (logfmt) or as JSON. Pure.
//
//   2024-02-29T12:00:00.123Z info  table copied table=public.item rows=3
//   {"time":"2024-02-29T12:00:00.123Z","level":"info","message":"table copied",
//    "table":"public.item","rows":"3"}
//
// A line never holds a newline of its own: control characters are escaped, so a
// name from the publisher cannot forge a line. Without the newline at the end.
#ifndef SUBLITE_APPLIER_IO_LOG_FORMAT_H_
#define SUBLITE_APPLIER_IO_LOG_FORMAT_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "applier/log.h"

namespace sublite {

const char* LogLevelName(LogLevel level);

std::string FormatLogText(absl::Time time, LogLevel level,
                          std::string_view message,
                          std::initializer_list<LogField> fields);
std::string FormatLogJson(absl::Time time, LogLevel level,
                          std::string_view message,
                          std::initializer_list<LogField> fields);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LOG_FORMAT_H_
