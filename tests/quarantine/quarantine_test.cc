// Real servers: one table is put aside, the others go on, the publisher may
// forget, and the table heals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/failover/failover_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// t (id, v) has id 1 to 3, other (id) has 1.
class QuarantineTest : public FailoverTest {
 protected:
  void SetUp() override {
    PgServerOptions options;
    options.settings = {{"max_prepared_transactions", "10"}};
    ASSERT_TRUE(StartPrimary(10, options));
    Sql("create table other (id int primary key);"
        "insert into other values (1);"
        "truncate t;"
        "insert into t select i, 'v' || i from generate_series(1, 3) i");
    Sql("create role reader login replication;"
        "grant select on t, other to reader;"
        "alter publication pub add table other");
    config_.replica.refusal_patience = absl::ZeroDuration();
  }

  void Start() {
    StartSublite(absl::StrCat(primary_->Conninfo("postgres"), " user=reader"));
  }
  std::string State(const std::string& table) {
    return Read("select state from sublite_tables where pg_table = '" + table +
                "'");
  }
  void AwaitState(const std::string& table, const std::string& state) {
    Await("select state from sublite_tables where pg_table = '" + table + "'",
          state);
  }
  // Both the replica and what it has told the publisher.
  void AwaitPassed() {
    const std::string end = Scalar(*primary_, "select pg_current_wal_lsn()");
    AwaitTrue("the slot passes " + end, [&] {
      return Scalar(*primary_,
                    absl::StrCat("select confirmed_flush_lsn >= '", end,
                                 "' from pg_replication_slots")) == "t";
    });
  }
  void Resync(const std::string& table) {
    Write(
        absl::StrCat("insert into sublite_requests (kind, argument, at) "
                     "select 'resync', id, '' from sublite_tables where "
                     "pg_table = '",
                     table, "'"));
  }
};

TEST_F(QuarantineTest, ALocalTriggerRefusesARow) {
  Start();
  AwaitState("t", "ready");
  AwaitState("other", "ready");
  Write(
      "create trigger no before insert on t when new.v = 'no' begin select "
      "raise(abort, 'not here'); end");
  int next = 10;
  for (const std::string form : {"commit", "prepare transaction 'g'"}) {
    // The large ones are streamed.
    for (const int rows : {1, 3000}) {
      SCOPED_TRACE(absl::StrCat(form, " ", rows));
      const std::string others = Read("select count(*) from other");
      const std::size_t failures = Events("table_failed").size();
      Sql(absl::StrCat("begin; insert into other select ", next,
                       " + i from generate_series(1, ", rows,
                       ") i; insert into t values (", next,
                       ", 'half'); insert into t values (", next + 1,
                       ", 'no'); ", form));
      if (form != "commit") Sql("commit prepared 'g'");
      AwaitState("t", "failed");
      AwaitPassed();
      Await("select count(*) from other",
            absl::StrCat(std::stoi(others) + rows));
      EXPECT_EQ(Read("select count(*) from t where v in ('half', 'no')"), "0");
      EXPECT_EQ(Read("select consistent from sublite_status"), "0");
      ASSERT_THAT(Events("table_failed"), SizeIs(failures + 1));
      EXPECT_THAT(Events("table_failed").back(),
                  AllOf(HasSubstr("not here"),
                        HasSubstr(absl::StrCat("(row id = ", next + 1, ")"))));
      // What follows is left out, of this table only.
      Sql(absl::StrCat("insert into t values (", next + 2,
                       ", 'x'); insert into other values (", next + 5000, ")"));
      AwaitPassed();
      Await("select count(*) from other",
            absl::StrCat(std::stoi(others) + rows + 1));
      EXPECT_EQ(Read("select count(*) from t where v = 'x'"), "0");
      Sql("delete from t where v <> 'v' || id; delete from other where id > 1");
      AwaitPassed();
      Resync("t");
      AwaitState("t", "ready");
      AwaitSame(*primary_);
      EXPECT_EQ(Read("select count(*) from t"), "3");
      Await("select consistent from sublite_status", "1");
      next += 10000;
    }
  }
}

// Without a word from anybody but the one who grants.
TEST_F(QuarantineTest, APrivilegeThatIsMissing) {
  Sql("revoke select on t from reader");
  Start();
  AwaitState("t", "failed");
  AwaitState("other", "ready");
  EXPECT_THAT(Read("select error from sublite_tables where pg_table = 't'"),
              AllOf(HasSubstr("permission denied"), HasSubstr("GRANT SELECT")));
  Sql("insert into other values (2); insert into t values (4, 'v4')");
  AwaitPassed();
  Await("select count(*) from other", "2");
  EXPECT_EQ(Read("select consistent from sublite_status"), "0");
  Sql("grant select on t to reader");
  AwaitState("t", "ready");
  AwaitSame(*primary_);
  Await("select consistent from sublite_status", "1");
  EXPECT_THAT(Events("table_failed"), SizeIs(1));
  // Revoked once it is copied it is not needed, until it has to be copied.
  Sql("revoke select on t from reader; insert into t values (5, 'v5')");
  AwaitSame(*primary_);
  Sql("alter table t add column w int default 7;"
      "insert into t values (6, 'v6', 8); insert into other values (3)");
  AwaitState("t", "failed");
  Await("select count(*) from other", "3");
  AwaitPassed();
  EXPECT_EQ(Read("select count(*) from t"), "5");
  Sql("grant select on t to reader");
  AwaitState("t", "ready");
  Await("select sum(w) from t", "43");
}

// The copy is never empty in silence.
TEST_F(QuarantineTest, RowSecurityThatWouldHideRows) {
  Sql("alter table t enable row level security");
  Start();
  AwaitState("t", "failed");
  AwaitState("other", "ready");
  EXPECT_THAT(Read("select error from sublite_tables where pg_table = 't'"),
              AllOf(HasSubstr("row-level security"), HasSubstr("BYPASSRLS")));
  Sql("insert into other values (2)");
  AwaitPassed();
  Sql("alter role reader bypassrls");
  AwaitState("t", "ready");
  AwaitSame(*primary_);
}

// An error of the publisher at a value: its type cannot be printed.
TEST_F(QuarantineTest, ATableThatThePublisherCannotPrint) {
  Sql("create type odd;"
      "create function odd_in(cstring) returns odd language internal immutable "
      "strict as 'textin';"
      "create function odd_out(odd) returns cstring language internal "
      "immutable strict as 'shell_out';"
      "create type odd (input = odd_in, output = odd_out, like = text);"
      "alter table t add o odd;"
      "insert into t values (4, 'v4', 'x')");
  Start();
  AwaitState("t", "failed");
  AwaitState("other", "ready");
  EXPECT_THAT(Read("select error from sublite_tables where pg_table = 't'"),
              HasSubstr("cannot display a value"));
  Sql("insert into other values (2)");
  AwaitPassed();
  Await("select count(*) from other", "2");
  Sql("delete from t where id = 4");
  AwaitState("t", "ready");
  Await("select count(*) from t", "3");
  EXPECT_THAT(Events("table_failed"), SizeIs(1));
}

}  // namespace
}  // namespace sublite::testing
