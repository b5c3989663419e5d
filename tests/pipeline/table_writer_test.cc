// Rows of tables that have a key: primary key or replica identity index.
#include "applier/table_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sqlite3.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/table_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KeyedTableTest : public TableFixture {};

TEST_F(KeyedTableTest, FollowsItsRows) {
  Make('d', {"id int k", "n int", "v text"});
  EXPECT_THAT(Insert({T("1"), T("10"), T("one")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Insert({T("2"), N(), T("")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:1|i:10|t:one", "i:2|null|t:"));
  EXPECT_THAT(Update({T("1"), T("11"), N()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:1|i:11|null", "i:2|null|t:"));
  EXPECT_THAT(DeleteK({T("1"), N(), N()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:2|null|t:"));
  ASSERT_OK(writer_->Truncate());
  EXPECT_THAT(Rows(), IsEmpty());
}

// For a NULL in an INTEGER PRIMARY KEY SQLite makes up a number, and PostgreSQL
// has no such row: the table is not what it was thought to be.
TEST_F(KeyedTableTest, ANullKeyIsNoRow) {
  Make('d', {"id int k", "n int !", "v text"});
  ASSERT_OK(Insert({T("1"), T("10"), T("one")}));
  for (const Data& row : {Data{N(), T("2"), T("v")}, Data{T("2"), N(), T("v")},
                          Data{N(), N(), N()}}) {
    EXPECT_THAT(Insert(row),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("NOT NULL")));
    EXPECT_THAT(UpdateK({T("1"), N(), N()}, row),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("NOT NULL")));
  }
  EXPECT_THAT(Update({N(), T("2"), U()}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("NOT NULL")));
  EXPECT_THAT(Rows(), ElementsAre("i:1|i:10|t:one"));
}

// It must not fall upon the row of the change before it.
TEST_F(KeyedTableTest, ADeleteWhoseKeyWasNotSentDeletesNothing) {
  Make('d', {"id int k", "v text"});
  ASSERT_OK(Insert({T("1"), T("a")}));
  ASSERT_OK(Insert({T("2"), T("b")}));
  EXPECT_THAT(DeleteK({T("1"), N()}), IsOkAndHolds(Outcome::kDone));
  ASSERT_OK(Insert({T("1"), T("again")}));
  EXPECT_THAT(DeleteK({U(), N()}), StatusIs(absl::StatusCode::kOutOfRange,
                                            HasSubstr("key was not sent")));
  EXPECT_THAT(Rows(), ElementsAre("i:1|t:again", "i:2|t:b"));
}

// Cases C001, C017.
TEST_F(KeyedTableTest, WhatWasNotSentStays) {
  Make('d', {"id int k", "n int", "big text"});
  ASSERT_OK(Insert({T("1"), T("1"), T("large")}));
  EXPECT_THAT(Update({T("1"), T("2"), U()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:1|i:2|t:large"));
  EXPECT_THAT(UpdateK({T("1"), N(), N()}, {T("5"), U(), U()}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:5|i:2|t:large"));
  // Nothing at all changes.
  EXPECT_THAT(Update({T("5"), U(), U()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Update({T("5"), U(), N()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:5|i:2|null"));
}

// Case C019: the key is stored out of line, is not sent in the new row, and so
// comes as the old key although it did not change.
TEST_F(KeyedTableTest, AKeyThatWasNotSentIsTheOldOne) {
  Make('d', {"k text k", "n int"});
  ASSERT_OK(Insert({T("key"), T("1")}));
  EXPECT_THAT(UpdateK({T("key"), N()}, {U(), T("2")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("t:key|i:2"));
}

// Case C016: an old row under FULL may hold no more than the key.
TEST_F(KeyedTableTest, GoesByTheKeyUnderFull) {
  Make('f', {"id int k", "v text"});
  ASSERT_OK(Insert({T("1"), T("a")}));
  ASSERT_OK(Insert({T("2"), T("a")}));
  EXPECT_THAT(UpdateO({T("1"), N()}, {T("3"), T("b")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(UpdateO({T("2"), T("other")}, {T("2"), T("c")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:2|t:c", "i:3|t:b"));
  EXPECT_THAT(DeleteO({T("3"), N()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:2|t:c"));
}

TEST_F(KeyedTableTest, AKeyOfSeveralColumnsChangesInPart) {
  Make('d', {"a int k", "v text", "b text k"});
  ASSERT_OK(Insert({T("1"), T("x"), T("p")}));
  ASSERT_OK(Insert({T("1"), T("y"), T("q")}));
  EXPECT_THAT(UpdateK({T("1"), N(), T("q")}, {T("2"), U(), T("q")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(DeleteK({T("1"), N(), T("p")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:2|t:y|t:q"));
}

TEST_F(KeyedTableTest, ARowThatIsNotThere) {
  Make('d', {"id int k", "n int", "v text"});
  EXPECT_THAT(DeleteK({T("1"), N(), N()}), IsOkAndHolds(Outcome::kMissing));
  // Whole, it is put in; in part it cannot be (case C025).
  EXPECT_THAT(Update({T("1"), T("1"), U()}), IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(Rows(), IsEmpty());
  EXPECT_THAT(Update({T("1"), T("1"), T("v")}),
              IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(UpdateK({T("7"), N(), N()}, {T("1"), T("2"), T("w")}),
              IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(Rows(), ElementsAre("i:1|i:2|t:w"));
}

TEST_F(KeyedTableTest, AKeyThatIsTakenIsReplaced) {
  Make('d', {"id int k", "v text"});
  ASSERT_OK(Insert({T("1"), T("a")}));
  ASSERT_OK(Insert({T("2"), T("b")}));
  EXPECT_THAT(Insert({T("1"), T("c")}), IsOkAndHolds(Outcome::kReplaced));
  EXPECT_THAT(Rows(), ElementsAre("i:1|t:c", "i:2|t:b"));
  EXPECT_THAT(UpdateK({T("1"), N()}, {T("2"), U()}),
              IsOkAndHolds(Outcome::kReplaced));
  EXPECT_THAT(Rows(), ElementsAre("i:2|t:c"));
}

TEST_F(KeyedTableTest, KeysCompareAsTheirTypeSays) {
  Make('d', {"c char k", "i citext k", "x text k"});
  ASSERT_OK(Insert({T("a  "), T("Key"), T("a")}));
  ASSERT_OK(Insert({T("a  "), T("Key"), T("A")}));
  EXPECT_THAT(UpdateK({T("a"), T("KEY"), T("a")}, {T("b  "), T("new"), T("a")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("t:a  |t:Key|t:A", "t:b  |t:new|t:a"));
}

// A change of case only is a change of the value.
TEST_F(KeyedTableTest, AKeyThatChangesOnlyByItsCollationIsStored) {
  Make('d', {"i citext k"});
  ASSERT_OK(Insert({T("key")}));
  EXPECT_THAT(UpdateK({T("key")}, {T("KEY")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("t:KEY"));
}

TEST_F(KeyedTableTest, GoesByTheReplicaIdentityIndex) {
  Make('i', {"v text", "a int i", "b text i"});
  ASSERT_OK(Insert({T("x"), T("1"), T("p")}));
  ASSERT_OK(Insert({T("y"), T("1"), T("q")}));
  EXPECT_THAT(UpdateK({N(), T("1"), T("p")}, {U(), T("2"), T("p")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Update({T("z"), T("1"), T("q")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Insert({T("w"), T("2"), T("p")}),
              IsOkAndHolds(Outcome::kReplaced));
  EXPECT_THAT(Rows(), ElementsAre("t:w|i:2|t:p", "t:z|i:1|t:q"));
  EXPECT_THAT(DeleteK({N(), T("2"), T("p")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("t:z|i:1|t:q"));
}

TEST_F(KeyedTableTest, AnIdentityIndexBesideThePrimaryKey) {
  Make('i', {"id int k", "u int i", "big text"});
  ASSERT_OK(Insert({T("1"), T("10"), T("a")}));
  ASSERT_OK(Insert({T("2"), T("20"), T("b")}));
  // The primary key changes like any column.
  EXPECT_THAT(Update({T("3"), T("10"), U()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(UpdateK({N(), T("20"), N()}, {T("2"), T("21"), U()}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:2|i:21|t:b", "i:3|i:10|t:a"));
  // It is what a new row may collide with.
  EXPECT_THAT(Insert({T("3"), T("30"), T("c")}),
              IsOkAndHolds(Outcome::kReplaced));
  EXPECT_THAT(Rows(), ElementsAre("i:2|i:21|t:b", "i:3|i:30|t:c"));
  EXPECT_THAT(DeleteK({N(), T("30"), N()}), IsOkAndHolds(Outcome::kDone));
}

TEST_F(KeyedTableTest, SixteenHundredColumns) {
  std::vector<std::string> columns = {"id int k"};
  std::vector<std::string> texts = {"1"};
  for (int i = 1; i < 1600; ++i) {
    columns.push_back(absl::StrCat("c", i, " int"));
    texts.push_back(std::to_string(i));
  }
  Make('d', columns);
  Data row(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) row[i] = T(texts[i]);
  EXPECT_THAT(Insert(row), IsOkAndHolds(Outcome::kDone));
  row[1599] = T("-1");
  EXPECT_THAT(Update(row), IsOkAndHolds(Outcome::kDone));
  const auto value = database_->QueryInt("select c1599 from t where id = 1");
  EXPECT_THAT(value, IsOkAndHolds(-1));
}

// More shapes of UPDATE than statements that are kept.
TEST_F(KeyedTableTest, EverySetOfColumnsThatWereSent) {
  Make('d', {"id int k", "a text", "b text", "c text", "d text", "e text",
             "f text", "g text"});
  ASSERT_OK(
      Insert({T("1"), T("0"), T("0"), T("0"), T("0"), T("0"), T("0"), T("0")}));
  for (int round = 0; round < 2; ++round) {
    std::string want = "i:1";
    for (unsigned sent = 0; sent < 128; ++sent) {
      Data row = {T("1")};
      for (unsigned bit = 0; bit < 7; ++bit) {
        row.push_back((sent >> bit & 1) != 0 ? T("x") : U());
      }
      ASSERT_THAT(Update(row), IsOkAndHolds(Outcome::kDone));
    }
    for (int i = 0; i < 7; ++i) want += "|t:x";
    EXPECT_THAT(Rows(), ElementsAre(want));
  }
}

// ------------------------------------------------------------------ refusals

TEST_F(KeyedTableTest, ALocalTriggerRefuses) {
  Make('d', {"id int k", "v text"});
  ASSERT_OK(Insert({T("1"), T("a")}));
  Execute(
      "create trigger ti before insert on t when new.v = 'no' "
      "begin select raise(abort, 'not here'); end;"
      "create trigger tu before update on t when new.v = 'no' "
      "begin select raise(abort, 'not here'); end;"
      "create trigger td before delete on t "
      "begin select raise(abort, 'not here'); end;");
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("public.t"), HasSubstr("not here")));
  EXPECT_THAT(Insert({T("2"), T("no")}), refused);
  EXPECT_THAT(Update({T("1"), T("no")}), refused);
  EXPECT_THAT(DeleteK({T("1"), N()}), refused);
  EXPECT_THAT(writer_->Truncate(), refused);
  EXPECT_THAT(Rows(), ElementsAre("i:1|t:a"));
  EXPECT_OK(Insert({T("2"), T("yes")}));
}

TEST_F(KeyedTableTest, ALocalUniqueIndexRefuses) {
  Make('d', {"id int k", "v text"});
  Execute("create unique index u on t (v)");
  ASSERT_OK(Insert({T("1"), T("a")}));
  ASSERT_OK(Insert({T("2"), T("b")}));
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("public.t"));
  EXPECT_THAT(Insert({T("3"), T("a")}), refused);
  EXPECT_THAT(Update({T("2"), T("a")}), refused);
}

TEST_F(KeyedTableTest, NullWhereThereMayBeNone) {
  Make('d', {"id int k", "v text !"});
  const auto stale =
      StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("public.t"));
  EXPECT_THAT(Insert({T("1"), N()}), stale);
  ASSERT_OK(Insert({T("1"), T("a")}));
  EXPECT_THAT(Update({T("1"), N()}), stale);
  EXPECT_THAT(Rows(), ElementsAre("i:1|t:a"));
}

TEST_F(KeyedTableTest, RowsThatDoNotFit) {
  Make('d', {"id int k", "v text"});
  ASSERT_OK(Insert({T("1"), T("a")}));
  const auto stale = StatusIs(absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Insert({T("2")}), stale);
  EXPECT_THAT(Insert({T("2"), T("b"), T("c")}), stale);
  EXPECT_THAT(Update({T("1")}), stale);
  EXPECT_THAT(UpdateK({T("1")}, {T("1"), T("b")}), stale);
  EXPECT_THAT(DeleteK({T("1")}), stale);
  EXPECT_THAT(Insert({T("2"), U()}), stale);
  EXPECT_THAT(Update({U(), T("b")}), stale);
  // The value itself is nobody's business.
  EXPECT_THAT(Insert({T("secret"), T("b")}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("public.t"), HasSubstr("id"),
                             Not(HasSubstr("secret")))));
  EXPECT_THAT(Rows(), ElementsAre("i:1|t:a"));
}

TEST_F(KeyedTableTest, AValueThatSqliteCannotHold) {
  // Applies to connections that are opened from now on.
  const auto limit =
      reinterpret_cast<void (*)()>(+[](sqlite3* db, char**, const void*) {
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 100000);
        return SQLITE_OK;
      });
  sqlite3_auto_extension(limit);
  SetUp();
  sqlite3_cancel_auto_extension(limit);
  Make('d', {"id int k", "v text", "w text"});
  const std::string fits(99000, 'x');
  const std::string half(60000, 'x');
  const std::string large(200000, 'x');
  ASSERT_OK(Insert({T("1"), T(fits), N()}));
  EXPECT_THAT(Insert({T("2"), T(large), N()}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("public.t"), HasSubstr("column v"),
                             HasSubstr("200000"))));
  // Each fits, the row does not.
  EXPECT_THAT(Insert({T("2"), T(half), T(half)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Update({T("1"), T(half), T(half)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Update({T("1"), T(large), N()}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(KeyedTableTest, ATableThatNamesNoRow) {
  Make('d', {"at int", "v text"});
  ASSERT_OK(Insert({T("1"), T("a")}));
  ASSERT_OK(Insert({T("1"), T("a")}));
  const auto stale = StatusIs(absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Update({T("1"), T("b")}), stale);
  EXPECT_THAT(DeleteK({T("1"), N()}), stale);
  ASSERT_OK(writer_->Truncate());
  EXPECT_THAT(Rows(), IsEmpty());
}

TEST_F(KeyedTableTest, TheHiddenTableOfACopyReplacesNothing) {
  Make('d', {"k citext k", "v text"});
  Execute(CreateTableSql(shape_, "hidden"));
  TableWriter copy(*database_, shape_, "hidden");
  const Data first = {T("key"), T("a")};
  const Data second = {T("KEY"), T("b")};
  ASSERT_OK(copy.Insert(first));
  EXPECT_THAT(copy.Insert(second),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("public.t")));
  EXPECT_THAT(database_->QueryInt("select count(*) from hidden"),
              IsOkAndHolds(1));
  EXPECT_THAT(Rows(), IsEmpty());
}

TEST_F(KeyedTableTest, AHugeValueLeavesNoMemoryBehind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  Make('f', {"id int k", "v bytea"});
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  };
  const std::string small = "\\x00";
  const std::string huge = "\\x" + std::string(40 << 20, 'a');
  ASSERT_OK(Insert({T("0"), T(small)}));
  const std::int64_t before = allocated();
  const auto expect_little = [&] {
    // SQLite's own cache is 2 MB.
    EXPECT_LE(allocated() - before, 4 << 20);
  };
  ASSERT_OK(Insert({T("1"), T(huge)}));
  expect_little();
  ASSERT_OK(UpdateO({T("1"), T(huge)}, {T("2"), T(huge)}));
  expect_little();
  ASSERT_OK(DeleteO({T("2"), T(huge)}));
  expect_little();
  // A row that cannot be stored, neither.
  EXPECT_FALSE(Insert({T("x"), T(huge)}).ok());
  EXPECT_FALSE(Insert({T("3"), T(huge + "z")}).ok());
  expect_little();
  EXPECT_THAT(Rows(), ElementsAre("i:0|b:00"));
}

TEST_F(KeyedTableTest, KeysAreFoundThroughTheirIndex) {
  Make('d', {"a int k", "b text k", "v text"});
  EXPECT_THAT(Plan(DeleteSql(shape_, RowMatch::kKey, false)),
              ElementsAre(HasSubstr("SEARCH t USING INDEX")));
  Make('i', {"v text", "a int i"});
  EXPECT_THAT(Plan(UpdateSql(shape_, RowMatch::kIdentity, {true, true})),
              ElementsAre(HasSubstr("SEARCH t USING INDEX t_identity")));
}

}  // namespace
}  // namespace sublite::testing
