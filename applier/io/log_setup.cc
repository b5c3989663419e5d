// No spdlog here: its 1.10 carries no fields, its journal sink neither, and the
// formatter had to be ours. What would be left of it is a mutex and a write.
#include "applier/io/log_setup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "applier/io/log_format.h"
#include "applier/log.h"
#include "applier/repeat_guard.h"

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

namespace sublite {
namespace {

struct LogState {
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;
  absl::Mutex mutex;
  RepeatGuard guard ABSL_GUARDED_BY(mutex);
};

// Never destroyed: threads may log while the process ends.
LogState& State() {
  static auto* const kState = new LogState;
  return *kState;
}

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

void WriteStderr(LogFormat format, LogLevel level, std::string_view message,
                 std::initializer_list<LogField> fields) {
  std::string line = format == LogFormat::kJson
                         ? FormatLogJson(absl::Now(), level, message, fields)
                         : FormatLogText(absl::Now(), level, message, fields);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool WriteJournal(LogLevel level, std::string_view message,
                  std::initializer_list<LogField> fields) {
  std::vector<std::string> entries = {
      absl::StrCat("MESSAGE=", std::string(message)),
      absl::StrCat("PRIORITY=", Priority(level)),
      "SYSLOG_IDENTIFIER=sublite",
  };
  for (const LogField& field : fields) {
    entries.push_back(
        absl::StrCat("SUBLITE_", absl::AsciiStrToUpper(std::string(field.name)),
                     "=", field.value));
  }
  std::vector<iovec> vectors;
  for (std::string& entry : entries) {
    vectors.push_back({entry.data(), entry.size()});
  }
  return sd_journal_sendv(vectors.data(), static_cast<int>(vectors.size())) ==
         0;
}

void Write(LogLevel level, std::string_view message,
           std::initializer_list<LogField> fields) {
  const LogFormat format = State().format;
  if (format == LogFormat::kJournal && WriteJournal(level, message, fields)) {
    return;
  }
  WriteStderr(format, level, message, fields);
}

void ConfiguredSink(LogLevel level, std::string_view message,
                    std::initializer_list<LogField> fields) {
  LogState& state = State();
  if (level < state.level) return;
  if (level == LogLevel::kDebug) return Write(level, message, fields);
  std::string key(message);
  for (const LogField& field : fields) {
    absl::StrAppend(&key, " ", std::string(field.name), "=", field.value);
  }
  bool pass = false;
  std::vector<RepeatGuard::Summary> summaries;
  {
    const absl::Time now = absl::Now();
    absl::MutexLock lock(&state.mutex);
    summaries = state.guard.TakeSummaries(now);
    pass = state.guard.Pass(key, now);
  }
  for (const RepeatGuard::Summary& summary : summaries) {
    Write(LogLevel::kInfo, absl::StrCat("repeated: ", summary.line),
          {{"times", absl::StrCat(summary.suppressed)}});
  }
  if (pass) Write(level, message, fields);
}

}  // namespace

bool StderrIsJournal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat info = {};
  if (stream == nullptr || fstat(STDERR_FILENO, &info) != 0) return false;
  return absl::StrFormat("%d:%d", info.st_dev, info.st_ino) == stream;
}

void SetUpLog(LogFormat format, LogLevel level) {
  if (format == LogFormat::kAuto) {
    format = StderrIsJournal() ? LogFormat::kJournal : LogFormat::kText;
  }
  // Without the daemon libsystemd reports success and drops every line.
  const bool lost = format == LogFormat::kJournal &&
                    access("/run/systemd/journal/socket", F_OK) != 0;
  if (lost) format = LogFormat::kText;
  State().format = format;
  State().level = level;
  SetLogSink(ConfiguredSink);
  if (lost) LogWarn("there is no journal here: the log goes to standard error");
}

}  // namespace sublite
