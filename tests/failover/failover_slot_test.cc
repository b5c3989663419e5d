// Slots that standbys keep a copy of (server 17 and later): a failover without
// a gap.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/failover/failover_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FailoverSlotTest : public FailoverTest {
 protected:
  void StartBoth() {
    if (!StartPrimary(17)) GTEST_SKIP() << "no failover slots before 17";
    Sql("SELECT pg_create_physical_replication_slot('standby')");
    PgServerOptions options;
    options.settings = {{"primary_slot_name", "standby"},
                        {"sync_replication_slots", "on"}};
    auto standby = PgServer::StartStandby(*primary_, options);
    ASSERT_OK(standby);
    standby_ = *std::move(standby);
    // What a consumer has, the standby has as well.
    Sql("ALTER SYSTEM SET synchronized_standby_slots = 'standby'");
    Sql("SELECT pg_reload_conf()");
    config_.publisher.failover = true;
  }
  // Until the standby's copy would outlive a promotion, and is as far as the
  // slot.
  void AwaitSynced() {
    AwaitTrue("the slot is copied", [&] {
      Sql("SELECT pg_log_standby_snapshot()");
      const std::string here =
          Scalar(*primary_,
                 "SELECT confirmed_flush_lsn FROM pg_replication_slots"
                 " WHERE slot_name = 's'");
      return Scalar(*standby_,
                    absl::StrCat("SELECT count(*) FROM pg_replication_slots"
                                 " WHERE slot_name = 's' AND synced AND NOT"
                                 " temporary AND confirmed_flush_lsn >= '",
                                 here, "'")) == "1";
    });
  }
  bool Logged(const std::string& text) const {
    for (const std::string& line : LogLines()) {
      if (absl::StrContains(line, text)) return true;
    }
    return false;
  }

  std::unique_ptr<PgServer> standby_;
};

TEST_F(FailoverSlotTest, GoesOnWithoutAGap) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(Hosts({primary_.get(), standby_.get()}));
  AwaitSame(*primary_);
  EXPECT_EQ(Scalar(*primary_,
                   "SELECT failover AND two_phase FROM pg_replication_slots"
                   " WHERE slot_name = 's'"),
            "t");
  // The first time it is copied nothing may be open that is older.
  AwaitSynced();
  Sql("INSERT INTO t VALUES (1000, 'before')");
  Sql("BEGIN; INSERT INTO t VALUES (1001, 'prepared before');"
      " PREPARE TRANSACTION 'p'");
  Await("SELECT group_concat(gid) FROM sublite_prepared", "p");
  AwaitSame(*primary_);
  AwaitSynced();
  ASSERT_OK(primary_->Crash());
  // The next host is there, and its slot too, but only for after a promotion.
  AwaitTrue("waiting for the promotion",
            [&] { return Logged("a copy of the primary's"); });
  ASSERT_OK(standby_->Promote());
  Sql(*standby_, "INSERT INTO t VALUES (1002, 'after')");
  Sql(*standby_, "COMMIT PREPARED 'p'");
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_THAT(Events("failover"),
              ElementsAre(HasSubstr("from timeline 1 to 2")));
  EXPECT_EQ(Read("SELECT count(*) FROM sublite_events WHERE kind = 'copied'"),
            "1");
  EXPECT_EQ(Read("SELECT count(*) FROM sublite_prepared"), "0");
  // And on, over a restart of sublite.
  ASSERT_OK(StopSublite());
  Sql(*standby_, "INSERT INTO t VALUES (1003, 'on')");
  StartSublite(Hosts({primary_.get(), standby_.get()}));
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// The slot went with the standby, the end of the WAL did not: without
// synchronized_standby_slots a consumer may have more than the standby.
TEST_F(FailoverSlotTest, WithALossThereIsAGap) {
  StartBoth();
  if (IsSkipped()) return;
  Sql("ALTER SYSTEM RESET synchronized_standby_slots");
  Sql("SELECT pg_reload_conf()");
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  AwaitSynced();
  ASSERT_OK(standby_->Stop());
  Sql("INSERT INTO t VALUES (1000, 'lost')");
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  const std::string applied = Read("SELECT applied_lsn FROM sublite_status");
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->StartAgain());
  ASSERT_OK(standby_->Promote());
  AwaitTrue("the server's WAL passes " + applied, [&] {
    Sql(*standby_,
        "SELECT pg_logical_emit_message(false, 'x', repeat('x', 100000))");
    return Scalar(*standby_, absl::StrCat("SELECT pg_current_wal_lsn() > '",
                                          applied, "'")) == "t";
  });
  StartSublite(standby_->Conninfo());
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"),
              ElementsAre(HasSubstr("failed over to timeline 2 at")));
}

// Servers before 18 do not pass on from where a slot decodes at PREPARE. What
// was prepared before that is then not sent when it is committed after a
// failover, and has to be found missing.
TEST_F(FailoverSlotTest, PreparedBeforeTwoPhaseWasSwitchedOn) {
  StartBoth();
  if (IsSkipped()) return;
  config_.publisher.two_phase = false;
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  AwaitSynced();
  Sql("BEGIN; INSERT INTO t VALUES (1000, 'early');"
      " PREPARE TRANSACTION 'early'");
  Sql("INSERT INTO t VALUES (1001, 'goes by')");
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  config_.publisher.two_phase = true;
  StartSublite(primary_->Conninfo());
  Sql("INSERT INTO t VALUES (1002, 'goes by, too')");
  AwaitSame(*primary_);
  AwaitSynced();
  ASSERT_OK(StopSublite());
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->Promote());
  StartSublite(standby_->Conninfo());
  Sql(*standby_, "COMMIT PREPARED 'early'");
  Sql(*standby_, "INSERT INTO t VALUES (1003, 'after')");
  AwaitSame(*standby_);
}

}  // namespace
}  // namespace sublite::testing
