// What the pipeline leaves for those who watch: the feed of changes, the
// counters, and what the slot keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PipelineWatchTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    config_.replica.changes = true;
  }

  // The keys of `t` that follow from the feed alone: what came after the newest
  // copy, from the rows that this copied.
  static std::string KeysByFeed() {
    return "with base as (select max(id) as id from sublite_changes where "
           "sqlite_table = 't' and kind in ('copied', 'truncate')), "
           "last as (select \"key\", kind, max(c.id) from sublite_changes c, "
           "base where c.id > base.id and sqlite_table = 't' group by "
           "\"key\") select json_extract(\"key\", '$.id') from last where "
           "kind <> 'delete' order by 1";
  }
  void ExpectFeedIsTheTable() {
    EXPECT_EQ(Query(KeysByFeed()), Query("select id from t order by id"));
  }
};

TEST_F(PipelineWatchTest, ChangesComeWithTheRows) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  Caught();
  EXPECT_THAT(Query("select kind, sqlite_table from sublite_changes"),
              ElementsAre("t:copied|t:t"));
  std::mt19937 random(7);
  publisher_.stream_per_mille = 300;
  for (int round = 0; round < 60; ++round) {
    const FullXid xid = model_.Begin();
    for (int change = 0; change < 4; ++change) {
      const std::string id = std::to_string(random() % 20);
      std::vector<int> seen;
      const auto& rows = model_.tables()[t].rows;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (model_.SeesRow(xid, rows[i])) seen.push_back(static_cast<int>(i));
      if (seen.empty() || random() % 2 == 0) {
        model_.Insert(xid, t, {id, "new"});
      } else if (random() % 2 == 0) {
        model_.Update(xid, t, seen[random() % seen.size()], {id, "changed"});
      } else {
        model_.Delete(xid, t, seen[random() % seen.size()]);
      }
    }
    if (round == 30) model_.Truncate(xid, {t});
    if (random() % 5 == 0) {
      model_.Abort(xid);
    } else if (random() % 5 == 0) {
      model_.Prepare(xid, absl::StrCat("gid", round));
      model_.CommitPrepared(xid);
    } else {
      model_.Commit(xid);
    }
    // At every moment a reader sees both or neither.
    if (round % 10 == 9) Caught([&](FakeStream&) { ExpectFeedIsTheTable(); });
    if (round % 20 == 19) Kill(round % 40 == 39);
  }
  Caught();
  ExpectFeedIsTheTable();
  EXPECT_THAT(Rows("t"), ::testing::Not(IsEmpty()));
  // Positions and ids go the same way.
  EXPECT_EQ(Int("select count(*) from sublite_changes a join sublite_changes b "
                "on b.id = a.id + 1 where length(a.lsn) = length(b.lsn) and "
                "b.lsn < a.lsn and b.kind <> 'copied'"),
            0);
}

TEST_F(PipelineWatchTest, ACopyIsOneChangeAndBelongsToTheTable) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Insert(t, {{"1"}, {"2"}});
  Caught();
  Insert(t, {{"3"}});
  Caught();
  Write(
      "insert into sublite_requests (kind, argument, at) values ('resync', "
      "'*', 'now')");
  Caught();
  Insert(t, {{"4"}});
  Caught();
  EXPECT_THAT(
      Query("select kind || coalesce(\"key\", '') from sublite_changes"),
      ElementsAre("t:copied", "t:insert{\"id\":3}", "t:copied",
                  "t:insert{\"id\":4}"));
  EXPECT_EQ(Int("select count(*) from sublite_changes where lsn = '0/0'"), 0);
}

TEST_F(PipelineWatchTest, SwitchedOffItIsEmptyAndIdsGoOn) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Caught();
  Insert(t, {{"1"}});
  Caught();
  EXPECT_EQ(Int("select max(id) from sublite_changes"), 2);
  config_.replica.changes = false;
  Kill();
  Insert(t, {{"2"}});
  Caught();
  EXPECT_THAT(Query("select * from sublite_changes"), IsEmpty());
  config_.replica.changes = true;
  Kill();
  Insert(t, {{"3"}});
  Caught();
  EXPECT_THAT(Query("select id, \"key\" from sublite_changes"),
              ElementsAre("i:3|t:{\"id\":3}"));
}

TEST_F(PipelineWatchTest, CountersSayWhatWasCommitted) {
  config_.replica.changes = false;
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  Insert(t, {{"1", "a"}, {"2", "b"}});
  Caught();
  EXPECT_EQ(replica_->metrics().copied_rows.get(), 2);
  EXPECT_EQ(replica_->metrics().copies.get(), 1);
  EXPECT_EQ(replica_->metrics().transactions.get(), 0);
  const FullXid xid = model_.Begin();
  ASSERT_TRUE(model_.Insert(xid, t, {"3", "c"}));
  ASSERT_TRUE(model_.Update(xid, t, RowOf(xid, t, "1"), {"1", "d"}));
  ASSERT_TRUE(model_.Delete(xid, t, RowOf(xid, t, "2")));
  // Nothing of it counts while it is half applied.
  model_.Commit(xid);
  const FullXid other = model_.Begin();
  ASSERT_TRUE(model_.Insert(other, t, {"4", "e"}));
  model_.Abort(other);
  Caught();
  Metrics& metrics = replica_->metrics();
  const std::vector<Metrics::Rows> rows = metrics.TableRows();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].table, "t");
  EXPECT_THAT(rows[0].rows, ElementsAre(1, 1, 1, 0));
  EXPECT_EQ(metrics.transactions.get(), 1);
  EXPECT_EQ(metrics.applied_lsn.get(),
            static_cast<std::int64_t>(model_.end().value()));
  EXPECT_EQ(metrics.flushed_lsn.get(), metrics.applied_lsn.get());
  EXPECT_EQ(metrics.tables[static_cast<int>(TableState::kReady)].get(), 1);
  EXPECT_GT(metrics.wal_written_bytes.get(), 4096);
  EXPECT_EQ(metrics.missing_rows.get(), 0);
  // The row is not where it should be.
  Write("delete from t where id = 3");
  const FullXid third = model_.Begin();
  ASSERT_TRUE(model_.Delete(third, t, RowOf(third, t, "3")));
  model_.Commit(third);
  Follow();
  EXPECT_EQ(metrics.missing_rows.get(), 1);
}

TEST_F(PipelineWatchTest, PreparedWorkIsCounted) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Caught();
  const FullXid xid = model_.Begin();
  ASSERT_TRUE(model_.Insert(xid, t, {"1"}));
  model_.Prepare(xid, "gid");
  Caught();
  // A session begins with what the file holds.
  Caught();
  EXPECT_EQ(replica_->metrics().prepared_transactions.get(), 1);
  EXPECT_EQ(replica_->metrics().prepared_bytes.get(),
            Int("select bytes from sublite_prepared"));
  model_.RollbackPrepared(xid);
  Caught();
  Caught();
  EXPECT_EQ(replica_->metrics().prepared_transactions.get(), 0);
}

TEST_F(PipelineWatchTest, WhatTheSlotKeepsIsWrittenWithOtherThings) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Caught();
  EXPECT_EQ(Query("select wal_status, safe_bytes, keep_bytes, "
                  "idle_timeout_seconds from sublite_slot"),
            std::vector<std::string>{"t:reserved|null|null|null"});
  // To know it is no reason to write.
  ASSERT_TRUE(replica_->retention().has_value());
  Retention retention = *replica_->retention();
  retention.safe_bytes = 12345;
  retention.wal_end = Lsn(0x77);
  const std::int64_t commits = replica_->metrics().commits.get();
  replica_->SetRetention(retention);
  EXPECT_EQ(replica_->metrics().commits.get(), commits);
  EXPECT_NE(Int("select wal_pos from sublite_slot"), 0x77);
  ASSERT_OK(replica_->AddEvent("test", "", std::nullopt, "something else"));
  EXPECT_EQ(replica_->metrics().commits.get(), commits + 1);
  EXPECT_EQ(Query("select wal_pos, safe_bytes from sublite_slot"),
            std::vector<std::string>{"i:119|i:12345"});
  // It is known again after a restart.
  Kill();
  OpenReplica();
  EXPECT_EQ(replica_->retention()->safe_bytes, 12345);
  EXPECT_EQ(replica_->metrics().slot_safe_bytes.get(), 12345);
  // So is how old the rows are, though nobody is connected.
  EXPECT_EQ(replica_->metrics().as_of.get() / 1000000,
            Int("select strftime('%s', contact_at) from sublite_state"));
  EXPECT_EQ(
      replica_->metrics().tables[static_cast<int>(TableState::kReady)].get(),
      1);
}

}  // namespace
}  // namespace sublite::testing
