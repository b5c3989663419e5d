#include "tests/fleet/fleet_fixture.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);

}  // namespace

std::unique_ptr<PgServer> FleetTest::server_;
int FleetTest::databases_ = 0;

void FleetTest::SetUpTestSuite() {
  PgServerOptions options;
  options.settings = {{"max_replication_slots", "30"},
                      {"max_wal_senders", "30"},
                      {"max_prepared_transactions", "10"}};
  ASSERT_OK_AND_ASSIGN(server_, PgServer::Start(options));
  ASSERT_OK(server_->Exec("CREATE ROLE fleet LOGIN REPLICATION"));
}

void FleetTest::TearDownTestSuite() { server_.reset(); }

void FleetTest::SetUp() {
  ASSERT_NE(server_, nullptr);
  database_ = absl::StrCat("fleet_", ++databases_);
  ASSERT_OK(server_->Exec("CREATE DATABASE " + database_));
  ASSERT_OK_AND_ASSIGN(session_, server_->Connect(database_));
  Sql("CREATE TABLE t (id int PRIMARY KEY, v text);"
      "CREATE TABLE u (v text);"
      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO fleet;"
      "CREATE PUBLICATION pub FOR TABLE t, u;"
      "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 500) i;"
      "INSERT INTO u SELECT 'row ' || i FROM generate_series(1, 20) i");
}

void FleetTest::TearDown() {
  if (session_ == nullptr) return;
  // No prepared transaction may hold up the slots of the next test.
  for (int left = 10; left > 0; --left) {
    const auto gid = session_->Exec(
        "SELECT gid FROM pg_prepared_xacts WHERE database = "
        "current_database()");
    if (!gid.ok() || gid->empty()) break;
    session_->Exec(absl::StrCat("ROLLBACK PREPARED '", *(*gid)[0][0], "'"))
        .status()
        .IgnoreError();
  }
}

void FleetTest::Sql(const std::string& sql) {
  ASSERT_OK(session_->Exec(sql)) << sql;
}

std::string FleetTest::Scalar(const std::string& sql) {
  const absl::StatusOr<std::string> value = session_->Scalar(sql);
  EXPECT_OK(value) << sql;
  return value.value_or("");
}

std::string FleetTest::SlotPosition(const std::string& slot) {
  return Scalar(
      absl::StrCat("SELECT coalesce((SELECT confirmed_flush_lsn::text FROM "
                   "pg_replication_slots WHERE slot_name = '",
                   slot, "'), 'none')"));
}

std::string FleetTest::Slots() {
  return Scalar(
      "SELECT coalesce(string_agg(slot_name, ',' ORDER BY slot_name), '') FROM "
      "pg_replication_slots WHERE database = current_database()");
}

std::string FleetTest::Conninfo() const {
  return absl::StrCat("host=", server_->host(), " port=", server_->port(),
                      " user=fleet dbname=", database_);
}

void FleetTest::AwaitSame(Device& device) {
  device.Await(
      "SELECT group_concat(id || '=' || v) FROM (SELECT * FROM t ORDER BY id)",
      Scalar("SELECT string_agg(id || '=' || v, ',' ORDER BY id) FROM t"));
  device.Await("SELECT group_concat(v) FROM (SELECT * FROM u ORDER BY v)",
               Scalar("SELECT string_agg(v, ',' ORDER BY v COLLATE \"C\") "
                      "FROM u"));
}

void FleetTest::AwaitConfirmed(const std::string& slot) {
  const std::string end = Scalar("SELECT pg_current_wal_lsn()");
  const absl::Time limit = absl::Now() + kPatience;
  while (Scalar(absl::StrCat("SELECT confirmed_flush_lsn >= '", end,
                             "' FROM pg_replication_slots WHERE slot_name = '",
                             slot, "'")) != "t") {
    ASSERT_LT(absl::Now(), limit) << slot << " is not confirmed up to " << end;
    absl::SleepFor(absl::Milliseconds(50));
  }
}

}  // namespace sublite::testing
