// Reading a table in one snapshot.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/io/proxy.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kRetry = absl::StatusCode::kUnavailable;

class CopyTest : public PublisherTest {
 protected:
  void TearDown() override {
    session_->Exec("DROP OWNED BY copier").status().IgnoreError();
    session_->Exec("DROP ROLE copier").status().IgnoreError();
    PublisherTest::TearDown();
  }
  std::string AsCopier() const { return Conninfo() + " user=copier"; }
};

TEST_F(CopyTest, RowsAndDescription) {
  Sql("CREATE TABLE t (id int PRIMARY KEY, v text);"
      "INSERT INTO t VALUES (1, E'a\\tb\\n\\\\'), (2, NULL), (3, '');"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  EXPECT_THAT(ReadRows(*publisher, "t"),
              IsOkAndHolds(ElementsAre("1\ta\\tb\\n\\\\", "2\t\\N", "3\t")));
  ASSERT_OK_AND_ASSIGN(auto reader,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  EXPECT_EQ(reader->table().FullName(), "public.t");
  EXPECT_THAT(reader->table().primary_key, ElementsAre("id"));
  EXPECT_EQ(reader->types().count(25), 1u);
}

TEST_F(CopyTest, SnapshotAndPosition) {
  Sql("CREATE TABLE t (id int); CREATE PUBLICATION pub FOR TABLE t");
  ASSERT_OK_AND_ASSIGN(auto open, server().Connect(database_));
  ASSERT_OK(open->Exec("BEGIN; INSERT INTO t VALUES (1)"));
  ASSERT_OK_AND_ASSIGN(const std::string open_xid,
                       open->Scalar("SELECT txid_current()::text"));
  Sql("INSERT INTO t VALUES (2)");
  const std::string before = Scalar("SELECT pg_current_wal_insert_lsn()");
  auto publisher = Connected();
  ASSERT_OK_AND_ASSIGN(auto reader,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  ASSERT_OK(open->Exec("COMMIT"));
  Sql("INSERT INTO t VALUES (3)");
  EXPECT_THAT(reader->snapshot().in_progress(),
              ElementsAre(std::stoull(open_xid)));
  Lsn before_lsn;
  ASSERT_TRUE(Lsn::Parse(before, &before_lsn));
  EXPECT_GE(reader->snapshot_lsn(), before_lsn);
  std::string_view row;
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(true));
  EXPECT_EQ(row, "2\n");
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(false));
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(false));
}

// Several at once, and questions meanwhile; the sessions do not pile up.
TEST_F(CopyTest, ReadersDoNotDisturbEachOther) {
  Sql("CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, "
      "100000);"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  ASSERT_OK_AND_ASSIGN(auto one,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  ASSERT_OK_AND_ASSIGN(auto two,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  EXPECT_OK(publisher->ReadPublications({"pub"}));
  std::string_view row;
  for (int i = 1; i <= 1000; ++i) {
    ASSERT_THAT(one->Next(&row), IsOkAndHolds(true));
    ASSERT_EQ(row, absl::StrCat(i, "\n"));
    ASSERT_THAT(two->Next(&row), IsOkAndHolds(true));
  }
  one.reset();  // in the middle
  int rows = 1000;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const bool more, two->Next(&row));
    if (!more) break;
    ++rows;
  }
  EXPECT_EQ(rows, 100000);
  two.reset();
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(ReadRows(*publisher, "t"));
    EXPECT_OK(publisher->ReadSlot("x"));
  }
  for (int i = 0; i < 50; ++i) {
    if (Scalar("SELECT count(*) FROM pg_stat_activity WHERE application_name ="
               " 'sublite' AND backend_type = 'client backend' AND datname ="
               " current_database()") == "1") {
      return;
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
  ADD_FAILURE() << "sessions are left over";
}

// It may be this table's own trouble, so the others are not to wait for it.
TEST_F(CopyTest, OneThatIsCancelledIsBrokenOff) {
  Sql("CREATE TABLE t (id int, v text); INSERT INTO t SELECT i, repeat('x', "
      "1000) FROM generate_series(1, 50000) i; CREATE PUBLICATION pub FOR "
      "TABLE t");
  auto publisher = Connected();
  ASSERT_OK_AND_ASSIGN(auto reader,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  Sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE "
      "'COPY%' AND datname = current_database()");
  std::string_view row;
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = reader->Next(&row);
  EXPECT_THAT(more.status(), StatusIs(absl::StatusCode::kAborted,
                                      HasSubstr("canceling statement")));
  reader.reset();
  EXPECT_THAT(ReadRows(*publisher, "t"), IsOkAndHolds(SizeIs(50000)));
}

// A role that may not log in any more is no trouble of the table.
TEST_F(CopyTest, ARoleThatMayNotLogInAnyMore) {
  Sql("CREATE TABLE t (id int); CREATE PUBLICATION pub FOR TABLE t;"
      "DROP ROLE IF EXISTS leaving; CREATE ROLE leaving LOGIN REPLICATION;"
      "GRANT SELECT ON t TO leaving");
  auto publisher = Connected(Conninfo() + " user=leaving");
  Sql("ALTER ROLE leaving NOLOGIN");
  // The session that is kept still works, the next one has to log in.
  ASSERT_OK_AND_ASSIGN(auto one,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  EXPECT_THAT(publisher->ReadTable("public", "t", {"pub"}, {}),
              StatusIs(kRetry, HasSubstr("role \"leaving\" is not permitted")));
  one.reset();
  publisher.reset();
  Sql("REVOKE SELECT ON t FROM leaving; DROP ROLE leaving");
}

TEST_F(CopyTest, NoColumns) {
  Sql("CREATE TABLE nothing (); INSERT INTO nothing DEFAULT VALUES;"
      "INSERT INTO nothing DEFAULT VALUES;"
      "CREATE PUBLICATION pub FOR TABLE nothing");
  auto publisher = Connected();
  EXPECT_THAT(ReadRows(*publisher, "nothing"),
              IsOkAndHolds(ElementsAre("", "")));
}

TEST_F(CopyTest, InheritedRowsAreNotTheParents) {
  Sql("CREATE TABLE parent (id int); CREATE TABLE child () INHERITS (parent);"
      "INSERT INTO parent VALUES (1); INSERT INTO child VALUES (2);"
      "CREATE PUBLICATION pub FOR ALL TABLES");
  auto publisher = Connected();
  EXPECT_THAT(ReadRows(*publisher, "parent"), IsOkAndHolds(ElementsAre("1")));
}

TEST_F(CopyTest, ColumnListAndFilter) {
  if (!Since(15)) GTEST_SKIP();
  Sql("CREATE TABLE t (id int PRIMARY KEY, secret text, v text);"
      "INSERT INTO t SELECT i, 's', 'v' FROM generate_series(1, 5) i;"
      "CREATE PUBLICATION pub FOR TABLE t (id, v) WHERE (id > 4);"
      "CREATE PUBLICATION low FOR TABLE t (id, v) WHERE (id = 1 OR id < 1)");
  auto publisher = Connected();
  EXPECT_THAT(ReadRows(*publisher, "t"), IsOkAndHolds(ElementsAre("5\tv")));
  ASSERT_OK_AND_ASSIGN(auto reader,
                       publisher->ReadTable("public", "t", {"pub", "low"}, {}));
  std::string_view row;
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(true));
  EXPECT_EQ(row, "1\tv\n");
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(true));
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(false));
}

TEST_F(CopyTest, PartitionRoot) {
  if (!Since(13)) GTEST_SKIP();
  Sql("CREATE TABLE p (id int, v text) PARTITION BY RANGE (id);"
      "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
      "CREATE TABLE p2 (v text, id int);"
      "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);"
      "INSERT INTO p VALUES (1, 'a'), (11, 'b');"
      "CREATE PUBLICATION pub FOR TABLE p WITH (publish_via_partition_root)");
  auto publisher = Connected();
  EXPECT_THAT(ReadRows(*publisher, "p"),
              IsOkAndHolds(ElementsAre("1\ta", "11\tb")));
  EXPECT_THAT(ReadRows(*publisher, "p1"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CopyTest, NotThereOrNotPublished) {
  Sql("CREATE TABLE other (id int); CREATE TABLE t (id int);"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  for (const char* name : {"gone", "other", "x\"; DROP TABLE t; --"}) {
    EXPECT_THAT(ReadRows(*publisher, name),
                StatusIs(absl::StatusCode::kNotFound))
        << name;
  }
  EXPECT_THAT(ReadRows(*publisher, "t", "no_schema"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(ReadRows(*publisher, "t"), IsOkAndHolds(IsEmpty()));
}

TEST_F(CopyTest, OddNames) {
  Sql("CREATE SCHEMA \"we.ird\"; CREATE TABLE \"we.ird\".\"x\"\"'; --\" "
      "(\"a\"\") ; --\" int); INSERT INTO \"we.ird\".\"x\"\"'; --\" VALUES (7);"
      "CREATE PUBLICATION pub FOR ALL TABLES");
  auto publisher = Connected();
  EXPECT_THAT(ReadRows(*publisher, "x\"'; --", "we.ird"),
              IsOkAndHolds(ElementsAre("7")));
}

// C064.
TEST_F(CopyTest, RowLevelSecurityIsAnErrorNotAFilter) {
  Sql("CREATE ROLE copier LOGIN REPLICATION; CREATE TABLE t (id int);"
      "INSERT INTO t VALUES (1); GRANT SELECT ON t TO copier;"
      "ALTER TABLE t ENABLE ROW LEVEL SECURITY;"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected(AsCopier());
  EXPECT_THAT(ReadRows(*publisher, "t"),
              StatusIs(kPerson, AllOf(HasSubstr("\"public\".\"t\""),
                                      HasSubstr("BYPASSRLS"))));
  Sql("ALTER ROLE copier BYPASSRLS");
  EXPECT_THAT(ReadRows(*publisher, "t"), IsOkAndHolds(ElementsAre("1")));
}

TEST_F(CopyTest, MissingRights) {
  Sql("CREATE ROLE copier LOGIN REPLICATION; CREATE TABLE t (id int, v int);"
      "INSERT INTO t VALUES (1, 2); CREATE PUBLICATION pub FOR TABLE t;"
      "CREATE SCHEMA closed; CREATE TABLE closed.t (id int);"
      "ALTER PUBLICATION pub ADD TABLE closed.t");
  auto publisher = Connected(AsCopier());
  EXPECT_THAT(ReadRows(*publisher, "t"),
              StatusIs(kPerson, HasSubstr("GRANT SELECT")));
  EXPECT_THAT(ReadRows(*publisher, "t", "closed"),
              StatusIs(kPerson, HasSubstr("GRANT USAGE ON SCHEMA")));
  Sql("GRANT SELECT (id) ON t TO copier");
  EXPECT_THAT(ReadRows(*publisher, "t"), StatusIs(kPerson));
  // LOCK TABLE wants more than this, reading does not.
  Sql("GRANT SELECT (v) ON t TO copier");
  EXPECT_THAT(ReadRows(*publisher, "t"), IsOkAndHolds(ElementsAre("1\t2")));
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_locks WHERE relation = "
                   "'t'::regclass"),
            "0");
}

TEST_F(CopyTest, RightsOnThePublishedColumnsAreEnough) {
  if (!Since(15)) GTEST_SKIP();
  Sql("CREATE ROLE copier LOGIN REPLICATION; CREATE TABLE t (id int PRIMARY "
      "KEY, v int); INSERT INTO t VALUES (1, 2); GRANT SELECT (id) ON t TO "
      "copier; CREATE PUBLICATION pub FOR TABLE t (id)");
  auto publisher = Connected(AsCopier());
  EXPECT_THAT(ReadRows(*publisher, "t"), IsOkAndHolds(ElementsAre("1")));
}

TEST_F(CopyTest, StopEndsAWaitForALock) {
  Sql("CREATE TABLE t (id int); CREATE PUBLICATION pub FOR TABLE t");
  ASSERT_OK_AND_ASSIGN(auto locker, server().Connect(database_));
  auto publisher = Connected();
  ASSERT_OK(locker->Exec("BEGIN; LOCK TABLE t"));
  const StopLater later(&stop_, absl::Milliseconds(300));
  absl::Status status;
  EXPECT_LT(Measure([&] { status = ReadRows(*publisher, "t").status(); }),
            kStopBound);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
}

// The shape that is described is the shape of the rows, whoever waits to change
// it.
TEST_F(CopyTest, AlterWaitsForTheCopy) {
  Sql("CREATE TABLE t (id int); INSERT INTO t VALUES (1);"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  ASSERT_OK_AND_ASSIGN(auto reader,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  ASSERT_OK_AND_ASSIGN(auto alterer, server().Connect(database_));
  EXPECT_FALSE(alterer
                   ->Exec("SET lock_timeout = '100ms'; ALTER TABLE t ADD "
                          "COLUMN w int")
                   .ok());
  std::string_view row;
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(true));
  EXPECT_THAT(reader->Next(&row), IsOkAndHolds(false));
  EXPECT_OK(alterer->Exec("ALTER TABLE t ADD COLUMN w int"));
}

// The end of the copy's lock must not hide a table that was rewritten while the
// copy waited for it: its rows are newer than a snapshot from before.
TEST_F(CopyTest, RewriteBeforeTheLockIsSeen) {
  Sql("CREATE TABLE t (id int); INSERT INTO t VALUES (1);"
      "CREATE PUBLICATION pub FOR TABLE t");
  ASSERT_OK_AND_ASSIGN(auto alterer, server().Connect(database_));
  ASSERT_OK(
      alterer->Exec("BEGIN; ALTER TABLE t ALTER id TYPE text USING 'x' "
                    "|| id"));
  auto publisher = Connected();
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(300));
    EXPECT_OK(alterer->Exec("COMMIT"));
  });
  EXPECT_THAT(ReadRows(*publisher, "t"), IsOkAndHolds(ElementsAre("x1")));
  later.join();
}

TEST_F(CopyTest, StopAndLossInMidCopy) {
  Sql("CREATE TABLE t (id int, v text); INSERT INTO t SELECT i, repeat('x', "
      "1000) FROM generate_series(1, 20000) i; CREATE PUBLICATION pub FOR "
      "TABLE "
      "t");
  Proxy proxy(server().port());
  auto publisher = Connected(absl::StrCat("host=127.0.0.1 port=", proxy.port(),
                                          " user=postgres dbname=", database_));
  ASSERT_OK_AND_ASSIGN(auto reader,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  std::string_view row;
  ASSERT_THAT(reader->Next(&row), IsOkAndHolds(true));
  proxy.HangUp();
  absl::Status status;
  while (status.ok()) status = reader->Next(&row).status();
  EXPECT_THAT(status, StatusIs(kRetry));
  reader.reset();

  ASSERT_OK_AND_ASSIGN(reader,
                       publisher->ReadTable("public", "t", {"pub"}, {}));
  proxy.SetPaused(true);
  const StopLater later(&stop_, absl::Milliseconds(300));
  EXPECT_LT(Measure([&] {
              status = absl::OkStatus();
              while (status.ok()) status = reader->Next(&row).status();
            }),
            kStopBound);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  proxy.SetPaused(false);
}

}  // namespace
}  // namespace sublite::testing
