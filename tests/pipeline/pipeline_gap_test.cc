// When the stream cannot be followed: everything is copied beside the old rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PipelineGapTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    t_ = AddTable("t", 'd', {"id int4 k"});
    other_ = AddTable("other", 'd', {"id int4 k"});
    Insert(t_, {{"1"}});
    Insert(other_, {{"1"}});
    Caught();
  }

  // After `trouble`, and with changes that are not in the stream.
  void ExpectGap(const std::string& text) {
    SCOPED_TRACE(text);
    const FullXid xid = model_.Begin();
    EXPECT_TRUE(model_.Insert(xid, t_, {std::to_string(++next_)}));
    EXPECT_TRUE(model_.Insert(xid, other_, {std::to_string(next_)}));
    model_.Commit(xid);
    const auto gaps = Events("gap").size();
    const std::size_t before = Rows("t").size();
    publisher_.on_read_row = [&](const std::string&, int) {
      // Readers keep the old rows until all the new ones are there.
      EXPECT_THAT(Rows("t"), SizeIs(before));
      EXPECT_THAT(Rows("other"), SizeIs(before));
      return absl::OkStatus();
    };
    Caught();
    publisher_.on_read_row = nullptr;
    ASSERT_THAT(Events("gap"), SizeIs(gaps + 1));
    EXPECT_THAT(Events("gap").back(), HasSubstr(text));
    EXPECT_GT(Rows("t").size(), before);
    EXPECT_EQ(Int("select consistent from sublite_status"), 1);
  }

  int t_ = 0;
  int other_ = 0;
  int next_ = 1;
};

TEST_F(PipelineGapTest, TheSlotIsGone) {
  publisher_.slot = FakeSlot();
  ExpectGap("is gone");
}

TEST_F(PipelineGapTest, TheSlotWasInvalidated) {
  publisher_.slot.state.lost = true;
  publisher_.slot.state.lost_reason = "wal_removed";
  ExpectGap("wal_removed");
  EXPECT_THAT(publisher_.dropped_slots, SizeIs(1));
}

// Cases C075, C076: somebody else advanced it, or the file is older.
TEST_F(PipelineGapTest, TheSlotHasMovedPastTheFile) {
  Insert(t_, {{"100"}});
  Insert(other_, {{"100"}});
  publisher_.slot.state.confirmed_flush = model_.end();
  ExpectGap("restored or cloned");
}

// Case C074: exactly at the position is no gap, one byte past it is one.
TEST_F(PipelineGapTest, ThePositionIsTheEndOfTheTransaction) {
  EXPECT_EQ(publisher_.slot.state.confirmed_flush, Applied());
  Insert(t_, {{"100"}});
  Insert(other_, {{"100"}});
  Kill();
  Caught();
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:100"));
  publisher_.slot.state.confirmed_flush = Lsn(Applied().value() + 1);
  ExpectGap("restored or cloned");
}

TEST_F(PipelineGapTest, AnotherPublisher) {
  publisher_.identity.system_identifier = "42";
  ExpectGap("another one");
  // What it has prepared is not what the old one had.
  EXPECT_EQ(Int("select source from sublite_state"), 1);
}

TEST_F(PipelineGapTest, ThePublisherWasRestoredToAnEarlierTime) {
  Kill();
  Write("update sublite_state set applied_pos = applied_pos + 1000000");
  ExpectGap("restored to an earlier time");
}

TEST_F(PipelineGapTest, TheFileIsNewAndTheSlotIsThere) {
  replica_.reset();
  for (const char* end : {"", "-wal", "-shm"}) {
    std::remove((path_ + end).c_str());
  }
  vfs_.Reset();
  Caught();
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("holds nothing of it")));
  EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
}

TEST_F(PipelineGapTest, PreparedWorkOfTheOldSlotIsForgotten) {
  const FullXid xid = model_.Begin();
  EXPECT_TRUE(model_.Insert(xid, t_, {"50"}));
  model_.Prepare(xid, "g");
  Caught();
  EXPECT_EQ(Int("select prepared from sublite_status"), 1);
  publisher_.slot = FakeSlot();
  // The new slot waits until it is decided.
  ExpectGap("is gone");
  EXPECT_EQ(Int("select prepared from sublite_status"), 0);
}

TEST_F(PipelineGapTest, AKillWhileEverythingIsCopied) {
  // Else the power takes the old rows too: nothing has been confirmed yet.
  ASSERT_OK(replica_->Sync());
  publisher_.slot = FakeSlot();
  Insert(t_, {{"2"}});
  Insert(other_, {{"2"}});
  for (const bool power : {false, true}) {
    // The first table is there by then, and stays unless the power goes.
    int reads = power ? 1 : 0;
    publisher_.on_read_table = [&](const std::string&) -> absl::Status {
      if (++reads == 2) throw Killed();
      return absl::OkStatus();
    };
    EXPECT_THROW(RunSession(), Killed);
    Kill(power);
    EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
    EXPECT_THAT(Rows("other"), ElementsAre("i:1"));
  }
  publisher_.on_read_table = nullptr;
  Caught();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:2"));
}

// Tables with keys to compare, with others, and without a key: all are copied
// beside the old rows, followed there, and shown at once, whatever happens
// meanwhile. Until then readers have the old rows, and the old position.
TEST_F(PipelineGapTest, AllAreShownAtOnce) {
  const int text = AddTable("named", 'd', {"id text k", "n int4"});
  const int heap = AddTable("heap", 'f', {"a int4", "b text"});
  const int index = AddTable("indexed", 'i', {"k int4 i", "v text"});
  Insert(text, {{"a", "1"}, {"b", "1"}});
  Insert(heap, {{"1", "x"}, {"1", "x"}});
  Insert(index, {{"1", "x"}, {"2", "x"}});
  Caught();
  const auto all = [&] {
    return Query(
        "select 't' as t, id, '' from t union all select 'other', id, '' from "
        "other union all select 'named', id, n from named union all select "
        "'heap', a, b from heap union all select 'indexed', k, v from indexed "
        "order by 1, 2, 3");
  };
  const std::vector<std::string> before = all();
  const std::string position =
      Query("select applied_lsn || consistent from sublite_status")[0];
  publisher_.slot = FakeSlot();
  config_.replica.copy_chunk_rows = 1;
  Insert(t_, {{"2"}, {"3"}, {"4"}});
  int changes = 0;
  const auto change = [&] {
    const std::string n = std::to_string(++changes);
    const FullXid xid = model_.Begin();
    EXPECT_TRUE(model_.Insert(xid, t_, {std::to_string(100 + changes)}));
    EXPECT_TRUE(model_.Update(xid, text, RowOf(xid, text, "a"), {"a", n}));
    EXPECT_TRUE(model_.Insert(xid, text, {"c" + n, n}));
    EXPECT_TRUE(model_.Update(xid, index, RowOf(xid, index, "1"), {"1", n}));
    EXPECT_TRUE(model_.Delete(xid, heap, RowOf(xid, heap, "1")));
    EXPECT_TRUE(model_.Insert(xid, heap, {"1", "y"}));
    model_.Commit(xid);
  };
  // Killed at each read of a table, and once more when the stream has begun.
  int reads = 0;
  for (int kill_at = 1; kill_at <= 8; ++kill_at) {
    SCOPED_TRACE(kill_at);
    reads = 0;
    publisher_.on_read_table = [&](const std::string&) -> absl::Status {
      EXPECT_EQ(all(), before);
      if (++reads == 2) throw Killed();
      change();
      return absl::OkStatus();
    };
    try {
      Follow();
    } catch (const Killed&) {
    }
    const bool shown = Int("select shown_pos is null from sublite_state") != 0;
    Kill();
    if (shown) break;
    EXPECT_EQ(all(), before);
    EXPECT_EQ(Query("select applied_lsn || consistent from sublite_status")[0],
              position);
  }
  publisher_.on_read_table = nullptr;
  Caught();
  EXPECT_GT(changes, 5);
  EXPECT_EQ(Int("select consistent from sublite_status"), 1);
  EXPECT_EQ(Applied(), model_.end());
  EXPECT_THAT(Events("gap"), SizeIs(1));
  EXPECT_THAT(Query("select * from sublite_copies"), IsEmpty());
  EXPECT_EQ(Int("select missing_rows + replaced_rows from sublite_status"), 0);
}

// The slot is lost once more before all tables are there.
TEST_F(PipelineGapTest, AGapInAGap) {
  Caught();
  const std::string position =
      Query("select applied_lsn from sublite_status")[0];
  for (int i = 0; i < 2; ++i) {
    publisher_.slot = FakeSlot();
    Insert(t_, {{std::to_string(10 + i)}});
    int reads = 0;
    publisher_.on_read_table = [&](const std::string&) -> absl::Status {
      if (++reads == 2) throw Killed();
      return absl::OkStatus();
    };
    EXPECT_THROW(RunSession(), Killed);
    Kill();
    EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
    EXPECT_EQ(Query("select applied_lsn from sublite_status")[0], position);
  }
  publisher_.on_read_table = nullptr;
  Caught();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:10", "i:11"));
  EXPECT_THAT(Events("gap"), SizeIs(2));
}

// What makes gaps again and again is not mended by copying each time.
TEST_F(PipelineGapTest, TooManyGapsAreWaitedOut) {
  for (int i = 0; i < 5; ++i) {
    publisher_.slot = FakeSlot();
    Insert(t_, {{std::to_string(10 + i)}});
    Caught();
  }
  EXPECT_THAT(Events("gap"), SizeIs(5));
  publisher_.slot = FakeSlot();
  Insert(t_, {{"20"}});
  for (int i = 0; i < 2; ++i) {
    const SessionEnd end = Follow();
    EXPECT_EQ(end.next, SessionEnd::Next::kAgain);
    EXPECT_THAT(end.status, StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("5 gaps within the last hour")));
  }
  EXPECT_FALSE(publisher_.slot.state.exists);
  EXPECT_THAT(Rows("t"), SizeIs(6));
  EXPECT_THAT(Events("gap"), SizeIs(5));
  // A person may ask for it; and time goes by.
  Write(
      "insert into sublite_requests (kind, argument, at) values ('resync', "
      "'*', '')");
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(7));
  publisher_.slot = FakeSlot();
  Insert(t_, {{"21"}});
  Write("update sublite_events set at = '2000' || substr(at, 5)");
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(8));
}

// One that cannot be copied does not keep the others back.
TEST_F(PipelineGapTest, OneTableFailsMeanwhile) {
  Caught();
  publisher_.slot = FakeSlot();
  Insert(t_, {{"2"}});
  Insert(other_, {{"2"}});
  publisher_.on_read_table = [&](const std::string& table) -> absl::Status {
    return table == "public.other" ? absl::FailedPreconditionError("no")
                                   : absl::OkStatus();
  };
  Follow();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:2"));
  EXPECT_THAT(Rows("other"), ElementsAre("i:1"));
  EXPECT_EQ(Int("select consistent from sublite_status"), 0);
  EXPECT_EQ(Int("select shown_pos is null from sublite_state"), 1);
}

TEST_F(PipelineGapTest, APersonMayWantToDecide) {
  config_.replica.on_gap = OnGap::kStop;
  publisher_.slot = FakeSlot();
  for (int i = 0; i < 2; ++i) {
    const SessionEnd end = Follow();
    EXPECT_EQ(end.next, SessionEnd::Next::kNeedsPerson);
    EXPECT_THAT(end.status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("sublite resync")));
  }
  EXPECT_FALSE(publisher_.slot.state.exists);
  Write(
      "insert into sublite_requests (kind, argument, at) values ('resync', "
      "'*', '')");
  Caught();
  EXPECT_EQ(Int("select count(*) from sublite_requests"), 0);
}

// The slot of another program, or of another database, is left alone.
TEST_F(PipelineGapTest, ASlotThatIsNotOurs) {
  publisher_.slot.state.plugin = "test_decoding";
  EXPECT_EQ(Follow().next, SessionEnd::Next::kNeedsPerson);
  publisher_.slot.state.plugin = "pgoutput";
  publisher_.slot.state.database = "postgres";
  EXPECT_EQ(Follow().next, SessionEnd::Next::kNeedsPerson);
  publisher_.slot.state.database = "model";
  publisher_.slot.state.active = true;
  EXPECT_EQ(Follow().next, SessionEnd::Next::kAgain);
  publisher_.slot.state.active = false;
  publisher_.missing_publications = {"p"};
  EXPECT_EQ(Follow().next, SessionEnd::Next::kNeedsPerson);
  publisher_.missing_publications.clear();
  Caught();
  EXPECT_THAT(publisher_.dropped_slots, IsEmpty());
}

}  // namespace
}  // namespace sublite::testing
