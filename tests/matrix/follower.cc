#include "tests/matrix/follower.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

// It takes milliseconds; the limit is for a machine that stands still.
constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr absl::Duration kTurn = absl::Milliseconds(5);
constexpr std::size_t kLogShown = 4000;

std::string ShowStored(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return absl::StrCat("integer ", sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT: {
      const double value = sqlite3_column_double(statement, column);
      std::uint64_t bits = 0;
      static_assert(sizeof(bits) == sizeof(value), "a double has 64 bits");
      std::memcpy(&bits, &value, sizeof(bits));
      return absl::StrCat("real ", absl::Hex(bits, absl::kZeroPad16));
    }
    case SQLITE_NULL:
      return "null";
    default:
      break;
  }
  const bool text = sqlite3_column_type(statement, column) == SQLITE_TEXT;
  const auto* bytes =
      static_cast<const char*>(sqlite3_column_blob(statement, column));
  const int size = sqlite3_column_bytes(statement, column);
  const std::string value(bytes == nullptr ? "" : bytes, size);
  return text ? absl::StrCat("text ", value)
              : absl::StrCat("blob ", absl::BytesToHexString(value));
}

}  // namespace

Follower::Follower(const std::string& conninfo, const Mode& mode)
    : slot_(absl::StrCat("matrix_", mode.Name())),
      folder_(::testing::TempDir() + "/" + slot_) {
  std::filesystem::create_directories(folder_);
  std::ofstream config(folder_ + "/sublite.toml");
  config << "[publisher]\nconninfo = \"" << conninfo
         << "\"\npublications = [\"pub\"]\nslot = \"" << slot_
         << "\"\nstreaming = \"" << SettingOf(mode.streaming)
         << "\"\ntwo_phase = " << (mode.two_phase ? "true" : "false")
         << "\nbinary = " << (mode.binary ? "true" : "false")
         << "\nstatus_interval = \"1s\"\n[replica]\ndatabase = \"" << folder_
         << "/replica.db\"\n[log]\nformat = \"text\"\n";
}

Follower::~Follower() { sqlite3_close(database_); }

void Follower::Start() {
  SubprocessOptions options;
  options.output_path = folder_ + "/log";
  const std::string program = std::filesystem::absolute("applier/sublite");
  auto process = Subprocess::Start(
      {program, "run", absl::StrCat("--config=", folder_, "/sublite.toml")},
      options);
  ASSERT_OK(process);
  process_ = *std::move(process);
}

void Follower::Kill() {
  ASSERT_NE(process_, nullptr);
  EXPECT_TRUE(process_->Signal(SIGKILL)) << "it had ended before\n" << Log();
  EXPECT_EQ(process_->Wait(kPatience), 128 + SIGKILL);
  process_.reset();
}

void Follower::Stop() {
  ASSERT_NE(process_, nullptr);
  EXPECT_TRUE(process_->Signal(SIGTERM)) << "it had ended before\n" << Log();
  EXPECT_EQ(process_->Wait(kPatience), 0) << Log();
  process_.reset();
}

std::optional<StoredRows> Follower::Query(const std::string& sql) {
  const std::string path = folder_ + "/replica.db";
  if (database_ == nullptr &&
      sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READONLY,
                      nullptr) != SQLITE_OK) {
    sqlite3_close(std::exchange(database_, nullptr));
    return std::nullopt;
  }
  sqlite3_busy_timeout(database_, 5000);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) !=
      SQLITE_OK)
    return std::nullopt;
  StoredRows rows;
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    std::vector<std::string>& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i)
      row.push_back(ShowStored(statement, i));
  }
  sqlite3_finalize(statement);
  if (step != SQLITE_DONE) return std::nullopt;
  return rows;
}

std::string Follower::Scalar(const std::string& sql) {
  const std::optional<StoredRows> rows = Query(sql);
  if (!rows.has_value() || rows->size() != 1 || (*rows)[0].size() != 1)
    return "";
  const std::string& value = (*rows)[0][0];
  const std::size_t space = value.find(' ');
  return space == std::string::npos ? value : value.substr(space + 1);
}

bool Follower::WaitFor(const std::string& sql, const std::string& expected) {
  const absl::Time limit = absl::Now() + kPatience;
  std::string seen;
  while ((seen = Scalar(sql)) != expected) {
    const bool ended =
        process_ != nullptr && process_->Wait(absl::ZeroDuration()).has_value();
    if (ended || absl::Now() > limit) {
      ADD_FAILURE() << (ended ? "sublite ended" : "it takes too long")
                    << "; wanted '" << expected << "', not '" << seen
                    << "', from: " << sql << "\n"
                    << Log();
      return false;
    }
    absl::SleepFor(kTurn);
  }
  return true;
}

std::string Follower::Log() const {
  std::ifstream stream(folder_ + "/log", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream),
                         std::istreambuf_iterator<char>()};
  return text.size() <= kLogShown ? text : text.substr(text.size() - kLogShown);
}

}  // namespace sublite::testing
