// What the tests of tables that are put aside share: t (id, v) with one row and
// other (id), in a file that takes values and rows of kLengthMax bytes at most.
//
// Threads: one.
#ifndef SUBLITE_TESTS_PIPELINE_QUARANTINE_FIXTURE_H_
#define SUBLITE_TESTS_PIPELINE_QUARANTINE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/pipeline_fixture.h"

namespace sublite::testing {

inline constexpr int kLengthMax = 600000;
inline constexpr char kBefore[] = "i:1|t:before";

class PipelineQuarantineTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    t_ = AddTable("t", 'd', {"id int4 k", "v text"});
    other_ = AddTable("other", 'd', {"id int4 k"});
    Insert(t_, {{"1", "before"}});
    Insert(other_, {{"1"}});
    GoOn();
    Limit();
  }

  // One session after another, as long as they come without a pause.
  void GoOn(const During& during = nullptr) {
    SessionEnd end = Follow(during);
    for (int i = 0; i < 5 && end.at_once; ++i) end = Follow(during);
    EXPECT_EQ(end.next, SessionEnd::Next::kStop) << end.status;
    EXPECT_EQ(Compare(), "");
  }

  void Limit() {
    OpenReplica();
    replica_->database().LimitLength(kLengthMax);
  }
  void Restart() {
    Kill(true);
    Limit();
  }

  std::string State(const std::string& table) {
    const auto rows = Query(
        "select state from sublite_tables where pg_table = '" + table + "'");
    return rows.empty() ? "" : rows[0].substr(2);
  }

  // other, t, t again with `bad`, other: none of it may be seen alone.
  FullXid BadTransaction(const std::string& v, bool prepared) {
    const FullXid xid = model_.Begin();
    const std::string id = std::to_string(++next_);
    EXPECT_TRUE(model_.Insert(xid, other_, {id}));
    EXPECT_TRUE(model_.Insert(xid, t_, {absl::StrCat(next_ * 10), "half"}));
    EXPECT_TRUE(model_.Insert(xid, t_, {absl::StrCat(next_ * 10 + 1), v}));
    EXPECT_TRUE(model_.Insert(xid, other_, {absl::StrCat(next_ + 1000)}));
    if (prepared) {
      model_.Prepare(xid, absl::StrCat("gid ", next_));
      model_.CommitPrepared(xid);
    } else {
      model_.Commit(xid);
    }
    return xid;
  }

  // Only t is put aside; what a reader sees of it is what it was before.
  void ExpectOnlyTIsAside() {
    EXPECT_EQ(State("t"), "failed");
    EXPECT_EQ(State("other"), "ready");
    EXPECT_THAT(Rows("t"), ::testing::ElementsAre(kBefore));
    EXPECT_EQ(Applied(), model_.end());
    // The publisher may forget what it could not take.
    EXPECT_EQ(publisher_.slot.state.confirmed_flush, model_.end());
    EXPECT_EQ(Int("select consistent from sublite_status"), 0);
  }

  void Resync(const std::string& table) {
    Write(
        absl::StrCat("insert into sublite_requests (kind, argument, at) "
                     "select 'resync', id, '' from sublite_tables where "
                     "pg_table = '",
                     table, "'"));
  }

  int t_ = 0;
  int other_ = 0;
  int next_ = 1;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_PIPELINE_QUARANTINE_FIXTURE_H_
