#include "applier/io/conninfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::GetMessage;
using ::sublite::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;

class ConninfoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable :
         {"PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE",
          "PGPASSWORD", "PGSSLMODE", "PGGSSENCMODE", "PGSERVICE",
          "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS", "PGCONNECT_TIMEOUT",
          "PGCHANNELBINDING", "PGREQUIRESSL"}) {
      unsetenv(variable);
    }
    setenv("HOME", ::testing::TempDir().c_str(), 1);
  }

  static Conninfo Resolved(const std::string& text,
                           const std::string& password = "") {
    absl::StatusOr<Conninfo> conninfo =
        Conninfo::Resolve(Secret(text), Secret(password));
    EXPECT_OK(conninfo) << text;
    return *std::move(conninfo);
  }
  static ConnectParameters Parameters(
      const std::string& text,
      ConnectionKind kind = ConnectionKind::kOrdinary) {
    const Conninfo conninfo = Resolved(text);
    return conninfo.Parameters(conninfo.targets()[0], kind);
  }
  static std::string SslMode(const std::string& text) {
    return Resolved(text).sslmode();
  }
  static std::string WriteFile(const std::string& name,
                               const std::string& text) {
    const std::string path = ::testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(ConninfoTest, SslModeIsVerifyFullOnlyWhereSomethingIsRemote) {
  for (const char* local :
       {"", "host=/tmp", "host=@abstract", "host=localhost", "host=LocalHost",
        "host=127.0.0.1", "host=127.9.9.9", "host=::1",
        "host=db.example.com hostaddr=127.0.0.1", "host=::ffff:127.0.0.1",
        "postgresql://localhost/db", "postgresql://%2Ftmp/db",
        "host=/tmp,localhost"}) {
    EXPECT_EQ(SslMode(local), "prefer") << local;
    EXPECT_FALSE(Resolved(local).sslmode_is_default()) << local;
  }
  for (const char* remote :
       {"host=db.example.com", "host=10.0.0.1", "host=128.0.0.1",
        "host=fe80::1", "hostaddr=10.0.0.1", "host=localhost hostaddr=10.0.0.1",
        "host=localhost,db.example.com", "host=localhost.example.com",
        "postgresql://db.example.com/db", "host=127.1",
        "host=::ffff:10.0.0.1"}) {
    EXPECT_EQ(SslMode(remote), "verify-full") << remote;
    EXPECT_TRUE(Resolved(remote).sslmode_is_default()) << remote;
  }
}

TEST_F(ConninfoTest, SslModeOfTheStringWins) {
  EXPECT_EQ(SslMode("host=db.example.com sslmode=prefer"), "prefer");
  EXPECT_EQ(SslMode("host=db.example.com sslmode=disable"), "disable");
  EXPECT_EQ(SslMode("postgresql://db.example.com/d?sslmode=require"),
            "require");
  EXPECT_FALSE(
      Resolved("host=db.example.com sslmode=verify-full").sslmode_is_default());
}

TEST_F(ConninfoTest, SslModeOfTheEnvironmentWins) {
  setenv("PGSSLMODE", "prefer", 1);
  EXPECT_EQ(SslMode("host=db.example.com"), "prefer");
  setenv("PGSSLMODE", "require", 1);
  EXPECT_EQ(SslMode("host=db.example.com"), "require");
}

TEST_F(ConninfoTest, HostOfTheEnvironmentCounts) {
  setenv("PGHOST", "db.example.com", 1);
  EXPECT_EQ(SslMode("dbname=x"), "verify-full");
  EXPECT_EQ(SslMode("host=localhost"), "prefer");
}

TEST_F(ConninfoTest, ServiceFileCounts) {
  const std::string path =
      WriteFile("services",
                "[plain]\nhost=db.example.com\nuser=svc\n\n"
                "[loose]\nhost=db.example.com\nsslmode=prefer\n"
                "gssencmode=prefer\n");
  setenv("PGSERVICEFILE", path.c_str(), 1);
  EXPECT_EQ(SslMode("service=plain"), "verify-full");
  EXPECT_EQ(Parameters("service=plain")["user"], "svc");
  EXPECT_EQ(Parameters("service=plain")["gssencmode"], "disable");
  EXPECT_EQ(SslMode("service=loose"), "prefer");
  EXPECT_EQ(Parameters("service=loose")["gssencmode"], "prefer");
  setenv("PGSERVICE", "loose", 1);
  EXPECT_EQ(SslMode(""), "prefer");
  EXPECT_THAT(
      Conninfo::Resolve(Secret("service=none password=hunter2x"), Secret()),
      StatusIs(kPerson, AllOf(HasSubstr("\"none\" not found"),
                              Not(HasSubstr("hunter2x")))));
}

TEST_F(ConninfoTest, SystemServiceFileCounts) {
  WriteFile("pg_service.conf", "[sys]\nhost=db.example.com\nsslmode=prefer\n");
  setenv("PGSYSCONFDIR", ::testing::TempDir().c_str(), 1);
  EXPECT_EQ(SslMode("service=sys"), "prefer");
}

TEST_F(ConninfoTest, TheReplicationConnectionHasAName) {
  Conninfo conninfo = Resolved("host=localhost");
  conninfo.NameReplication("sublite 1f");
  const ConnectTarget target = conninfo.targets()[0];
  EXPECT_EQ(conninfo.Parameters(target, ConnectionKind::kReplication)
                .at("fallback_application_name"),
            "sublite 1f");
  EXPECT_EQ(conninfo.Parameters(target, ConnectionKind::kOrdinary)
                .at("fallback_application_name"),
            "sublite");
}

TEST_F(ConninfoTest, DefaultsGiveWayToTheUser) {
  ConnectParameters parameters = Parameters("host=localhost");
  EXPECT_EQ(parameters["gssencmode"], "disable");
  EXPECT_EQ(parameters["keepalives_idle"], "15");
  EXPECT_EQ(parameters["tcp_user_timeout"], "30000");
  EXPECT_EQ(parameters["fallback_application_name"], "sublite");
  EXPECT_EQ(Resolved("host=localhost").connect_timeout(), absl::Seconds(10));

  parameters = Parameters(
      "host=localhost gssencmode=prefer keepalives_idle=7 tcp_user_timeout=1 "
      "application_name=mine");
  EXPECT_EQ(parameters["gssencmode"], "prefer");
  EXPECT_EQ(parameters["keepalives_idle"], "7");
  EXPECT_EQ(parameters["tcp_user_timeout"], "1");
  EXPECT_EQ(parameters["application_name"], "mine");
  EXPECT_EQ(Resolved("connect_timeout=1").connect_timeout(), absl::Seconds(2));
  EXPECT_EQ(Resolved("connect_timeout=0").connect_timeout(),
            absl::InfiniteDuration());
  EXPECT_EQ(Parameters("channel_binding=require")["channel_binding"],
            "require");
  EXPECT_EQ(Parameters("").count("channel_binding"), 0u);
}

TEST_F(ConninfoTest, KindIsNotLeftToTheString) {
  EXPECT_EQ(Parameters("replication=true", ConnectionKind::kOrdinary)
                .count("replication"),
            0u);
  EXPECT_EQ(Parameters("", ConnectionKind::kReplication)["replication"],
            "database");
  EXPECT_EQ(Parameters("client_encoding=LATIN1")["client_encoding"], "UTF8");
}

TEST_F(ConninfoTest, SessionSettingsFollowTheUsersOptions) {
  const std::string options =
      Parameters("options='-c datestyle=German -c work_mem=5MB'")["options"];
  EXPECT_THAT(
      options,
      AllOf(StartsWith("-c datestyle=German -c work_mem=5MB -c "),
            HasSubstr("-c DateStyle=ISO,YMD"), HasSubstr("-c TimeZone=UTC"),
            HasSubstr("-c search_path= ")));
}

TEST_F(ConninfoTest, PasswordOfTheCallerWins) {
  const Conninfo conninfo = Resolved("password=first1", "second2");
  EXPECT_EQ(
      conninfo.Parameters(conninfo.targets()[0], ConnectionKind::kOrdinary)
          .at("password"),
      "second2");
  setenv("PGPASSWORD", "third3", 1);
  EXPECT_EQ(Parameters("")["password"], "third3");
}

TEST_F(ConninfoTest, TargetsPairHostsWithAddressesAndPorts) {
  const auto describe = [](const std::string& text) {
    std::vector<std::string> all;
    const Conninfo conninfo = Resolved(text);
    for (const ConnectTarget& t : conninfo.targets()) {
      all.push_back(t.host + "|" + t.hostaddr + "|" + t.port + "|" +
                    t.session_attrs);
    }
    return all;
  };
  EXPECT_THAT(describe("port=77"), ElementsAre("||77|any"));
  EXPECT_THAT(describe("host=a,b port=1,2"),
              ElementsAre("a||1|any", "b||2|any"));
  EXPECT_THAT(describe("host=a,b port=5"), ElementsAre("a||5|any", "b||5|any"));
  EXPECT_THAT(describe("host=a,b hostaddr=10.0.0.1,10.0.0.2 port=5"),
              ElementsAre("a|10.0.0.1|5|any", "b|10.0.0.2|5|any"));
  EXPECT_THAT(
      describe("host=a,b port=5 target_session_attrs=prefer-standby"),
      ElementsAre("a||5|standby", "b||5|standby", "a||5|any", "b||5|any"));
  EXPECT_THAT(describe("host=a port=5 target_session_attrs=read-write"),
              ElementsAre("a||5|read-write"));
}

TEST_F(ConninfoTest, OnlyNamesNeedLookup) {
  EXPECT_TRUE(Resolved("host=a.example").targets()[0].NeedsLookup());
  EXPECT_TRUE(Resolved("host=localhost").targets()[0].NeedsLookup());
  for (const char* text : {"", "host=/tmp", "host=@x", "host=10.0.0.1",
                           "host=::1", "host=a hostaddr=10.0.0.1"}) {
    EXPECT_FALSE(Resolved(text).targets()[0].NeedsLookup()) << text;
  }
}

TEST_F(ConninfoTest, RedactedShowsNoSecret) {
  EXPECT_EQ(Resolved("postgresql://al:s%40cr%20et@db.example.com:5433/app")
                .Redacted(),
            "host=db.example.com port=5433 dbname=app user=al "
            "sslmode=verify-full");
  EXPECT_EQ(Resolved("host=/tmp user='o\\'neil x' password=hunter2x "
                     "sslpassword=deepsecret dbname=d")
                .Redacted(),
            "host=/tmp port=5432 dbname=d user='o\\'neil x' sslmode=prefer");
}

TEST_F(ConninfoTest, ScrubRemovesEverySecret) {
  const Conninfo conninfo =
      Resolved("password=hunter2x sslpassword=deepsecret", "");
  EXPECT_EQ(conninfo.Scrub("a hunter2x b hunter2x deepsecret"),
            "a *** b *** ***");
  EXPECT_EQ(Resolved("password=abc").Scrub("abc abc"), "abc abc");
}

// Whatever is wrong with the string, no piece of the password is shown.
TEST_F(ConninfoTest, ErrorsShowNoPieceOfThePassword) {
  for (const char* text :
       {"host=x password=hunter2x secret3y", "password='hunter2x secret3y",
        "host=x password=hunter2x secret3y=5",
        "postgresql://u:hunter2x%zzsecret3y@h/d",
        "postgresql://u:hunter2x@h:secret3y/d",
        "postgresql://u:hunter2x@secret3y@h/d",
        "postgresql://u:hunter2x:secret3y@h:port/d",
        "postgresql://u:hunter2x/secret3y@h/d",
        "postgresql://u:hunter2x[secret3y@[h/d",
        "postgresql://u@h/d?password=hunter2x&secret3y",
        "postgresql://u@h/d?passwor=hunter2xsecret3y",
        "postgresql://u@h/d?password=hunter2x=secret3y", "hunter2x secret3y",
        "password=hunter2x host=a,b port=1,2,3"}) {
    const absl::StatusOr<Conninfo> conninfo =
        Conninfo::Resolve(Secret(text), Secret());
    EXPECT_THAT(conninfo, StatusIs(kPerson)) << text;
    EXPECT_THAT(GetMessage(conninfo),
                AllOf(Not(HasSubstr("hunter2x")), Not(HasSubstr("secret3y"))))
        << text;
    EXPECT_THAT(GetMessage(conninfo), StartsWith("publisher.conninfo")) << text;
  }
}

TEST_F(ConninfoTest, WrongSettingsAreErrors) {
  EXPECT_THAT(Conninfo::Resolve(Secret("host=x nonsense=1"), Secret()),
              StatusIs(kPerson));
  EXPECT_THAT(Conninfo::Resolve(Secret("host=a,b port=1,2,3"), Secret()),
              StatusIs(kPerson, HasSubstr("could not match")));
}

TEST_F(ConninfoTest, ElideQuotedIsGreedy) {
  EXPECT_EQ(ElideQuoted(R"(a "b" c "d" e)"), R"(a "***" e)");
  EXPECT_EQ(ElideQuoted(R"(one " quote)"), R"(one " quote)");
  EXPECT_EQ(ElideQuoted("none"), "none");
}

}  // namespace
}  // namespace sublite
