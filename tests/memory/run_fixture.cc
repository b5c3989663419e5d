#include "tests/memory/run_fixture.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "applier/wire/lsn.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

constexpr char kProgram[] = "applier/sublite";
// For a machine that is busy with other things; the test's own limit is what
// ends one that hangs.
constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr absl::Duration kLongPatience = absl::Minutes(40);

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

}  // namespace

std::unique_ptr<PgServer> RunFixture::server_;
int RunFixture::databases_ = 0;

bool RunFixture::Long() { return std::getenv("SUBLITE_LONG") != nullptr; }

void RunFixture::SetUpTestSuite() {
  PgServerOptions options;
  options.settings = {{"max_connections", "300"},
                      {"max_wal_size", Long() ? "8GB" : "1GB"}};
  ASSERT_OK_AND_ASSIGN(server_, PgServer::Start(options));
}

void RunFixture::TearDownTestSuite() { server_.reset(); }

void RunFixture::SetUp() {
  ASSERT_NE(server_, nullptr);
  database_ = absl::StrCat("memory_", ++databases_);
  ASSERT_OK(server().Exec("create database " + database_));
  session_ = Connect();
  file_ = absl::StrCat(::testing::TempDir(), "/", database_, ".db");
  log_ = file_ + ".log";
  for (const char* end : {"", "-wal", "-shm", ".log"})
    unlink((file_ + end).c_str());
}

void RunFixture::TearDown() {
  if (HasFailure() && process_ != nullptr) std::cerr << LogTail();
  process_.reset();
  session_.reset();
  for (const char* end : {"", "-wal", "-shm"}) unlink((file_ + end).c_str());
}

std::unique_ptr<PgSession> RunFixture::Connect() {
  auto session = server().Connect(database_);
  EXPECT_OK(session.status());
  return session.ok() ? *std::move(session) : nullptr;
}

void RunFixture::Exec(PgSession& session, const std::string& sql) {
  const auto rows = session.Exec(sql);
  ASSERT_OK(rows.status());
}

std::string RunFixture::Publisher(const std::string& sql) {
  const auto value = session_->Scalar(sql);
  EXPECT_OK(value.status());
  return value.value_or("");
}

std::string RunFixture::Replica(const std::string& sql) {
  ReplicaReader reader(file_);
  return reader.Scalar(sql);
}

void RunFixture::Run(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {
      kProgram,
      "run",
      "--publisher=" + server().Conninfo(database_),
      "--publication=p",
      "--database=" + file_,
      "--status_interval=1s",
  };
  command.insert(command.end(), flags.begin(), flags.end());
  SubprocessOptions options;
  options.output_path = log_;
  options.directory = ".";
  ASSERT_OK_AND_ASSIGN(process_, Subprocess::Start(command, options));
  const absl::Time limit = absl::Now() + kPatience;
  while (access(file_.c_str(), R_OK) != 0 && absl::Now() < limit)
    absl::SleepFor(absl::Milliseconds(20));
  Until("select state from sublite_status", "streaming");
}

void RunFixture::Until(const std::string& sql, const std::string& value) {
  const absl::Time limit = absl::Now() + (Long() ? kLongPatience : kPatience);
  std::string now;
  while (absl::Now() < limit) {
    // The file may be a moment younger than its tables.
    const bool made = Replica(
                          "select count(*) from sqlite_schema where name = "
                          "'sublite_status'") == "1";
    now = made ? Replica(sql) : "";
    if (now == value) return;
    ASSERT_FALSE(process_->Wait(absl::Milliseconds(50)).has_value())
        << "sublite ended\n"
        << LogTail();
  }
  FAIL() << sql << " is " << now << ", not " << value << "\n" << LogTail();
}

void RunFixture::CatchUp() {
  Lsn end;
  ASSERT_TRUE(Lsn::Parse(Publisher("select pg_current_wal_lsn()"), &end));
  Until(absl::StrCat("select applied_pos >= ", end.value(),
                     " from sublite_state"),
        "1");
}

std::string RunFixture::ProcFile(const char* name) const {
  return absl::StrCat("/proc/", process_->pid(), "/", name);
}

std::int64_t RunFixture::PeakBytes() {
  std::ifstream status(ProcFile("status"));
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  ADD_FAILURE() << "no VmHWM";
  return 0;
}

void RunFixture::ResetPeak() {
  std::ofstream(ProcFile("clear_refs")) << "5" << std::flush;
}

void RunFixture::Stop() {
  ASSERT_TRUE(process_->Signal(SIGTERM));
  EXPECT_EQ(process_->Wait(kPatience), 0) << LogTail();
  process_.reset();
}

std::string RunFixture::LogTail() const {
  const std::string text = ReadAll(log_);
  return text.size() < 4000 ? text : text.substr(text.size() - 4000);
}

}  // namespace sublite::testing
