// Copies in chunks beside the stream: what is interrupted goes on, what cannot
// be followed begins anew, and readers see whole tables only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/pipeline/chunk_fixture.h"
#include "tests/support/model_publisher.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;

class PipelineChunkTest : public ChunkFixture {
 protected:
  static constexpr Moment kMoments[] = {Moment::kBetween, Moment::kBefore,
                                        Moment::kDuring};

  // The reads' `after`, since the last question.
  std::vector<std::string> TakeRanges() {
    std::vector<std::string> after;
    for (const CopyRequest& range : std::exchange(publisher_.requests, {})) {
      after.push_back(range.limit == 0 ? "all"
                                       : absl::StrJoin(range.after, ","));
    }
    return after;
  }
  void Resync() {
    Write(
        "insert into sublite_requests (kind, argument, at) values ('resync', "
        "(select id from sublite_tables where pg_table = 't'), '')");
  }
  // Longer than what is kept in its row, so it is not sent unless it changes.
  static std::string Long(char letter) {
    return std::string(kExternalBytes + 10, letter);
  }
};

// ------------------------------------------------------------ how much is read

class PipelineChunkSizeTest : public PipelineChunkTest,
                              public ::testing::WithParamInterface<int> {};

TEST_P(PipelineChunkSizeTest, EveryRowIsReadOnce) {
  const int rows = GetParam();
  AddTens(rows);
  int asked = 0;
  publisher_.on_read_row = [&](const std::string&, int) {
    ++asked;
    return absl::OkStatus();
  };
  Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
  ExpectClean();
  EXPECT_EQ(Int("select count(*) from t"), rows);
  EXPECT_EQ(Int("select rows_copied from sublite_tables"), rows);
  // The last chunk is the first one that is not full.
  EXPECT_THAT(publisher_.requests, SizeIs(rows / 2 + 1));
  EXPECT_EQ(asked, rows + rows / 2 + 1);  // and the end of each chunk
}

INSTANTIATE_TEST_SUITE_P(Rows, PipelineChunkSizeTest,
                         ::testing::Values(0, 1, 2, 3, 4, 7));

TEST_F(PipelineChunkTest, ReadsInTheOrderOfTheKey) {
  const int t = AddTable("t", 'd', {"a int4 k", "b int8 k"});
  Insert(t, {{"10", "-1"},
             {"9", "9223372036854775807"},
             {"-10", "0"},
             {"9", "-9223372036854775808"},
             {"-9", "0"}});
  Caught();
  ExpectClean();
  EXPECT_THAT(TakeRanges(), ElementsAre("", "-9,0", "9,9223372036854775807"));
}

TEST_F(PipelineChunkTest, OtherKeysAreReadWhole) {
  const int t = AddTable("t", 'd', {"id text k"});
  const int u = AddTable("u", 'i', {"id int4 k", "v int4 i"});
  Insert(t, {{"a"}, {"b"}, {"c"}});
  Insert(u, {{"1", "1"}, {"2", "2"}, {"3", "3"}});
  Caught();
  ExpectClean();
  EXPECT_THAT(TakeRanges(), ElementsAre("all", "all"));
}

// --------------------------------------------------------------- interruptions

TEST_F(PipelineChunkTest, ACutGoesOnBehindTheLastChunk) {
  const int t = AddTens(7);
  const SessionEnd end = Follow([&](FakeStream& stream) {
    if (Upto() == "40") stream.Cut(0);
  });
  EXPECT_EQ(end.next, SessionEnd::Next::kAgain);
  EXPECT_THAT(TakeRanges(), ElementsAre("", "20"));
  EXPECT_EQ(State("t"), "copying");
  EXPECT_EQ(Int("select consistent from sublite_status"), 0);
  Update(t, "10", {"10", "changed meanwhile"});
  Delete(t, "20");
  Insert(t, {{"15", "new"}, {"45", "new"}});
  Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
  EXPECT_THAT(TakeRanges(), ElementsAre("40", "50", "70"));
  ExpectClean();
}

TEST_F(PipelineChunkTest, AKillInAChunkGoesOnBehindTheOneBefore) {
  const int t = AddTens(7);
  Caught();
  for (const bool power : {false, true}) {
    SCOPED_TRACE(power);
    Resync();
    publisher_.on_read_row = [&](const std::string&, int row) {
      if (Upto() == "40" && row == 1) throw Killed();
      return absl::OkStatus();
    };
    EXPECT_THROW(Follow(), Killed);
    publisher_.on_read_row = nullptr;
    Kill(power);
    EXPECT_EQ(TakeRanges().back(), "40");
    // With the power goes what was not synced.
    const std::string upto = Upto();
    EXPECT_TRUE(power || upto == "40") << upto;
    Update(t, "10", {"10", absl::StrCat("changed ", power)});
    Update(t, "50", {"50", absl::StrCat("changed ", power)});
    Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
    EXPECT_EQ(TakeRanges().front(), upto);
    ExpectClean();
  }
}

TEST_F(PipelineChunkTest, AKillOfACompleteCopyReadsNothingAgain) {
  const int t = AddTens(3);
  publisher_.idle_keepalives = false;
  bool changed = false;
  publisher_.on_read_row = [&](const std::string&, int row) {
    // The chunk's position lies behind what the stream has brought.
    if (Upto() == "20" && row == 0 && !std::exchange(changed, true))
      Update(t, "10", {"10", "seen by nobody"});
    return absl::OkStatus();
  };
  publisher_.on_read_table = [&](const std::string&) {
    if (Upto() == "20") Update(t, "20", {"20", "seen by the last one only"});
    return absl::OkStatus();
  };
  EXPECT_THROW(Follow([&](FakeStream&) {
                 if (Int("select count(*) from sublite_copies where complete"))
                   throw Killed();
               }),
               Killed);
  Kill();
  publisher_.on_read_row = nullptr;
  publisher_.on_read_table = nullptr;
  publisher_.idle_keepalives = true;
  EXPECT_THAT(TakeRanges(), ElementsAre("", "20"));
  Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
  EXPECT_THAT(TakeRanges(), ElementsAre());
  ExpectClean();
}

TEST_F(PipelineChunkTest, TheFirstChunkIsInterrupted) {
  AddTens(3);
  publisher_.on_read_row = [&](const std::string&, int row) {
    return row == 1 ? absl::UnavailableError("the connection was cut")
                    : absl::OkStatus();
  };
  EXPECT_EQ(Follow().next, SessionEnd::Next::kAgain);
  publisher_.on_read_row = nullptr;
  // In the same process; the row that had come is not read again.
  Caught();
  ExpectClean();
  EXPECT_THAT(TakeRanges(), ElementsAre("", "10", "30"));
}

// Also where showing it took so long that other work was due first.
TEST_F(PipelineChunkTest, TheStateSaysWhenAllIsCopied) {
  const int t = AddTens(1);
  bool slow = false;
  Caught([&](FakeStream&) {
    if (State("t") != "ready" || std::exchange(slow, true)) return;
    absl::SleepFor(absl::Milliseconds(600));
    Insert(t, {{"99", "for some more rounds"}});
  });
  EXPECT_TRUE(slow);
  EXPECT_EQ(Query("select state from sublite_status")[0], "t:streaming");
}

// However short connections live.
TEST_F(PipelineChunkTest, EveryConnectionBringsOneRow) {
  const int t = AddTens(5);
  config_.replica.copy_chunk_rows = 100;
  publisher_.on_read_row = [&](const std::string&, int row) {
    return row == 1 ? absl::UnavailableError("the connection was cut")
                    : absl::OkStatus();
  };
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(Follow().next, SessionEnd::Next::kAgain);
    EXPECT_EQ(Upto(), absl::StrCat(10 * i));
    Update(t, "10", {"10", absl::StrCat("changed ", i)});
    Update(t, "50", {"50", absl::StrCat("changed ", i)});
  }
  Caught();
  ExpectClean();
  EXPECT_THAT(TakeRanges(), ElementsAre("", "10", "20", "30", "40", "50"));
}

TEST_F(PipelineChunkTest, ACutBeforeTheFirstRowIsNoChunk) {
  AddTens(3);
  publisher_.on_read_row = [&](const std::string&, int) {
    return absl::UnavailableError("the connection was cut");
  };
  EXPECT_EQ(Follow().next, SessionEnd::Next::kAgain);
  EXPECT_EQ(Upto(), "");
  publisher_.on_read_row = nullptr;
  Caught();
  ExpectClean();
  EXPECT_THAT(TakeRanges(), ElementsAre("", "", "20"));
}

TEST_F(PipelineChunkTest, AWriteFailsInAChunk) {
  AddTens(7);
  bool failed = false;
  const SessionEnd end = Follow([&](FakeStream&) {
    if (Upto() == "40" && !std::exchange(failed, true))
      vfs_.SetFault({FaultVfs::kWrite, 1, SQLITE_IOERR_WRITE, false});
  });
  EXPECT_TRUE(failed);
  EXPECT_NE(end.next, SessionEnd::Next::kStop);
  vfs_.ClearFault();
  Caught([&](FakeStream&) { EXPECT_EQ(Compare(), ""); });
  EXPECT_THAT(TakeRanges(), ElementsAre("", "20", "40", "40", "60"));
  ExpectClean();
}

TEST_F(PipelineChunkTest, ALostSlotTakesWhatWasCopiedWithIt) {
  AddTens(7);
  Follow([&](FakeStream& stream) {
    if (Upto() == "40") stream.Cut(0);
  });
  EXPECT_EQ(Upto(), "40");
  publisher_.slot = FakeSlot();
  Change([&](FullXid xid) {
    EXPECT_TRUE(model_.Delete(xid, 0, RowOf(xid, 0, "10")));
  });
  Caught();
  EXPECT_THAT(Events("gap"), SizeIs(1));
  ExpectClean();
}

// --------------------------------------------------------- what readers see

TEST_F(PipelineChunkTest, OthersAreFollowedAndVisibleMeanwhile) {
  AddTens(7);
  const int other = AddTable("other", 'd', {"id text k"});
  int made = 0;
  int seen_meanwhile = 0;
  Caught([&](FakeStream& stream) {
    EXPECT_EQ(Compare(), "");
    if (Upto().empty()) return;
    EXPECT_EQ(State("t"), "copying");
    EXPECT_EQ(Int("select consistent from sublite_status"), 0);
    EXPECT_THAT(Query("select state from sublite_status"),
                ElementsAre("t:copying"));
    if (!stream.idle()) return;
    seen_meanwhile = static_cast<int>(Int("select count(*) from other"));
    if (made < 4) Insert(other, {{std::to_string(++made)}});
  });
  EXPECT_GT(seen_meanwhile, 0);
  EXPECT_THAT(Query("select state from sublite_status"),
              ElementsAre("t:streaming"));
  ExpectClean();
}

TEST_F(PipelineChunkTest, AResyncShowsTheOldRowsUntilTheNewOnesAreThere) {
  const int t = AddTens(7);
  Caught();
  Write("update t set v = 'mine'");
  Resync();
  bool meanwhile = false;
  Caught([&](FakeStream&) {
    if (State("t") == "ready") return;
    if (Upto() == "20" && !meanwhile) Insert(t, {{"15", "new"}});
    meanwhile = meanwhile || Upto() == "20";
    EXPECT_EQ(Int("select count(*) from t where v = 'mine'"), 7);
    EXPECT_EQ(Int("select count(*) from t"), 7);
  });
  EXPECT_TRUE(meanwhile);
  EXPECT_EQ(Int("select count(*) from t where v = 'mine'"), 0);
  ExpectClean();
}

// ------------------------------------------- values that are not sent again

TEST_F(PipelineChunkTest, ARowComesWithoutAllOfItsValues) {
  for (const Moment moment : kMoments) {
    SCOPED_TRACE(static_cast<int>(moment));
    const bool first = moment == Moment::kBetween;
    const int t = first ? AddTens(6, 'd', "v text x") : 0;
    if (first) Caught();
    Change([&](FullXid xid) {
      EXPECT_TRUE(model_.Truncate(xid, {t}));
      for (int id = 10; id <= 60; id += 10)
        EXPECT_TRUE(model_.Insert(xid, t, {std::to_string(id), Long('x')}));
    });
    Caught();
    TakeRanges();
    Resync();
    At(moment, "20", [&] { Update(t, "50", {"15", Long('x')}); });
    // Whoever reads it afterwards needs no message of it.
    const std::vector<std::string> ranges = TakeRanges();
    EXPECT_EQ(std::count(ranges.begin(), ranges.end(), ""), 2);
    EXPECT_THAT(ranges, Not(Contains("all")));
    EXPECT_EQ(
        Int(absl::StrCat("select count(*) from t where v = '", Long('x'), "'")),
        6);
  }
}

TEST_F(PipelineChunkTest, TheOldRowHasTheValuesThatAreNotSent) {
  const int t = AddTable("t", 'f', {"id int4 k", "v text x"});
  std::vector<ModelRow> rows;
  for (int id = 10; id <= 60; id += 10)
    rows.push_back({std::to_string(id), Long('x')});
  Insert(t, rows);
  At(Moment::kBetween, "20", [&] { Update(t, "50", {"15", Long('x')}); });
  EXPECT_EQ(Beginnings(), 1);
  EXPECT_EQ(
      Int(absl::StrCat("select count(*) from t where v = '", Long('x'), "'")),
      6);
}

TEST_F(PipelineChunkTest, IsCopiedWholeWhenItBeginsAnewTooOften) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text x"});
  std::vector<ModelRow> rows;
  for (int id = 10; id <= 60; id += 10)
    rows.push_back({std::to_string(id), Long('x')});
  Insert(t, rows);
  int moved = 0;
  const absl::Time until = absl::Now() + absl::Minutes(2);
  Caught([&](FakeStream& stream) {
    EXPECT_EQ(Compare(), "");
    if (Upto() == "20" && stream.idle() && moved < 10) {
      // Back and forth across the border.
      ++moved;
      Change([&](FullXid xid) {
        EXPECT_TRUE(
            model_.Update(xid, t, RowOf(xid, t, "60"), {"5", Long('x')}));
        EXPECT_TRUE(
            model_.Update(xid, t, RowOf(xid, t, "5"), {"60", Long('x')}));
      });
    }
    // It is the clock that lets the copy begin.
    while (stream.idle() && State("t") != "ready" && Upto().empty() &&
           moved >= 3 && absl::Now() < until) {
      absl::SleepFor(absl::Milliseconds(20));
      break;
    }
  });
  EXPECT_EQ(moved, 3);
  EXPECT_EQ(State("t"), "ready");
  EXPECT_EQ(TakeRanges().back(), "all");
  ExpectClean();
}

// ------------------------------------------------------ what the table becomes

TEST_F(PipelineChunkTest, IsTruncated) {
  const int t = AddTens(6);
  for (const Moment moment : kMoments) {
    SCOPED_TRACE(static_cast<int>(moment));
    At(moment, "20", [&] {
      // The reader that is open keeps others from truncating.
      Change([&](FullXid xid) {
        EXPECT_TRUE(model_.Truncate(xid, {t}));
        for (int id = 10; id <= 50; id += 10)
          EXPECT_TRUE(model_.Insert(xid, t, {std::to_string(id), "new"}));
      });
    });
    EXPECT_EQ(Int("select count(*) from t"), 5);
    Resync();
  }
}

// Before the first chunk: there is nothing that it could make wrong.
TEST_F(PipelineChunkTest, ATruncateThatAllRowsHaveChangesNothing) {
  const int t = AddTens(6);
  At(Moment::kBefore, "", [&] {
    Change([&](FullXid xid) {
      EXPECT_TRUE(model_.Truncate(xid, {t}));
      EXPECT_TRUE(model_.Insert(xid, t, {"1", "new"}));
      EXPECT_TRUE(model_.Insert(xid, t, {"2", "new"}));
      EXPECT_TRUE(model_.Insert(xid, t, {"3", "new"}));
    });
  });
  EXPECT_EQ(Beginnings(), 1);
}

// The stream's description of the table does not tell.
TEST_F(PipelineChunkTest, ItsKeyChangesUnderReplicaIdentityFull) {
  const int t = AddTable("t", 'f', {"id int4 k", "v text"});
  Insert(t, {{"10", "a"}, {"20", "b"}, {"30", "c"}, {"40", "d"}});
  for (const Moment moment : kMoments) {
    for (const std::string upto : {"20", "40"}) {
      SCOPED_TRACE(absl::StrCat(static_cast<int>(moment), " at ", upto));
      Meanwhile(moment, upto, [&] {
        Change([&](FullXid xid) {
          PublishedTable other = model_.tables()[t].shape()->def;
          other.primary_key.clear();
          EXPECT_TRUE(model_.Alter(xid, t, other, {},
                                   [](const ModelRow& row) { return row; }));
        });
        Insert(t, {{"10", "again"}});
      });
      // Without a key it is copied whole, which waits for the next session.
      Caught();
      ExpectClean();
      // Back to what it was.
      Change([&](FullXid xid) {
        EXPECT_TRUE(model_.Truncate(xid, {t}));
        PublishedTable other = model_.tables()[t].shape()->def;
        other.primary_key = {"id"};
        EXPECT_TRUE(model_.Alter(xid, t, other, {},
                                 [](const ModelRow& row) { return row; }));
        for (const char* id : {"10", "20", "30", "40"})
          EXPECT_TRUE(model_.Insert(xid, t, {id, "a"}));
      });
      Caught();
      Resync();
    }
  }
}

TEST_F(PipelineChunkTest, ItsDefinitionChanges) {
  const int t = AddTens(6);
  int added = 0;
  for (const Moment moment : kMoments) {
    for (const bool then_changed : {false, true}) {
      SCOPED_TRACE(absl::StrCat(static_cast<int>(moment), then_changed));
      At(moment, "20", [&] {
        Change([&](FullXid xid) {
          PublishedTable wider = model_.tables()[t].shape()->def;
          PublishedColumn column;
          column.name = absl::StrCat("added", ++added);
          column.type = kInt4;
          column.type_text = "integer";
          wider.columns.push_back(column);
          EXPECT_TRUE(model_.Alter(xid, t, wider, {}, [](const ModelRow& row) {
            ModelRow longer = row;
            longer.emplace_back("7");
            return longer;
          }));
          if (!then_changed) return;
          ModelRow row(2 + static_cast<std::size_t>(added), "1");
          row[0] = absl::StrCat(100 + added);
          EXPECT_TRUE(model_.Insert(xid, t, row));
        });
      });
      EXPECT_EQ(Int(absl::StrCat("select count(*) from pragma_table_info('t') "
                                 "where name = 'added",
                                 added, "'")),
                1);
      Resync();
    }
  }
}

// The stream is behind: what it brings is of an older definition than the copy,
// which holds it already.
TEST_F(PipelineChunkTest, WhatIsOlderThanTheCopyDoesNotDisturbIt) {
  const int t = AddTens(6);
  Caught();
  for (int i = 0; i < 6; ++i) Insert(t, {{absl::StrCat(100 + i), "old form"}});
  Change([&](FullXid xid) {
    PublishedTable wider = model_.tables()[t].shape()->def;
    PublishedColumn column;
    column.name = "added";
    column.type = kInt4;
    column.type_text = "integer";
    wider.columns.push_back(column);
    EXPECT_TRUE(model_.Alter(xid, t, wider, {}, [](const ModelRow& row) {
      ModelRow longer = row;
      longer.emplace_back("7");
      return longer;
    }));
  });
  Insert(t, {{"200", "new form", "8"}});
  TakeRanges();
  Caught();
  ExpectClean();
  EXPECT_THAT(TakeRanges(),
              ElementsAre("", "20", "40", "60", "101", "103", "105"));
}

// ------------------------------------------------------------- the publication

TEST_F(PipelineChunkTest, LeavesThePublicationAndComesBack) {
  const int t = AddTens(6);
  const int other = AddTable("other", 'd', {"id text k"});
  Follow([&](FakeStream& stream) {
    if (Upto() == "20") stream.Cut(0);
  });
  EXPECT_EQ(Upto(), "20");
  EXPECT_TRUE(model_.Publish(t, false));
  Delete(t, "10");
  Insert(other, {{"a"}});
  Caught();
  EXPECT_EQ(State("t"), "unpublished");
  EXPECT_THAT(Query("select * from sublite_copies"), SizeIs(0));
  EXPECT_THAT(Query("select name from sqlite_schema where name glob "
                    "'sublite_copy_*'"),
              SizeIs(0));
  EXPECT_TRUE(model_.Publish(t, true));
  Caught();
  ExpectClean();
}

// All at once, so that no catalog is read without it: rows that were written in
// between are not in the stream.
TEST_F(PipelineChunkTest, IsPublishedAnewMeanwhile) {
  // Rows come before the copy, complete by then, can be shown.
  publisher_.batch = 20;
  publisher_.lookahead = 40;
  const int t = AddTens(6);
  for (const Moment moment : kMoments) {
    for (const std::string upto : {"20", "60"}) {
      const std::string which =
          absl::StrCat(static_cast<int>(moment), " at ", upto);
      SCOPED_TRACE(which);
      At(moment, upto, [&] {
        EXPECT_TRUE(model_.Publish(t, false));
        Update(t, "10", {"10", "unsent " + which});
        Update(t, "50", {"50", "unsent " + which});
        EXPECT_TRUE(model_.Publish(t, true));
        Update(t, "20", {"20", "sent " + which});
      });
      EXPECT_THAT(Query("select v from t where id = 10"),
                  ElementsAre("t:unsent " + which));
      Resync();
    }
  }
}

TEST_F(PipelineChunkTest, LeavesThePublicationWhileItIsRead) {
  const int t = AddTens(6);
  bool gone = false;
  Follow([&](FakeStream&) {
    if (gone || Upto() != "20") return;
    gone = true;
    EXPECT_TRUE(model_.Publish(t, false));
  });
  EXPECT_TRUE(gone);
  EXPECT_EQ(State("t"), "unpublished");
  EXPECT_THAT(Query("select * from sublite_copies"), SizeIs(0));
  EXPECT_THAT(Query("select name from sqlite_schema where name glob "
                    "'sublite_copy_*'"),
              SizeIs(0));
}

}  // namespace
}  // namespace sublite::testing
