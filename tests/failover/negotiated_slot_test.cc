// Slots that were made with other settings than are wanted now, and what is
// said of servers that lack something.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/failover/failover_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::IsEmpty;

class NegotiatedSlotTest : public FailoverTest {
 protected:
  static int Said(const std::string& text) {
    const std::vector<std::string> lines = LogLines();
    return static_cast<int>(
        std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
          return absl::StrContains(line, text);
        }));
  }
  std::string SlotHas(const std::string& column) {
    return Scalar(*primary_, absl::StrCat("SELECT ", column,
                                          " FROM pg_replication_slots"
                                          " WHERE slot_name = 's'"));
  }
};

// C053: what was prepared while the slot could not tell comes whole when it is
// committed; what is prepared later comes at once.
TEST_F(NegotiatedSlotTest, TwoPhaseIsSwitchedOn) {
  if (!StartPrimary(15)) GTEST_SKIP() << "no two-phase decoding before 15";
  config_.publisher.two_phase = false;
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  EXPECT_EQ(SlotHas("two_phase"), "f");
  Sql("BEGIN; INSERT INTO t VALUES (1000, 'before'), (1001, 'rolled back');"
      " DELETE FROM t WHERE id = 1001; PREPARE TRANSACTION 'early'");
  Sql("BEGIN; INSERT INTO t VALUES (1002, 'no'); PREPARE TRANSACTION 'never'");
  Sql("INSERT INTO t VALUES (1003, 'goes by')");
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());

  config_.publisher.two_phase = true;
  StartSublite(primary_->Conninfo());
  Sql("INSERT INTO t VALUES (1004, 'goes by, too')");
  AwaitSame(*primary_);
  EXPECT_EQ(SlotHas("two_phase"), "t");
  EXPECT_EQ(Said("was made without two_phase, which is switched on now"), 1);
  Sql("COMMIT PREPARED 'early'");
  Sql("ROLLBACK PREPARED 'never'");
  AwaitSame(*primary_);
  Sql("BEGIN; INSERT INTO t VALUES (1005, 'late'); PREPARE TRANSACTION 'late'");
  Await("SELECT group_concat(gid) FROM sublite_prepared", "late");
  Sql("COMMIT PREPARED 'late'");
  AwaitSame(*primary_);
  EXPECT_EQ(Read("SELECT count(*) FROM sublite_prepared"), "0");
  EXPECT_THAT(Events("gap"), IsEmpty());
}

TEST_F(NegotiatedSlotTest, TwoPhaseStaysOn) {
  if (!StartPrimary(15)) GTEST_SKIP() << "no two-phase decoding before 15";
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  EXPECT_EQ(SlotHas("two_phase"), "t");
  Sql("BEGIN; INSERT INTO t VALUES (1000, 'a'); PREPARE TRANSACTION 'a'");
  Await("SELECT group_concat(gid) FROM sublite_prepared", "a");
  ASSERT_OK(StopSublite());

  config_.publisher.two_phase = false;
  StartSublite(primary_->Conninfo());
  Sql("BEGIN; INSERT INTO t VALUES (1001, 'b'); PREPARE TRANSACTION 'b'");
  Await(
      "SELECT group_concat(gid) FROM (SELECT gid FROM sublite_prepared"
      " ORDER BY gid)",
      "a,b");
  Sql("COMMIT PREPARED 'a'");
  Sql("COMMIT PREPARED 'b'");
  AwaitSame(*primary_);
  EXPECT_EQ(Said("warn: publisher.two_phase is false, but slot s"), 1);
  EXPECT_THAT(Events("gap"), IsEmpty());
}

TEST_F(NegotiatedSlotTest, FailoverIsSwitchedOn) {
  if (!StartPrimary(17)) GTEST_SKIP() << "no failover slots before 17";
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  EXPECT_EQ(SlotHas("failover"), "f");
  ASSERT_OK(StopSublite());
  config_.publisher.failover = true;
  StartSublite(primary_->Conninfo());
  Sql("INSERT INTO t VALUES (1000, 'followed')");
  AwaitSame(*primary_);
  EXPECT_EQ(SlotHas("failover"), "t");
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// In a process once, however often it connects.
TEST_F(NegotiatedSlotTest, WhatIsNotToBeHadIsSaidOnce) {
  if (!StartPrimary(10)) GTEST_SKIP();
  config_.publisher.failover = true;
  config_.publisher.streaming = StreamingSetting::kParallel;
  config_.publisher.binary = true;
  Sql("CREATE TABLE u (r regclass); ALTER PUBLICATION pub ADD TABLE u");
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  Await("SELECT state FROM sublite_status", "streaming");
  ASSERT_OK(primary_->Restart());
  Sql("INSERT INTO t VALUES (1000, 'after the restart')");
  AwaitSame(*primary_);
  EXPECT_EQ(Said("publisher.failover needs server 17"),
            primary_->major_version() < 17 ? 1 : 0);
  EXPECT_EQ(Said("publisher.streaming"),
            primary_->major_version() < 16 ? 1 : 0);
  EXPECT_EQ(Said("warn: publisher.binary"), 1);
  EXPECT_EQ(Said("rows in binary form"), 0);
}

// It decides which rows are here, so it is not given up.
TEST_F(NegotiatedSlotTest, OriginIsRefusedBeforeASlotIsMade) {
  if (!StartPrimary(10)) GTEST_SKIP();
  if (primary_->major_version() >= 16) GTEST_SKIP() << "it has origin";
  config_.publisher.origin_none = true;
  StartSublite(primary_->Conninfo());
  AwaitTrue("it is said", [] { return Said("publisher.origin") > 0; });
  EXPECT_THAT(StopSublite(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::HasSubstr("set it to \"any\"")));
  EXPECT_EQ(Scalar(*primary_, "SELECT count(*) FROM pg_replication_slots"),
            "0");
}

}  // namespace
}  // namespace sublite::testing
