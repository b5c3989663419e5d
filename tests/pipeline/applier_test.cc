// Positions, commits and syncs of one Applier, with a clock of the test's own.
#include "applier/applier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/encode.h"
#include "tests/support/pg_decoder.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kInterval = absl::Seconds(10);

class ApplierTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    a_ = AddTable("a", 'd', {"id int4 k", "v int4"});
    b_ = AddTable("b", 'd', {"id int4 k", "v int4"});
    hidden_ = AddTable("unpublished", 'd', {"id int4 k"});
    model_.tables()[hidden_].published = false;
    Insert(a_, {{"1", "50"}, {"2", "50"}});
    Insert(b_, {{"1", "0"}, {"2", "0"}});
    Caught();
    Start();
  }

  void TearDown() override {
    applier_.reset();
    PipelineFixture::TearDown();
  }

  // A connection from the file's position.
  void Start(int stream_per_mille = 0) {
    applier_.reset();
    OpenReplica();
    start_ = *replica_->state().applied;
    copy_ = std::make_unique<TableCopy>(
        *replica_, publisher_, config_, memory_.ended, [] { return false; },
        [](const ReplicaTable&, std::int64_t, double) {});
    ApplierOptions options;
    options.protocol_version = 3;
    options.status_interval = kInterval;
    options.spill.directory = ::testing::TempDir();
    applier_ =
        std::make_unique<Applier>(*replica_, *copy_, memory_.ended, options);
    DecoderOptions decoder;
    decoder.restart = publisher_.slot.restart;
    decoder.start = start_;
    decoder.two_phase = true;
    decoder.two_phase_at = publisher_.slot.two_phase_at;
    decoder.streaming = Streaming::kOn;
    decoder.stream_per_mille = stream_per_mille;
    decoder_ =
        std::make_unique<PgDecoder>(model_, decoder, &publisher_.random());
    // What a session does when it connects.
    Tick(false);
    applier_->TakeConfirm();
  }

  void Consume(const std::string& frame) {
    ASSERT_OK(applier_->Consume(frame, now_));
  }
  void Tick(bool more) { ASSERT_OK(applier_->Tick(now_, more)); }
  void Keepalive(Lsn end, bool reply = false) {
    Consume(encode::Keepalive(end, PgTime(), reply));
  }

  // The frames of all that the model has and that were not yet taken.
  std::vector<std::string> Frames() {
    while (decoder_->Step()) continue;
    std::vector<std::string> frames;
    for (const PgDecoder::Output& output : decoder_->output()) {
      frames.push_back(
          encode::XLogData(output.at, model_.end(), PgTime(), output.payload));
    }
    decoder_->output().clear();
    return frames;
  }

  // Moves an amount from a row of `a` to one of `b`: the sum of all stays.
  FullXid Move(int amount, bool commit = true) {
    const FullXid xid = model_.Begin();
    for (const auto& [table, sign] : {std::pair(a_, -1), std::pair(b_, 1)}) {
      const int row = RowOf(xid, table, "1");
      const int value = std::stoi(*model_.tables()[table].rows[row].values[1]);
      EXPECT_TRUE(model_.Update(xid, table, row,
                                {"1", std::to_string(value + sign * amount)}));
    }
    if (commit) model_.Commit(xid);
    return xid;
  }

  std::int64_t Sum() {
    return Int("select (select sum(v) from a) + (select sum(v) from b)");
  }

  // The position in what would be left of the file after a power loss now.
  Lsn Surviving() {
    const std::string copy = ::testing::TempDir() + "/surviving.db";
    vfs_.SaveDurable(path_, copy);
    ReplicaReader reader(copy);
    EXPECT_THAT(CheckSound(reader), IsEmpty());
    return reader.AppliedPos();
  }

  int a_ = 0;
  int b_ = 0;
  int hidden_ = 0;
  Lsn start_;
  absl::Time now_ = absl::FromUnixSeconds(1700000000);
  std::unique_ptr<TableCopy> copy_;
  std::unique_ptr<Applier> applier_;
  std::unique_ptr<PgDecoder> decoder_;
};

TEST_F(ApplierTest, NothingIsCommittedInsideATransaction) {
  for (int i = 1; i <= 5; ++i) Move(i);
  const FullXid open = Move(6, false);
  model_.Insert(open, a_, {"9", "0"});
  model_.Commit(open);
  int commits = 0;
  Lsn last = Applied();
  for (const std::string& frame : Frames()) {
    Consume(frame);
    Tick(false);
    now_ += absl::Milliseconds(50);
    EXPECT_EQ(Sum(), 100);
    EXPECT_EQ(Compare(), "");
    if (Applied() != last) ++commits;
    last = Applied();
  }
  // Each on its own, since nothing waited behind it.
  EXPECT_EQ(commits, 6);
  EXPECT_EQ(last, model_.end());
}

TEST_F(ApplierTest, TransactionsShareACommitWhileMoreWait) {
  for (int i = 0; i < 20; ++i) Move(1);
  const std::vector<std::string> frames = Frames();
  const std::int64_t writes = vfs_.writes();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Consume(frames[i]);
    Tick(i + 1 < frames.size());
    now_ += absl::Milliseconds(1);
    EXPECT_EQ(Sum(), 100);
    EXPECT_EQ(Applied(), i + 1 < frames.size() ? start_ : model_.end());
  }
  // Rows and position are a handful of pages, once.
  EXPECT_LT(vfs_.writes() - writes, 40);
}

TEST_F(ApplierTest, ABacklogIsCommittedNowAndThen) {
  for (int i = 0; i < 20; ++i) Move(1);
  int commits = 0;
  Lsn last = Applied();
  for (const std::string& frame : Frames()) {
    Consume(frame);
    Tick(true);
    now_ += absl::Milliseconds(20);
    EXPECT_EQ(Sum(), 100);
    if (Applied() != last) ++commits;
    last = Applied();
  }
  // 100 frames in 2 seconds; a commit each fifth of a second.
  EXPECT_GE(commits, 5);
  EXPECT_LE(commits, 10);
}

TEST_F(ApplierTest, WhatIsConfirmedSurvives) {
  for (int i = 0; i < 10; ++i) {
    Move(1);
    const FullXid prepared = model_.Begin();
    model_.Insert(prepared, a_, {std::to_string(100 + i), "0"});
    model_.Prepare(prepared, "g" + std::to_string(i));
    Move(1);
    model_.CommitPrepared(prepared);
  }
  int confirmations = 0;
  for (const std::string& frame : Frames()) {
    Consume(frame);
    Tick(publisher_.random()() % 3 == 0);
    now_ += absl::Milliseconds(300);
    const Positions positions = applier_->positions();
    EXPECT_LE(positions.flushed, positions.applied);
    EXPECT_EQ(positions.applied, Applied());
    EXPECT_LE(positions.flushed, Surviving());
    if (applier_->TakeConfirm()) ++confirmations;
  }
  EXPECT_GE(confirmations, 10);
}

TEST_F(ApplierTest, SyncsWhenAnIntervalIsOver) {
  Move(1);
  for (const std::string& frame : Frames()) Consume(frame);
  const std::int64_t syncs = vfs_.syncs();
  Tick(false);
  EXPECT_EQ(Applied(), model_.end());
  EXPECT_EQ(applier_->positions().applied, model_.end());
  EXPECT_EQ(applier_->positions().flushed, start_);
  EXPECT_EQ(vfs_.syncs(), syncs);
  now_ += kInterval - absl::Milliseconds(1);
  Tick(false);
  EXPECT_EQ(applier_->positions().flushed, start_);
  EXPECT_FALSE(applier_->TakeConfirm());
  now_ += absl::Milliseconds(1);
  Tick(false);
  EXPECT_EQ(applier_->positions().flushed, model_.end());
  EXPECT_EQ(vfs_.syncs(), syncs + 1);
  EXPECT_TRUE(applier_->TakeConfirm());
  EXPECT_FALSE(applier_->TakeConfirm());
}

TEST_F(ApplierTest, SyncsAtAPrepare) {
  const FullXid xid = model_.Begin();
  model_.Insert(xid, a_, {"3", "0"});
  model_.Prepare(xid, "g");
  for (const std::string& frame : Frames()) {
    EXPECT_EQ(applier_->positions().flushed, start_);
    Consume(frame);
    Tick(false);
  }
  EXPECT_EQ(applier_->positions().flushed, model_.end());
  EXPECT_EQ(Surviving(), model_.end());
  EXPECT_TRUE(applier_->TakeConfirm());
}

TEST_F(ApplierTest, SyncsWhenThePublisherAsks) {
  Move(1);
  for (const std::string& frame : Frames()) Consume(frame);
  Tick(false);
  EXPECT_EQ(applier_->positions().flushed, start_);
  Keepalive(model_.end(), true);
  Tick(false);
  EXPECT_EQ(applier_->positions().flushed, model_.end());
  EXPECT_TRUE(applier_->TakeConfirm());
  // With nothing new an answer is due all the same, but nothing is done for it.
  const std::int64_t work = vfs_.syncs() + vfs_.writes();
  Keepalive(model_.end(), true);
  Tick(false);
  EXPECT_TRUE(applier_->TakeConfirm());
  EXPECT_EQ(vfs_.syncs() + vfs_.writes(), work);
}

// Case C073.
TEST_F(ApplierTest, AKeepaliveCountsBetweenTransactionsOnly) {
  Move(1);
  const Lsn commit_end = model_.end();
  model_.Noise(1000);
  const std::vector<std::string> frames = Frames();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Consume(frames[i]);
    Tick(false);
    // One that a confused publisher sends too early.
    if (i + 1 < frames.size()) Keepalive(model_.end(), true);
    Tick(false);
    if (i + 1 < frames.size()) {
      EXPECT_EQ(applier_->positions().applied, start_);
      EXPECT_EQ(applier_->positions().flushed, start_);
    }
  }
  EXPECT_EQ(applier_->positions().applied, commit_end);
  Keepalive(model_.end(), true);
  Tick(false);
  EXPECT_EQ(applier_->positions().flushed, model_.end());
  EXPECT_EQ(Applied(), model_.end());
  // It never goes back.
  Keepalive(Lsn(5), true);
  Tick(false);
  EXPECT_EQ(applier_->positions().flushed, model_.end());
}

// What was streamed and is undecided comes again from any position before its
// commit, so it holds nothing up.
TEST_F(ApplierTest, AKeepaliveInAStreamBlock) {
  Start(1000);
  const FullXid xid = model_.Begin();
  model_.Insert(xid, a_, {"3", "0"});
  const std::vector<std::string> frames = Frames();
  ASSERT_THAT(frames, SizeIs(4));  // start, relation, insert, stop
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Consume(frames[i]);
    Keepalive(model_.end(), true);
    Tick(false);
    EXPECT_EQ(Applied(), i + 1 < frames.size() ? start_ : model_.end());
  }
  model_.Commit(xid);
  for (const std::string& frame : Frames()) Consume(frame);
  Tick(false);
  EXPECT_EQ(Compare(), "");
}

// ------------------------------------------------------------ flash life

TEST_F(ApplierTest, WithNothingToDoNothingIsWritten) {
  const std::int64_t work = vfs_.syncs() + vfs_.writes();
  for (int i = 0; i < 5; ++i) {
    now_ += kInterval;
    Keepalive(start_);
    Tick(false);
  }
  EXPECT_EQ(vfs_.syncs() + vfs_.writes(), work);
}

// Cases C054, C072: WAL that is not for us.
TEST_F(ApplierTest, EmptyTransactionsAreNotWrittenOneByOne) {
  const std::int64_t work = vfs_.syncs() + vfs_.writes();
  for (int i = 0; i < 200; ++i) {
    const FullXid xid = model_.Begin();
    model_.Insert(xid, hidden_, {std::to_string(i)});
    model_.Commit(xid);
    // As servers before 15 send them.
    const WalRecord commit = model_.wal().back();
    for (const std::string& payload :
         {encode::Begin(commit.start, PgTime(), static_cast<Xid>(xid)),
          encode::Commit(commit.start, commit.end, PgTime())}) {
      Consume(encode::XLogData(commit.start, commit.end, PgTime(), payload));
      Tick(false);
    }
    now_ += absl::Milliseconds(10);
  }
  EXPECT_EQ(vfs_.syncs() + vfs_.writes(), work);
  EXPECT_EQ(Applied(), start_);
  // Within an interval the position moves over them.
  now_ += kInterval;
  Tick(false);
  EXPECT_EQ(Applied(), model_.end());
  EXPECT_EQ(applier_->positions().flushed, model_.end());
  EXPECT_LT(vfs_.syncs() + vfs_.writes(), work + 20);
}

TEST_F(ApplierTest, IdleWalIsPassedWithinAnInterval) {
  for (int i = 0; i < 10; ++i) {
    model_.Noise(100000);
    Keepalive(model_.end());
    now_ += absl::Seconds(1);
    Tick(false);
  }
  now_ += kInterval;
  Tick(false);
  EXPECT_EQ(Applied(), model_.end());
  EXPECT_EQ(applier_->positions().flushed, model_.end());
}

// ------------------------------------------------------------------ trouble

// Case C083: whole transactions are passed over by their position.
TEST_F(ApplierTest, WhatIsSentAgainIsNotAppliedAgain) {
  for (int i = 1; i <= 3; ++i) Move(i);
  const std::vector<std::string> frames = Frames();
  for (int round = 0; round < 2; ++round) {
    for (const std::string& frame : frames) {
      Consume(frame);
      Tick(false);
      EXPECT_EQ(Compare(), "");
    }
  }
  EXPECT_EQ(Applied(), model_.end());
}

// The kernel forgets what it could not write, and the next sync says OK.
TEST_F(ApplierTest, ASyncThatSucceedsAfterOneThatFailedProvesNothing) {
  Move(1);
  for (const std::string& frame : Frames()) Consume(frame);
  Tick(false);
  vfs_.SetFault({FaultVfs::kSync, 1, SQLITE_IOERR_FSYNC, false});
  now_ += kInterval;
  EXPECT_FALSE(applier_->Tick(now_, false).ok());
  EXPECT_TRUE(vfs_.fault_hit());
  vfs_.ClearFault();
  EXPECT_EQ(applier_->positions().flushed, start_);
  // The session ends and another one begins, twice.
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(replica_->Reload());
    Start();
    now_ += kInterval;
    EXPECT_OK(applier_->Tick(now_, false));
    EXPECT_LE(applier_->positions().flushed, Surviving());
    Move(1);
    for (const std::string& frame : Frames()) Consume(frame);
    Tick(false);
  }
  now_ += kInterval;
  Tick(false);
  EXPECT_EQ(applier_->positions().flushed, model_.end());
  EXPECT_EQ(Surviving(), model_.end());
}

// --------------------------------------------------------------- the ends

TEST_F(ApplierTest, FinishKeepsWhatIsWhole) {
  Move(1);
  const Lsn whole = model_.end();
  for (const std::string& frame : Frames()) Consume(frame);
  Tick(true);
  EXPECT_EQ(Applied(), start_);
  ASSERT_OK(applier_->Finish(now_));
  EXPECT_EQ(Applied(), whole);
  EXPECT_EQ(applier_->positions().flushed, whole);
  EXPECT_EQ(Surviving(), whole);
}

TEST_F(ApplierTest, FinishLeavesAHalfTransaction) {
  Move(1);
  Move(1);
  const std::vector<std::string> frames = Frames();
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    Consume(frames[i]);
    Tick(true);
  }
  ASSERT_OK(applier_->Finish(now_));
  EXPECT_EQ(Applied(), start_);
  EXPECT_EQ(Sum(), 100);
  replica_->Rollback();
  ASSERT_OK(replica_->Reload());
  Start();
  for (const std::string& frame : Frames()) Consume(frame);
  Tick(false);
  EXPECT_EQ(Compare(), "");
  EXPECT_EQ(Applied(), model_.end());
}

// Whatever was lost is sent again, and what was kept is not applied again.
TEST_F(ApplierTest, PowerIsLostAfterAnyFrame) {
  for (int i = 0; i < 3; ++i) Move(i + 1);
  const std::size_t frames = Frames().size();
  for (std::size_t cut = 0; cut <= frames; ++cut) {
    SCOPED_TRACE(cut);
    Start();
    std::vector<std::string> again = Frames();
    for (std::size_t i = 0; i < cut && i < again.size(); ++i) {
      Consume(again[i]);
      Tick(i % 2 == 0);
    }
    const Lsn confirmed = applier_->positions().flushed;
    applier_.reset();
    copy_.reset();
    Kill(cut % 2 == 0);
    EXPECT_GE(Applied(), confirmed);
    EXPECT_EQ(Sum(), 100);
    EXPECT_EQ(Compare(), "");
  }
  Start();
  for (const std::string& frame : Frames()) Consume(frame);
  Tick(false);
  EXPECT_EQ(Compare(), "");
  EXPECT_EQ(Applied(), model_.end());
}

// A reader that stays in its transaction sees one state.
TEST_F(ApplierTest, AReaderKeepsItsState) {
  ReplicaReader reader(path_);
  reader.Begin();
  EXPECT_THAT(reader.Rows("b"), ElementsAre("i:1|i:0", "i:2|i:0"));
  Move(7);
  for (const std::string& frame : Frames()) Consume(frame);
  Tick(false);
  EXPECT_THAT(Rows("b"), ElementsAre("i:1|i:7", "i:2|i:0"));
  EXPECT_THAT(reader.Rows("b"), ElementsAre("i:1|i:0", "i:2|i:0"));
  reader.End();
  EXPECT_THAT(reader.Rows("b"), ElementsAre("i:1|i:7", "i:2|i:0"));
}

}  // namespace
}  // namespace sublite::testing
