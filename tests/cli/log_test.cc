// Log lines, the limit on repeated ones, and what systemd is told.

#include "applier/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "applier/io/log_format.h"
#include "applier/io/log_setup.h"
#include "applier/io/notify.h"
#include "applier/repeat_guard.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kStamp[] = "2024-02-29T12:00:00.123Z";
const absl::Time kTime = absl::FromUnixMillis(1709208000123);

TEST(LogFormatTest, Text) {
  EXPECT_EQ(FormatLogText(kStamp, LogLevel::kInfo, "table copied",
                          {{"table", "public.item"}, {"rows", "3"}}),
            "2024-02-29T12:00:00.123Z info  table copied table=public.item "
            "rows=3");
  EXPECT_EQ(FormatLogText(kStamp, LogLevel::kError, "x", {{"a", "b \"c\""}}),
            "2024-02-29T12:00:00.123Z error x a=\"b \\\"c\\\"\"");
  EXPECT_THAT(FormatLogText(kStamp, LogLevel::kWarn, "x", {{"a", ""}}),
              HasSubstr("a=\"\""));
}

TEST(LogFormatTest, NamesCannotForgeLines) {
  const std::string text = FormatLogText(kStamp, LogLevel::kInfo, "a\nb",
                                         {{"table", "x\ny\x1b[2J"}});
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(
      FormatLogJson(kStamp, LogLevel::kInfo, "a\nb", {{"table", "x\ny"}}),
      Not(HasSubstr("\n")));
}

TEST(LogFormatTest, Json) {
  EXPECT_EQ(FormatLogJson(kStamp, LogLevel::kWarn, "a \"b\"", {{"lsn", "0/1"}}),
            R"({"time":"2024-02-29T12:00:00.123Z","level":"warn",)"
            R"("message":"a \"b\"","lsn":"0/1"})");
  // Bytes that are not UTF-8 make no exception and no bad JSON.
  EXPECT_THAT(FormatLogJson(kStamp, LogLevel::kInfo, "\xff", {}),
              HasSubstr("\xef\xbf\xbd"));
}

TEST(LogFormatTest, Journal) {
  EXPECT_THAT(FormatLogJournal(LogLevel::kWarn, "table\ncopied",
                               {{"table", "public.item"}, {"rows", ""}}),
              ElementsAre("MESSAGE=table\ncopied", "PRIORITY=4",
                          "SYSLOG_IDENTIFIER=sublite",
                          "SUBLITE_TABLE=public.item", "SUBLITE_ROWS="));
  EXPECT_THAT(FormatLogJournal(LogLevel::kError, "x", {}),
              Contains("PRIORITY=3"));
}

TEST(RepeatGuardTest, CountsAndSummarises) {
  RepeatGuard guard;
  int passed = 0;
  for (int i = 0; i < 42; ++i) passed += guard.Pass("again", kTime) ? 1 : 0;
  EXPECT_EQ(passed, RepeatGuard::kLinesPerWindow);
  EXPECT_TRUE(guard.Pass("another", kTime));
  EXPECT_THAT(guard.TakeSummaries(kTime + absl::Seconds(59)), SizeIs(0));
  const auto summaries = guard.TakeSummaries(kTime + absl::Seconds(60));
  ASSERT_THAT(summaries, SizeIs(1));
  EXPECT_EQ(summaries[0].line, "again");
  EXPECT_EQ(summaries[0].suppressed, 42 - RepeatGuard::kLinesPerWindow);
  EXPECT_TRUE(guard.Pass("again", kTime + absl::Seconds(60)));
  EXPECT_THAT(guard.TakeSummaries(kTime + absl::Minutes(5)), SizeIs(0));
}

TEST(RepeatGuardTest, ClockSetBackSilencesNothing) {
  RepeatGuard guard;
  for (int i = 0; i < 42; ++i) guard.Pass("again", kTime);
  EXPECT_THAT(guard.TakeSummaries(kTime - absl::Hours(1)), SizeIs(1));
  EXPECT_TRUE(guard.Pass("again", kTime - absl::Hours(1)));
}

TEST(RepeatGuardTest, IsBounded) {
  RepeatGuard guard;
  for (int i = 0; i < 10000; ++i) {
    EXPECT_TRUE(guard.Pass(absl::StrCat("line ", i), kTime));
  }
}

TEST(LogSetupTest, LevelsFormatsAndRepeats) {
  ::testing::internal::CaptureStderr();
  SetUpLog(LogFormat::kText, LogLevel::kWarn);
  LogInfo("not shown");
  for (int i = 0; i < 20; ++i) LogWarn("shown", {{"lsn", "0/1"}});
  LogWarn("shown", {{"lsn", "0/2"}});
  SetUpLog(LogFormat::kJson, LogLevel::kDebug);
  LogDebug("details");
  SetLogSink(nullptr);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, Not(HasSubstr("not shown")));
  EXPECT_THAT(log, HasSubstr("warn  shown lsn=0/2"));
  EXPECT_THAT(log, HasSubstr("\"message\":\"details\""));
  int lines = 0;
  for (std::size_t at = log.find("lsn=0/1"); at != std::string::npos;
       at = log.find("lsn=0/1", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, RepeatGuard::kLinesPerWindow);
}

// Standard error while `log` runs, line by line.
template <typename Function>
std::vector<std::string> LinesOf(const Function& log) {
  ::testing::internal::CaptureStderr();
  log();
  SetLogSink(nullptr);
  return absl::StrSplit(::testing::internal::GetCapturedStderr(), '\n',
                        absl::SkipEmpty());
}

TEST(LogSetupTest, TextLinesBeginWithTheTimeInUtc) {
  setenv("TZ", "Asia/Tokyo", 1);
  tzset();
  const absl::Time before = absl::Now() - absl::Milliseconds(1);
  const std::vector<std::string> lines = LinesOf([] {
    SetUpLog(LogFormat::kText, LogLevel::kInfo);
    LogInfo("{} %v", {{"a", "{}"}});
  });
  unsetenv("TZ");
  tzset();
  ASSERT_THAT(lines, ElementsAre(EndsWith("Z info  {} %v a={}")));
  const std::string stamp = lines[0].substr(0, sizeof kStamp - 1);
  absl::Time time;
  ASSERT_TRUE(absl::ParseTime("%Y-%m-%dT%H:%M:%E3SZ", stamp, &time, nullptr))
      << stamp;
  EXPECT_GE(time, before);
  EXPECT_LE(time, absl::Now());
}

TEST(LogSetupTest, JsonLinesCarryTimeAndFields) {
  const std::vector<std::string> lines = LinesOf([] {
    SetUpLog(LogFormat::kJson, LogLevel::kInfo);
    LogError("x", {{"lsn", "0/1"}});
    LogWarn("y");
  });
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], StartsWith("{\"time\":\"20"));
  EXPECT_THAT(lines[0], EndsWith("Z\",\"level\":\"error\",\"message\":"
                                 "\"x\",\"lsn\":\"0/1\"}"));
  EXPECT_THAT(lines[1], EndsWith("\"message\":\"y\"}"));
}

TEST(LogSetupTest, DebugLinesMayRepeat) {
  EXPECT_THAT(LinesOf([] {
                SetUpLog(LogFormat::kText, LogLevel::kDebug);
                for (int i = 0; i < 20; ++i) LogDebug("again");
              }),
              SizeIs(20));
}

TEST(LogSetupTest, ThreadsKeepTheirFields) {
  constexpr int kThreads = 4;
  constexpr int kLines = 500;
  const std::vector<std::string> lines = LinesOf([] {
    SetUpLog(LogFormat::kText, LogLevel::kInfo);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; ++i) {
          LogInfo(absl::StrCat("m", t, "-", i),
                  {{"f", absl::StrCat("m", t, "-", i)}});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_THAT(lines, SizeIs(kThreads * kLines));
  for (const std::string& line : lines) {
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    ASSERT_THAT(words, SizeIs(4)) << line;
    EXPECT_EQ(absl::StrCat("f=", words[2]), words[3]);
  }
}

TEST(LogSetupTest, JournalThatIsNotThereLosesNothing) {
  if (access("/run/systemd/journal/socket", F_OK) == 0) GTEST_SKIP();
  ::testing::internal::CaptureStderr();
  SetUpLog(LogFormat::kJournal, LogLevel::kInfo);
  LogInfo("not lost");
  SetLogSink(nullptr);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("not lost"));
}

TEST(LogSetupTest, JournalStreamMustNameStderr) {
  setenv("JOURNAL_STREAM", "1:1", 1);
  EXPECT_FALSE(StderrIsJournal());
  struct stat info = {};
  ASSERT_EQ(fstat(STDERR_FILENO, &info), 0);
  setenv("JOURNAL_STREAM", absl::StrCat(info.st_dev, ":", info.st_ino).c_str(),
         1);
  EXPECT_TRUE(StderrIsJournal());
  unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(StderrIsJournal());
}

// Stands in for systemd: what arrives on $NOTIFY_SOCKET.
class FakeSystemd {
 public:
  FakeSystemd() : path_(absl::StrCat("@sublite-notify-", getpid())) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    address.sun_path[0] = '\0';
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto size =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
    bound_ = bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0;
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~FakeSystemd() {
    unsetenv("NOTIFY_SOCKET");
    close(socket_);
  }

  bool bound() const { return bound_; }
  // "" when nothing is there.
  std::string Take() {
    char buffer[500];
    const ssize_t size = recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
    return size <= 0 ? "" : std::string(buffer, size);
  }

 private:
  std::string path_;
  int socket_ = -1;
  bool bound_ = false;
};

TEST(NotifyTest, NothingHappensOutsideSystemd) {
  unsetenv("NOTIFY_SOCKET");
  notify::Status("x");
  notify::WatchdogPing();
  EXPECT_EQ(notify::WatchdogInterval(), absl::ZeroDuration());
}

TEST(NotifyTest, SpeaksTheProtocol) {
  FakeSystemd systemd;
  ASSERT_TRUE(systemd.bound());
  notify::Ready();
  notify::Ready();
  notify::Status("copying\nREADY=0");
  notify::Status("copying\nREADY=0");
  notify::WatchdogPing();
  notify::ExtendTimeout(absl::Seconds(30));
  notify::Stopping();
  EXPECT_EQ(systemd.Take(), "READY=1");
  EXPECT_EQ(systemd.Take(), "STATUS=copying READY=0");
  EXPECT_EQ(systemd.Take(), "WATCHDOG=1");
  EXPECT_EQ(systemd.Take(), "EXTEND_TIMEOUT_USEC=30000000");
  EXPECT_EQ(systemd.Take(), "STOPPING=1");
  EXPECT_EQ(systemd.Take(), "");
}

TEST(NotifyTest, WatchdogInterval) {
  setenv("WATCHDOG_USEC", "60000000", 1);
  EXPECT_EQ(notify::WatchdogInterval(), absl::Seconds(60));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(notify::WatchdogInterval(), absl::ZeroDuration());
  unsetenv("WATCHDOG_PID");
  unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace sublite::testing
