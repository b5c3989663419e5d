// Successive looks at a slot: which of them prove that another replica uses it.
#include "applier/slot_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sublite {
namespace {

using ::testing::HasSubstr;
using Verdict = SlotWatch::Verdict;

class SlotWatchTest : public ::testing::Test {
 protected:
  // The replica is at 1000; `confirmed` is where the slot is.
  SlotWatch::Finding Look(std::uint64_t confirmed, int pid = 0,
                          bool harms = false, bool doubtful = false) {
    SlotState slot;
    slot.exists = true;
    slot.confirmed_flush = Lsn(confirmed);
    slot.active = pid != 0;
    slot.active_pid = pid;
    return watch_.Look("s", slot, {Lsn(1000), harms, doubtful}, now_);
  }
  void Pass(absl::Duration time) { now_ += time; }

  SlotWatch watch_;
  absl::Time now_ = absl::FromUnixSeconds(1800000000);
};

TEST_F(SlotWatchTest, NobodyThere) {
  EXPECT_EQ(Look(900).verdict, Verdict::kFree);
  EXPECT_EQ(Look(900).verdict, Verdict::kFree);
  // Somebody was there in between.
  EXPECT_EQ(Look(1500, 0, true).verdict, Verdict::kTaken);
}

TEST_F(SlotWatchTest, ARestoredFileDoesNotWait) {
  EXPECT_EQ(Look(1500, 0, true).verdict, Verdict::kFree);
  EXPECT_EQ(Look(1500, 0, true).verdict, Verdict::kFree);
}

// What the server has not given up yet is our own, until it moves.
TEST_F(SlotWatchTest, AnEarlierConnectionEnds) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Look(900, 7).verdict, Verdict::kWait);
    Pass(absl::Minutes(10));
  }
  // What it had sent before arrives late; the replica has applied that.
  EXPECT_EQ(Look(1000, 7).verdict, Verdict::kWait);
  EXPECT_EQ(Look(1000).verdict, Verdict::kFree);
}

TEST_F(SlotWatchTest, AnotherOneConfirms) {
  EXPECT_EQ(Look(1000, 7).verdict, Verdict::kWait);
  const SlotWatch::Finding finding = Look(1001, 7);
  EXPECT_EQ(finding.verdict, Verdict::kTaken);
  EXPECT_THAT(finding.why, HasSubstr("0/3E8 to 0/3E9"));
}

TEST_F(SlotWatchTest, AnotherOneComesBack) {
  EXPECT_EQ(Look(900, 7).verdict, Verdict::kWait);
  EXPECT_EQ(Look(900).verdict, Verdict::kFree);
  const SlotWatch::Finding finding = Look(900, 8);
  EXPECT_EQ(finding.verdict, Verdict::kTaken);
  EXPECT_THAT(finding.why, HasSubstr("process 7, and then by 8"));
}

// After this replica has used it, another process may be its own.
TEST_F(SlotWatchTest, OwnUseBeginsAnew) {
  EXPECT_EQ(Look(900, 7).verdict, Verdict::kWait);
  watch_.Reset();
  EXPECT_EQ(Look(1500, 8).verdict, Verdict::kWait);
  // Another slot is another matter, too.
  SlotState other;
  other.exists = true;
  other.active = true;
  other.active_pid = 9;
  other.confirmed_flush = Lsn(2000);
  EXPECT_EQ(watch_.Look("other", other, {Lsn(1000)}, now_).verdict,
            Verdict::kWait);
}

// Making a slot takes it from no position to one.
TEST_F(SlotWatchTest, ASlotThatIsBeingMade) {
  EXPECT_EQ(Look(0, 7).verdict, Verdict::kWait);
  EXPECT_EQ(Look(1500, 7).verdict, Verdict::kWait);
}

TEST_F(SlotWatchTest, AnOwnerThatWasSeenIsWaitedFor) {
  EXPECT_EQ(Look(1500, 7).verdict, Verdict::kWait);
  Pass(absl::Seconds(10));
  EXPECT_EQ(Look(1500, 0, true).verdict, Verdict::kWait);
  Pass(absl::Seconds(49));
  EXPECT_EQ(Look(1500, 0, true).verdict, Verdict::kWait);
  // It was last seen 60 seconds ago.
  Pass(absl::Seconds(1));
  EXPECT_EQ(Look(1500, 0, true).verdict, Verdict::kFree);
}

TEST_F(SlotWatchTest, ADoubtfulOneIsWaitedForFromTheFirstLook) {
  EXPECT_EQ(Look(900, 0, true, true).verdict, Verdict::kWait);
  Pass(absl::Seconds(59));
  EXPECT_EQ(Look(900, 0, true, true).verdict, Verdict::kWait);
  Pass(absl::Seconds(1));
  EXPECT_EQ(Look(900, 0, true, true).verdict, Verdict::kFree);
}

TEST_F(SlotWatchTest, AClockThatIsSetBackDoesNotProlongIt) {
  EXPECT_EQ(Look(900, 0, true, true).verdict, Verdict::kWait);
  now_ -= absl::Hours(24 * 365);
  EXPECT_EQ(Look(900, 0, true, true).verdict, Verdict::kWait);
  Pass(absl::Seconds(60));
  EXPECT_EQ(Look(900, 0, true, true).verdict, Verdict::kFree);
}

}  // namespace
}  // namespace sublite
