// One table that cannot take a change, or cannot be copied, does not stop the
// others; a trouble of the whole file never counts as one of a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/quarantine_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// ------------------------------------------------- what SQLite cannot hold

TEST_F(PipelineQuarantineTest, ARowThatSqliteCannotHold) {
  for (const int streamed : {0, 1000}) {
    for (const bool prepared : {false, true}) {
      SCOPED_TRACE(absl::StrCat(streamed, " ", prepared));
      publisher_.stream_per_mille = streamed;
      const auto failures = Events("table_failed").size();
      const auto others = Rows("other").size();
      const FullXid xid =
          BadTransaction(std::string(kLengthMax + 1, 'x'), prepared);
      GoOn([&](FakeStream&) {
        EXPECT_THAT(Rows("t"), ElementsAre(kBefore));
        EXPECT_THAT(Rows("other").size() - others, AnyOf(0u, 2u));
        EXPECT_EQ(Compare(), "");
      });
      ExpectOnlyTIsAside();
      ASSERT_THAT(Events("table_failed"), SizeIs(failures + 1));
      EXPECT_THAT(
          Events("table_failed").back(),
          AllOf(HasSubstr("t: table public.t, column v: a value of "
                          "600001 bytes is more than SQLite can store"),
                HasSubstr(absl::StrCat("(row id = ", next_ * 10 + 1, ")")),
                Not(HasSubstr("xxx"))));
      // The transaction's own position, as `skip` would take it.
      std::string commit;
      for (const WalRecord& record : model_.wal()) {
        if (record.xid == xid &&
            (record.kind == WalRecord::Kind::kCommit ||
             record.kind == WalRecord::Kind::kCommitPrepared)) {
          commit = record.start.ToString();
        }
      }
      EXPECT_THAT(Query("select lsn from sublite_events where kind = "
                        "'table_failed' order by id desc limit 1"),
                  ElementsAre("t:" + commit));
      EXPECT_THAT(
          Query("select error, retry_at from sublite_tables where id = 1"),
          ElementsAre(
              AllOf(HasSubstr("`sublite resync`"), HasSubstr("|null"))));

      // Its changes are left out, and it stays what it is, over restarts too.
      Insert(t_, {{absl::StrCat(next_ * 10 + 2), "later"}});
      Insert(other_, {{absl::StrCat(next_ + 2000)}});
      Restart();
      const int reads = publisher_.table_reads;
      GoOn();
      ExpectOnlyTIsAside();
      EXPECT_EQ(publisher_.table_reads, reads);
      EXPECT_THAT(Events("table_failed"), SizeIs(failures + 1));

      // While the row is there, so is the trouble.
      Resync("t");
      GoOn();
      ExpectOnlyTIsAside();
      EXPECT_THAT(
          Query("select error from sublite_tables where id = 1"),
          ElementsAre(HasSubstr(absl::StrCat("(row id = ", next_ * 10 + 1))));

      const FullXid mend = model_.Begin();
      for (const int id : {next_ * 10, next_ * 10 + 1, next_ * 10 + 2}) {
        EXPECT_TRUE(
            model_.Delete(mend, t_, RowOf(mend, t_, std::to_string(id))));
      }
      model_.Commit(mend);
      Resync("t");
      GoOn();
      EXPECT_EQ(State("t"), "ready");
      EXPECT_THAT(Rows("t"), ElementsAre(kBefore));
      EXPECT_EQ(Int("select consistent from sublite_status"), 1);
    }
  }
}

TEST_F(PipelineQuarantineTest, AnUpdateThatMakesARowTooLong) {
  // Each value fits, the row does not.
  const int wide = AddTable("wide", 'd', {"id int4 k", "v text", "w text"});
  Insert(wide, {{"7", "v", "w"}});
  GoOn();
  const FullXid xid = model_.Begin();
  EXPECT_TRUE(
      model_.Update(xid, wide, RowOf(xid, wide, "7"),
                    {"7", std::string(400000, 'v'), std::string(400000, 'w')}));
  EXPECT_TRUE(model_.Insert(xid, t_, {"2", "v"}));
  model_.Commit(xid);
  GoOn();
  EXPECT_EQ(State("wide"), "failed");
  EXPECT_THAT(Rows("wide"), ElementsAre("i:7|t:v|t:w"));
  EXPECT_THAT(Rows("t"), Contains("i:2|t:v"));
  EXPECT_THAT(Events("table_failed"),
              ElementsAre(AllOf(HasSubstr("a row is more than SQLite can"),
                                HasSubstr("(row id = 7)"))));
}

TEST_F(PipelineQuarantineTest, ARowThatCannotBeCopied) {
  const int chunked = AddTable("chunked", 'd', {"id int4 k", "v text"});
  const int whole = AddTable("whole", 'd', {"k text k", "v text"});
  Insert(chunked, {{"1", "v"}, {"2", std::string(kLengthMax + 1, 'x')}});
  Insert(whole, {{"a", std::string(kLengthMax + 1, 'x')}});
  GoOn();
  EXPECT_EQ(State("chunked"), "failed");
  EXPECT_EQ(State("whole"), "failed");
  EXPECT_THAT(Events("table_failed"),
              UnorderedElementsAre(HasSubstr("(row id = 2)"),
                                   HasSubstr("(row k = 'a')")));
  EXPECT_THAT(Query("select name from sqlite_schema where name glob "
                    "'sublite_copy_[0-9]*'"),
              IsEmpty());
  // Neither is read again and again.
  const int reads = publisher_.table_reads;
  Restart();
  GoOn();
  EXPECT_EQ(publisher_.table_reads, reads);
  // Another table than the one that failed is worth a try.
  const FullXid xid = model_.Begin();
  PublishedTable narrow = model_.tables()[whole].shape()->def;
  narrow.columns.pop_back();
  EXPECT_TRUE(model_.Alter(xid, whole, narrow, {}, [](const ModelRow& row) {
    return ModelRow{row[0]};
  }));
  model_.Commit(xid);
  Insert(whole, {{"b"}});
  Kill();
  GoOn();
  EXPECT_EQ(State("whole"), "ready");
  EXPECT_THAT(Rows("whole"), ElementsAre("t:a", "t:b"));
}

TEST_F(PipelineQuarantineTest, AMessageThatSqliteCannotHoldIsLeftOut) {
  config_.publisher.messages = true;
  Restart();
  model_.Message(0, "p", std::string(kLengthMax + 1, 'x'));
  model_.Message(0, "p", "short");
  Insert(t_, {{"2", "v"}});
  GoOn();
  EXPECT_THAT(Query("select content from sublite_messages"),
              ElementsAre("b:73686f7274"));
  EXPECT_THAT(Events("message_too_large"),
              ElementsAre(HasSubstr("600001 bytes")));
  EXPECT_EQ(Applied(), model_.end());
}

// ------------------------------------------------- what is refused locally

struct Refusal {
  const char* name;
  const char* sql;
  const char* error;
};

constexpr Refusal kRefusals[] = {
    {"Abort",
     "create trigger no before insert on t when new.v = 'no' begin "
     "select raise(abort, 'not here'); end",
     "not here (row id = "},
    {"Rollback",
     "create trigger no before insert on t when new.v = 'no' begin "
     "select raise(rollback, 'not here'); end",
     "not here (row id = "},
    {"Fail",
     "create trigger no after insert on t when new.v = 'no' begin "
     "select raise(fail, 'not here'); end",
     "not here (row id = "},
    // SQLite calls this a success.
    {"Ignore",
     "create trigger no before insert on t when new.v = 'no' begin "
     "select raise(ignore); end",
     "a local trigger left a row out (RAISE(IGNORE))"},
    {"LogThatIsGone",
     "create table log (v); create trigger no after insert on t when new.v = "
     "'no' begin insert into log values (new.v); end; drop table log",
     "no such table: main.log (row id = "},
    {"NotNullOfAnotherTable",
     "create table log (v not null); create trigger no after insert on t when "
     "new.v = 'no' begin insert into log values (null); end",
     "NOT NULL constraint failed: log.v (row id = "},
    {"CheckOfAnotherTable",
     "create table log (v check (v <> 'no')); create trigger no after insert "
     "on t when new.v = 'no' begin insert into log values (new.v); end",
     "CHECK constraint failed"},
    {"UniqueIndex", "create unique index u on t (v = 'no' or null)",
     "UNIQUE constraint failed"},
    {"TableThatIsGone", "alter table t rename to gone",
     "no such table: t (row id = "},
};

class RefusalTest
    : public PipelineQuarantineTest,
      public ::testing::WithParamInterface<std::tuple<Refusal, bool>> {};

TEST_P(RefusalTest, OnlyThatTableIsPutAside) {
  const auto& [refusal, prepared] = GetParam();
  config_.replica.refusal_patience = absl::ZeroDuration();
  Write(refusal.sql);
  const FullXid xid = model_.Begin();
  EXPECT_TRUE(model_.Insert(xid, other_, {"2"}));
  EXPECT_TRUE(model_.Insert(xid, t_, {"20", "no"}));
  // The second of them is what a unique index refuses.
  EXPECT_TRUE(model_.Insert(xid, t_, {"21", "no"}));
  EXPECT_TRUE(model_.Insert(xid, other_, {"3"}));
  if (prepared) {
    model_.Prepare(xid, "g");
    model_.CommitPrepared(xid);
  } else {
    model_.Commit(xid);
  }
  GoOn([&](FakeStream&) { EXPECT_THAT(Rows("other").size(), AnyOf(1u, 3u)); });
  if (refusal.name == std::string("TableThatIsGone")) {
    EXPECT_EQ(State("t"), "failed");
    EXPECT_THAT(Rows("gone"), ElementsAre(kBefore));
  } else {
    ExpectOnlyTIsAside();
  }
  EXPECT_THAT(Rows("other"), SizeIs(3));
  EXPECT_THAT(Events("table_failed"),
              ElementsAre(AllOf(HasSubstr("table public.t: "),
                                HasSubstr(refusal.error))));
  EXPECT_EQ(Applied(), model_.end());
  // It is not tried again before a person says so.
  Kill();
  Insert(t_, {{"22", "fine"}});
  GoOn();
  EXPECT_EQ(State("t"), "failed");
  Write("drop trigger if exists no; drop index if exists u");
  Resync("t");
  GoOn();
  EXPECT_EQ(State("t"), "ready");
  EXPECT_THAT(Rows("t"), SizeIs(4));
  EXPECT_EQ(Int("select consistent from sublite_status"), 1);
}

INSTANTIATE_TEST_SUITE_P(All, RefusalTest,
                         ::testing::Combine(::testing::ValuesIn(kRefusals),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return absl::StrCat(
                               std::get<0>(info.param).name,
                               std::get<1>(info.param) ? "Prepared" : "");
                         });

TEST_F(PipelineQuarantineTest, UpdateDeleteAndTruncateAreRefused) {
  config_.replica.refusal_patience = absl::ZeroDuration();
  Write(
      "create trigger a before update on t begin select raise(abort, 'u'); end;"
      "create trigger b before delete on t begin select raise(abort, 'd'); "
      "end");
  const auto refused = [&](const std::function<void(FullXid)>& change,
                           const std::string& error) {
    SCOPED_TRACE(error);
    const FullXid xid = model_.Begin();
    change(xid);
    model_.Commit(xid);
    GoOn();
    ExpectOnlyTIsAside();
    EXPECT_THAT(Events("table_failed").back(), HasSubstr(error));
    // As before, for the next one.
    const FullXid back = model_.Begin();
    EXPECT_TRUE(model_.Truncate(back, {t_}));
    EXPECT_TRUE(model_.Insert(back, t_, {"1", "before"}));
    model_.Commit(back);
    Resync("t");
    GoOn();
    EXPECT_EQ(State("t"), "ready");
  };
  refused(
      [&](FullXid xid) {
        EXPECT_TRUE(
            model_.Update(xid, t_, RowOf(xid, t_, "1"), {"1", "after"}));
      },
      "u (row id = 1)");
  refused(
      [&](FullXid xid) {
        EXPECT_TRUE(
            model_.Update(xid, t_, RowOf(xid, t_, "1"), {"2", "after"}));
      },
      "u (row id = 1)");
  refused(
      [&](FullXid xid) {
        EXPECT_TRUE(model_.Delete(xid, t_, RowOf(xid, t_, "1")));
      },
      "d (row id = 1)");
  refused([&](FullXid xid) { EXPECT_TRUE(model_.Truncate(xid, {t_})); },
          "table public.t: SQLite: d");
}

TEST_F(PipelineQuarantineTest, ARefusalIsWaitedForBeforeTheTableIsPutAside) {
  Write(
      "create trigger no before insert on t when new.v = 'no' begin "
      "select raise(abort, 'not here'); end");
  BadTransaction("no", false);
  for (int i = 0; i < 3; ++i) {
    Kill();
    const SessionEnd end = Follow();
    EXPECT_EQ(end.next, SessionEnd::Next::kWait) << end.status;
    EXPECT_THAT(std::string(end.status.message()),
                AllOf(HasSubstr("`sublite skip --lsn="), HasSubstr("5m")));
    EXPECT_EQ(Compare(), "");
    EXPECT_THAT(Rows("other"), ElementsAre("i:1"));
  }
  // Said once.
  EXPECT_THAT(Events("refused"), SizeIs(1));
  // Later; with the clock set back it would only take longer.
  Write(
      "update sublite_events set at = '2020-01-01 00:00:00+00:00' where kind = "
      "'refused'");
  GoOn();
  ExpectOnlyTIsAside();
  EXPECT_THAT(Rows("other"), SizeIs(3));
  // The next transaction that is refused, of another table, waits again.
  Write(
      "create trigger no_other before insert on other begin "
      "select raise(abort, 'nor there'); end");
  Insert(other_, {{"77"}});
  EXPECT_EQ(Follow().next, SessionEnd::Next::kWait);
  EXPECT_THAT(Events("refused"), SizeIs(2));
  // It is skipped on request, with the other table still aside.
  Write(
      "insert into sublite_requests (kind, argument, at) select 'skip', lsn, "
      "'' from sublite_events where kind = 'refused' order by id desc limit 1");
  EXPECT_EQ(Follow().next, SessionEnd::Next::kStop);
  EXPECT_EQ(State("other"), "ready");
  EXPECT_EQ(State("t"), "failed");
  EXPECT_EQ(Applied(), model_.end());
}

TEST_F(PipelineQuarantineTest, SeveralTablesInOneTransaction) {
  config_.replica.refusal_patience = absl::ZeroDuration();
  const int third = AddTable("third", 'd', {"id int4 k", "v text"});
  GoOn();
  Write(
      "create trigger no before insert on third begin "
      "select raise(abort, 'not here'); end");
  const FullXid xid = model_.Begin();
  EXPECT_TRUE(model_.Insert(xid, third, {"1", "v"}));
  EXPECT_TRUE(model_.Insert(xid, other_, {"2"}));
  EXPECT_TRUE(model_.Insert(xid, t_, {"2", std::string(kLengthMax + 1, 'x')}));
  model_.Commit(xid);
  GoOn();
  EXPECT_EQ(State("third"), "failed");
  ExpectOnlyTIsAside();
  EXPECT_THAT(Rows("other"), ElementsAre("i:1", "i:2"));
  EXPECT_THAT(Events("table_failed"), SizeIs(2));
}

// ----------------------------------------------------- kills, whole troubles

TEST_F(PipelineQuarantineTest, AKillAtAnyMoment) {
  config_.replica.refusal_patience = absl::ZeroDuration();
  Write(
      "create trigger no before insert on t when new.v = 'no' begin "
      "select raise(abort, 'not here'); end");
  int moments = 0;
  for (int at = 0; moments == at; ++at) {
    SCOPED_TRACE(at);
    const auto failures = Events("table_failed").size();
    const auto others = Rows("other").size();
    publisher_.stream_per_mille = at % 2 == 0 ? 0 : 1000;
    BadTransaction("no", at % 3 == 0);
    int seen = 0;
    try {
      Follow([&](FakeStream&) {
        EXPECT_THAT(Rows("t"), ElementsAre(kBefore));
        EXPECT_THAT(Rows("other").size() - others, AnyOf(0u, 2u));
        if (seen++ == at) throw Killed();
      });
    } catch (const Killed&) {
      ++moments;
      publisher_.on_receive = nullptr;
    }
    Kill(at % 4 < 2);
    EXPECT_THAT(Rows("t"), ElementsAre(kBefore));
    GoOn();
    ExpectOnlyTIsAside();
    EXPECT_THAT(Events("table_failed"), SizeIs(failures + 1));
    EXPECT_THAT(Rows("other"), SizeIs(others + 2));
    const FullXid mend = model_.Begin();
    EXPECT_TRUE(model_.Truncate(mend, {t_}));
    EXPECT_TRUE(model_.Insert(mend, t_, {"1", "before"}));
    model_.Commit(mend);
    Resync("t");
    GoOn();
    ASSERT_EQ(State("t"), "ready");
  }
  EXPECT_GT(moments, 5);
}

TEST_F(PipelineQuarantineTest, ATroubleOfTheWholeIsNotOneOfATable) {
  config_.replica.refusal_patience = absl::ZeroDuration();
  config_.publisher.status_interval = absl::ZeroDuration();
  // So small that statements write too, not only commits.
  ASSERT_OK(replica_->database().Execute("pragma cache_size = 10"));
  for (const int code :
       {SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_NOMEM, SQLITE_CORRUPT,
        SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_BUSY, SQLITE_PERM}) {
    for (const unsigned operation : {FaultVfs::kWrite, FaultVfs::kAny}) {
      SCOPED_TRACE(absl::StrCat(code, " ", operation));
      int hits = 0;
      for (int nth = 1; nth <= 4; ++nth) {
        const std::string id = std::to_string(++next_);
        const FullXid xid = model_.Begin();
        EXPECT_TRUE(model_.Insert(xid, other_, {id}));
        EXPECT_TRUE(model_.Insert(xid, t_, {id, std::string(500000, 'v')}));
        model_.Commit(xid);
        vfs_.SetFault({operation, nth, code, true});
        for (int i = 0; i < 2; ++i) {
          const SessionEnd end = Follow();
          EXPECT_NE(end.next, SessionEnd::Next::kNeedsPerson) << end.status;
        }
        if (vfs_.fault_hit()) ++hits;
        vfs_.ClearFault();
        GoOn();
        EXPECT_EQ(Applied(), model_.end());
        EXPECT_EQ(State("t"), "ready");
        EXPECT_EQ(State("other"), "ready");
      }
      EXPECT_GT(hits, 0);
    }
  }
  EXPECT_THAT(Events("table_failed"), IsEmpty());
  EXPECT_THAT(Events("refused"), IsEmpty());
}

}  // namespace
}  // namespace sublite::testing
