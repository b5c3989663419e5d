// Connecting: settings that must hold whatever the server's defaults, and
// errors that say who acts and never show a password.
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/io/proxy.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kRetry = absl::StatusCode::kUnavailable;

class ConnectTest : public PublisherTest {
 protected:
  std::string Tcp(const std::string& more) const {
    return absl::StrCat("host=127.0.0.1 port=", server().port(),
                        " dbname=", database_, " ", more);
  }
  // A role with a password that is asked for over TCP.
  void MakeGuarded(const std::string& role, const std::string& password) {
    Sql("SET password_encryption = 'scram-sha-256'");  // md5 before 14
    Sql("CREATE ROLE " + role +
        " LOGIN REPLICATION IN ROLE guarded PASSWORD '" + password + "'");
  }
  void TearDown() override {
    for (const char* role : {"al", "plain", "hostile"}) {
      session_->Exec(absl::StrCat("DROP OWNED BY ", role))
          .status()
          .IgnoreError();
      session_->Exec(absl::StrCat("DROP ROLE ", role)).status().IgnoreError();
    }
    PublisherTest::TearDown();
  }
};

TEST_F(ConnectTest, SaysWhoThePublisherIs) {
  auto publisher = MakePublisher();
  ASSERT_OK_AND_ASSIGN(const PublisherIdentity identity, publisher->Connect());
  EXPECT_EQ(identity.system_identifier,
            Scalar("SELECT system_identifier FROM pg_control_system()"));
  EXPECT_EQ(identity.database, database_);
  EXPECT_EQ(identity.timeline, 1u);
  EXPECT_TRUE(identity.wal_end.valid());
  EXPECT_EQ(identity.server_version / 10000, server().major_version());
  EXPECT_EQ(identity.server_version_text, Scalar("SHOW server_version"));
  // And again: what was open is dropped.
  ASSERT_OK(publisher->Connect());
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_stat_activity WHERE "
                   "application_name = 'sublite' AND backend_type = 'client "
                   "backend' AND datname = current_database()"),
            "1");
}

// C013.
TEST_F(ConnectTest, ServerDefaultsDoNotReachTheValues) {
  Sql("CREATE ROLE hostile LOGIN SUPERUSER");
  for (const char* setting :
       {"datestyle = 'German, DMY'", "intervalstyle = 'sql_standard'",
        "timezone = 'Asia/Kathmandu'", "bytea_output = 'escape'",
        "extra_float_digits = -10", "standard_conforming_strings = off",
        "xmloption = 'document'", "quote_all_identifiers = on",
        "search_path = 'evil'", "statement_timeout = '1ms'",
        "lock_timeout = '1ms'", "client_encoding = 'LATIN1'",
        "default_transaction_read_only = on", "row_security = off",
        "idle_in_transaction_session_timeout = '1ms'"}) {
    Sql(absl::StrCat("ALTER ROLE hostile SET ", setting));
    Sql(absl::StrCat("ALTER DATABASE ", database_, " SET ", setting));
  }
  if (Since(11)) Sql("ALTER ROLE hostile SET jit = on");
  if (Since(14)) Sql("ALTER ROLE hostile SET idle_session_timeout = '1s'");
  if (Since(17)) Sql("ALTER ROLE hostile SET transaction_timeout = '1s'");
  // A function that a careless query would call instead of the built-in one.
  Sql("CREATE SCHEMA evil; CREATE FUNCTION evil.current_setting(text) RETURNS "
      "text LANGUAGE sql AS $$ SELECT 'x'::text $$");
  Sql("SET standard_conforming_strings = on; SET datestyle = 'ISO';"
      "SET intervalstyle = 'postgres'; SET timezone = 'UTC';"
      "CREATE TABLE t (d date, tz timestamptz, i interval, b bytea, f float8,"
      " m money, s text);"
      "INSERT INTO t VALUES ('2024-02-29', '2024-02-29 12:00+00',"
      " '1 day 02:00', '\\x00ff', 0.1::float8 + 0.2, 1234.5, '\xc3\xa9\\');"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected(
      absl::StrCat(Conninfo(), " user=hostile options='-c work_mem=5MB'"));
  // Compiling the catalog's queries takes seconds.
  if (Since(11)) {
    EXPECT_THAT(publisher->Query("SHOW jit"),
                IsOkAndHolds(ElementsAre(ElementsAre("off"))));
  }
  EXPECT_THAT(ReadRows(*publisher, "t"),
              IsOkAndHolds(ElementsAre(
                  "2024-02-29\t2024-02-29 12:00:00+00\tP1DT2H\t\\\\x00ff\t"
                  "0.30000000000000004\t$1,234.50\t\xc3\xa9\\\\")));
  absl::SleepFor(absl::Milliseconds(1200));  // the time-outs of a second
  ASSERT_OK(publisher->CreateSlot({"hostile_slot", false, false}, nullptr));
  StreamOptions options;
  options.slot = "hostile_slot";
  options.publications = {"pub"};
  ASSERT_OK_AND_ASSIGN(auto stream, publisher->StartReplication(options));
  Sql("INSERT INTO t SELECT d, tz, i, b, 0.1::float8 + 0.7, m, s FROM t");
  std::string all;
  for (int i = 0; i < 50 && all.find("0.7999") == std::string::npos; ++i) {
    std::vector<Frame> frames;
    ASSERT_OK(stream->Receive(absl::Milliseconds(100), &frames));
    for (const Frame& frame : frames) all.append(frame.bytes());
  }
  EXPECT_THAT(all,
              AllOf(HasSubstr("2024-02-29 12:00:00+00"), HasSubstr("P1DT2H"),
                    HasSubstr("\\x00ff"), HasSubstr("0.7999999999999999"),
                    HasSubstr("$1,234.50"), HasSubstr("\xc3\xa9\\")));
  stream.reset();
  EXPECT_OK(publisher->DropSlot("hostile_slot"));
}

TEST_F(ConnectTest, DatabaseOfAnotherEncoding) {
  Sql("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' "
      "TEMPLATE template0");
  ASSERT_OK_AND_ASSIGN(auto session, server().Connect("latin"));
  ASSERT_OK(session->Exec("SET client_encoding = 'UTF8'"));
  ASSERT_OK(
      session->Exec("CREATE TABLE \"\xc3\xa9\" (v text);"
                    "INSERT INTO \"\xc3\xa9\" VALUES ('\xc3\xbc');"
                    "CREATE PUBLICATION pub FOR ALL TABLES"));
  auto publisher = Connected(server().Conninfo("latin"));
  EXPECT_THAT(ReadRows(*publisher, "\xc3\xa9"),
              IsOkAndHolds(ElementsAre("\xc3\xbc")));
}

// Bytes that are no UTF-8 must not stop a copy or a stream.
TEST_F(ConnectTest, DatabaseWithoutAnEncoding) {
  Sql("CREATE DATABASE raw ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' "
      "TEMPLATE template0");
  ASSERT_OK_AND_ASSIGN(auto session, server().Connect("raw"));
  ASSERT_OK(
      session->Exec("CREATE TABLE t (v text); INSERT INTO t VALUES "
                    "(E'a\\377'), ('\xc3\xbc');"
                    "CREATE PUBLICATION pub FOR ALL TABLES"));
  auto publisher = Connected(server().Conninfo("raw"));
  EXPECT_THAT(ReadRows(*publisher, "t"),
              IsOkAndHolds(ElementsAre("a\xff", "\xc3\xbc")));
  ASSERT_OK(publisher->CreateSlot({"raw_slot", false, false}, nullptr));
  StreamOptions options;
  options.slot = "raw_slot";
  options.publications = {"pub"};
  ASSERT_OK_AND_ASSIGN(auto stream, publisher->StartReplication(options));
  ASSERT_OK(session->Exec("INSERT INTO t VALUES (E'b\\377')"));
  std::string all;
  for (int i = 0; i < 50 && all.find("b\xff") == std::string::npos; ++i) {
    std::vector<Frame> frames;
    ASSERT_OK(stream->Receive(absl::Milliseconds(100), &frames));
    for (const Frame& frame : frames) all.append(frame.bytes());
  }
  EXPECT_THAT(all, HasSubstr("b\xff"));
  stream.reset();
  EXPECT_OK(publisher->DropSlot("raw_slot"));
}

TEST_F(ConnectTest, QueryLeavesNothingBehind) {
  auto publisher = Connected();
  EXPECT_THAT(publisher->Query("SELECT 1, NULL, 'x' UNION ALL SELECT 2, 3, ''"),
              IsOkAndHolds(ElementsAre(ElementsAre("1", "", "x"),
                                       ElementsAre("2", "3", ""))));
  EXPECT_THAT(publisher->Query("SELECT nonsense"),
              StatusIs(kPerson, HasSubstr("nonsense")));
  EXPECT_THAT(publisher->Query("BEGIN; SELECT nonsense"), StatusIs(kPerson));
  EXPECT_THAT(publisher->Query("SELECT 1"),
              IsOkAndHolds(ElementsAre(ElementsAre("1"))));
}

TEST_F(ConnectTest, WrongPasswordStaysSecret) {
  MakeGuarded("al", "R1ght secret@%");
  for (const std::string& conninfo :
       {Tcp("user=al password=Wr0ngS3cret"),
        absl::StrCat("postgresql://al:Wr0ng%53%33cret@127.0.0.1:",
                     server().port(), "/", database_)}) {
    const absl::Status status = MakePublisher(conninfo)->Connect().status();
    EXPECT_THAT(status, StatusIs(kPerson, AllOf(HasSubstr("password authent"),
                                                Not(HasSubstr("S3cret")))));
  }
  EXPECT_THAT(MakePublisher(Tcp("user=al"))->Connect(),
              StatusIs(kPerson, HasSubstr("publisher.password_file")));
  EXPECT_OK(MakePublisher(Tcp("user=al password='R1ght secret@%'"))->Connect());
  EXPECT_OK(MakePublisher(absl::StrCat("postgresql://al:R1ght%20secret%40%25@"
                                       "127.0.0.1:",
                                       server().port(), "/", database_))
                ->Connect());
}

// The name in a message is the password as well: it is hidden all the same.
TEST_F(ConnectTest, PasswordInAMessageIsHidden) {
  const absl::Status status =
      MakePublisher(absl::StrCat("host=127.0.0.1 port=", server().port(),
                                 " user=postgres dbname=hunter2x "
                                 "password=hunter2x"))
          ->Connect()
          .status();
  EXPECT_THAT(status, StatusIs(kPerson, AllOf(HasSubstr("\"***\""),
                                              Not(HasSubstr("hunter2x")))));
}

TEST_F(ConnectTest, PasswordFromOutsideAndFromThePasswordFile) {
  MakeGuarded("al", "fromfile1");
  LibpqPublisherOptions options;
  options.conninfo = Secret(Tcp("user=al password=wrong"));
  options.password = Secret("fromfile1");
  EXPECT_OK(LibpqPublisher(options, &stop_).Connect());

  const std::string path = ::testing::TempDir() + "/passfile";
  std::ofstream(path) << "127.0.0.1:*:*:al:fromfile1\n";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_OK(MakePublisher(Tcp("user=al passfile=" + path))->Connect());
  std::ofstream(path) << "127.0.0.1:*:*:al:wr0ngfile\n";
  EXPECT_THAT(MakePublisher(Tcp("user=al passfile=" + path))->Connect(),
              StatusIs(kPerson, Not(HasSubstr("wr0ngfile"))));
}

TEST_F(ConnectTest, WhatOnlyAPersonCanMend) {
  Sql("CREATE ROLE plain LOGIN");
  EXPECT_THAT(MakePublisher(Tcp("user=plain"))->Connect(),
              StatusIs(kPerson, HasSubstr("ALTER ROLE … REPLICATION")));
  EXPECT_THAT(MakePublisher(Tcp("user=nobody_here"))->Connect(),
              StatusIs(kPerson, HasSubstr("nobody_here")));
  EXPECT_THAT(MakePublisher(server().Conninfo("nowhere"))->Connect(),
              StatusIs(kPerson, HasSubstr("dbname")));
  EXPECT_THAT(
      MakePublisher(Tcp("user=postgres sslmode=verify-full"))->Connect(),
      StatusIs(kPerson, HasSubstr("sslmode")));
  EXPECT_THAT(
      MakePublisher(Tcp("user=postgres options='-c nonsense=1'"))->Connect(),
      StatusIs(kPerson, HasSubstr("options in publisher.conninfo")));
}

TEST_F(ConnectTest, WhatTimeMayMend) {
  Sql("CREATE ROLE plain LOGIN REPLICATION CONNECTION LIMIT 0");
  EXPECT_THAT(MakePublisher(Tcp("user=plain"))->Connect(),
              StatusIs(kRetry, HasSubstr("too many connections")));
  EXPECT_THAT(MakePublisher("host=127.0.0.1 port=1 user=x")->Connect(),
              StatusIs(kRetry, HasSubstr("refused")));
  EXPECT_THAT(MakePublisher("host=/nowhere/at/all user=x")->Connect(),
              StatusIs(kRetry));
  EXPECT_THAT(MakePublisher("host=no.such.host.invalid user=x")->Connect(),
              StatusIs(kRetry, HasSubstr("no.such.host.invalid")));
}

TEST_F(ConnectTest, HostsAreTriedInTurn) {
  const Proxy silent(0);
  const std::string conninfo = absl::StrCat(
      "host=127.0.0.1,127.0.0.1,localhost port=1,", silent.port(), ",",
      server().port(), " user=postgres connect_timeout=2 dbname=", database_);
  EXPECT_OK(MakePublisher(conninfo)->Connect());
  EXPECT_THAT(
      MakePublisher(absl::StrCat("host=127.0.0.1,127.0.0.1 port=1,",
                                 silent.port(), " connect_timeout=2"))
          ->Connect(),
      StatusIs(kRetry, AllOf(HasSubstr("refused"), HasSubstr("no answer"))));
  EXPECT_THAT(MakePublisher(Tcp("user=postgres target_session_attrs=standby"))
                  ->Connect(),
              StatusIs(kRetry, HasSubstr("standby")));
  EXPECT_OK(MakePublisher(
                absl::StrCat("host=127.0.0.1,localhost port=", server().port(),
                             " target_session_attrs=prefer-standby"
                             " user=postgres dbname=",
                             database_))
                ->Connect());
}

TEST_F(ConnectTest, StopEndsAWaitForAnAnswer) {
  const Proxy silent(0);
  auto publisher = MakePublisher(
      absl::StrCat("host=127.0.0.1 port=", silent.port(), " user=x"));
  const StopLater later(&stop_, absl::Milliseconds(300));
  absl::Status status;
  EXPECT_LT(Measure([&] { status = publisher->Connect().status(); }),
            kStopBound);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ConnectTest, StopEndsAQuery) {
  Proxy proxy(server().port());
  auto publisher = Connected(absl::StrCat("host=127.0.0.1 port=", proxy.port(),
                                          " user=postgres dbname=", database_));
  proxy.SetPaused(true);
  const StopLater later(&stop_, absl::Milliseconds(300));
  absl::Status status;
  EXPECT_LT(Measure([&] { status = publisher->ReadSlot("x").status(); }),
            kStopBound);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(publisher->ReadSlot("x"), StatusIs(absl::StatusCode::kCancelled));
  proxy.SetPaused(false);
}

// A session that the server has closed meanwhile is opened again by itself.
TEST_F(ConnectTest, IdleSessionMayBeLost) {
  auto publisher = Connected();
  EXPECT_OK(publisher->ReadSlot("x"));
  Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
      "application_name = 'sublite' AND datname = current_database()");
  EXPECT_OK(publisher->ReadSlot("x"));
  EXPECT_OK(publisher->CreateSlot({"after_loss", false, false}, nullptr));
  EXPECT_OK(publisher->DropSlot("after_loss"));
}

TEST_F(ConnectTest, NotConnected) {
  EXPECT_THAT(MakePublisher()->ReadSlot("x"), StatusIs(kRetry));
  EXPECT_THAT(MakePublisher()->StartReplication({}), StatusIs(kRetry));
}

TEST_F(ConnectTest, ServerThatGoesAway) {
  auto publisher = Connected();
  ASSERT_OK(server().Stop());
  EXPECT_THAT(publisher->ReadSlot("x"), StatusIs(kRetry));
  EXPECT_THAT(publisher->Connect(), StatusIs(kRetry));
  ASSERT_OK(server().StartAgain());
  EXPECT_OK(publisher->Connect());
  ASSERT_OK_AND_ASSIGN(session_, server().Connect(database_));
}

}  // namespace
}  // namespace sublite::testing
