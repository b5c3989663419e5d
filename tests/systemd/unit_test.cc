// systemd itself reads the unit and the user file. Skipped where its tools are
// not installed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/status_matchers.h"
#include "tests/support/subprocess.h"

namespace sublite::testing {
namespace {

constexpr char kAnalyze[] = "/usr/bin/systemd-analyze";
constexpr char kSysusers[] = "/usr/bin/systemd-sysusers";

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

// A copy of the unit whose program exists on every machine: the installed
// sublite is none of this test's business.
std::string UnitToVerify() {
  const std::string unit = ReadFile("scripts/systemd/sublite@.service");
  const std::string path =
      absl::StrCat(::testing::TempDir(), "/sublite@.service");
  std::ofstream(path) << absl::StrReplaceAll(
      unit, {{"/usr/bin/sublite", "/bin/true"}});
  return path;
}

struct Result {
  int exit_code;
  std::string output;
};

Result RunCommand(const std::vector<std::string>& command) {
  SubprocessOptions options;
  options.output_path = absl::StrCat(::testing::TempDir(), "/output");
  std::filesystem::remove(options.output_path);
  auto process = Subprocess::Start(command, options);
  if (!process.ok()) return {-1, std::string(process.status().message())};
  const std::optional<int> code = (*process)->Wait(absl::Seconds(30));
  return {code.value_or(-1), ReadFile(options.output_path)};
}

TEST(UnitTest, HasOnlyWhatSystemdKnows) {
  if (access(kAnalyze, X_OK) != 0) GTEST_SKIP() << "no systemd-analyze";
  const Result result =
      RunCommand({kAnalyze, "verify", "--man=no", UnitToVerify()});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "");  // an unknown key is only a warning
}

// http.listen needs a socket that is bound: nothing of the sandbox may forbid
// that.
TEST(UnitTest, MayListen) {
  const std::string unit = ReadFile("scripts/systemd/sublite@.service");
  EXPECT_THAT(unit,
              ::testing::HasSubstr(
                  "\nRestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX\n"));
  for (const char* key : {"PrivateNetwork=yes", "SocketBindDeny=",
                          "IPAddressDeny=", "~@network-io"}) {
    EXPECT_THAT(unit, ::testing::Not(::testing::HasSubstr(key)));
  }
}

TEST(UnitTest, AnUnknownKeyIsFound) {
  if (access(kAnalyze, X_OK) != 0) GTEST_SKIP() << "no systemd-analyze";
  const std::string path = UnitToVerify();
  std::ofstream(path, std::ios::app) << "[Service]\nNoSuchKey=yes\n";
  EXPECT_THAT(RunCommand({kAnalyze, "verify", "--man=no", path}).output,
              ::testing::HasSubstr("NoSuchKey"));
}

TEST(UnitTest, IsExposedAsLittleAsANetworkServiceCanBe) {
  if (access(kAnalyze, X_OK) != 0) GTEST_SKIP() << "no systemd-analyze";
  // The threshold is ten times the score that `systemd-analyze security`
  // prints; 9.6 without any hardening.
  const Result result =
      RunCommand({kAnalyze, "security", "--offline=yes", "--threshold=15",
                  "--no-pager", UnitToVerify()});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST(SysusersTest, IsUnderstood) {
  if (access(kSysusers, X_OK) != 0) GTEST_SKIP() << "no systemd-sysusers";
  const std::string root = absl::StrCat(::testing::TempDir(), "/root");
  std::filesystem::create_directories(absl::StrCat(root, "/etc"));
  const std::string file =
      absl::StrCat(std::filesystem::current_path().string(),
                   "/scripts/systemd/sublite.sysusers");
  const Result result =
      RunCommand({kSysusers, absl::StrCat("--root=", root), file});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(ReadFile(absl::StrCat(root, "/etc/passwd")),
              ::testing::HasSubstr("sublite:x:"));
}

}  // namespace
}  // namespace sublite::testing
