// spdlog brings levels, sinks, locking, flushing and time stamps. It knows no
// fields, so they travel beside the message: spdlog calls the sinks on the
// thread that logs, before Log returns.
#include "applier/io/log_setup.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "applier/io/log_format.h"
#include "applier/log.h"
#include "applier/repeat_guard.h"

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

namespace sublite {
namespace {

using spdlog::details::log_msg;

// Of the line that this thread logs now.
thread_local LogFields current_fields;

class WithFields {
 public:
  WithFields(LogFields fields)
      : outer_(std::exchange(current_fields, fields)) {}
  ~WithFields() { current_fields = outer_; }
  WithFields(const WithFields&) = delete;
  WithFields& operator=(const WithFields&) = delete;

 private:
  const LogFields outer_;
};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

LogLevel LevelOf(const log_msg& line) {
  switch (line.level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarn;
    default:
      return LogLevel::kError;
  }
}

std::string_view MessageOf(const log_msg& line) {
  return {line.payload.data(), line.payload.size()};
}

// A line for standard error.
class LineFormatter final : public spdlog::formatter {
 public:
  explicit LineFormatter(bool json)
      : json_(json),
        time_("%Y-%m-%dT%H:%M:%S.%eZ", spdlog::pattern_time_type::utc, "") {}

  void format(const log_msg& line, spdlog::memory_buf_t& out) override {
    spdlog::memory_buf_t stamp;
    time_.format(line, stamp);
    const std::string_view time(stamp.data(), stamp.size());
    const auto form = json_ ? FormatLogJson : FormatLogText;
    std::string text =
        form(time, LevelOf(line), MessageOf(line), current_fields);
    text += '\n';
    out.append(text.data(), text.data() + text.size());
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(json_);
  }

 private:
  const bool json_;
  spdlog::pattern_formatter time_;
};

spdlog::sink_ptr StderrSink(bool json) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_formatter(std::make_unique<LineFormatter>(json));
  return sink;
}

// spdlog's own sink for the journal has no way to pass fields.
class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const log_msg& line) override {
    std::vector<std::string> entry =
        FormatLogJournal(LevelOf(line), MessageOf(line), current_fields);
    std::vector<iovec> parts;
    for (std::string& part : entry) parts.push_back({part.data(), part.size()});
    const int result =
        sd_journal_sendv(parts.data(), static_cast<int>(parts.size()));
    if (result != 0) fallback_->log(line);
  }
  void flush_() override {}

 private:
  const spdlog::sink_ptr fallback_ = StderrSink(false);
};

// Passes on what the guard lets pass. spdlog's dup_filter_sink drops only what
// equals the line just before, and knows no fields.
class RepeatSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit RepeatSink(spdlog::sink_ptr next) : next_(std::move(next)) {}

 protected:
  void sink_it_(const log_msg& line) override {
    if (LevelOf(line) == LogLevel::kDebug) return next_->log(line);
    const absl::Time now = absl::FromChrono(line.time);
    for (const RepeatGuard::Summary& summary : guard_.TakeSummaries(now)) {
      LogSummary(line, summary);
    }
    std::string key(MessageOf(line));
    for (const LogField& field : current_fields) {
      key.append(" ").append(field.name).append("=").append(field.value);
    }
    if (guard_.Pass(key, now)) next_->log(line);
  }
  void flush_() override { next_->flush(); }

 private:
  void LogSummary(const log_msg& line, const RepeatGuard::Summary& summary) {
    const std::string message = absl::StrCat("repeated: ", summary.line);
    log_msg told = line;
    told.level = spdlog::level::info;
    told.payload = message;
    const LogFields times = {{"times", absl::StrCat(summary.suppressed)}};
    const WithFields with(times);
    next_->log(told);
  }

  const spdlog::sink_ptr next_;
  RepeatGuard guard_;
};

// Never destroyed: threads may log while the process ends.
std::unique_ptr<spdlog::logger>& Logger() {
  static auto& logger = *new std::unique_ptr<spdlog::logger>;
  return logger;
}

void LogThroughSpdlog(LogLevel level, std::string_view message,
                      LogFields fields) {
  const WithFields with(fields);
  Logger()->log(ToSpdlog(level),
                spdlog::string_view_t(message.data(), message.size()));
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
  spdlog::sink_ptr sink = StderrSink(format == LogFormat::kJson);
  if (format == LogFormat::kJournal) sink = std::make_shared<JournalSink>();
  Logger() = std::make_unique<spdlog::logger>(
      "sublite", std::make_shared<RepeatSink>(std::move(sink)));
  Logger()->set_level(ToSpdlog(level));
  SetLogSink(LogThroughSpdlog);
  if (lost) LogWarn("there is no journal here: the log goes to standard error");
}

}  // namespace sublite
