#include "tests/fleet/device.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

// For a machine that is busy with other things.
constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr std::size_t kLogShown = 4000;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Handle = std::unique_ptr<sqlite3, CloseDatabase>;

Handle Open(const std::string& file, int flags) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  Handle db(raw);
  if (opened != SQLITE_OK) return nullptr;
  sqlite3_busy_timeout(raw, 30000);
  return db;
}

}  // namespace

Device::Device(const std::string& name, const std::string& conninfo)
    : conninfo_(conninfo) {
  std::string folder = absl::StrCat(::testing::TempDir(), "/", name, "-XXXXXX");
  folder_ = mkdtemp(folder.data());
  file_ = folder_ + "/replica.db";
}

std::vector<std::string> Device::Line(const std::string& command,
                                      const Flags& flags) const {
  std::vector<std::string> line = {std::filesystem::absolute("applier/sublite"),
                                   command,
                                   "--publisher=" + conninfo_,
                                   "--publication=pub",
                                   "--database=" + file_,
                                   "--status_interval=200ms"};
  line.insert(line.end(), flags.begin(), flags.end());
  return line;
}

void Device::Start(const Flags& flags) {
  SubprocessOptions options;
  options.output_path = folder_ + "/log";
  auto process = Subprocess::Start(Line("run", flags), options);
  ASSERT_OK(process);
  process_ = *std::move(process);
}

void Device::Stop() {
  ASSERT_NE(process_, nullptr);
  EXPECT_TRUE(process_->Signal(SIGTERM)) << "it had ended before\n" << Log();
  EXPECT_EQ(process_->Wait(kPatience), 0) << Log();
  process_.reset();
}

void Device::Kill() {
  ASSERT_NE(process_, nullptr);
  EXPECT_TRUE(process_->Signal(SIGKILL)) << "it had ended before\n" << Log();
  process_->Wait(kPatience);
  process_.reset();
}

int Device::Command(const std::string& command, const Flags& flags) {
  SubprocessOptions options;
  options.output_path = folder_ + "/log";
  auto process = Subprocess::Start(Line(command, flags), options);
  EXPECT_OK(process);
  if (!process.ok()) return -1;
  const std::optional<int> code = (*process)->Wait(kPatience);
  EXPECT_TRUE(code.has_value()) << command << " does not end\n" << Log();
  return code.value_or(-1);
}

std::string Device::Scalar(const std::string& sql) const {
  const Handle db = Open(file_, SQLITE_OPEN_READONLY);
  sqlite3_stmt* statement = nullptr;
  if (db == nullptr || sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &statement,
                                          nullptr) != SQLITE_OK) {
    return "";
  }
  std::string value;
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text =
        reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    value = text == nullptr ? "" : text;
  }
  sqlite3_finalize(statement);
  return value;
}

void Device::Write(const std::string& sql) const {
  const Handle db = Open(file_, SQLITE_OPEN_READWRITE);
  ASSERT_NE(db, nullptr);
  ASSERT_EQ(sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sql << ": " << sqlite3_errmsg(db.get());
}

void Device::Await(const std::string& sql, const std::string& value) {
  const absl::Time limit = absl::Now() + kPatience;
  std::string is;
  while ((is = Scalar(sql)) != value) {
    ASSERT_LT(absl::Now(), limit)
        << sql << "\nis  " << is << "\nnot " << value << "\n"
        << Log();
    if (process_ != nullptr) {
      ASSERT_FALSE(process_->Wait(absl::ZeroDuration()).has_value())
          << "sublite ended\n"
          << Log();
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
}

int Device::Events(const std::string& kind) const {
  return std::atoi(Scalar(absl::StrCat("SELECT count(*) FROM sublite_events "
                                       "WHERE kind = '",
                                       kind, "'"))
                       .c_str());
}

std::string Device::Log() const {
  std::ifstream stream(folder_ + "/log", std::ios::binary);
  const std::string text = {std::istreambuf_iterator<char>(stream),
                            std::istreambuf_iterator<char>()};
  return text.size() < kLogShown ? text : text.substr(text.size() - kLogShown);
}

}  // namespace sublite::testing
