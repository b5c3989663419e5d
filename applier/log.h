// Log lines: a message and fields, to wherever io/log_setup pointed them
// (journal, text or JSON on standard error).
//
// The message says what happened in words; fields carry positions and names for
// machines. Values of rows and secrets never go into either. Threads: any.
#ifndef SUBLITE_APPLIER_LOG_H_
#define SUBLITE_APPLIER_LOG_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "applier/config.h"

namespace sublite {

// `name` in lower_snake_case: "lsn", "table". The journal shows it as
// SUBLITE_LSN.
struct LogField {
  std::string_view name;
  std::string value;
};

void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields = {});

inline void LogInfo(std::string_view message,
                    std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarn(std::string_view message,
                    std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarn, message, fields);
}
inline void LogError(std::string_view message,
                     std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}
inline void LogDebug(std::string_view message,
                     std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}

// Where Log sends a line. The default writes plain text to standard error. Set
// once at start, before threads.
using LogSink = void (*)(LogLevel, std::string_view,
                         std::initializer_list<LogField>);
void SetLogSink(LogSink sink);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_LOG_H_
