// Open transactions that cannot all be staged: the way on is a stream without
// streaming, and nothing is lost, doubled or confirmed too early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PipelineSpillTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    t_ = AddTable("t", 'd', {"id int4 key", "v text"});
    Insert(t_, {{"0", "before"}});
    Caught();
    publisher_.stream_per_mille = 1000;
    config_.replica.spill_limit = 20 * 130;
  }

  // Each is staged as 17 + 40 + 100 bytes, about.
  void InsertSome(FullXid xid, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      EXPECT_TRUE(
          model_.Insert(xid, t_, {std::to_string(i), std::string(100, 'v')}));
    }
  }

  void ExpectFull() {
    const SessionEnd end = Follow();
    EXPECT_EQ(end.next, SessionEnd::Next::kAgain) << end.status;
    EXPECT_TRUE(end.at_once);
    EXPECT_THAT(end.status, StatusIs(absl::StatusCode::kResourceExhausted,
                                     HasSubstr("replica.spill_limit")));
    EXPECT_TRUE(memory_.streaming_pause.active());
    EXPECT_EQ(Compare(), "");
  }

  Streaming LastStreaming() { return publisher_.streams.back().streaming; }
  std::vector<std::string> Activity() {
    return Query("select coalesce(activity, '') from sublite_status");
  }

  int t_ = 0;
};

TEST_F(PipelineSpillTest, WhatFitsIsStreamed) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 10);
  Caught();
  model_.Commit(xid);
  Caught();
  EXPECT_EQ(LastStreaming(), Streaming::kOn);
  EXPECT_THAT(Rows("t"), SizeIs(11));
  EXPECT_THAT(Events("spill_limit"), IsEmpty());
}

TEST_F(PipelineSpillTest, WhatDoesNotFitComesWhenItIsCommitted) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 100);
  ExpectFull();
  EXPECT_EQ(LastStreaming(), Streaming::kOn);
  EXPECT_THAT(Events("spill_limit"),
              ElementsAre(HasSubstr("1 transaction open; going on without")));
  // The others are followed meanwhile, and it may go on.
  for (int i = 0; i < 3; ++i) {
    Insert(t_, {{std::to_string(1000 + i), "other"}});
    InsertSome(xid, 101 + i, 1);
    Caught();
    EXPECT_EQ(LastStreaming(), Streaming::kOff);
    EXPECT_THAT(Activity(), ElementsAre(HasSubstr("replica.spill_limit")));
    EXPECT_THAT(Rows("t"), SizeIs(2 + i));
  }
  model_.Commit(xid);
  // Known to have ended only after its end was passed.
  const SessionEnd end = Follow();
  EXPECT_TRUE(end.at_once) << end.status;
  EXPECT_EQ(Compare(), "");
  EXPECT_THAT(Rows("t"), SizeIs(107));
  Caught();
  EXPECT_EQ(LastStreaming(), Streaming::kOn);
  EXPECT_THAT(Activity(), ElementsAre("t:"));
  EXPECT_THAT(Events("spill_limit"), SizeIs(1));
}

TEST_F(PipelineSpillTest, ManySmallOnesAreTooMuchTogether) {
  std::vector<FullXid> open;
  for (int i = 0; i < 10; ++i) {
    open.push_back(model_.Begin());
    InsertSome(open.back(), 100 * (i + 1), 5);
  }
  ExpectFull();
  Caught();
  // Some commit, one rolls back.
  for (std::size_t i = 1; i < open.size(); ++i) model_.Commit(open[i]);
  Caught();
  EXPECT_EQ(LastStreaming(), Streaming::kOff);
  EXPECT_THAT(Rows("t"), SizeIs(1 + 45));
  model_.Abort(open[0]);
  while (memory_.streaming_pause.active()) Follow();
  Caught();
  EXPECT_EQ(LastStreaming(), Streaming::kOn);
  EXPECT_THAT(Rows("t"), SizeIs(1 + 45));
}

// The file is the only place where prepared work can wait.
TEST_F(PipelineSpillTest, PreparedWorkIsNotLimited) {
  publisher_.stream_per_mille = 0;
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 100);
  model_.Prepare(xid, "g");
  Caught();
  EXPECT_THAT(Events("spill_limit"), IsEmpty());
  EXPECT_GT(Int("select bytes from sublite_prepared"),
            config_.replica.spill_limit);
  model_.CommitPrepared(xid);
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(101));
}

TEST_F(PipelineSpillTest, WhatDoesNotFitIsPreparedAllTheSame) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 100);
  ExpectFull();
  model_.Prepare(xid, "g");
  Caught();
  EXPECT_EQ(LastStreaming(), Streaming::kOff);
  EXPECT_EQ(Int("select changes from sublite_prepared"), 100);
  Kill(true);
  // A new process knows nothing of it, and what is prepared is not sent again.
  Caught();
  EXPECT_EQ(LastStreaming(), Streaming::kOn);
  model_.CommitPrepared(xid);
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(101));
}

TEST_F(PipelineSpillTest, ANewProcessTriesOnce) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 100);
  ExpectFull();
  Caught();
  Kill();
  InsertSome(xid, 101, 1);
  ExpectFull();
  EXPECT_THAT(Events("spill_limit"), SizeIs(2));
  Caught();
  model_.Commit(xid);
  while (memory_.streaming_pause.active()) Follow();
  EXPECT_EQ(Compare(), "");
  EXPECT_THAT(Rows("t"), SizeIs(102));
}

TEST_F(PipelineSpillTest, WithAnotherSlotItIsOver) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 100);
  ExpectFull();
  Caught();
  publisher_.slot = FakeSlot();
  publisher_.during_create_slot = [&] {
    if (model_.transaction(xid).state == ModelTransaction::State::kOpen)
      model_.Commit(xid);
  };
  Caught();
  EXPECT_FALSE(memory_.streaming_pause.active());
  EXPECT_EQ(LastStreaming(), Streaming::kOn);
  EXPECT_THAT(Rows("t"), SizeIs(101));
}

TEST_F(PipelineSpillTest, WithoutStreamingThereIsNothingToPause) {
  config_.publisher.streaming = StreamingSetting::kOff;
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 100);
  model_.Commit(xid);
  Caught();
  EXPECT_THAT(Events("spill_limit"), IsEmpty());
  EXPECT_THAT(Activity(), ElementsAre("t:"));
  EXPECT_THAT(Rows("t"), SizeIs(101));
}

}  // namespace
}  // namespace sublite::testing
