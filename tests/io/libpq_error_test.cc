#include "applier/io/libpq_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kRetry = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;

TEST(LibpqErrorTest, CodeBySqlState) {
  for (const char* sqlstate :
       {"", "08006", "08001", "53300", "53100", "53200", "55006", "55P03",
        "57P01", "57P02", "57P03", "57P05", "57014", "25P03", "40001", "40P01",
        "58030", "XX000", "72000"}) {
    EXPECT_EQ(CodeForSqlState(sqlstate), kRetry) << sqlstate;
  }
  for (const char* sqlstate :
       {"28P01", "28000", "3D000", "42501", "42704", "42P01", "55000", "0A000",
        "22023", "42601", "53400", "XX001", "42710"}) {
    EXPECT_EQ(CodeForSqlState(sqlstate), kPerson) << sqlstate;
  }
}

TEST(LibpqErrorTest, ServerErrorsCarryTheirSqlStateAndMend) {
  const absl::Status status = StatusFromServer(
      {"55000", "logical decoding requires wal_level >= logical", "", ""},
      "creating the replication slot");
  EXPECT_THAT(status,
              StatusIs(kPerson, AllOf(HasSubstr("creating the replication"),
                                      HasSubstr("set wal_level = logical"))));
  EXPECT_EQ(SqlState(status), "55000");
  EXPECT_FALSE(IsConnectionLost(status));

  EXPECT_THAT(
      StatusFromServer({"42P01", "no table", "the detail", "the hint"}, "x"),
      StatusIs(kPerson, "x: no table (the detail). the hint"));
  EXPECT_THAT(
      StatusFromServer({"55006", "slot is active for PID 7", "", ""}, ""),
      StatusIs(kRetry, HasSubstr("another process")));
}

TEST(LibpqErrorTest, LostConnectionsAreTold) {
  EXPECT_TRUE(IsConnectionLost(StatusFromServer({"57P01", "x", "", ""}, "")));
  EXPECT_TRUE(IsConnectionLost(StatusFromServer({"", "gone", "", ""}, "x")));
  EXPECT_TRUE(IsConnectionLost(ConnectionLost("", "x")));
  EXPECT_FALSE(IsConnectionLost(absl::OkStatus()));
  EXPECT_EQ(SqlState(absl::OkStatus()), "");
}

absl::Status Connect(const std::string& message) {
  ConnectFailure failure;
  failure.message = message;
  return StatusFromConnect(failure);
}

TEST(LibpqErrorTest, RefusalsAreReadBySqlStateInAnyLanguage) {
  constexpr char kGerman[] =
      "connection to server at \"h\", port 1 failed: FATAL:  28P01: "
      "Passwort-Authentifizierung für Benutzer »al« fehlgeschlagen\n"
      "LOCATION:  auth_failed, auth.c:334\n";
  EXPECT_EQ(SqlStateInMessage(kGerman), "28P01");
  EXPECT_THAT(Connect(kGerman),
              StatusIs(kPerson, AllOf(HasSubstr("failed: FATAL: Passwort"),
                                      HasSubstr("publisher.password_file"),
                                      Not(HasSubstr("auth.c")))));
  EXPECT_THAT(Connect("FATAL:  57P03: the database system is starting up\n"),
              StatusIs(kRetry, "FATAL: the database system is starting up"));
  EXPECT_THAT(Connect("FATAL:  53300: sorry, too many clients already"),
              StatusIs(kRetry));
  EXPECT_THAT(Connect("FATAL:  42501: must be superuser or replication role "
                      "to start walsender"),
              StatusIs(kPerson, HasSubstr("ALTER ROLE … REPLICATION")));
  EXPECT_THAT(Connect("FATAL:  42501: permission denied to start WAL sender"),
              StatusIs(kPerson, HasSubstr("ALTER ROLE … REPLICATION")));
  EXPECT_THAT(
      Connect("FATAL:  08P01: unsupported startup parameter: replication"),
      StatusIs(kPerson, HasSubstr("pooler")));
  EXPECT_THAT(Connect("FATAL:  08P01: server login has been failing"),
              StatusIs(kRetry));
  EXPECT_THAT(Connect("FATAL:  08P01: unsupported startup parameter in "
                      "options: datestyle"),
              StatusIs(kPerson, HasSubstr("pooler")));
}

TEST(LibpqErrorTest, WhatLibpqSaysItself) {
  EXPECT_THAT(
      Connect("connection to server at \"h\", port 1 failed: Connection "
              "refused\n\tIs the server running on that host and accepting "
              "TCP/IP connections?\n"),
      StatusIs(kRetry,
               AllOf(HasSubstr("Connection refused"), Not(HasSubstr("\n")))));
  EXPECT_THAT(Connect("could not translate host name \"x\" to address: Name "
                      "or service not known\n"),
              StatusIs(kRetry));
  EXPECT_THAT(Connect("invalid sslmode value: \"x\"\n"), StatusIs(kPerson));
  EXPECT_THAT(Connect(""), StatusIs(kRetry));

  ConnectFailure failure;
  failure.message = "fe_sendauth: no password supplied\n";
  failure.needs_password = true;
  EXPECT_THAT(StatusFromConnect(failure),
              StatusIs(kPerson, HasSubstr("publisher.password_file")));
}

TEST(LibpqErrorTest, TlsTroubleSaysHowToChooseOtherwise) {
  ConnectFailure failure;
  failure.sslmode_is_default = true;
  for (const char* message :
       {"root certificate file \"/root/.postgresql/root.crt\" does not exist",
        "server does not support SSL, but SSL was required",
        "SSL error: certificate verify failed",
        "server certificate for \"a\" does not match host name \"b\""}) {
    failure.message = message;
    EXPECT_THAT(
        StatusFromConnect(failure),
        StatusIs(kPerson, HasSubstr("set sslmode in publisher.conninfo, or "
                                    "sslrootcert")))
        << message;
  }
  failure.message = "SSL error: certificate verify failed";
  failure.clock_is_wrong = true;
  EXPECT_THAT(StatusFromConnect(failure), StatusIs(kRetry, HasSubstr("clock")));
}

TEST(LibpqErrorTest, SqlStateIsNotMistaken) {
  EXPECT_EQ(SqlStateInMessage("a:  b"), "");
  EXPECT_EQ(SqlStateInMessage("FATAL:  abcde: x"), "");
  EXPECT_EQ(SqlStateInMessage("FATAL:  2800: x"), "");
  EXPECT_EQ(SqlStateInMessage("x:  y\nFATAL:  3D000: x"), "3D000");
  EXPECT_EQ(SqlStateInMessage(""), "");
}

}  // namespace
}  // namespace sublite
