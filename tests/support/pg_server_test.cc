// The test server does what tests rely on: it decodes, it restarts, and nothing
// of it outlives the test.

#include "tests/support/pg_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// The folder of a server, which holds its socket.
std::string Folder(const PgServer& server) {
  const std::string conninfo = server.Conninfo();
  return conninfo.substr(5, conninfo.find(' ') - 5);
}

// Whether a process runs; one that has ended and that nobody has waited for
// does not.
bool Runs(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string id, name, state;
  return stat >> id >> name >> state && state != "Z";
}

TEST(PgServerTest, RunsSqlAndDecodes) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PgServer> server,
                       PgServer::Start());
  EXPECT_GE(server->major_version(), 10);
  ASSERT_OK_AND_ASSIGN(
      const PgRows rows,
      server->Exec("select 1, null, 'a''b' union all select 2, '', 'c'"));
  EXPECT_THAT(rows,
              ElementsAre(ElementsAre(Optional(std::string("1")), std::nullopt,
                                      Optional(std::string("a'b"))),
                          ElementsAre(Optional(std::string("2")),
                                      Optional(std::string("")),
                                      Optional(std::string("c")))));
  ASSERT_OK(server->Exec("create table t (id int primary key)"));
  ASSERT_OK(server->Exec("create publication p for table t"));
  ASSERT_OK(server->Exec(
      "select pg_create_logical_replication_slot('s', 'pgoutput')"));
  EXPECT_OK(
      server->Exec("begin; insert into t values (1); prepare transaction 'g'"));
  EXPECT_THAT(server->Exec("select nonsense"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("nonsense")));
}

TEST(PgServerTest, SessionsAreIndependent) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PgServer> server,
                       PgServer::Start());
  ASSERT_OK(server->Exec("create table t (id int)"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PgSession> session,
                       server->Connect());
  ASSERT_OK(session->Exec("begin; insert into t values (1)"));
  EXPECT_THAT(server->Scalar("select count(*) from t"), IsOkAndHolds("0"));
  ASSERT_OK(session->Exec("commit"));
  EXPECT_THAT(server->Scalar("select count(*) from t"), IsOkAndHolds("1"));
}

TEST(PgServerTest, KeepsWhatWasCommittedThroughRestartAndCrash) {
  PgServerOptions options;
  options.tcp = true;
  options.settings = {{"work_mem", "5MB"}};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PgServer> server,
                       PgServer::Start(options));
  ASSERT_OK(server->Exec("create table t (id int); insert into t values (1)"));
  ASSERT_OK(server->Restart());
  ASSERT_OK(server->Crash());
  EXPECT_FALSE(server->Exec("select 1").ok());
  ASSERT_OK(server->StartAgain());
  EXPECT_THAT(server->Scalar("select count(*) from t"), IsOkAndHolds("1"));
  EXPECT_THAT(server->Scalar("show work_mem"), IsOkAndHolds("5MB"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PgSession> session,
                       PgSession::Open(server->TcpConninfo()));
  EXPECT_THAT(session->Scalar("select 1"), IsOkAndHolds("1"));
}

TEST(PgServerTest, GoesWithTheObject) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<PgServer> server, PgServer::Start());
  const std::string folder = Folder(*server);
  ASSERT_OK_AND_ASSIGN(
      const std::string pid,
      server->Scalar("select (regexp_match(pg_read_file('postmaster.pid'), "
                     "'[0-9]+'))[1]"));
  EXPECT_TRUE(Runs(pid));
  EXPECT_TRUE(std::filesystem::exists(folder));
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_FALSE(Runs(pid));
}

TEST(PgServerTest, GoesWithAKilledTest) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto server = PgServer::Start();
    const std::string text = server.ok() ? Folder(**server) : "";
    if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
    if (server.ok()) pause();
    _exit(1);
  }
  close(ends[1]);
  char buffer[200];
  const ssize_t size = read(ends[0], buffer, sizeof(buffer));
  ASSERT_GT(size, 0) << "the child has no server";
  const std::string folder(buffer, size);
  EXPECT_TRUE(std::filesystem::exists(folder));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 1000 && std::filesystem::exists(folder); ++i)
    absl::SleepFor(absl::Milliseconds(20));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace sublite::testing
