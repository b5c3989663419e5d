// Copies: the first one, new tables, changed tables, tables that fail, and
// everything anew after a gap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
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

class PipelineCopyTest : public PipelineFixture {
 protected:
  std::string State(const std::string& table) {
    const auto rows = Query(
        "select state from sublite_tables where pg_table = '" + table + "'");
    return rows.empty() ? "" : rows[0].substr(2);
  }

  void AddColumn(FullXid xid, int table, const std::string& fill) {
    PublishedTable wider = model_.tables()[table].shape()->def;
    PublishedColumn column;
    column.name = "added";
    column.type = kInt4;
    column.type_text = "integer";
    wider.columns.push_back(column);
    EXPECT_TRUE(model_.Alter(xid, table, wider, {}, [&](const ModelRow& row) {
      ModelRow longer = row;
      longer.emplace_back(fill);
      return longer;
    }));
  }
};

TEST_F(PipelineCopyTest, TakesWhatIsThereAndFollows) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  AddTable("empty", 'f', {"v text"});
  Insert(t, {{"1", "tab\tnew\nline\\N"}, {"2", std::nullopt}, {"3", ""}});
  Caught();
  EXPECT_THAT(Rows("t"),
              ElementsAre("i:1|t:tab\tnew\nline\\N", "i:2|null", "i:3|t:"));
  Insert(t, {{"4", "later"}});
  Caught();
  EXPECT_THAT(Rows("t"), Contains("i:4|t:later"));
  EXPECT_EQ(Int("select consistent from sublite_status"), 1);
  EXPECT_EQ(publisher_.table_reads, 2);
}

// Transactions that commit between the slot's beginning and the copy's
// snapshot come in the stream too.
TEST_F(PipelineCopyTest, WhatTheSnapshotSeesIsNotAppliedAgain) {
  const int t = AddTable("t", 'f', {"id int4", "v text"});
  Insert(t, {{"1", "before"}});
  const FullXid open = model_.Begin();
  bool slot_made = false;
  publisher_.during_create_slot = [&] { slot_made = true; };
  // The slot waits for `open` and ends it; so it has to be made first.
  model_.Abort(open);
  FullXid running = 0;
  publisher_.on_read_table = [&](const std::string&) {
    if (!slot_made || running != 0) return absl::OkStatus();
    running = model_.Begin();
    EXPECT_TRUE(model_.Insert(running, t, {"2", "not visible"}));
    Insert(t, {{"3", "visible"}});
    return absl::OkStatus();
  };
  publisher_.on_read_row = [&](const std::string&, int row) {
    if (row == 0) {
      // After the snapshot.
      Insert(t, {{"4", "later"}});
      model_.Commit(running);
    }
    return absl::OkStatus();
  };
  bool partly = false;
  Caught([&](FakeStream&) {
    EXPECT_EQ(Compare(), "");
    const bool ahead =
        Int("select count(*) from sublite_tables where copy_pos > 0") > 0;
    if (ahead) {
      partly = true;
      EXPECT_EQ(Int("select consistent from sublite_status"), 0);
    }
  });
  EXPECT_TRUE(partly);
  EXPECT_THAT(Rows("t"), ElementsAre("i:1|t:before", "i:2|t:not visible",
                                     "i:3|t:visible", "i:4|t:later"));
  // Once the position has passed the snapshot, it is forgotten.
  EXPECT_EQ(Int("select count(*) from sublite_tables where copy_pos is not "
                "null or snapshot is not null"),
            0);
  EXPECT_EQ(Int("select consistent from sublite_status"), 1);
}

// Transactions that began before the consistent point, some of which commit
// only after it.
TEST_F(PipelineCopyTest, WhatRunsWhileTheSlotIsMadeIsThereOnce) {
  const int t = AddTable("t", 'f', {"id int4"});
  const FullXid old = model_.Begin();
  EXPECT_TRUE(model_.Insert(old, t, {"1"}));
  FullXid late = 0;
  publisher_.during_create_slot = [&] {
    if (late != 0) return;
    late = model_.Begin();
    EXPECT_TRUE(model_.Insert(late, t, {"2"}));
    Insert(t, {{"3"}});
  };
  publisher_.on_read_row = [&](const std::string&, int) {
    if (model_.transaction(late).state == ModelTransaction::State::kOpen) {
      model_.Commit(late);
    }
    return absl::OkStatus();
  };
  Caught();
  EXPECT_THAT(Rows("t"), Contains("i:2"));
  EXPECT_THAT(Rows("t"), Contains("i:3"));
}

// A commit that waits for a standby is decoded long before it is visible.
TEST_F(PipelineCopyTest, ACommitThatIsNotYetVisibleIsWaitedFor) {
  const int t = AddTable("t", 'f', {"id int4"});
  Caught();
  const FullXid invisible = model_.Begin();
  EXPECT_TRUE(model_.Insert(invisible, t, {"1"}));
  model_.Commit(invisible, false);
  bool asked = false;
  int reads = 0;
  publisher_.invisible_ends = false;
  publisher_.on_read_table = [&](const std::string&) {
    if (++reads == 3) model_.MakeVisible(invisible);
    return absl::OkStatus();
  };
  // It is the newest of all, so that the snapshot ends before it.
  Caught([&](FakeStream& stream) {
    if (!stream.idle() || asked) return;
    asked = true;
    Write(
        "insert into sublite_requests (kind, argument, at) values "
        "('resync', '*', '')");
    absl::SleepFor(absl::Milliseconds(260));
  });
  EXPECT_EQ(reads, 3);
  EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
}

TEST_F(PipelineCopyTest, AKilledCopyBeginsAgain) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  std::vector<ModelRow> rows;
  for (int i = 0; i < 50; ++i) rows.push_back({std::to_string(i)});
  Insert(t, rows);
  for (const bool power : {false, true}) {
    publisher_.on_read_row = [&](const std::string&, int row) -> absl::Status {
      if (row == 30) throw Killed();
      return absl::OkStatus();
    };
    EXPECT_THROW(RunSession(), Killed);
    Kill(power);
  }
  publisher_.on_read_row = nullptr;
  Caught();
  EXPECT_THAT(Rows("t"), SizeIs(50));
  ReplicaReader reader(path_);
  EXPECT_THAT(CheckSound(reader), IsEmpty());
  EXPECT_FALSE(reader.Exists("sublite_copy_1"));
}

TEST_F(PipelineCopyTest, OneTableThatFailsDoesNotStopTheOthers) {
  const int good = AddTable("good", 'd', {"id int4 k"});
  const int bad = AddTable("bad", 'd', {"id int4 k"});
  Insert(good, {{"1"}});
  Insert(bad, {{"1"}});
  publisher_.on_read_table = [](const std::string& table) {
    return table == "public.bad"
               ? absl::FailedPreconditionError("permission denied for it")
               : absl::OkStatus();
  };
  Caught();
  EXPECT_EQ(State("bad"), "failed");
  EXPECT_THAT(Events("table_failed"),
              ElementsAre(HasSubstr("permission denied")));
  Insert(bad, {{"2"}});
  Insert(good, {{"2"}});
  Caught();
  EXPECT_THAT(Rows("good"), ElementsAre("i:1", "i:2"));
  EXPECT_EQ(Applied(), model_.end());
  EXPECT_EQ(Int("select consistent from sublite_status"), 0);
  // It heals; another process does not wait for the pause to end.
  publisher_.on_read_table = nullptr;
  Kill();
  Caught();
  EXPECT_THAT(Rows("bad"), ElementsAre("i:1", "i:2"));
  EXPECT_EQ(State("bad"), "ready");
}

TEST_F(PipelineCopyTest, ANameThatSqliteDoesNotTellApartFails) {
  AddTable("t", 'd', {"id int4 k"});
  const int upper = AddTable("T", 'd', {"id int4 k"});
  Insert(upper, {{"1"}});
  Caught();
  EXPECT_EQ(State("t"), "ready");
  EXPECT_EQ(State("T"), "failed");
  EXPECT_THAT(Events("table_failed"), ElementsAre(HasSubstr("tables.")));
}

// ----------------------------------------------------------- changed tables

TEST_F(PipelineCopyTest, ATableThatChangesIsCopiedInsideTheTransaction) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  const int other = AddTable("other", 'd', {"id int4 k"});
  Insert(t, {{"1", "a"}, {"2", "b"}});
  Caught();
  const int reads = publisher_.table_reads;
  bool altered = false;
  Caught([&](FakeStream&) {
    if (!std::exchange(altered, true)) {
      const FullXid xid = model_.Begin();
      EXPECT_TRUE(model_.Insert(xid, other, {"1"}));
      EXPECT_TRUE(model_.Insert(xid, t, {"3", "c"}));
      AddColumn(xid, t, "7");
      EXPECT_TRUE(model_.Insert(xid, t, {"4", "d", "8"}));
      EXPECT_TRUE(model_.Delete(xid, t, RowOf(xid, t, "1")));
      model_.Commit(xid);
    }
    // Readers see the old table or the new one, with all that belongs to it.
    EXPECT_EQ(Compare(), "");
    const auto columns = Int("select count(*) from pragma_table_info('t')");
    EXPECT_EQ(Rows("other").size(), columns == 2 ? 0u : 1u);
  });
  EXPECT_EQ(publisher_.table_reads, reads + 1);
  EXPECT_THAT(Rows("t"),
              ElementsAre("i:2|t:b|i:7", "i:3|t:c|i:7", "i:4|t:d|i:8"));
  EXPECT_THAT(Events("schema"), SizeIs(1));
  // And it is followed from then on.
  Insert(t, {{"5", "e", std::nullopt}});
  Caught();
  EXPECT_EQ(publisher_.table_reads, reads + 1);
}

// The change came before, and whoever brings it up waits for a standby.
TEST_F(PipelineCopyTest, ACopyMadeForATransactionHoldsIt) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Caught();
  const int reads = publisher_.table_reads;
  FullXid xid = 0;
  publisher_.invisible_ends = false;
  publisher_.on_read_table = [&](const std::string&) {
    if (publisher_.table_reads == reads + 3) model_.MakeVisible(xid);
    return absl::OkStatus();
  };
  Caught([&](FakeStream&) {
    if (xid != 0) return;
    const FullXid alter = model_.Begin();
    AddColumn(alter, t, "7");
    model_.Commit(alter);
    xid = model_.Begin();
    EXPECT_TRUE(model_.Insert(xid, t, {"2", "8"}));
    model_.Commit(xid, false);
  });
  EXPECT_THAT(Rows("t"), ElementsAre("i:1|i:7", "i:2|i:8"));
}

TEST_F(PipelineCopyTest, ADescriptionThatComesAgainIsHeldAgainstTheCatalog) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  Insert(t, {{"1", "a"}});
  Caught();
  const int reads = publisher_.table_reads;
  Insert(t, {{"2", "b"}});
  model_.Invalidate(t);
  Insert(t, {{"3", "c"}});
  Caught();
  // Nothing had changed.
  EXPECT_EQ(publisher_.table_reads, reads);
  bool altered = false;
  Caught([&](FakeStream& stream) {
    if (stream.delivered() == 0) Insert(t, {{"4", "d"}});
    if (!stream.idle() || stream.delivered() == 0 ||
        std::exchange(altered, true)) {
      return;
    }
    // NOT NULL is not in the stream, only that something changed.
    const FullXid xid = model_.Begin();
    PublishedTable stricter = model_.tables()[t].shape()->def;
    stricter.columns[1].not_null = true;
    EXPECT_TRUE(model_.Alter(xid, t, stricter, {},
                             [](const ModelRow& row) { return row; }));
    model_.Commit(xid);
    Insert(t, {{"5", "e"}});
  });
  EXPECT_EQ(publisher_.table_reads, reads + 1);
  EXPECT_EQ(Int("select \"notnull\" from pragma_table_info('t') where name = "
                "'v'"),
            1);
}

TEST_F(PipelineCopyTest, NotNullWasDropped) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text !"});
  Insert(t, {{"1", "a"}});
  Caught();
  const int reads = publisher_.table_reads;
  bool altered = false;
  Caught([&](FakeStream&) {
    if (std::exchange(altered, true)) return;
    // The first description on this connection says nothing of it: the row does
    // not fit.
    const FullXid xid = model_.Begin();
    PublishedTable looser = model_.tables()[t].shape()->def;
    looser.columns[1].not_null = false;
    EXPECT_TRUE(model_.Alter(xid, t, looser, {},
                             [](const ModelRow& row) { return row; }));
    EXPECT_TRUE(model_.Insert(xid, t, {"2", std::nullopt}));
    model_.Commit(xid);
  });
  EXPECT_EQ(publisher_.table_reads, reads + 1);
  EXPECT_THAT(Events("schema"), SizeIs(1));
  EXPECT_THAT(Rows("t"), ElementsAre("i:1|t:a", "i:2|null"));
}

// Something else wrote a row that the publisher's unique index would refuse:
// rows cannot be found by it, and only the one table has to be mended.
TEST_F(PipelineCopyTest, RowsAreNotUniqueByANewReplicaIdentity) {
  const int t = AddTable("t", 'f', {"u int4 !", "v text"});
  Insert(t, {{"1", "a"}, {"2", "b"}});
  Caught();
  const int reads = publisher_.table_reads;
  Write("insert into t values (2, 'local')");
  const FullXid alter = model_.Begin();
  PublishedTable def = model_.tables()[t].shape()->def;
  def.replica_identity = 'i';
  def.identity_index = {"u"};
  EXPECT_TRUE(
      model_.Alter(alter, t, def, {}, [](const ModelRow& row) { return row; }));
  EXPECT_TRUE(model_.Insert(alter, t, {"3", "c"}));
  model_.Commit(alter);
  Caught();
  EXPECT_EQ(publisher_.table_reads, reads + 1);
  EXPECT_THAT(Rows("t"), ElementsAre("i:1|t:a", "i:2|t:b", "i:3|t:c"));
}

TEST_F(PipelineCopyTest, TheReplicaIdentityChangesWithoutACopy) {
  const int t = AddTable("t", 'd', {"id int4 k", "u int4 !", "v text"});
  Insert(t, {{"1", "10", "a"}, {"2", "20", "b"}});
  Caught();
  const int reads = publisher_.table_reads;
  for (const char identity : {'f', 'i', 'd', 'n', 'i', 'f'}) {
    const FullXid alter = model_.Begin();
    PublishedTable def = model_.tables()[t].shape()->def;
    def.replica_identity = identity;
    def.identity_index.clear();
    if (identity == 'i') def.identity_index = {"u"};
    EXPECT_TRUE(model_.Alter(alter, t, def, {},
                             [](const ModelRow& row) { return row; }));
    EXPECT_TRUE(model_.Insert(alter, t, {"3", "30", "c"}));
    model_.Commit(alter);
    if (identity != 'n') {
      const FullXid xid = model_.Begin();
      EXPECT_TRUE(model_.Update(xid, t, RowOf(xid, t, "1"),
                                {"1", "10", std::string(1, identity)}));
      EXPECT_TRUE(model_.Delete(xid, t, RowOf(xid, t, "3")));
      model_.Commit(xid);
    } else {
      const FullXid xid = model_.Begin();
      EXPECT_TRUE(model_.Truncate(xid, {t}));
      EXPECT_TRUE(model_.Insert(xid, t, {"1", "10", "a"}));
      model_.Commit(xid);
    }
    Caught();
  }
  EXPECT_EQ(publisher_.table_reads, reads);
}

// Where only inserts are published, the column list may leave out a part of the
// primary key; the stream then flags the rest of it.
TEST_F(PipelineCopyTest, APartOfTheKeyIsNotPublished) {
  std::vector<bool> external = {false, false};
  PublishedTable table;
  table.pg_schema = "public";
  table.pg_table = "t";
  table.publishes_update_or_delete = false;
  for (const char* name : {"a", "v"}) {
    PublishedColumn column;
    column.name = name;
    column.type = kText;
    column.type_text = "text";
    table.columns.push_back(column);
  }
  const int t = model_.AddTable(table, external);
  Insert(t, {{"1", "x"}});
  Caught();
  const int reads = publisher_.table_reads;
  const Oid oid = model_.tables()[t].shape()->def.oid;
  bool pushed = false;
  Follow([&](FakeStream& stream) {
    if (std::exchange(pushed, true)) return;
    model_.Noise(100);
    const auto push = [&](const std::string& payload) {
      stream.Push(
          encode::XLogData(model_.end(), model_.end(), PgTime(), payload));
    };
    const Lsn commit(model_.end().value() - 50);
    push(encode::Begin(commit, PgTime(), 900));
    push(encode::Relation(oid, "public", "t", 'd',
                          {{"a", kText, true}, {"v", kText, false}}));
    push(encode::Insert(oid, encode::Texts({"2", "y"})));
    push(encode::Commit(commit, model_.end(), PgTime()));
  });
  EXPECT_EQ(State("t"), "ready");
  EXPECT_EQ(publisher_.table_reads, reads);
  EXPECT_THAT(Rows("t"), ElementsAre("t:1|t:x", "t:2|t:y"));
}

// A role that is locked, a database that is moved, a password that is changed:
// at the first start a person has to help; a replica that was let in before
// waits.
TEST_F(PipelineCopyTest, ThePublisherLetsNobodyIn) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  const absl::Status refused =
      absl::FailedPreconditionError("role \"r\" is not permitted to log in");
  publisher_.connect_error = refused;
  EXPECT_EQ(Follow().next, SessionEnd::Next::kNeedsPerson);
  publisher_.connect_error = absl::OkStatus();
  Caught();
  publisher_.connect_error = refused;
  Insert(t, {{"2"}});
  for (int i = 0; i < 2; ++i) {
    const SessionEnd end = Follow();
    EXPECT_EQ(end.next, SessionEnd::Next::kWait);
    EXPECT_EQ(end.status, refused);
  }
  publisher_.connect_error = absl::OkStatus();
  Caught();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:2"));
}

// Over a line that is cut again and again: a table that can only be copied
// whole keeps no other one back for ever, whether that is copied whole or in
// chunks.
TEST_F(PipelineCopyTest, AWholeCopyThatNeverEnds) {
  const int large = AddTable("a_large", 'd', {"id text k"});
  const int small = AddTable("small", 'd', {"id text k"});
  const int chunks = AddTable("chunks", 'd', {"id int4 k"});
  Insert(large, {{"1"}, {"2"}, {"3"}});
  Insert(small, {{"1"}});
  Insert(chunks, {{"1"}, {"2"}});
  config_.replica.copy_chunk_rows = 1;
  publisher_.on_read_row = [&](const std::string& table, int row) {
    return table == "public.a_large" && row == 2
               ? absl::UnavailableError("the connection was cut")
               : absl::OkStatus();
  };
  for (int i = 0; i < 6; ++i) Follow();
  EXPECT_NE(State("a_large"), "ready");
  EXPECT_EQ(State("small"), "ready");
  EXPECT_EQ(State("chunks"), "ready");
  EXPECT_THAT(Rows("chunks"), ElementsAre("i:1", "i:2"));
  publisher_.on_read_row = nullptr;
  Caught();
  EXPECT_EQ(State("a_large"), "ready");
}

// ---------------------------------------------------------------- local wishes

TEST_F(PipelineCopyTest, AResyncMendsWhatSomebodyElseWrote) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  const int other = AddTable("other", 'd', {"id int4 k"});
  Insert(t, {{"1", "a"}, {"2", "b"}});
  Insert(other, {{"1"}});
  Caught();
  Write(
      "update t set v = 'wrong' where id = 1; delete from t where id = 2;"
      "create index mine on t (v); create view seen as select * from t;"
      "create table mine_too (id integer primary key);"
      "create trigger watch after insert on other begin "
      "insert into mine_too values (null); end");
  Write(
      "insert into sublite_requests (kind, argument, at) values ('resync', "
      "(select id from sublite_tables where pg_table = 't'), '')");
  const int reads = publisher_.table_reads;
  Caught();
  EXPECT_EQ(publisher_.table_reads, reads + 1);
  EXPECT_THAT(Rows("t"), ElementsAre("i:1|t:a", "i:2|t:b"));
  EXPECT_EQ(Int("select count(*) from sublite_requests"), 0);
  Write(
      "insert into sublite_requests (kind, argument, at) values ('resync', "
      "'*', '')");
  Caught();
  EXPECT_EQ(publisher_.table_reads, reads + 3);
  // What an administrator added stays.
  EXPECT_EQ(Int("select count(*) from sqlite_schema where name in ('mine', "
                "'seen', 'mine_too', 'watch')"),
            4);
}

TEST_F(PipelineCopyTest, ConflictsAreCountedAndThePublisherWins) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  Insert(t, {{"1", "a"}, {"2", "b"}});
  Caught();
  Write("delete from t; insert into t values (3, 'mine')");
  const FullXid xid = model_.Begin();
  EXPECT_TRUE(model_.Update(xid, t, RowOf(xid, t, "1"), {"1", "c"}));
  EXPECT_TRUE(model_.Delete(xid, t, RowOf(xid, t, "2")));
  EXPECT_TRUE(model_.Insert(xid, t, {"3", "theirs"}));
  model_.Commit(xid);
  Follow();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1|t:c", "i:3|t:theirs"));
  EXPECT_THAT(Query("select missing_rows, replaced_rows from sublite_tables"),
              ElementsAre("i:2|i:1"));
  EXPECT_THAT(Events("conflict"), SizeIs(1));
  EXPECT_EQ(Applied(), model_.end());
}

}  // namespace
}  // namespace sublite::testing
