// Transactions that are open or prepared while a table that they wrote to is
// copied in chunks, and the binary stream meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/chunk_fixture.h"
#include "tests/support/model_publisher.h"

namespace sublite::testing {
namespace {

class PipelineChunkOpenTest
    : public ChunkFixture,
      public ::testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  bool prepared() const { return std::get<0>(GetParam()); }
  bool streamed() const { return std::get<1>(GetParam()); }

  void SetUp() override {
    ChunkFixture::SetUp();
    if (streamed()) publisher_.stream_per_mille = 1000;
    t_ = AddTens(6);
    other_ = AddTable("other", 'd', {"id int4 k"});
    Caught();
  }

  // Ahead, inside, across the border in both directions.
  FullXid Begin() {
    const FullXid xid = model_.Begin();
    EXPECT_TRUE(model_.Insert(xid, t_, {"15", "open"}));
    EXPECT_TRUE(model_.Insert(xid, t_, {"55", "open"}));
    EXPECT_TRUE(model_.Delete(xid, t_, RowOf(xid, t_, "20")));
    EXPECT_TRUE(model_.Update(xid, t_, RowOf(xid, t_, "10"), {"56", "moved"}));
    EXPECT_TRUE(model_.Update(xid, t_, RowOf(xid, t_, "60"), {"5", "moved"}));
    if (prepared()) model_.Prepare(xid, absl::StrCat("g", xid));
    return xid;
  }
  void End(FullXid xid, bool commit) {
    if (prepared()) {
      commit ? model_.CommitPrepared(xid) : model_.RollbackPrepared(xid);
    } else {
      commit ? model_.Commit(xid) : model_.Abort(xid);
    }
  }
  void Again() {
    Change([&](FullXid xid) {
      EXPECT_TRUE(model_.Truncate(xid, {t_}));
      for (int id = 10; id <= 60; id += 10)
        EXPECT_TRUE(model_.Insert(xid, t_, {std::to_string(id), "old"}));
    });
    Caught();
  }
  void Resync() {
    Write(
        "insert into sublite_requests (kind, argument, at) values ('resync', "
        "(select id from sublite_tables where pg_table = 't'), '')");
  }

  int t_ = 0;
  int other_ = 0;
  int others_ = 0;
};

TEST_P(PipelineChunkOpenTest, IsDecidedAtAnyMoment) {
  for (const bool commit : {true, false}) {
    for (const std::string begun : {"before", "20"}) {
      for (const std::string decided : {"20", "40", "60", "after"}) {
        SCOPED_TRACE(
            absl::StrCat(commit, ", begun ", begun, ", decided ", decided));
        Again();
        FullXid xid = 0;
        bool ended = false;
        if (begun == "before") {
          xid = Begin();
          Insert(other_, {{absl::StrCat(++others_)}});
          Caught();
        }
        Resync();
        Caught([&](FakeStream&) {
          EXPECT_EQ(Compare(), "");
          const std::string upto = Upto();
          if (xid == 0 && upto == begun) {
            xid = Begin();
            Insert(other_, {{absl::StrCat(++others_)}});
          } else if (xid != 0 && !ended && decided != "after" &&
                     !upto.empty() && std::stoi(upto) >= std::stoi(decided)) {
            End(xid, commit);
            ended = true;
          }
        });
        ASSERT_NE(xid, 0u);
        EXPECT_EQ(ended, decided != "after");
        if (!ended) {
          EXPECT_EQ(State("t"), "ready");
          End(xid, commit);
          Caught();
        }
        ExpectClean();
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(PipelineChunkOpenTest, IsDecidedAfterAKill) {
  for (const bool commit : {true, false}) {
    SCOPED_TRACE(commit);
    Again();
    Resync();
    FullXid xid = 0;
    EXPECT_THROW(Follow([&](FakeStream&) {
                   if (xid == 0 && Upto() == "20") {
                     xid = Begin();
                   } else if (xid != 0 && Upto() == "40") {
                     throw Killed();
                   }
                 }),
                 Killed);
    ASSERT_NE(xid, 0u);
    Kill();
    EXPECT_EQ(Upto(), "40");
    End(xid, commit);
    Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
    ExpectClean();
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, PipelineChunkOpenTest,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Bool()));

// A commit that waits for a standby is in the stream before any snapshot sees
// it.
class PipelineChunkLateTest : public ChunkFixture {};

TEST_F(PipelineChunkLateTest, WhatNobodySeesYetIsWaitedFor) {
  publisher_.synchronous_standby_names = "standby";
  publisher_.invisible_ends = false;
  const int t = AddTens(6);
  FullXid late = 0;
  int reads = 0;
  Caught([&](FakeStream& stream) {
    EXPECT_EQ(Compare(), "");
    if (late == 0 && Upto() == "20") {
      late = model_.Begin();
      EXPECT_TRUE(model_.Insert(late, t, {"15", "late"}));
      EXPECT_TRUE(model_.Insert(late, t, {"35", "late"}));
      EXPECT_TRUE(model_.Delete(late, t, RowOf(late, t, "50")));
      model_.Commit(late, false);
    } else if (late != 0 && stream.idle() && ++reads == 20) {
      // It tries, and takes nothing.
      EXPECT_EQ(Upto(), "20");
      model_.MakeVisible(late);
    }
  });
  EXPECT_GE(reads, 20);
  ExpectClean();
}

// In binary form a key is compared too; a table that needs text is noticed
// before its first row.
TEST_F(PipelineChunkLateTest, InABinaryStream) {
  config_.publisher.binary = true;
  const int t = AddTable("t", 'd', {"id int8 k", "v text x"});
  std::vector<ModelRow> rows;
  for (int id = -30; id <= 30; id += 10)
    rows.push_back({std::to_string(id), "old"});
  Insert(t, rows);
  At(Moment::kDuring, "0", [&] {
    Update(t, "-20", {"25", "moved"});
    Update(t, "30", {"-25", "moved"});
    Delete(t, "-10");
    Insert(t, {{"-9223372036854775808", "new"}, {"5", "new"}});
  });
  EXPECT_TRUE(publisher_.streams.back().binary);

  std::vector<bool> external;
  PublishedTable table =
      MakeTable("public", "u", 'd', {"id int4 k", "r text"}, &external);
  table.columns[1].type = 2205;
  table.columns[1].type_text = "regclass";
  const int u = model_.AddTable(std::move(table), external);
  Insert(u, {{"10", "pg_class"}, {"20", "pg_type"}, {"30", "pg_proc"}});
  At(Moment::kBetween, "20", [&] { Update(u, "10", {"10", "pg_am"}); });
  EXPECT_FALSE(publisher_.streams.back().binary);
}

}  // namespace
}  // namespace sublite::testing
