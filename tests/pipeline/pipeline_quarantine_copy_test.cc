// One table that cannot be copied does not stop the others, and is tried again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/clock.h"
#include "tests/pipeline/quarantine_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using PipelineQuarantineCopyTest = PipelineQuarantineTest;

TEST_F(PipelineQuarantineCopyTest, ACopyIsTriedAgainWithGrowingPauses) {
  AddTable("bad", 'd', {"id int4 k"});
  AddTable("whole", 'd', {"k text k"});
  for (const absl::Status& error :
       {absl::FailedPreconditionError("permission denied"),
        absl::AbortedError("could not read block 7")}) {
    SCOPED_TRACE(error);
    int reads = 0;
    publisher_.on_read_table = [&](const std::string& table) -> absl::Status {
      if (table != "public.bad" && table != "public.whole")
        return absl::OkStatus();
      ++reads;
      return error;
    };
    if (State("bad") == "ready") {
      Resync("bad");
      Resync("whole");
    }
    GoOn();
    EXPECT_EQ(State("bad"), "failed");
    EXPECT_EQ(State("whole"), "failed");
    EXPECT_EQ(reads, 2);
    EXPECT_EQ(Int("select count(*) from sublite_tables where retry_at is not "
                  "null"),
              2);
    // The same process waits.
    Insert(t_, {{std::to_string(++next_), "v"}});
    GoOn();
    EXPECT_EQ(reads, 2);
    EXPECT_EQ(Applied(), model_.end());
    // Another one tries once, and says nothing new.
    Kill();
    GoOn();
    EXPECT_EQ(reads, 4);
    publisher_.on_read_table = nullptr;
    Kill();
    GoOn();
    EXPECT_EQ(State("bad"), "ready");
    EXPECT_EQ(State("whole"), "ready");
    EXPECT_EQ(Int("select consistent from sublite_status"), 1);
  }
}

TEST_F(PipelineQuarantineCopyTest, TheSameProcessHealsATableByItself) {
  const int bad = AddTable("bad", 'd', {"id int4 k"});
  Insert(bad, {{"1"}});
  int reads = 0;
  publisher_.on_read_table = [&](const std::string& table) {
    return table == "public.bad" && ++reads <= 2
               ? absl::FailedPreconditionError("permission denied")
               : absl::OkStatus();
  };
  GoOn();
  EXPECT_EQ(State("bad"), "failed");
  EXPECT_EQ(reads, 1);
  // One second later, and two seconds after that.
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (State("bad") != "ready" && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(300));
    GoOn();
  }
  EXPECT_EQ(State("bad"), "ready");
  EXPECT_EQ(reads, 3);
  EXPECT_THAT(Rows("bad"), ElementsAre("i:1"));
  // Said once.
  EXPECT_THAT(Events("table_failed"), SizeIs(1));
}

TEST_F(PipelineQuarantineCopyTest, TheRowsOfACopyBreakOff) {
  const int bad = AddTable("bad", 'd', {"k text k"});
  Insert(bad, {{"a"}, {"b"}, {"c"}});
  GoOn();
  publisher_.on_read_row = [](const std::string& table, int row) {
    return table == "public.bad" && row == 2
               ? absl::AbortedError("missing chunk number 0 for toast value")
               : absl::OkStatus();
  };
  Insert(bad, {{"d"}});
  // Everything anew, beside the old rows.
  publisher_.slot = FakeSlot();
  Insert(t_, {{"5", "after the gap"}});
  GoOn();
  EXPECT_EQ(State("bad"), "failed");
  EXPECT_THAT(Rows("bad"), ElementsAre("t:a", "t:b", "t:c"));
  EXPECT_THAT(Rows("t"), Contains("i:5|t:after the gap"));
  EXPECT_THAT(Events("table_failed"), ElementsAre(HasSubstr("missing chunk")));
  Insert(bad, {{"e"}});
  GoOn();
  EXPECT_THAT(Rows("bad"), SizeIs(3));
  publisher_.on_read_row = nullptr;
  Kill();
  GoOn();
  EXPECT_EQ(State("bad"), "ready");
  EXPECT_THAT(Rows("bad"), SizeIs(5));
}

// The stream needs the table copied anew, and that does not go.
TEST_F(PipelineQuarantineCopyTest, AChangedTableThatCannotBeCopied) {
  publisher_.on_read_table = [&](const std::string& table) {
    return table == "public.t"
               ? absl::FailedPreconditionError("permission denied")
               : absl::OkStatus();
  };
  const FullXid xid = model_.Begin();
  EXPECT_TRUE(model_.Insert(xid, other_, {"2"}));
  PublishedTable wider = model_.tables()[t_].shape()->def;
  wider.columns.push_back(wider.columns[1]);
  wider.columns.back().name = "added";
  EXPECT_TRUE(model_.Alter(xid, t_, wider, {}, [](const ModelRow& row) {
    return ModelRow{row[0], row[1], "x"};
  }));
  EXPECT_TRUE(model_.Insert(xid, t_, {"2", "v", "x"}));
  model_.Commit(xid);
  GoOn();
  ExpectOnlyTIsAside();
  EXPECT_THAT(Rows("other"), ElementsAre("i:1", "i:2"));
  publisher_.on_read_table = nullptr;
  Kill();
  GoOn();
  EXPECT_EQ(State("t"), "ready");
  EXPECT_THAT(Rows("t"), ElementsAre("i:1|t:before|t:x", "i:2|t:v|t:x"));
}

}  // namespace
}  // namespace sublite::testing
