// `sublite check` against real servers: each thing that goes wrong later is
// found, is really refused or lost by the server where that can be shown, and
// is gone once the mend that the line names was run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/cli/check_command.h"
#include "applier/config.h"
#include "applier/io/libpq_publisher.h"
#include "applier/stop_signal.h"
#include "tests/support/pg_server.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    absl::StatusOr<std::unique_ptr<PgServer>> server = PgServer::Start({});
    ASSERT_OK(server);
    server_ = server->release();
    ASSERT_OK(server_->Exec("create role reader login replication"));
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(server_, nullptr);
    static int count = 0;
    database_ = absl::StrCat("check_", ++count);
    ASSERT_OK(server_->Exec(absl::StrCat("create database ", database_)));
    ASSERT_OK_AND_ASSIGN(session_, server_->Connect(database_));
    config_.publisher.publications = {"pub"};
    config_.publisher.slot = "s";
    config_.replica.database = ::testing::TempDir() + "/not_there.db";
  }

  void Sql(const std::string& sql) { EXPECT_OK(session_->Exec(sql)) << sql; }
  // That the server refuses it.
  void Refused(const std::string& sql, const std::string& error) {
    EXPECT_THAT(session_->Exec(sql).status(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr(error)));
  }
  static bool Since(int major) { return server_->major_version() >= major; }

  std::string Check(const std::string& user = "reader") {
    LibpqPublisherOptions options;
    options.conninfo =
        Secret(absl::StrCat(server_->Conninfo(database_), " user=", user));
    LibpqPublisher publisher(std::move(options), &stop_);
    std::ostringstream out;
    code_ = CheckCommand(config_, &publisher, out);
    return out.str();
  }
  void Set(const std::string& setting, const std::string& value) {
    Sql(absl::StrCat("alter system set ", setting, " = '", value, "'"));
    Reload();
  }
  void ResetSetting(const std::string& setting) {
    Sql(absl::StrCat("alter system reset ", setting));
    Reload();
  }
  // Until the postmaster, from which new sessions have their settings, has read
  // the files.
  void Reload() {
    const std::string loaded = "select pg_conf_load_time()";
    ASSERT_OK_AND_ASSIGN(const std::string before, server_->Scalar(loaded));
    Sql("select pg_reload_conf()");
    for (int i = 0; i < 600; ++i) {
      ASSERT_OK_AND_ASSIGN(const std::string now, server_->Scalar(loaded));
      if (now != before) return;
      absl::SleepFor(absl::Milliseconds(50));
    }
    ADD_FAILURE() << "the settings are not read";
  }

  static PgServer* server_;
  StopSignal stop_;
  std::string database_;
  std::unique_ptr<PgSession> session_;
  Config config_;
  int code_ = -1;
};

PgServer* CheckServerTest::server_ = nullptr;

TEST_F(CheckServerTest, NothingIsWrong) {
  Sql("create table t (id int primary key, v text);"
      "grant select on t to reader; create publication pub for table t");
  const std::string out = Check();
  EXPECT_EQ(code_, 0) << out;
  EXPECT_THAT(
      out, AllOf(HasSubstr("ok    1 published table(s)"),
                 Not(HasSubstr("fail ")), Not(HasSubstr("warn  PostgreSQL"))));
}

TEST_F(CheckServerTest, Privileges) {
  Sql("create schema s; create table s.t (id int primary key, v text);"
      "create publication pub for table s.t");
  EXPECT_THAT(Check(),
              HasSubstr("fail  s.t cannot be read, so not be copied: GRANT "
                        "USAGE ON SCHEMA \"s\" TO \"reader\"; GRANT SELECT ON "
                        "\"s\".\"t\" TO \"reader\"\n"));
  EXPECT_EQ(code_, 1);
  Sql("grant usage on schema s to reader; grant select (id) on s.t to reader");
  EXPECT_THAT(Check(), HasSubstr("fail  s.t cannot be read"));
  Sql("grant select (v) on s.t to reader");
  EXPECT_THAT(Check(), Not(HasSubstr("cannot be read")));
}

TEST_F(CheckServerTest, RowSecurity) {
  Sql("create table t (id int primary key); grant select on t to reader;"
      "alter table t enable row level security;"
      "create publication pub for table t");
  EXPECT_THAT(Check(), HasSubstr("fail  public.t has row security that hides "
                                 "rows from the copy: ALTER ROLE \"reader\" "
                                 "BYPASSRLS"));
  EXPECT_THAT(Check("postgres"), Not(HasSubstr("row security")));
}

TEST_F(CheckServerTest, ARoleWithoutReplication) {
  Sql("create role plain login");
  EXPECT_THAT(Check("plain"),
              ContainsRegex("fail  connection: .*ALTER ROLE … REPLICATION"));
  Sql("drop role plain");
}

TEST_F(CheckServerTest, NoReplicaIdentity) {
  Sql("create table t (id int); grant select on t to reader;"
      "create publication pub for table t; insert into t values (1)");
  EXPECT_THAT(Check(),
              HasSubstr("warn  public.t has no usable replica identity"));
  Refused("update t set id = 2", "replica identity");
  Sql("ALTER TABLE \"public\".\"t\" REPLICA IDENTITY FULL");
  EXPECT_THAT(Check(), Not(HasSubstr("replica identity,")));
  Sql("update t set id = 2");
}

TEST_F(CheckServerTest, AColumnListWithoutTheKey) {
  if (!Since(15)) GTEST_SKIP();
  Sql("create table t (id int primary key, v text, w text); insert into t "
      "values (1, 'v', 'w'); grant select on t to reader;"
      "create publication pub for table t (v)");
  EXPECT_THAT(
      Check(),
      AllOf(HasSubstr("warn  public.t: the column list leaves out id of the "
                      "replica identity"),
            HasSubstr("ALTER PUBLICATION … SET TABLE \"public\".\"t\" (…)"),
            Not(HasSubstr("no usable replica identity"))));
  Refused("update t set v = 'x'", "cannot update table");
  Sql("alter publication pub set table t (id, v)");
  EXPECT_THAT(Check(), Not(HasSubstr("column list")));
  Sql("update t set v = 'x'; alter table t replica identity full");
  EXPECT_THAT(Check(), HasSubstr("the column list leaves out w of"));
  Refused("update t set v = 'y'", "cannot update table");
  // Only inserts need no key.
  Sql("alter publication pub set (publish = 'insert')");
  EXPECT_THAT(Check(), Not(HasSubstr("column list")));
}

TEST_F(CheckServerTest, ARowFilterOutsideTheKey) {
  if (!Since(15)) GTEST_SKIP();
  Sql("create table t (id int primary key, v text, n int); insert into t "
      "values (1, 'v', 1); grant select on t to reader;"
      "create publication pub for table t where (n > 0 and id > 0)");
  EXPECT_THAT(Check(),
              HasSubstr("warn  public.t: the row filter asks for n, which is "
                        "not in the replica identity"));
  Refused("update t set v = 'x'", "cannot update table");
  Sql("ALTER TABLE \"public\".\"t\" REPLICA IDENTITY FULL");
  EXPECT_THAT(Check(), Not(HasSubstr("row filter")));
  Sql("update t set v = 'x'");
}

TEST_F(CheckServerTest, TwoColumnLists) {
  if (!Since(15)) GTEST_SKIP();
  Sql("create table t (id int primary key, v text); grant select on t to "
      "reader; create publication pub for table t (id);"
      "create publication pub2 for table t (id, v)");
  config_.publisher.publications = {"pub", "pub2"};
  EXPECT_THAT(Check(), HasSubstr("fail  public.t: the publications \"pub\" and "
                                 "\"pub2\" list different columns"));
}

TEST_F(CheckServerTest, OperationsThatAreNotPublished) {
  Sql("create table t (id int primary key); grant select on t to reader;"
      "create publication pub for table t with (publish = 'insert, update')");
  EXPECT_THAT(
      Check(),
      HasSubstr("warn  publication \"pub\" does not publish delete, truncate, "
                "so the replica keeps rows as they were before: ALTER "
                "PUBLICATION \"pub\" SET (publish = 'insert, update, delete, "
                "truncate')"));
  Sql("ALTER PUBLICATION \"pub\" SET (publish = 'insert, update, delete, "
      "truncate')");
  EXPECT_THAT(Check(), Not(HasSubstr("does not publish")));
}

TEST_F(CheckServerTest, UnloggedTables) {
  Sql("create unlogged table u (id int primary key); create table t (id int "
      "primary key); grant select on t to reader;"
      "create publication pub for all tables");
  EXPECT_THAT(Check(), AllOf(HasSubstr("warn  \"public\".\"u\" is unlogged, so "
                                       "the publication leaves it out: ALTER "
                                       "TABLE \"public\".\"u\" SET LOGGED"),
                             HasSubstr("1 published table(s)")));
  Sql("ALTER TABLE \"public\".\"u\" SET LOGGED; grant select on u to reader");
  EXPECT_THAT(Check(), AllOf(Not(HasSubstr("unlogged")),
                             HasSubstr("2 published table(s)")));
  Sql("drop publication pub; create publication pub for table t;"
      "create unlogged table u2 (id int)");
  EXPECT_THAT(Check(), Not(HasSubstr("unlogged")));
}

TEST_F(CheckServerTest, PartitionsBehindTheirRoot) {
  if (!Since(13)) GTEST_SKIP();
  Sql("create table p (id int, v text) partition by range (id);"
      "create table p1 partition of p for values from (0) to (10);"
      "create unlogged table p2 (id int, v text);"
      "alter table p attach partition p2 for values from (10) to (20);"
      "create table p3 partition of p for values from (20) to (30);"
      "alter table p3 add primary key (id);"
      "alter table p replica identity full;"
      "grant select on p to reader;"
      "insert into p values (1, 'v');"
      "create publication pub for table p with (publish_via_partition_root)");
  const std::string out = Check();
  EXPECT_THAT(
      out,
      AllOf(
          HasSubstr("warn  partition public.p1 of public.p has no usable "
                    "replica identity"),
          HasSubstr("fail  partition public.p2 of public.p is unlogged: its "
                    "rows are copied, but its changes never come: ALTER TABLE "
                    "\"public\".\"p2\" SET LOGGED"),
          HasSubstr("fail  partition public.p3 of public.p has another "
                    "replica identity than the table itself")));
  Refused("update p set v = 'x' where id = 1", "replica identity");
  Sql("alter table p1 replica identity full; ALTER TABLE \"public\".\"p2\" SET "
      "LOGGED; alter table p2 replica identity full;"
      "ALTER TABLE \"public\".\"p3\" REPLICA IDENTITY FULL");
  EXPECT_THAT(Check(), AllOf(Not(HasSubstr("partition public")),
                             Not(HasSubstr("fail "))));
}

TEST_F(CheckServerTest, AForeignPartition) {
  if (!Since(13)) GTEST_SKIP();
  if (session_->Exec("create extension file_fdw").status().ok() == false)
    GTEST_SKIP() << "no file_fdw";
  Sql("create server f foreign data wrapper file_fdw;"
      "create table p (id int, v text) partition by range (id);"
      "create foreign table p1 partition of p for values from (0) to (10) "
      "server f options (filename '/dev/null')");
  const auto made = session_->Exec(
      "create publication pub for table p with (publish_via_partition_root)");
  if (!made.ok()) GTEST_SKIP() << "the server refuses it: " << made.status();
  EXPECT_THAT(
      Check("postgres"),
      ContainsRegex("fail  partition public.p1 of public.p is a foreign "
                    "table.*DETACH PARTITION \"public\".\"p1\""));
}

TEST_F(CheckServerTest, NumbersThatLoseDigits) {
  Sql("create domain wide as numeric(30, 2);"
      "create table t (id int primary key, a numeric, b numeric(10, 2), c "
      "wide);"
      "grant select on t to reader; create publication pub for table t");
  EXPECT_THAT(Check(), Not(HasSubstr("digits")));
  config_.replica.numeric = NumericMode::kReal;
  EXPECT_THAT(Check(),
              HasSubstr("warn  public.t: the setting replica.numeric = "
                        "\"real\" loses digits of a, c beyond"));
  config_.tables["public.t"].has_numeric = true;
  EXPECT_THAT(Check(), Not(HasSubstr("digits")));
  config_.replica.numeric = NumericMode::kAuto;
  config_.tables["public.t"].numeric = NumericMode::kReal;
  EXPECT_THAT(Check(), HasSubstr("tables.\"public.t\".numeric = \"real\""));
}

TEST_F(CheckServerTest, NamesThatClash) {
  Sql("create table t (id int primary key); create table \"T\" (id int primary "
      "key); grant select on t, \"T\" to reader;"
      "create publication pub for all tables");
  EXPECT_THAT(Check(),
              AllOf(HasSubstr("fail  SQLite compares names without case"),
                    HasSubstr(".name")));
}

TEST_F(CheckServerTest, Settings) {
  Sql("create table t (id int primary key); grant select on t to reader;"
      "create publication pub for table t");
  const bool limited = Since(13);
  EXPECT_THAT(Check(), HasSubstr(limited ? "warn  max_slot_wal_keep_size is -1"
                                         : "warn  servers before 13"));
  if (limited) {
    Set("max_slot_wal_keep_size", "100MB");
    EXPECT_THAT(Check(), HasSubstr("warn  max_slot_wal_keep_size is 100 MB"));
    Set("max_slot_wal_keep_size", "50GB");
    EXPECT_THAT(Check(), Not(HasSubstr("max_slot_wal_keep_size")));
    ResetSetting("max_slot_wal_keep_size");
  }
  if (Since(18)) {
    Set("idle_replication_slot_timeout", "2h");
    EXPECT_THAT(Check(),
                HasSubstr("warn  idle_replication_slot_timeout is 2h"));
    Set("idle_replication_slot_timeout", "0");
    EXPECT_THAT(Check(), Not(HasSubstr("idle_replication_slot_timeout")));
    ResetSetting("idle_replication_slot_timeout");
  }
  Set("wal_sender_timeout", "0");
  EXPECT_THAT(Check(), HasSubstr("warn  wal_sender_timeout is 0"));
  Set("wal_sender_timeout", "2s");
  EXPECT_THAT(Check(), HasSubstr("warn  wal_sender_timeout is 2s"));
  ResetSetting("wal_sender_timeout");
  EXPECT_THAT(Check(), Not(HasSubstr("wal_sender_timeout")));
  Set("synchronous_standby_names", "ANY 1 (a, sublite)");
  EXPECT_THAT(Check(), HasSubstr("warn  synchronous_standby_names (ANY 1 (a, "
                                 "sublite)) counts this replica"));
  ResetSetting("synchronous_standby_names");
}

TEST(CheckFullServerTest, EverySlotOrSenderIsTaken) {
  PgServerOptions options;
  options.settings = {{"max_replication_slots", "1"}, {"max_wal_senders", "1"}};
  ASSERT_OK_AND_ASSIGN(auto server, PgServer::Start(options));
  ASSERT_OK(server->Exec(
      "create table t (id int primary key); create publication pub for table "
      "t"));
  ASSERT_OK(server->Exec(
      "select pg_create_logical_replication_slot('x', 'pgoutput')"));
  Config config;
  config.publisher.publications = {"pub"};
  config.publisher.slot = "s";
  config.replica.database = ::testing::TempDir() + "/not_there.db";
  const auto check = [&] {
    StopSignal stop;
    LibpqPublisherOptions publisher;
    publisher.conninfo = Secret(server->Conninfo("postgres"));
    LibpqPublisher libpq(std::move(publisher), &stop);
    std::ostringstream out;
    EXPECT_EQ(CheckCommand(config, &libpq, out), 1);
    return out.str();
  };
  EXPECT_THAT(check(), HasSubstr("fail  all 1 replication slots are taken "
                                 "(max_replication_slots)"));
  // The server may still be ending the one that `check` had.
  const std::string replication =
      server->Conninfo("postgres") + " replication=database";
  auto sender = PgSession::Open(replication);
  for (int i = 0; i < 600 && !sender.ok(); ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    sender = PgSession::Open(replication);
  }
  ASSERT_OK(sender.status());
  EXPECT_THAT(check(),
              ContainsRegex("fail  connection: .*raise max_wal_senders "
                            "on the publisher"));
}

}  // namespace
}  // namespace sublite::testing
