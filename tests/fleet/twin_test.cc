// Copies of one file with one slot: nobody takes it from the other.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/fleet/fleet_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kSlotOf[] = "SELECT slot FROM sublite_status";

class TwinTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    slot_ = "s_" + Scalar("SELECT current_database()");
    flags_ = {"--slot=" + slot_};
    original_ = std::make_unique<Device>("original", Conninfo());
    twin_ = std::make_unique<Device>("twin", Conninfo());
    original_->Start(flags_);
    AwaitSame(*original_);
    original_->Await("SELECT state FROM sublite_status", "streaming");
  }
  // As a disk that is cloned: nothing tells the files apart.
  void Clone() {
    ASSERT_EQ(original_->Command("backup", {twin_->file()}), 0)
        << original_->Log();
    twin_->Write("UPDATE sublite_state SET home_path = '', home_machine = ''");
  }
  void Change() {
    Sql("INSERT INTO t SELECT max(id) + 1, 'changed' FROM t");
    Sql("INSERT INTO u VALUES ('changed')");
  }

  std::string slot_;
  Device::Flags flags_;
  std::unique_ptr<Device> original_;
  std::unique_ptr<Device> twin_;
};

// The original is followed all the time.
TEST_F(TwinTest, BothAtOnce) {
  Clone();
  const std::string pid_sql =
      "SELECT active_pid FROM pg_replication_slots WHERE slot_name = '" +
      slot_ + "'";
  const std::string pid = Scalar(pid_sql);
  twin_->Start(flags_);
  twin_->Await(
      "SELECT count(*) > 0 FROM sublite_status WHERE last_error LIKE "
      "'%is in use by the server process " +
          pid + " (sublite %the identity of this very file%'",
      "1");
  EXPECT_EQ(twin_->Scalar(kSlotOf), slot_);
  // What the original confirms from now on is the proof.
  for (int i = 0; i < 3; ++i) {
    Change();
    AwaitSame(*original_);
    AwaitConfirmed(slot_);
  }
  while (twin_->Scalar(kSlotOf) == slot_ && !HasFailure()) {
    Change();
    AwaitConfirmed(slot_);
  }
  AwaitSame(*twin_);
  Change();
  AwaitSame(*original_);
  AwaitSame(*twin_);
  EXPECT_EQ(twin_->Events("twin"), 1);
  EXPECT_EQ(twin_->Events("gap"), 1);
  EXPECT_THAT(twin_->Scalar("SELECT slot_note FROM sublite_status"),
              HasSubstr("pg_drop_replication_slot('" + slot_ + "')"));
  EXPECT_EQ(twin_->Command("status", {}), 0);
  EXPECT_THAT(twin_->Log(), HasSubstr("other slot"));
  // The original has noticed nothing.
  EXPECT_EQ(Scalar(pid_sql), pid);
  EXPECT_EQ(original_->Events("gap") + original_->Events("twin"), 0);
  EXPECT_NE(original_->Scalar("SELECT file_id FROM sublite_status"),
            twin_->Scalar("SELECT file_id FROM sublite_status"));
  original_->Stop();
  twin_->Stop();
}

// The clone comes while the original is away, which then finds it there.
TEST_F(TwinTest, TheOriginalComesBack) {
  original_->Stop();
  Clone();
  twin_->Start(flags_);
  Change();
  AwaitSame(*twin_);
  AwaitConfirmed(slot_);
  EXPECT_EQ(twin_->Events("gap") + twin_->Events("twin"), 0);
  original_->Start(flags_);
  original_->Await(
      "SELECT count(*) > 0 FROM sublite_status WHERE last_error LIKE "
      "'%is in use by the server process%'",
      "1");
  while (original_->Scalar(kSlotOf) == slot_ && !HasFailure()) {
    Change();
    AwaitConfirmed(slot_);
  }
  AwaitSame(*original_);
  AwaitSame(*twin_);
  EXPECT_EQ(twin_->Events("gap") + twin_->Events("twin"), 0);
  EXPECT_EQ(original_->Events("twin"), 1);
  original_->Stop();
  twin_->Stop();
}

// Never both: after some turns each has a slot, and nothing is copied again.
TEST_F(TwinTest, ByTurns) {
  original_->Stop();
  Clone();
  for (int turn = 0; turn < 4; ++turn) {
    for (Device* device : {twin_.get(), original_.get()}) {
      device->Start(flags_);
      Change();
      AwaitSame(*device);
      AwaitConfirmed(device->Scalar(kSlotOf));
      device->Stop();
    }
  }
  EXPECT_NE(original_->Scalar(kSlotOf), twin_->Scalar(kSlotOf));
  EXPECT_EQ(original_->Events("twin") + twin_->Events("twin"), 1);
  EXPECT_LE(original_->Events("gap") + twin_->Events("gap"), 3);
}

// The original still lies where the copy was taken.
TEST_F(TwinTest, ACopyBesideTheOriginal) {
  original_->Stop();
  const std::string at = SlotPosition(slot_);
  ASSERT_EQ(original_->Command("backup", {twin_->file()}), 0);
  twin_->Start(flags_);
  Change();
  AwaitSame(*twin_);
  EXPECT_THAT(twin_->Scalar(kSlotOf), StartsWith(slot_ + "_"));
  EXPECT_EQ(twin_->Events("twin"), 1);
  EXPECT_EQ(twin_->Events("gap"), 0);
  EXPECT_EQ(SlotPosition(slot_), at);
  original_->Start(flags_);
  AwaitSame(*original_);
  EXPECT_EQ(original_->Events("gap") + original_->Events("twin"), 0);
  original_->Stop();
  twin_->Stop();
}

// The ordinary ones: restarts, kills, and a backup where the original was.
TEST_F(TwinTest, TheSameFileKeepsItsSlot) {
  const std::string backup = original_->file() + ".backup";
  ASSERT_EQ(original_->Command("backup", {backup}), 0);
  for (int i = 0; i < 3; ++i) {
    original_->Kill();
    Change();
    original_->Start(flags_);
    AwaitSame(*original_);
  }
  EXPECT_EQ(original_->Events("gap") + original_->Events("twin"), 0);
  AwaitConfirmed(slot_);
  original_->Stop();
  for (const char* end : {"", "-wal", "-shm"})
    std::filesystem::remove(original_->file() + end);
  std::filesystem::rename(backup, original_->file());
  original_->Start(flags_);
  Change();
  AwaitSame(*original_);
  EXPECT_EQ(original_->Events("gap"), 1);
  EXPECT_EQ(original_->Events("twin"), 0);
  EXPECT_EQ(original_->Scalar(kSlotOf), slot_);
  EXPECT_EQ(Slots(), slot_);
  original_->Stop();
}

TEST_F(TwinTest, APersonMayWantToDecide) {
  original_->Stop();
  ASSERT_EQ(original_->Command("backup", {twin_->file()}), 0);
  EXPECT_EQ(twin_->Command("run", {"--slot=" + slot_, "--on_gap=stop"}), 78);
  EXPECT_THAT(twin_->Log(), HasSubstr("a publisher.slot of its own"));
  EXPECT_EQ(twin_->Scalar("SELECT state FROM sublite_status"), "failed");
  Change();
  // As it says.
  twin_->Start({"--slot=" + slot_ + "_mine", "--on_gap=stop"});
  AwaitSame(*twin_);
  EXPECT_EQ(twin_->Events("gap"), 0);
  twin_->Stop();
}

}  // namespace
}  // namespace sublite::testing
