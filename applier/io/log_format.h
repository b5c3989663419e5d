// One log line as text (logfmt), as JSON, or as the fields of a journal entry.
// Pure; the time stamp is text, as the logging library made it.
//
//   2024-02-29T12:00:00.123Z info  table copied table=public.item rows=3
//   {"time":"2024-02-29T12:00:00.123Z","level":"info","message":"table copied",
//    "table":"public.item","rows":"3"}
//   MESSAGE=table copied, PRIORITY=6, SYSLOG_IDENTIFIER=sublite,
//   SUBLITE_TABLE=public.item, SUBLITE_ROWS=3
//
// Text and JSON never hold a newline: control characters are escaped, so a name
// from the publisher cannot forge a line. Bytes that are not UTF-8 are U+FFFD
// in JSON.
#ifndef SUBLITE_APPLIER_IO_LOG_FORMAT_H_
#define SUBLITE_APPLIER_IO_LOG_FORMAT_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "applier/log.h"

namespace sublite {

using LogFields = std::initializer_list<LogField>;

std::string FormatLogText(std::string_view time, LogLevel level,
                          std::string_view message, LogFields fields);
std::string FormatLogJson(std::string_view time, LogLevel level,
                          std::string_view message, LogFields fields);
// The journal stamps its entries itself.
std::vector<std::string> FormatLogJournal(LogLevel level,
                                          std::string_view message,
                                          LogFields fields);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LOG_FORMAT_H_
