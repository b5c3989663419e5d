#include "applier/log.h"

#include <atomic>
#include <cstdio>

namespace sublite {
namespace {

// Until io/log_setup has run, and in tests: everything above debug, plainly.
void DefaultSink(LogLevel level, std::string_view message,
                 std::initializer_list<LogField> fields) {
  if (level == LogLevel::kDebug) return;
  std::string line = "sublite: ";
  line.append(message);
  for (const LogField& field : fields) {
    line.append(" ").append(field.name).append("=").append(field.value);
  }
  line += '\n';
  // One call, so that lines of several threads do not mix.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::atomic<LogSink> current_sink{DefaultSink};

}  // namespace

void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields) {
  current_sink.load(std::memory_order_acquire)(level, message, fields);
}

void SetLogSink(LogSink sink) {
  current_sink.store(sink == nullptr ? DefaultSink : sink,
                     std::memory_order_release);
}

}  // namespace sublite
