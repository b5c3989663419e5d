// Devices that start from a seed, as docs/fleet.md says.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/fleet/fleet_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kSlotOf[] = "SELECT slot FROM sublite_status";

class SeedTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    // Slots belong to the server, and tests do not to share any.
    seed_slot_ =
        absl::StrCat("seed_", Scalar("SELECT current_database()"), "_2026");
    maker_ = std::make_unique<Device>("maker", Conninfo());
    seed_ = maker_->file() + ".seed";
  }

  // The maker is stopped, its slot where the file is. `prepared` is a
  // transaction that is prepared and not decided when the seed is taken.
  void MakeSeed() {
    maker_->Start({"--slot=" + seed_slot_});
    AwaitSame(*maker_);
    maker_->Await("SELECT state || consistent FROM sublite_status",
                  "streaming1");
    Sql("BEGIN");
    Sql("INSERT INTO t VALUES (1000, 'prepared before the seed')");
    Sql("PREPARE TRANSACTION 'prepared'");
    if (major() >= 15)
      maker_->Await("SELECT prepared FROM sublite_status", "1");
    maker_->Stop();
    EXPECT_THAT(maker_->Log(), HasSubstr("copied"));
    ASSERT_EQ(maker_->Command("backup", {seed_}), 0) << maker_->Log();
  }
  void Change(int from) {
    Sql(absl::StrCat("INSERT INTO t SELECT i, 'later' FROM generate_series(",
                     from, ", ", from + 50, ") i"));
    Sql(absl::StrCat("UPDATE t SET v = v || '+' WHERE id % 7 = ", from % 7));
    Sql("DELETE FROM t WHERE id % 50 = 3");
    Sql(absl::StrCat("INSERT INTO u VALUES ('later ", from, "')"));
  }
  // No table was copied.
  static void ExpectNoCopy(Device& device) {
    EXPECT_EQ(device.Events("gap"), 0);
    EXPECT_THAT(device.Log(), Not(HasSubstr("copied")));
    EXPECT_EQ(device.Events("seeded"), 1);
    EXPECT_EQ(device.Events("slot"), 1);
  }
  Device::Flags Seeded(const std::string& slot, Device::Flags more = {}) {
    more.push_back("--seed=" + seed_);
    more.push_back("--slot=" + slot);
    return more;
  }

  std::string seed_slot_;
  std::unique_ptr<Device> maker_;
  std::string seed_;
};

// The statements that the document names are the ones that are tried here.
std::string FromDocument(const std::string& statement) {
  std::ifstream stream("docs/fleet.md");
  const std::string text = {std::istreambuf_iterator<char>(stream),
                            std::istreambuf_iterator<char>()};
  EXPECT_THAT(text, HasSubstr("\n    " + statement + "\n"));
  return statement;
}

TEST_F(SeedTest, ThreeDevicesWithoutACopy) {
  MakeSeed();
  const std::string at = SlotPosition(seed_slot_);
  const std::string by_hand = seed_slot_ + "_by_hand";
  Sql(absl::StrReplaceAll(
      FromDocument(
          "SELECT pg_copy_logical_replication_slot('seed_2026', 'device_17')"),
      {{"seed_2026", seed_slot_}, {"device_17", by_hand}}));
  Change(2000);
  if (major() >= 15) {
    Sql("BEGIN");
    Sql("INSERT INTO t VALUES (1001, 'prepared after the seed')");
    Sql("PREPARE TRANSACTION 'later'");
  }

  Device first("first", Conninfo());
  Device second("second", Conninfo());
  Device third("third", Conninfo());
  first.Start(Seeded(by_hand));
  second.Start(Seeded(seed_slot_ + "_by_itself"));
  third.Start(Seeded(seed_slot_));
  for (Device* device : {&first, &second, &third}) {
    AwaitSame(*device);
    ExpectNoCopy(*device);
  }
  // Of two prepared transactions one is decided well, one is not.
  Sql("COMMIT PREPARED 'prepared'");
  if (major() >= 15) Sql("ROLLBACK PREPARED 'later'");
  Change(3000);
  for (Device* device : {&first, &second, &third}) {
    AwaitSame(*device);
    device->Await("SELECT prepared FROM sublite_status", "0");
    ExpectNoCopy(*device);
    EXPECT_EQ(device->Events("conflict"), 0);
    EXPECT_EQ(device->Scalar("SELECT count(*) FROM t WHERE id IN (1000, 1001)"),
              "1");
  }
  EXPECT_EQ(first.Scalar(kSlotOf), by_hand);
  EXPECT_EQ(second.Scalar(kSlotOf), seed_slot_ + "_by_itself");
  EXPECT_THAT(third.Scalar(kSlotOf), StartsWith(seed_slot_ + "_"));
  const std::string id = "SELECT file_id FROM sublite_status";
  EXPECT_NE(first.Scalar(id), second.Scalar(id));
  EXPECT_NE(first.Scalar(id), third.Scalar(id));
  EXPECT_NE(first.Scalar(id), maker_->Scalar(id));
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_stat_activity WHERE "
                   "application_name = 'sublite " +
                   first.Scalar(id) + "'"),
            "1");
  EXPECT_EQ(SlotPosition(seed_slot_), at);

  // As any other device from then on.
  third.Kill();
  Change(4000);
  third.Start(Seeded(seed_slot_));
  AwaitSame(third);
  ExpectNoCopy(third);
  first.Stop();
  second.Stop();
  third.Stop();
  EXPECT_EQ(third.Command("teardown", {"--slot=" + seed_slot_}), 0);
  EXPECT_EQ(SlotPosition(third.Scalar(kSlotOf)), "none");
  EXPECT_EQ(SlotPosition(seed_slot_), at);
}

// A file that was put in its place by hand, with another slot.
TEST_F(SeedTest, AFileThatWasCopiedByHand) {
  MakeSeed();
  Change(2000);
  Device device("device", Conninfo());
  std::filesystem::copy_file(seed_, device.file());
  device.Start({"--slot=" + seed_slot_ + "_device"});
  AwaitSame(device);
  EXPECT_EQ(device.Events("gap"), 0);
  EXPECT_EQ(device.Events("slot"), 1);
  EXPECT_NE(device.Scalar("SELECT file_id FROM sublite_status"),
            maker_->Scalar("SELECT file_id FROM sublite_status"));
  Sql("COMMIT PREPARED 'prepared'");
  AwaitSame(device);
  device.Stop();
}

// Somebody ran the maker again: no slot can be made from its own.
TEST_F(SeedTest, TheSeedsSlotHasMovedOn) {
  MakeSeed();
  Sql("COMMIT PREPARED 'prepared'");
  Change(2000);
  maker_->Start({"--slot=" + seed_slot_});
  AwaitSame(*maker_);
  AwaitConfirmed(seed_slot_);
  maker_->Stop();
  const std::string at = SlotPosition(seed_slot_);
  Device device("device", Conninfo());
  const std::string slot = seed_slot_ + "_device";
  EXPECT_EQ(device.Command("run", Seeded(slot, {"--on_gap=stop"})), 78);
  EXPECT_THAT(device.Log(), HasSubstr("pg_copy_logical_replication_slot"));
  EXPECT_THAT(device.Log(), HasSubstr(at));
  EXPECT_EQ(device.Events("gap"), 1);
  EXPECT_EQ(SlotPosition(slot), "none");
  device.Start(Seeded(slot));
  AwaitSame(device);
  EXPECT_EQ(device.Scalar(kSlotOf), slot);
  EXPECT_EQ(SlotPosition(seed_slot_), at);
  device.Stop();
}

// The slot of another device, by mistake: it keeps it.
TEST_F(SeedTest, TheSlotOfAnotherDevice) {
  MakeSeed();
  Sql("COMMIT PREPARED 'prepared'");
  const std::string slot = seed_slot_ + "_17";
  Device owner("owner", Conninfo());
  owner.Start(Seeded(slot));
  Change(2000);
  AwaitSame(owner);
  AwaitConfirmed(slot);
  owner.Stop();
  const std::string at = SlotPosition(slot);
  Device other("other", Conninfo());
  other.Start(Seeded(slot));
  AwaitSame(other);
  EXPECT_EQ(SlotPosition(slot), at);
  EXPECT_EQ(other.Events("twin"), 1);
  EXPECT_EQ(other.Events("gap"), 0);
  EXPECT_THAT(other.Scalar(kSlotOf), StartsWith(slot + "_"));
  owner.Start(Seeded(slot));
  Change(3000);
  AwaitSame(owner);
  AwaitSame(other);
  EXPECT_EQ(owner.Events("gap") + owner.Events("twin"), 0);
  owner.Stop();
  other.Stop();
}

TEST_F(SeedTest, SeedsThatCannotBeUsed) {
  MakeSeed();
  Device device("device", Conninfo());
  const auto refused = [&](const std::string& why) {
    EXPECT_EQ(device.Command("run", Seeded("never")), 78);
    EXPECT_THAT(device.Log(), HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(device.file()));
    EXPECT_FALSE(std::filesystem::exists(device.file() + ".seeding"));
    EXPECT_EQ(SlotPosition("never"), "none");
  };
  const std::string good = seed_;
  seed_ = good + ".missing";
  refused("there is no replica at " + seed_);
  seed_ = good + ".damaged";
  std::filesystem::copy_file(good, seed_);
  {
    std::fstream file(seed_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 4);
    file << std::string(4096 * 4, '\xa5');
  }
  refused("from the seed " + seed_);
  seed_ = good + ".cut";
  std::filesystem::copy_file(good, seed_);
  std::filesystem::resize_file(seed_, 4096 * 5);
  refused("from the seed " + seed_);
  // Left from another database, which it would be read with.
  seed_ = good;
  std::ofstream(device.file() + "-wal") << "x";
  refused("is left from another database");
}

TEST_F(SeedTest, ADatabaseThatIsThereIsKept) {
  MakeSeed();
  Sql("COMMIT PREPARED 'prepared'");
  Device device("device", Conninfo());
  const std::string slot = seed_slot_ + "_device";
  // What an earlier start left when the power went.
  std::ofstream(device.file() + ".seeding") << "half a file";
  std::ofstream(device.file() + ".seeding-journal") << "half a journal";
  device.Start(Seeded(slot));
  AwaitSame(device);
  EXPECT_FALSE(std::filesystem::exists(device.file() + ".seeding"));
  EXPECT_FALSE(std::filesystem::exists(device.file() + ".seeding-journal"));
  struct stat info = {};
  ASSERT_EQ(stat(device.file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0600, 0600u);
  device.Stop();
  const std::string id = device.Scalar("SELECT file_id FROM sublite_status");
  std::filesystem::remove(seed_);
  Change(2000);
  device.Start(Seeded(slot));
  AwaitSame(device);
  EXPECT_EQ(device.Scalar("SELECT file_id FROM sublite_status"), id);
  EXPECT_EQ(device.Events("seeded"), 1);
  device.Stop();
}

TEST_F(SeedTest, CheckSaysWhetherItFits) {
  MakeSeed();
  Sql("COMMIT PREPARED 'prepared'");
  Device device("device", Conninfo());
  const std::string slot = seed_slot_ + "_device";
  EXPECT_EQ(device.Command("check", Seeded(slot)), 0);
  EXPECT_THAT(device.Log(), HasSubstr("it can be made from the seed"));
  EXPECT_THAT(
      device.Log(),
      HasSubstr("slot " + slot + " will be copied from slot " + seed_slot_));
  Sql(absl::StrReplaceAll(
      FromDocument("SELECT pg_drop_replication_slot('seed_2026')"),
      {{"seed_2026", seed_slot_}}));
  EXPECT_EQ(device.Command("check", Seeded(slot, {"--on_gap=stop"})), 1);
  EXPECT_THAT(device.Log(),
              HasSubstr("gap: slot " + slot + " is not there, and slot " +
                        seed_slot_ + " is gone, too"));
}

}  // namespace
}  // namespace sublite::testing
