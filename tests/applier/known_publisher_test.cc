// Which publishers can be followed from where the replica stands: a table of
// cases around one that can.
#include "applier/known_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sublite {
namespace {

using ::testing::HasSubstr;

constexpr char kSlot[] = "s";

class KnownPublisherTest : public ::testing::Test {
 protected:
  // A replica at 1000 on timeline 1, its publisher at 2000, its slot at 900.
  KnownPublisherTest() {
    followed_.applied = Lsn(1000);
    followed_.system_identifier = "7";
    followed_.timeline = 1;
    publisher_.system_identifier = "7";
    publisher_.timeline = 1;
    publisher_.wal_end = Lsn(2000);
    publisher_.server_version = 170004;
    publisher_.server_version_text = "17.4";
    slot_.exists = true;
    slot_.confirmed_flush = Lsn(900);
  }
  std::string Gap() { return FindGap(followed_, publisher_, slot_, kSlot); }
  std::string Wait() { return WhyWait(followed_, publisher_, slot_); }
  // The publisher's timelines: 1 up to the first position, 2 to the second …
  void Promote(const std::vector<std::uint64_t>& left_at) {
    publisher_.history.clear();
    publisher_.timeline = 1;
    for (const std::uint64_t at : left_at) {
      publisher_.history.push_back({publisher_.timeline++, Lsn(at)});
    }
  }

  Followed followed_;
  PublisherIdentity publisher_;
  SlotState slot_;
};

TEST_F(KnownPublisherTest, TheSame) {
  EXPECT_EQ(Gap(), "");
  EXPECT_EQ(Wait(), "");
}

TEST_F(KnownPublisherTest, AnotherCluster) {
  publisher_.system_identifier = "8";
  EXPECT_THAT(Gap(), HasSubstr("system identifier 8, was 7"));
}

TEST_F(KnownPublisherTest, SlotPositions) {
  slot_.confirmed_flush = Lsn(1000);
  EXPECT_EQ(Gap(), "");
  slot_.confirmed_flush = Lsn(1001);
  EXPECT_THAT(Gap(),
              HasSubstr("has moved to 0/3E9, past this replica's 0/3E8"));
  slot_.confirmed_flush = Lsn();
  EXPECT_THAT(Gap(), HasSubstr("never finished"));
  slot_.lost = true;
  slot_.lost_reason = "rows_removed";
  EXPECT_THAT(Gap(), HasSubstr("was invalidated: rows_removed"));
  slot_ = SlotState();
  EXPECT_THAT(Gap(), HasSubstr("slot s is gone"));
}

TEST_F(KnownPublisherTest, TheEndOfTheWal) {
  publisher_.wal_end = Lsn(1000);
  EXPECT_EQ(Gap(), "");
  publisher_.wal_end = Lsn(999);
  EXPECT_THAT(Gap(), HasSubstr("restored to an earlier time"));
}

TEST_F(KnownPublisherTest, PromotedBehindUsOrBeforeUs) {
  Promote({1000});
  EXPECT_EQ(Gap(), "");
  Promote({999});
  EXPECT_THAT(Gap(), HasSubstr("failed over to timeline 2 at 0/3E7"));
  // Two at once.
  Promote({1000, 1500});
  EXPECT_EQ(Gap(), "");
  Promote({999, 1500});
  EXPECT_THAT(Gap(), HasSubstr("failed over to timeline 3 at 0/3E7"));
}

TEST_F(KnownPublisherTest, AnotherLineage) {
  // Back on a timeline that ours came from.
  followed_.timeline = 2;
  followed_.timeline_began = Lsn(500);
  EXPECT_THAT(Gap(), HasSubstr("does not come from this replica's 2"));
  // The number is the same, the beginning is not.
  Promote({500});
  EXPECT_EQ(Gap(), "");
  Promote({501});
  EXPECT_THAT(Gap(), HasSubstr("two servers were promoted"));
  Promote({500, 1500});
  EXPECT_EQ(Gap(), "");
  Promote({501, 1500});
  EXPECT_THAT(Gap(), HasSubstr("does not come from this replica's 2"));
  // The history file may be gone on either side.
  publisher_.history.clear();
  publisher_.timeline = 2;
  EXPECT_EQ(Gap(), "");
  publisher_.timeline = 3;
  EXPECT_THAT(Gap(), HasSubstr("does not come from this replica's 2"));
  Promote({501});
  followed_.timeline_began = Lsn();
  EXPECT_EQ(Gap(), "");
}

// A standby that is followed changes its timeline and takes the replica along.
TEST_F(KnownPublisherTest, ASlotOnAStandby) {
  followed_.slot_on_standby = true;
  Promote({800});
  slot_.confirmed_flush = Lsn(801);
  EXPECT_EQ(Gap(), "");
  // Nothing was confirmed behind the switch: it may have been another server.
  slot_.confirmed_flush = Lsn(800);
  EXPECT_THAT(Gap(), HasSubstr("failed over"));
  // The last switch before us counts, a later one does not.
  Promote({800, 850});
  slot_.confirmed_flush = Lsn(850);
  EXPECT_THAT(Gap(), HasSubstr("failed over"));
  slot_.confirmed_flush = Lsn(851);
  EXPECT_EQ(Gap(), "");
  Promote({800, 1500});
  slot_.confirmed_flush = Lsn(801);
  EXPECT_EQ(Gap(), "");
  // A primary's slot may be copied to standbys as it is, and proves nothing.
  followed_.slot_on_standby = false;
  EXPECT_THAT(Gap(), HasSubstr("failed over"));
}

TEST_F(KnownPublisherTest, StandbysThatAreWaitedFor) {
  publisher_.in_recovery = true;
  EXPECT_EQ(Wait(), "");
  publisher_.wal_end = Lsn(999);
  EXPECT_THAT(Wait(), HasSubstr("until it has caught up"));
  // Another cluster never will.
  publisher_.system_identifier = "8";
  EXPECT_EQ(Wait(), "");
  slot_.synced = true;
  EXPECT_THAT(Wait(), HasSubstr("a copy of the primary's"));
  publisher_.server_version = 150018;
  EXPECT_THAT(Wait(), HasSubstr("before version 16"));
  // Promoted.
  publisher_.in_recovery = false;
  EXPECT_EQ(Wait(), "");
}

}  // namespace
}  // namespace sublite
