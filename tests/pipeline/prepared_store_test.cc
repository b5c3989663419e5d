#include "applier/prepared_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "applier/spill_file.h"
#include "schema/bookkeeping.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SpillOptions Options() {
  SpillOptions options;
  options.directory = ::testing::TempDir();
  return options;
}

class PreparedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "/prepared.db";
    for (const char* end : {"", "-wal", "-shm", "-journal"}) {
      std::remove((path_ + end).c_str());
    }
    Reopen();
    ASSERT_OK(database_->Execute("pragma synchronous = off"));
    ASSERT_OK(database_->Execute(kBookkeepingSql));
  }

  void Reopen() {
    store_.reset();
    database_.reset();
    auto opened =
        Database::Open(path_, Database::Mode::kCreate, absl::Seconds(1));
    ASSERT_OK(opened.status());
    database_ = *std::move(opened);
    store_ = std::make_unique<PreparedStore>(*database_);
  }

  void Seal(Xid xid, std::string_view gid, std::uint64_t lsn,
            const std::vector<std::string>& messages, std::int64_t source = 0) {
    SpillFile file(Options());
    Spool spool(file, Spool::Limit::kNone);
    std::uint64_t serial = 0;
    for (const std::string& message : messages) {
      ASSERT_OK(spool.Append({xid, ++serial, false, false, message}));
    }
    ASSERT_OK(store_->Seal(
        {xid, gid, Lsn(lsn), Lsn(lsn + 8), PgTime{1000000}, source}, spool));
  }

  std::optional<std::int64_t> Find(Xid xid, std::string_view gid,
                                   std::int64_t source = 0) {
    const auto found = store_->Find(xid, gid, source);
    EXPECT_OK(found);
    return found.ok() ? *found : std::nullopt;
  }

  std::vector<std::string> Messages(std::optional<std::int64_t> id) {
    std::vector<std::string> messages;
    EXPECT_TRUE(id.has_value());
    if (!id.has_value()) return messages;
    EXPECT_OK(store_->ForEach(*id, [&](const StagedRecord& record) {
      messages.emplace_back(record.message);
      return absl::OkStatus();
    }));
    return messages;
  }

  std::int64_t Count(const std::string& sql) {
    const auto count = database_->QueryInt(sql);
    EXPECT_OK(count);
    return count.ok() ? *count : -1;
  }

  std::string path_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<PreparedStore> store_;
};

TEST_F(PreparedStoreTest, HoldsWhatTheSpoolHeld) {
  Seal(700, "g", 100, {"R1", "I2", "Y3", "U4"});
  EXPECT_THAT(Messages(Find(700, "g")), ElementsAre("R1", "I2", "Y3", "U4"));
  EXPECT_EQ(Find(700, "h"), std::nullopt);
  EXPECT_EQ(Find(701, "g"), std::nullopt);
  EXPECT_EQ(Find(700, "g", 1), std::nullopt);
  // Definitions are no changes.
  EXPECT_EQ(Count("select changes from sublite_prepared"), 2);
  EXPECT_EQ(Count("select bytes from sublite_prepared"), 4 * (17 + 2));
  EXPECT_EQ(Count("select prepare_lsn = '0/64' and prepared_at = "
                  "'2000-01-01 00:00:01+00:00' and end_pos = 108 "
                  "from sublite_prepared"),
            1);
}

TEST_F(PreparedStoreTest, AVoidSubtransactionIsNotKept) {
  SpillFile file(Options());
  Spool spool(file, Spool::Limit::kNone);
  ASSERT_OK(spool.Append({700, 1, true, false, "I1"}));
  ASSERT_OK(spool.Append({701, 2, true, false, "I2"}));
  ASSERT_OK(spool.Append({701, 3, true, false, "R3"}));
  spool.AbortSubtransaction(701);
  ASSERT_OK(store_->Seal({700, "g", Lsn(100), Lsn(108), PgTime(), 0}, spool));
  EXPECT_THAT(Messages(Find(700, "g")), ElementsAre("I1", "R3"));
  EXPECT_EQ(Count("select changes from sublite_prepared"), 1);
}

TEST_F(PreparedStoreTest, AnEmptyOneIsFoundToo) {
  Seal(700, "g", 100, {});
  EXPECT_THAT(Messages(Find(700, "g")), IsEmpty());
}

TEST_F(PreparedStoreTest, AResentPrepareChangesNothing) {
  Seal(700, "g", 100, {"I1"});
  const std::optional<std::int64_t> id = Find(700, "g");
  Seal(700, "g", 100, {"I1"});
  EXPECT_EQ(Find(700, "g"), id);
  EXPECT_EQ(Count("select count(*) from sublite_prepared"), 1);
  EXPECT_EQ(Count("select count(*) from sublite_staged"), 1);
  EXPECT_THAT(Messages(id), ElementsAre("I1"));
}

TEST_F(PreparedStoreTest, AGidMayComeAgain) {
  Seal(700, "g", 100, {"Iold"});
  // The same name with another transaction, at another place, or elsewhere.
  Seal(701, "g", 200, {"Inew"});
  Seal(700, "g", 300, {"Ilater"});
  Seal(700, "g", 100, {"Iother"}, 1);
  EXPECT_THAT(Messages(Find(701, "g")), ElementsAre("Inew"));
  EXPECT_THAT(Messages(Find(700, "g")), ElementsAre("Ilater"));
  EXPECT_THAT(Messages(Find(700, "g", 1)), ElementsAre("Iother"));
  ASSERT_OK(store_->Remove(*Find(700, "g")));
  EXPECT_THAT(Messages(Find(700, "g")), ElementsAre("Iold"));
  ASSERT_OK(store_->Remove(*Find(700, "g")));
  EXPECT_EQ(Find(700, "g"), std::nullopt);
  EXPECT_THAT(Messages(Find(701, "g")), ElementsAre("Inew"));
  EXPECT_EQ(Count("select count(*) from sublite_staged"), 2);
}

TEST_F(PreparedStoreTest, GidsAreTakenAsTheyAre) {
  const std::string odd =
      "it's \"a\" ../../gid; -- % \xc3\xa9" + std::string(150, 'x');
  Seal(700, odd, 100, {"I1"});
  EXPECT_THAT(Messages(Find(700, odd)), ElementsAre("I1"));
}

TEST_F(PreparedStoreTest, HugeWorkComesBackInOrder) {
  std::vector<std::string> messages;
  for (int i = 0; i < 3000; ++i) {
    messages.push_back("I" + std::to_string(i) +
                       std::string(static_cast<std::size_t>(i % 977), 'x'));
  }
  messages.push_back(std::string(3 << 20, 'U'));
  messages.push_back("Dlast");
  Seal(700, "g", 100, messages);
  EXPECT_GT(Count("select count(*) from sublite_staged"), 5);
  EXPECT_EQ(Messages(Find(700, "g")), messages);
  ASSERT_OK(store_->Remove(*Find(700, "g")));
  EXPECT_EQ(Count("select count(*) from sublite_staged"), 0);
}

// Records that end at, before and behind the end of a part, and within headers.
TEST_F(PreparedStoreTest, RecordsGoOverTheEndsOfParts) {
  constexpr std::size_t kPart = 128 * 1024;
  constexpr std::size_t kHeader = 17;
  for (std::size_t before = 0; before <= 2 * kHeader + 2; ++before) {
    const std::vector<std::string> messages = {
        std::string(kPart - kHeader - before, 'I'), "U2",
        std::string(2 * kPart - kHeader, 'D'), "Ilast"};
    const std::string gid = "g" + std::to_string(before);
    Seal(700, gid, 100, messages);
    EXPECT_EQ(Messages(Find(700, gid)), messages) << before;
  }
  EXPECT_EQ(Count("select max(length(data)) from sublite_staged"), kPart);
  EXPECT_EQ(
      Count("select count(*) from sublite_prepared where bytes <> (select "
            "sum(length(data)) from sublite_staged where prepared_id = "
            "id)"),
      0);
}

// As earlier versions wrote it: each part held whole records.
TEST_F(PreparedStoreTest, PartsMayHaveAnySize) {
  Seal(700, "g", 100, {"I1", "I2", "I3"});
  ASSERT_OK(database_->Execute(
      "insert into sublite_staged select prepared_id, 1, substr(data, 20) from "
      "sublite_staged; "
      "update sublite_staged set data = substr(data, 1, 19) where part = 0"));
  EXPECT_THAT(Messages(Find(700, "g")), ElementsAre("I1", "I2", "I3"));
}

TEST_F(PreparedStoreTest, SurvivesAnotherOpening) {
  Seal(700, "g", 100, {"I1", "I2"});
  Reopen();
  EXPECT_THAT(Messages(Find(700, "g")), ElementsAre("I1", "I2"));
}

// While changes are applied, tables and indexes may have to be dropped, which
// SQLite refuses as long as a statement runs.
TEST_F(PreparedStoreTest, NoStatementRunsDuringAVisit) {
  ASSERT_OK(database_->Execute("create table t (a); create index i on t (a)"));
  Seal(700, "g", 100, {"I1", "I2"});
  int visits = 0;
  ASSERT_OK(store_->ForEach(*Find(700, "g"), [&](const StagedRecord&) {
    return ++visits == 1 ? database_->Execute("drop index i")
                         : database_->Execute("drop table t");
  }));
  EXPECT_EQ(visits, 2);
}

TEST_F(PreparedStoreTest, DamageIsAnError) {
  Seal(700, "g", 100, {"I1", "I2"});
  ASSERT_OK(database_->Execute(
      "update sublite_staged set data = substr(data, 1, length(data) - 1)"));
  EXPECT_THAT(
      store_->ForEach(*Find(700, "g"),
                      [](const StagedRecord&) { return absl::OkStatus(); }),
      StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace sublite::testing
