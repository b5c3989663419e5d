// Transactions in every form in which they come, across restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/encode.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PipelineStreamTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    t_ = AddTable("t", 'f', {"id int4", "v text"});
    Insert(t_, {{"0", "before"}});
    Caught();
  }

  void InsertSome(FullXid xid, int first, int count, const std::string& v) {
    for (int i = first; i < first + count; ++i) {
      EXPECT_TRUE(model_.Insert(xid, t_, {std::to_string(i), v}));
    }
  }

  int t_ = 0;
};

// Case C045, for servers that abort with and without a position.
TEST_F(PipelineStreamTest, ASavepointOfAStreamedTransactionIsRolledBack) {
  for (const int version : {140005, 150018, 160002}) {
    publisher_.identity.server_version = version;
    publisher_.stream_per_mille = 150;
    const FullXid xid = model_.Begin();
    InsertSome(xid, 1, 40, "kept");
    const FullXid a = model_.Savepoint(xid);
    InsertSome(xid, 100, 40, "undone");
    model_.Savepoint(xid);
    InsertSome(xid, 200, 40, "undone too");
    model_.Release(xid);
    model_.RollbackTo(xid, a);
    InsertSome(xid, 300, 40, "kept");
    model_.Savepoint(xid);
    InsertSome(xid, 400, 40, "kept");
    model_.Release(xid);
    model_.Commit(xid);
    Caught([&](FakeStream&) {
      const std::size_t rows = Rows("t").size() % 120;
      EXPECT_TRUE(rows == 1) << rows;
    });
    EXPECT_EQ(Int("select count(*) from t where v like 'undone%'"), 0);
    EXPECT_EQ(Applied(), model_.end());
  }
  EXPECT_THAT(Rows("t"), SizeIs(361));
}

TEST_F(PipelineStreamTest, StreamedTransactionsInterleave) {
  publisher_.stream_per_mille = 300;
  publisher_.batch = 3;
  publisher_.lookahead = 7;
  std::vector<FullXid> open;
  for (int i = 0; i < 4; ++i) open.push_back(model_.Begin());
  for (int round = 0; round < 30; ++round) {
    for (std::size_t i = 0; i < open.size(); ++i) {
      InsertSome(open[i], 1000 * static_cast<int>(i + 1) + round, 1,
                 absl::StrCat("of ", i));
    }
    Insert(t_, {{std::to_string(round + 1), "plain"}});
  }
  model_.Commit(open[2]);
  model_.Abort(open[0]);
  model_.Commit(open[3]);
  Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
  // One of them is still open; nothing of it is to be seen, and the position
  // passes it all the same.
  EXPECT_EQ(Applied(), model_.end());
  EXPECT_THAT(Rows("t"), SizeIs(1 + 30 + 60));
  model_.Commit(open[1]);
  Kill();
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(1 + 30 + 90));
}

// Case C050.
TEST_F(PipelineStreamTest, ADescriptionThatCameInAStream) {
  // Streamed one after the other: the second comes without a description.
  const auto streamed = [&](bool commit, const std::string& v) {
    const FullXid xid = model_.Begin();
    InsertSome(xid, 500, 3, v);
    if (commit) {
      model_.Commit(xid);
    } else {
      model_.Abort(xid);
    }
  };
  publisher_.stream_per_mille = 1000;
  streamed(false, "aborted");
  streamed(true, "first");
  streamed(true, "second");
  Insert(t_, {{"9", "plain"}});
  streamed(true, "third");
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(11));
}

// Case C057.
TEST_F(PipelineStreamTest, AChangeOfDefinitionThatIsRolledBack) {
  publisher_.stream_per_mille = 1000;
  bool done = false;
  Caught([&](FakeStream&) {
    if (std::exchange(done, true)) return;
    const FullXid xid = model_.Begin();
    InsertSome(xid, 1, 5, "a");
    const FullXid savepoint = model_.Savepoint(xid);
    PublishedTable wider = model_.tables()[t_].shape()->def;
    wider.columns.push_back(wider.columns[0]);
    wider.columns.back().name = "extra";
    EXPECT_TRUE(model_.Alter(xid, t_, wider, {}, [](const ModelRow& row) {
      ModelRow longer = row;
      longer.emplace_back(std::nullopt);
      return longer;
    }));
    EXPECT_TRUE(model_.Insert(xid, t_, {"6", "b", "1"}));
    model_.RollbackTo(xid, savepoint);
    InsertSome(xid, 7, 5, "c");
    model_.Commit(xid);
  });
  EXPECT_EQ(Int("select count(*) from pragma_table_info('t')"), 2);
  EXPECT_THAT(Rows("t"), SizeIs(11));
  EXPECT_THAT(Events("schema"), IsEmpty());
}

TEST_F(PipelineStreamTest, ADefinitionThatIsRolledBackWithItsTransaction) {
  publisher_.stream_per_mille = 1000;
  const FullXid xid = model_.Begin();
  PublishedTable wider = model_.tables()[t_].shape()->def;
  wider.columns.push_back(wider.columns[0]);
  wider.columns.back().name = "extra";
  EXPECT_TRUE(model_.Alter(xid, t_, wider, {}, [](const ModelRow& row) {
    return ModelRow{row[0], row[1], "1"};
  }));
  EXPECT_TRUE(model_.Insert(xid, t_, {"6", "b", "1"}));
  Caught();
  model_.Abort(xid);
  Insert(t_, {{"7", "c"}});
  Caught();
  EXPECT_THAT(Rows("t"), ElementsAre("i:0|t:before", "i:7|t:c"));
}

// ------------------------------------------------------------------ prepared

TEST_F(PipelineStreamTest, PreparedWorkIsSeenWhenItIsCommitted) {
  for (const int streamed : {0, 1000}) {
    publisher_.stream_per_mille = streamed;
    const std::size_t before = Rows("t").size();
    const FullXid xid = model_.Begin();
    InsertSome(xid, 1, 5, "prepared");
    model_.Prepare(xid, "it's \"g\"");
    Insert(t_, {{"9", "other"}});
    Caught();
    EXPECT_THAT(Rows("t"), SizeIs(before + 1));
    EXPECT_THAT(Query("select gid, changes from sublite_prepared"),
                ElementsAre("t:it's \"g\"|i:5"));
    EXPECT_EQ(Int("select prepared from sublite_status"), 1);
    // Confirmed, so that only the file has it now.
    EXPECT_EQ(publisher_.slot.state.confirmed_flush, model_.end());
    Kill(true);
    Caught();
    EXPECT_THAT(Rows("t"), SizeIs(before + 1));
    model_.CommitPrepared(xid);
    Kill(true);
    Caught();
    EXPECT_THAT(Rows("t"), SizeIs(before + 6));
    EXPECT_EQ(Int("select count(*) from sublite_prepared"), 0);
  }
}

// Case C052.
TEST_F(PipelineStreamTest, AGidIsUsedAgain) {
  const FullXid first = model_.Begin();
  InsertSome(first, 1, 2, "first");
  model_.Prepare(first, "g");
  Caught();
  model_.RollbackPrepared(first);
  const FullXid second = model_.Begin();
  InsertSome(second, 1, 3, "second");
  model_.Prepare(second, "g");
  Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
  model_.CommitPrepared(second);
  const FullXid third = model_.Begin();
  InsertSome(third, 1, 4, "third");
  model_.Prepare(third, "g");
  Kill();
  Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
  EXPECT_THAT(Rows("t"), SizeIs(4));
  model_.CommitPrepared(third);
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(8));
}

// The publisher sends a PREPARE again that it does not know to be safe.
TEST_F(PipelineStreamTest, APrepareIsSentAgain) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 2, "v");
  model_.Prepare(xid, "g");
  EXPECT_THROW(Follow([&](FakeStream& stream) {
                 if (stream.last_kind() == 'P') throw Killed();
               }),
               Killed);
  Kill(true);
  Caught();
  EXPECT_EQ(Int("select count(*) from sublite_prepared"), 1);
  model_.CommitPrepared(xid);
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(3));
}

// Case C053.
TEST_F(PipelineStreamTest, WhatWasPreparedNeverCame) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 2, "lost");
  model_.Prepare(xid, "g");
  Caught();
  Kill();
  Write("delete from sublite_prepared; delete from sublite_staged");
  // A standby was promoted whose slot decodes prepared work from later on.
  publisher_.identity.timeline = 2;
  publisher_.identity.history = {{1, model_.end()}};
  model_.CommitPrepared(xid);
  Follow();
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("g")));
  // Asked for, whether already done or not.
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(3));
  EXPECT_EQ(Int("select consistent from sublite_status"), 1);
  EXPECT_EQ(Int("select count(*) from sublite_requests"), 0);
}

// Servers of 16 and later send no PREPARE, or no beginning of it, for a
// transaction that changed nothing.
TEST_F(PipelineStreamTest, APreparedTransactionWithoutChanges) {
  for (const int version : {150018, 160002, 180001}) {
    publisher_.identity.server_version = version;
    for (const bool committed : {true, false}) {
      const FullXid xid = model_.Begin();
      model_.Prepare(xid, "g");
      Caught();
      if (committed) {
        model_.CommitPrepared(xid);
      } else {
        model_.RollbackPrepared(xid);
      }
      Caught();
      EXPECT_EQ(Applied(), model_.end());
      EXPECT_EQ(Int("select count(*) from sublite_prepared"), 0);
    }
  }
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_THAT(Rows("t"), SizeIs(1));
}

TEST_F(PipelineStreamTest, RollingBackWhatNeverCameIsNothing) {
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 2, "lost");
  model_.Prepare(xid, "g");
  Caught();
  Kill();
  Write("delete from sublite_prepared; delete from sublite_staged");
  model_.RollbackPrepared(xid);
  const std::int64_t events = Int("select count(*) from sublite_events");
  Caught();
  EXPECT_EQ(Int("select count(*) from sublite_events"), events);
  EXPECT_EQ(Applied(), model_.end());
}

// Prepared between the slot's beginning and its consistent point: it comes when
// it is committed, with a position that is long passed.
TEST_F(PipelineStreamTest, PreparedWhileTheSlotWasMade) {
  Kill();
  Write("update sublite_state set system_identifier = 'another'");
  FullXid early = 0;
  const FullXid open = model_.Begin();
  EXPECT_TRUE(model_.Insert(open, t_, {"50", "open"}));
  publisher_.during_create_slot = [&] {
    if (early != 0) return;
    early = model_.Begin();
    InsertSome(early, 1, 2, "early");
    model_.Prepare(early, "early");
  };
  Caught();
  ASSERT_NE(early, 0u);
  EXPECT_EQ(Int("select count(*) from sublite_prepared"), 0);
  Insert(t_, {{"60", "more"}});
  Caught();
  model_.CommitPrepared(early);
  Caught();
  EXPECT_EQ(Int("select count(*) from t where v = 'early'"), 2);
}

TEST_F(PipelineStreamTest, WithoutTwoPhasePreparedWorkComesWhole) {
  Kill();
  Write("update sublite_state set system_identifier = 'another'");
  config_.publisher.two_phase = false;
  Caught();
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 2, "v");
  model_.Prepare(xid, "g");
  Caught();
  EXPECT_EQ(Int("select count(*) from sublite_prepared"), 0);
  model_.CommitPrepared(xid);
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(3));
}

// ------------------------------------------------------------------ messages

TEST_F(PipelineStreamTest, MessagesAreKeptOnce) {
  config_.publisher.messages = true;
  publisher_.stream_per_mille = 400;
  const FullXid xid = model_.Begin();
  model_.Message(xid, "in", std::string("a\0b", 3));
  const FullXid savepoint = model_.Savepoint(xid);
  model_.Message(xid, "undone", "x");
  model_.RollbackTo(xid, savepoint);
  model_.Message(0, "out", "");
  model_.Commit(xid);
  const FullXid aborted = model_.Begin();
  model_.Message(aborted, "undone", "x");
  model_.Message(0, "out", "stays");
  model_.Abort(aborted);
  const std::vector<std::string> expected = {
      "i:0|t:out|b:", "i:0|t:out|b:7374617973", "i:1|t:in|b:610062"};
  const std::string query =
      "select transactional, prefix, content from sublite_messages order by 1, "
      "lsn";
  Caught();
  EXPECT_EQ(Query(query), expected);
  // Lost and sent again, all or some of it.
  Kill(true);
  Caught();
  EXPECT_EQ(Query(query), expected);
}

TEST_F(PipelineStreamTest, AMessageThatIsSentAgainIsKeptOnce) {
  config_.publisher.messages = true;
  config_.publisher.status_interval = absl::ZeroDuration();
  // The message is committed at once, the transaction around it is not.
  publisher_.lookahead = 1;
  model_.Message(0, "p", "before");
  const FullXid xid = model_.Begin();
  InsertSome(xid, 1, 2, "v");
  model_.Message(0, "p", "between");
  model_.Commit(xid);
  for (const char kind : {'M', 'B', 'I'}) {
    EXPECT_THROW(Follow([&](FakeStream& stream) {
                   if (stream.last_kind() == kind) throw Killed();
                 }),
                 Killed);
    Kill();
  }
  Caught();
  EXPECT_THAT(Query("select content from sublite_messages order by lsn"),
              ElementsAre("b:6265666f7265", "b:6265747765656e"));
}

TEST_F(PipelineStreamTest, MessagesAreNotAskedForUnlessWanted) {
  model_.Message(0, "p", "x");
  Caught();
  EXPECT_FALSE(publisher_.streams.back().messages);
  EXPECT_EQ(Int("select count(*) from sublite_messages"), 0);
}

// ------------------------------------------------------------------- refusals

TEST_F(PipelineStreamTest, ARefusedTransactionIsSkippedOnRequest) {
  Write(
      "create trigger no before insert on t when new.v = 'no' "
      "begin select raise(abort, 'not here'); end");
  Insert(t_, {{"1", "good"}});
  const FullXid xid = model_.Begin();
  InsertSome(xid, 2, 2, "half of it");
  InsertSome(xid, 4, 1, "no");
  model_.Commit(xid);
  Insert(t_, {{"5", "behind it"}});
  for (int i = 0; i < 2; ++i) {
    const SessionEnd end = Follow();
    EXPECT_EQ(end.next, SessionEnd::Next::kWait) << end.status;
    EXPECT_THAT(end.status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("not here")));
    EXPECT_EQ(Compare(), "");
    EXPECT_EQ(Int("select count(*) from t where v in ('half of it', 'behind "
                  "it')"),
              0);
  }
  const auto lsn = Query(
      "select lsn from sublite_events where kind = 'refused' order by id desc "
      "limit 1");
  ASSERT_THAT(lsn, SizeIs(1));
  const Lsn begin_of_commit = model_.wal()[model_.wal().size() - 3].start;
  EXPECT_EQ(lsn[0].substr(2), begin_of_commit.ToString());
  // A request for something else changes nothing.
  Write(
      "insert into sublite_requests (kind, argument, at) values ('skip', "
      "'F/F', '')");
  EXPECT_EQ(Follow().next, SessionEnd::Next::kWait);
  Write("update sublite_requests set argument = '" + lsn[0].substr(2) + "'");
  EXPECT_EQ(Follow().next, SessionEnd::Next::kStop);
  EXPECT_THAT(Rows("t"),
              ElementsAre("i:0|t:before", "i:1|t:good", "i:5|t:behind it"));
  EXPECT_THAT(Events("skip"), SizeIs(1));
  EXPECT_EQ(Int("select count(*) from sublite_requests"), 0);
  EXPECT_EQ(Applied(), model_.end());
}

TEST_F(PipelineStreamTest, AStreamThatContradictsItselfEndsTheSession) {
  const std::vector<std::string> broken = {
      encode::Commit(Lsn(1), Lsn(2), PgTime()),
      encode::StreamStart(900, false),
      encode::Insert(4711, encode::Texts({"1"})),
      "I",
      "?",
      "",
  };
  for (const std::string& payload : broken) {
    bool pushed = false;
    const SessionEnd end = Follow([&](FakeStream& stream) {
      if (std::exchange(pushed, true)) return;
      stream.Push(encode::XLogData(Lsn(1), Lsn(1), PgTime(), payload));
    });
    EXPECT_FALSE(end.status.ok());
    EXPECT_EQ(end.next, SessionEnd::Next::kAgain);
    Insert(t_, {{"1", "v"}});
    Caught();
  }
  // A row of a relation that was never described, inside a transaction.
  bool pushed = false;
  const SessionEnd end = Follow([&](FakeStream& stream) {
    if (std::exchange(pushed, true)) return;
    model_.Noise(100);
    const Lsn lsn(model_.end().value() - 1);
    for (const std::string& payload :
         {encode::Begin(lsn, PgTime(), 900),
          encode::Insert(4711, encode::Texts({"1"}))}) {
      stream.Push(encode::XLogData(lsn, lsn, PgTime(), payload));
    }
  });
  EXPECT_THAT(end.status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("4711")));
  Caught();
}

}  // namespace
}  // namespace sublite::testing
