// Everything that a publisher can send, in every way in which it can be asked
// to send it, from a real server to a file written by the program itself.
//
// One database, slot and file a mode; a mode that the server lacks has to be
// what it falls back to. Each step ends with the whole file compared
// (oracle.h), and the last one asks the server itself which mode it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/matrix/follower.h"
#include "tests/matrix/kinds.h"
#include "tests/matrix/mode.h"
#include "tests/matrix/oracle.h"
#include "tests/matrix/seen.h"
#include "tests/schema/random_values.h"
#include "tests/schema/type_cases.h"
#include "tests/support/pg_server.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

constexpr absl::Duration kPatience = absl::Minutes(2);

// Rows of 300 bytes: as many are streamed under 64 kB of decoding memory.
constexpr char kTables[] = R"sql(
  create table keyed (id integer primary key, n bigint, pad text, big text);
  alter table keyed alter big set storage external;
  create table full_row (n integer, t text, big text);
  alter table full_row alter big set storage external;
  alter table full_row replica identity full;
  create table by_index (a integer, b text not null, c text);
  create unique index by_index_b on by_index (b);
  alter table by_index replica identity using index by_index_b;
  create table parent (id integer primary key);
  create table child (id integer primary key,
                      parent integer references parent);
  create table generated (id integer primary key, a integer,
                          doubled integer generated always as (a * 2) stored,
                          t text);
  create table shaped (id integer primary key, n integer, gone text);
  create schema "Grüße";
  create table "Grüße"."it's ""odd""" (id bigint primary key, "a b" text);
  create table marker (n integer primary key);
  create table unpublished (n integer, pad text);
)sql";

constexpr char kPublished[] = R"sql(
  kinds, keyed, full_row, by_index, parent, child, generated, shaped, marker,
  "Grüße"."it's ""odd""")sql";

constexpr char kFirstRows[] = R"sql(
  insert into keyed select g, g, repeat('p', 300), repeat('b', 3000)
    from generate_series(1, 20) g;
  insert into full_row select g % 3, 't', repeat('f', 3000)
    from generate_series(1, 9) g;
  insert into by_index values (1, 'one', 'x'), (2, 'two', null);
  insert into parent select generate_series(1, 5);
  insert into child select g, g from generate_series(1, 5) g;
  insert into generated (id, a, t) values (1, 21, 'x'), (2, null, 'y');
  insert into shaped select g, g, 'x' from generate_series(1, 50) g;
  insert into "Grüße"."it's ""odd""" values (1, 'ä');
)sql";

// Updates with and without a new key, with values out of line that are not
// sent again, and rows that are alike.
constexpr char kChanges[] = R"sql(
  insert into keyed values (100, 1, 'p', repeat('c', 3000)),
                           (101, 2, null, null), (102, 3, '', 'small');
  update keyed set n = n + 1000 where id <= 10;
  update keyed set id = id + 200 where id between 5 and 8;
  update keyed set big = null where id = 1;
  update keyed set big = repeat('n', 4000), n = 7 where id = 2;
  delete from keyed where id in (3, 101);
  begin;
  insert into full_row values (5, 'same', null), (5, 'same', null), (6, '', '');
  update full_row set t = 'changed' where ctid =
    (select min(ctid) from full_row where n = 5);
  update full_row set n = n + 10 where n = 1;
  delete from full_row where ctid =
    (select min(ctid) from full_row where n = 2);
  commit;
  update by_index set a = a + 1;
  update by_index set b = b || '!' where a = 2;
  insert into by_index values (9, 'nine', 'y');
  delete from by_index where b = 'two';
  insert into generated (id, a, t) values (3, 5, 'z');
  update generated set a = a + 1 where a is not null;
  update generated set t = 'only this' where id = 2;
  insert into "Grüße"."it's ""odd""" values (-9223372036854775808, E'\t"''');
  update "Grüße"."it's ""odd""" set "a b" = null where id = 1;
)sql";

constexpr char kTruncates[] = R"sql(
  insert into parent values (6);
  truncate parent cascade;
  insert into parent values (1), (7);
  insert into child values (1, 1), (2, 7);
  begin;
  insert into full_row values (8, 'before', null);
  truncate full_row, by_index restart identity;
  insert into full_row values (9, 'after', repeat('g', 3000));
  commit;
)sql";

std::string ManyRows(int from, int count = 300) {
  return absl::StrCat(
      "insert into keyed select g, g, repeat('s', 300), case g % 50 when 0 then"
      " repeat('S', 3000) end from generate_series(",
      from, ", ", from + count - 1, ") g");
}

class MatrixTest : public ::testing::TestWithParam<Mode> {
 protected:
  static void SetUpTestSuite() {
    PgServerOptions options;
    // Its log shows what it was asked for; no step waits for a writer process.
    options.settings = {{"log_replication_commands", "on"},
                        {"wal_writer_delay", "10ms"},
                        {"autovacuum", "off"}};
    auto server = PgServer::Start(options);
    ASSERT_OK(server);
    server_ = server->release();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(server_, nullptr);
    database_ = absl::StrCat("m_", GetParam().Name());
    ASSERT_OK(server_->Exec(absl::StrCat("create database ", database_)));
    session_ = Connect();
    ASSERT_NE(session_, nullptr);
    Sql("set client_min_messages = warning");
    Sql(RandomValuesSql());
    Sql(ExpectedValuesSql());
    Sql("select setseed(0.42)");
    Sql(CreateKindsSql());
    Sql(kTables);
    Sql(kFirstRows);
    Sql(InsertKindsSql(0, 10));
    Sql(absl::StrCat(
        "create publication pub for table", kPublished,
        major() >= 18 ? " with (publish_generated_columns = stored)" : ""));
    if (major() >= 18)
      Sql("alter table generated add later integer"
          " generated always as (a + 1) virtual");
    oracle_ = std::make_unique<Oracle>(session_.get());
    follower_ =
        std::make_unique<Follower>(server_->Conninfo(database_), GetParam());
  }

  // Prepared transactions and slots would outlive the test.
  void TearDown() override {
    follower_.reset();
    if (session_ == nullptr) return;
    const auto left = session_->Exec(
        "select gid from pg_prepared_xacts where database = "
        "current_database()");
    ASSERT_OK(left);
    for (const auto& row : *left)
      Sql(absl::StrCat("rollback prepared '", *row[0], "'"));
  }

  static int major() { return server_->major_version(); }
  bool streams() const { return ExpectStreams(GetParam(), major()); }
  bool two_phase() const { return ExpectTwoPhase(GetParam(), major()); }

  std::unique_ptr<PgSession> Connect() {
    auto session = server_->Connect(database_);
    EXPECT_OK(session);
    if (!session.ok()) return nullptr;
    EXPECT_OK((*session)->Exec(SessionSettingsSql()));
    // A mistake of this test, say a wait for a lock, should not hang.
    EXPECT_OK((*session)->Exec("set statement_timeout = '2min'"));
    EXPECT_OK((*session)->Exec("set jit = off"));
    return *std::move(session);
  }

  // After a failure nothing more is done: what follows would only wait for
  // what cannot come.
  void Sql(const std::string& sql) { Sql(*session_, sql); }
  void Sql(PgSession& session, const std::string& sql) {
    if (HasFailure()) return;
    EXPECT_OK(session.Exec(sql));
  }
  // Statement by statement, each a transaction unless it says otherwise.
  void SqlEach(const std::string& sql) {
    for (const auto& statement : absl::StrSplit(sql, ";\n"))
      Sql(std::string(statement));
  }
  std::string Scalar(const std::string& sql) {
    const absl::StatusOr<std::string> value = session_->Scalar(sql);
    EXPECT_OK(value);
    return value.value_or("");
  }
  std::string Gid(const std::string& name) const {
    return absl::StrCat("'", database_, " ", name, "'");
  }

  // Until SQL at the publisher gives true.
  void AwaitPublisher(const std::string& sql) {
    const absl::Time limit = absl::Now() + kPatience;
    while (!HasFailure() && Scalar(sql) != "t") {
      ASSERT_LT(absl::Now(), limit) << sql << "\n" << follower_->Log();
      absl::SleepFor(absl::Milliseconds(5));
    }
  }

  // Until the server has decoded all that was written, also by transactions
  // that are still open.
  void AwaitDecoded() {
    Sql("insert into unpublished values (1)");  // and with it all is flushed
    const std::string end = Scalar("select pg_current_wal_flush_lsn()");
    AwaitPublisher(absl::StrCat(
        "select coalesce(bool_or(sent_lsn >= '", end,
        "'), false) from pg_stat_replication r join pg_replication_slots s"
        " on s.active_pid = r.pid where slot_name = '",
        follower_->slot(), "'"));
  }

  // Until the file has all that was committed.
  void CatchUp() {
    Sql(absl::StrCat("insert into marker values (", ++marker_, ")"));
    if (HasFailure()) return;
    follower_->WaitFor(
        absl::StrCat("select count(*) from marker, sublite_status where n = ",
                     marker_, " and consistent"),
        "1");
  }
  void Compare(const char* step) {
    CatchUp();
    if (HasFailure()) return;
    EXPECT_THAT(oracle_->Compare(*follower_), IsEmpty()) << step;
  }

  void CopyAndChange();
  void CheckTypes();
  void Stream();
  void Prepare();
  void ChangeShapes();
  void KillInBacklog();
  void CheckMode();
  void CheckEnd();

  static PgServer* server_;
  std::string database_;
  std::unique_ptr<PgSession> session_;
  std::unique_ptr<Oracle> oracle_;
  std::unique_ptr<Follower> follower_;
  int marker_ = 0;
};

PgServer* MatrixTest::server_ = nullptr;

void MatrixTest::CopyAndChange() {
  follower_->Start();
  Compare("copied");
  Sql(InsertKindsSql(1000, 10));
  Sql(ShiftKindsSql(1000, 5));
  Sql(ShiftKindsSql(0, 3));
  Sql("delete from kinds where id in (9, 1009)");
  Compare("all types");
  CheckTypes();
  SqlEach(kChanges);
  Compare("changed");
  SqlEach(kTruncates);
  Compare("truncated");
}

// Transactions side by side, each in parts that the server sends before it
// knows how they end.
void MatrixTest::Stream() {
  const auto a = Connect(), b = Connect(), c = Connect();
  Sql(*a, "begin; " + ManyRows(1000));
  Sql(*b, "begin; " + ManyRows(2000));
  Sql(*c,
      "begin; delete from keyed where id between 10 and 12; " + ManyRows(3000));
  AwaitDecoded();
  Sql(*a,
      "savepoint lost; update keyed set n = -1 where id between 1000 and "
      "1299; " +
          ManyRows(1300));
  Sql(*b,
      "savepoint kept; delete from keyed where id between 2000 and 2099; "
      "savepoint lost; " +
          ManyRows(2300));
  AwaitDecoded();
  Sql(*a, "rollback to lost; savepoint second; " + ManyRows(1600));
  Sql(*b, "rollback to lost; release kept; " + ManyRows(2600));
  Sql(*c, "savepoint s; update keyed set id = id + 100000 where id >= 3000");
  AwaitDecoded();
  Sql(*b, "commit");
  Sql(*c, "rollback");
  Sql(*a, "release second; update keyed set pad = 'last' where id = 1000");
  Sql(*a, "commit");
  Compare("streamed");
  // Also what is decoded with its end in sight.
  Sql("begin; " + ManyRows(4000) + "; savepoint lost; " + ManyRows(4300) +
      "; rollback to lost; " + ManyRows(4600) + "; commit");
  Sql("begin; " + ManyRows(5000) + "; rollback");
  Compare("streamed at once");
}

void MatrixTest::Prepare() {
  const std::string prepared = "select count(*) from sublite_prepared";
  const auto prepare = [&](const std::string& name, const std::string& sql) {
    Sql("begin; " + sql + "; prepare transaction " + Gid(name));
  };
  prepare("small", "insert into keyed values (6000, 1, 'prepared', null)");
  prepare("large", "update keyed set n = 5 where id = 1; " + ManyRows(6100));
  prepare("undone", ManyRows(6500) + "; savepoint s; " + ManyRows(7000) +
                        "; rollback to s; delete from keyed where id = 2");
  Compare("prepared");
  EXPECT_EQ(follower_->Scalar(prepared), two_phase() ? "3" : "0");
  follower_->Kill();
  EXPECT_EQ(follower_->Scalar(prepared), two_phase() ? "3" : "0");
  Sql("commit prepared " + Gid("large"));
  follower_->Start();
  Compare("committed while it was down");
  Sql("rollback prepared " + Gid("undone"));
  Compare("rolled back");
  follower_->Kill();
  follower_->Start();
  Sql("commit prepared " + Gid("small"));
  prepare("small", "delete from keyed where id = 6000");  // the name once more
  Sql("commit prepared " + Gid("small"));
  Compare("committed");
  EXPECT_EQ(follower_->Scalar(prepared), "0");
}

void MatrixTest::ChangeShapes() {
  SqlEach(R"sql(
    alter table shaped add more numeric(10,2) default 1.5;
    update shaped set more = 2 where id = 1;
    alter table shaped drop gone;
    insert into shaped values (51, 51, 0.25);
    alter table shaped rename n to renamed;
    delete from shaped where id = 50)sql");
  Compare("changed shapes");
  Sql("begin; " + ManyRows(7500) +
      "; alter table shaped alter more type text; update shaped set more ="
      " more || ' EUR'; alter table keyed add added integer default 4; " +
      ManyRows(7800) + "; commit");
  Sql("update keyed set added = 5 where id = 1");
  Compare("changed shapes in a stream");
}

void MatrixTest::KillInBacklog() {
  follower_->Stop();
  for (int i = 0; i < 3; ++i) {
    const int first = 10000 + 1000 * i;
    Sql(absl::StrCat("do $$ begin for i in ", first, " .. ", first + 150,
                     " loop insert into keyed values (i, i, 'backlog', null);"
                     " update keyed set n = n + 1 where id between ",
                     first, " and i; delete from keyed where id = i - 5;",
                     " commit; end loop; end $$"));
    const std::string gid = Gid(absl::StrCat("backlog ", i));
    Sql("begin; " + ManyRows(20000 + first) + "; prepare transaction " + gid);
    Sql("begin; " + ManyRows(40000 + first, 900) + "; savepoint lost; " +
        ManyRows(60000 + first) + "; rollback to lost; commit");
    Sql("commit prepared " + gid);
    // It is killed as soon as it got anywhere.
    const std::string begun = "select applied_lsn from sublite_status";
    const std::string from = follower_->Scalar(begun);
    follower_->Start();
    follower_->WaitFor(absl::StrCat("select (", begun, ") <> '", from, "'"),
                       "1");
    follower_->Kill();
  }
  follower_->Start();
  Compare("caught up");
}

// The options of each START_REPLICATION for `slot` in the server's log, without
// publication_names.
std::vector<std::string> OptionsAskedFor(const std::string& log,
                                         const std::string& slot) {
  const std::string command = absl::StrCat(
      "received replication command: START_REPLICATION SLOT \"", slot, "\" ");
  std::vector<std::string> asked;
  for (const auto& view : absl::StrSplit(log, '\n')) {
    const std::string line(view);
    if (line.find(command) == std::string::npos) continue;
    const std::string options =
        absl::StrReplaceAll(line.substr(line.find('(') + 1),
                            {{", publication_names '\"pub\"'", ""}, {")", ""}});
    asked.push_back(options);
  }
  return asked;
}

// The server's own words.
void MatrixTest::CheckMode() {
  const std::string slot = follower_->slot();
  const std::vector<std::string> asked = OptionsAskedFor(server_->Log(), slot);
  ASSERT_GE(asked.size(), 7u) << "it was started as often";
  EXPECT_THAT(asked, Each(ExpectedOptions(GetParam(), major())));
  const bool prepares =
      Scalar("select two_phase from pg_replication_slots where slot_name = '" +
             slot + "'") == "t";
  EXPECT_EQ(prepares, two_phase());
  const std::string count =
      " from pg_stat_replication_slots where slot_name = '" + slot + "'";
  // The statistics may be a little late.
  AwaitPublisher(absl::StrCat("select ", streams() ? "stream" : "spill",
                              "_txns > 0", count));
  const bool streamed = Scalar("select stream_txns > 0" + count) == "t";
  EXPECT_EQ(streamed, streams());
  std::vector<std::string> seen = absl::StrSplit(asked.back(), ", ");
  seen.push_back(streamed ? "streamed" : "not streamed");
  seen.push_back(prepares ? "prepared" : "not prepared");
  ExpectSeen(major(), "mode " + GetParam().Name(), seen);
}

// Which types have come by in this mode, in rows that were compared.
void MatrixTest::CheckTypes() {
  std::vector<std::string> seen;
  for (const Kind& kind : Kinds()) {
    if (Scalar("select count(" + kind.column +
               ") > 0 from kinds where id > 1000") == "t")
      seen.push_back(kind.type);
  }
  ExpectSeen(major(), GetParam().binary ? "types binary" : "types text", seen);
}

void MatrixTest::CheckEnd() {
  EXPECT_EQ(follower_->Scalar("select missing_rows + replaced_rows from"
                              " sublite_status"),
            "0");
  EXPECT_EQ(follower_->Scalar("select count(*) from sublite_events where kind"
                              " not in ('copied', 'schema')"),
            "0");
  EXPECT_EQ(follower_->Scalar("select count(*) from sublite_tables where"
                              " state <> 'ready'"),
            "0");
  follower_->Stop();
  EXPECT_EQ(follower_->Scalar("pragma integrity_check"), "ok");
}

TEST_P(MatrixTest, FileIsWhatThePublisherHolds) {
  const std::pair<const char*, std::function<void()>> steps[] = {
      {"copy, change", [this] { CopyAndChange(); }},
      {"stream", [this] { Stream(); }},
      {"prepare", [this] { Prepare(); }},
      {"change shapes", [this] { ChangeShapes(); }},
      {"kill in a backlog", [this] { KillInBacklog(); }},
      {"mode", [this] { CheckMode(); }},
      {"end", [this] { CheckEnd(); }},
  };
  for (const auto& [name, step] : steps) {
    const absl::Time start = absl::Now();
    step();
    std::printf("%s: %s\n", name,
                absl::FormatDuration(absl::Now() - start).c_str());
    ASSERT_FALSE(HasFailure()) << follower_->Log();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, MatrixTest, ::testing::ValuesIn(AllModes()),
                         [](const ::testing::TestParamInfo<Mode>& info) {
                           return info.param.Name();
                         });

}  // namespace
}  // namespace sublite::testing
