// Slots and files that are not where they were left: a gap is seen, once, and
// all is copied (C075, C076, C077).
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/failover/failover_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GapTest : public FailoverTest {
 protected:
  void StartAndStop() {
    StartSublite(primary_->Conninfo());
    AwaitSame(*primary_);
    Await("SELECT state FROM sublite_status", "streaming");
    ASSERT_OK(StopSublite());
  }
  // The replica is right, and stays so without another gap.
  void ExpectOneGap(const std::string& text) {
    StartSublite(primary_->Conninfo());
    AwaitSame(*primary_);
    EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr(text)));
    ASSERT_OK(StopSublite());
    Sql("INSERT INTO t VALUES (9000, 'while it is down')");
    StartSublite(primary_->Conninfo());
    AwaitSame(*primary_);
    EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr(text)));
    EXPECT_EQ(Scalar(*primary_, "SELECT count(*) FROM pg_replication_slots"),
              "1");
  }
};

TEST_F(GapTest, SomebodyAdvancedTheSlot) {
  if (!StartPrimary(11)) GTEST_SKIP() << "cannot be advanced before 11";
  StartAndStop();
  Sql("INSERT INTO t VALUES (1000, 'passed over')");
  Sql("SELECT pg_replication_slot_advance('s', pg_current_wal_lsn())");
  ExpectOneGap("has moved to");
}

TEST_F(GapTest, SomebodyMadeTheSlotAnew) {
  if (!StartPrimary(10)) GTEST_SKIP();
  StartAndStop();
  Sql("SELECT pg_drop_replication_slot('s')");
  Sql("INSERT INTO t VALUES (1000, 'in no slot')");
  Sql("SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
  ExpectOneGap("has moved to");
}

// The slot's server looks for the publication in the time that it decodes,
// finds none, and says so for ever (C066).
TEST_F(GapTest, ThePublicationWasMadeAgain) {
  if (!StartPrimary(10)) GTEST_SKIP();
  StartAndStop();
  Sql("DROP PUBLICATION pub");
  Sql("INSERT INTO t VALUES (1000, 'published by nobody')");
  Sql("CREATE PUBLICATION pub FOR ALL TABLES");
  Sql("INSERT INTO t VALUES (1001, 'published')");
  if (std::stoi(Scalar(*primary_, "SHOW server_version_num")) < 180000) {
    ExpectOneGap("was dropped and made again");
    return;
  }
  // From 18 on the server skips what it finds no publication for. That it is
  // another one than before shows that rows are missing.
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_THAT(Events("schema"), ElementsAre(HasSubstr("published anew")));
}

// The server keeps less WAL than the slot needs.
TEST_F(GapTest, TheSlotWasInvalidated) {
  PgServerOptions options;
  options.settings = {{"min_wal_size", "32MB"}, {"max_wal_size", "32MB"}};
  if (!StartPrimary(13, options)) GTEST_SKIP() << "no limit before 13";
  StartAndStop();
  Sql("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
  Sql("SELECT pg_reload_conf()");
  AwaitTrue("the slot is lost", [&] {
    Sql("INSERT INTO t SELECT max(id) + 1, 'lost' FROM t");
    Sql("SELECT pg_switch_wal()");
    Sql("CHECKPOINT");
    return Scalar(*primary_, "SELECT wal_status FROM pg_replication_slots") ==
           "lost";
  });
  ExpectOneGap("was invalidated");
}

// An older file is put back: what came between is not in the slot any more.
TEST_F(GapTest, ABackupOfTheFileIsPutBack) {
  if (!StartPrimary(10)) GTEST_SKIP();
  StartAndStop();
  const std::string backup = path_ + "-backup";
  for (const char* end : {"", "-wal"}) {
    std::filesystem::copy_file(path_ + end, backup + end);
  }
  StartSublite(primary_->Conninfo());
  Sql("INSERT INTO t VALUES (1000, 'confirmed')");
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  EXPECT_THAT(Events("gap"), IsEmpty());
  for (const char* end : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path_ + end);
  }
  for (const char* end : {"", "-wal"}) {
    std::filesystem::rename(backup + end, path_ + end);
  }
  ExpectOneGap("a restored or cloned file?");
}

// Another cluster answers at the address.
TEST_F(GapTest, AnotherCluster) {
  if (!StartPrimary(10)) GTEST_SKIP();
  StartAndStop();
  const std::unique_ptr<PgServer> before = std::move(primary_);
  ASSERT_TRUE(StartPrimary(10));
  Sql("INSERT INTO t VALUES (1000, 'over there')");
  // With a slot of the same name, which looks as if it could be followed.
  Sql("SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
  ExpectOneGap("the publisher is another one");
}

}  // namespace
}  // namespace sublite::testing
