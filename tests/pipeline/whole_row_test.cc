// Rows of tables without a key under REPLICA IDENTITY FULL: found by all that
// they hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applier/table_writer.h"
#include "tests/pipeline/table_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class WholeRowTest : public TableFixture {};

// Case C021.
TEST_F(WholeRowTest, OneOfEqualRowsIsTouched) {
  Make('f', {"a int", "b text", "c numeric-text"});
  for (int i = 0; i < 3; ++i) ASSERT_OK(Insert({N(), T("a"), T("1.10")}));
  EXPECT_THAT(DeleteO({N(), T("a"), T("1.10")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(UpdateO({N(), T("a"), T("1.10")}, {T("5"), T("a"), T("1.1")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:5|t:a|t:1.1", "null|t:a|t:1.10"));
  // 1.1 is another text than 1.10.
  EXPECT_THAT(DeleteO({T("5"), T("a"), T("1.10")}),
              IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(DeleteO({T("5"), N(), T("1.1")}),
              IsOkAndHolds(Outcome::kMissing));
}

TEST_F(WholeRowTest, AllNull) {
  Make('f', {"a int", "b text"});
  ASSERT_OK(Insert({N(), N()}));
  ASSERT_OK(Insert({N(), N()}));
  EXPECT_THAT(UpdateO({N(), N()}, {N(), T("x")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(DeleteO({N(), N()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("null|t:x"));
}

// Case C002.
TEST_F(WholeRowTest, WhatWasNotSentStays) {
  Make('f', {"a int", "big text"});
  ASSERT_OK(Insert({T("1"), T("large")}));
  EXPECT_THAT(UpdateO({T("1"), T("large")}, {T("2"), U()}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:2|t:large"));
}

TEST_F(WholeRowTest, CollationsDoNotMakeRowsEqual) {
  Make('f', {"c char", "i citext"});
  ASSERT_OK(Insert({T("a "), T("Key")}));
  ASSERT_OK(Insert({T("a"), T("Key")}));
  ASSERT_OK(Insert({T("a"), T("key")}));
  EXPECT_THAT(UpdateO({T("a"), T("key")}, {T("b"), T("x")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(DeleteO({T("a"), T("Key")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("t:a |t:Key", "t:b|t:x"));
  EXPECT_THAT(DeleteO({T("a  "), T("Key")}), IsOkAndHolds(Outcome::kMissing));
}

TEST_F(WholeRowTest, LongValuesDifferBehindTheIndexedBeginning) {
  Make('f', {"v text", "j json"});
  const std::string a = std::string(32, 'x') + "a";
  const std::string b = std::string(32, 'x') + "b";
  const std::string same(32, 'x');
  for (const std::string& text : {a, b, same}) {
    ASSERT_OK(Insert({T(text), T("{\"a\" : 1}")}));
  }
  EXPECT_THAT(DeleteO({T(b), T("{\"a\" : 1}")}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(DeleteO({T(a), T("{\"a\":1}")}), IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(DeleteO({T(same), T("{\"a\" : 1}")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre(absl::StrCat("t:", a, "|t:{\"a\" : 1}")));
}

TEST_F(WholeRowTest, EveryKindOfValueIsFound) {
  const std::vector<std::string> row = {"-9223372036854775808",
                                        "t",
                                        "NaN",
                                        "12.50",
                                        "NaN",
                                        "$1.50",
                                        "\\x00ff",
                                        "2024-02-29 12:00:00+00",
                                        "{1,NULL}",
                                        "1e400"};
  Make('f',
       {"a int", "b bool", "c real", "d numeric(12,2)", "e numeric-text",
        "f money", "g bytea", "h timestamptz", "i array(,;int)", "j json"});
  Data data;
  for (const std::string& text : row) data.push_back(T(text));
  Data other = data;
  for (const char* real : {"Infinity", "-0", "0.1", "5e-324"}) {
    other[2] = T(real);
    ASSERT_OK(Insert(other));
    EXPECT_THAT(UpdateO(other, data), IsOkAndHolds(Outcome::kDone)) << real;
    EXPECT_THAT(DeleteO(data), IsOkAndHolds(Outcome::kDone)) << real;
  }
  EXPECT_THAT(Rows(), IsEmpty());
}

TEST_F(WholeRowTest, ARowThatIsNotThere) {
  Make('f', {"a int", "b text"});
  EXPECT_THAT(DeleteO({T("1"), N()}), IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(UpdateO({T("1"), N()}, {T("2"), T("x")}),
              IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(Rows(), ElementsAre("i:2|t:x"));
}

TEST_F(WholeRowTest, AKeyAloneNamesNoRow) {
  Make('f', {"a int", "b text"});
  ASSERT_OK(Insert({T("1"), N()}));
  const auto stale = StatusIs(absl::StatusCode::kOutOfRange);
  EXPECT_THAT(DeleteK({T("1"), N()}), stale);
  EXPECT_THAT(UpdateK({T("1"), N()}, {T("2"), N()}), stale);
  EXPECT_THAT(Update({T("2"), N()}), stale);
}

TEST_F(WholeRowTest, ALocalUniqueIndexRefuses) {
  Make('f', {"a int", "b text"});
  Execute("create unique index u on t (a)");
  ASSERT_OK(Insert({T("1"), T("x")}));
  ASSERT_OK(Insert({T("2"), T("x")}));
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("public.t"));
  EXPECT_THAT(Insert({T("1"), T("y")}), refused);
  EXPECT_THAT(UpdateO({T("2"), T("x")}, {T("1"), T("y")}), refused);
  EXPECT_THAT(Rows(), ElementsAre("i:1|t:x", "i:2|t:x"));
}

// ------------------------------------------------ names of the rowid hidden

TEST_F(WholeRowTest, ColumnsMayHideNamesOfTheRowid) {
  for (const std::vector<std::string>& columns :
       {std::vector<std::string>{"rowid int", "v text"},
        {"ROWID int", "_rowid_ text"},
        {"oid int", "RowId text"},
        {"Oid int", "_ROWID_ text"}}) {
    Make('f', columns);
    for (int i = 0; i < 2; ++i) ASSERT_OK(Insert({T("1"), T("a")}));
    EXPECT_THAT(UpdateO({T("1"), T("a")}, {T("2"), T("b")}),
                IsOkAndHolds(Outcome::kDone));
    EXPECT_THAT(Rows(), ElementsAre("i:1|t:a", "i:2|t:b"));
    EXPECT_THAT(DeleteO({T("2"), T("b")}), IsOkAndHolds(Outcome::kDone));
    EXPECT_THAT(Rows(), ElementsAre("i:1|t:a"));
  }
}

TEST_F(WholeRowTest, ColumnsMayHideAllNamesOfTheRowid) {
  Make('f', {"rowid int", "_rowid_ text", "OID text"});
  for (int i = 0; i < 3; ++i) ASSERT_OK(Insert({T("1"), T("a"), N()}));
  ASSERT_OK(Insert({T("1"), T("a"), T("other")}));
  EXPECT_THAT(UpdateO({T("1"), T("a"), N()}, {T("2"), U(), T("x")}),
              IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(), ElementsAre("i:1|t:a|null", "i:1|t:a|null",
                                  "i:1|t:a|t:other", "i:2|t:a|t:x"));
  EXPECT_THAT(DeleteO({T("1"), T("a"), N()}), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(Rows(),
              ElementsAre("i:1|t:a|null", "i:1|t:a|t:other", "i:2|t:a|t:x"));
  EXPECT_THAT(DeleteO({T("9"), T("a"), N()}), IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(UpdateO({T("9"), T("a"), N()}, {T("8"), U(), N()}),
              IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(Rows(), Contains("i:8|t:a|null"));
}

// ---------------------------------------------------------------------- size

TEST_F(WholeRowTest, SixteenHundredColumns) {
  std::vector<std::string> columns;
  Data row;
  for (int i = 0; i < 1600; ++i) {
    columns.push_back(
        absl::StrCat("a_column_with_a_rather_long_name_", i, " text"));
    row.push_back(i % 3 == 0 ? N() : T("value"));
  }
  Make('f', columns);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Insert(row), IsOkAndHolds(Outcome::kDone));
  }
  Data changed = row;
  changed[1599] = T("changed");
  EXPECT_THAT(UpdateO(row, changed), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(DeleteO(row), IsOkAndHolds(Outcome::kDone));
  EXPECT_THAT(DeleteO(row), IsOkAndHolds(Outcome::kMissing));
  EXPECT_THAT(DeleteO(changed), IsOkAndHolds(Outcome::kDone));
}

TEST_F(WholeRowTest, RowsAreFoundThroughAnIndex) {
  const std::vector<std::vector<std::string>> tables = {
      {"a int"},
      {"a text"},
      {"a char", "b citext"},
      {"j json", "a numeric-text"},
      {"a bool", "b real", "c numeric(12,2)", "d money", "e text", "f int",
       "g timestamptz", "h timetz", "i text", "j text"},
      {"rowid int", "v text"},
  };
  for (const std::vector<std::string>& columns : tables) {
    Make('f', columns);
    const std::vector<bool> all(columns.size(), true);
    // COVERING where the index holds all of it.
    const auto by_index = ContainsRegex("SEARCH t USING.* INDEX t_row ");
    const auto update = Plan(UpdateSql(shape_, RowMatch::kWholeRow, all));
    EXPECT_THAT(update, Contains(by_index)) << columns[0];
    EXPECT_THAT(update, Each(Not(HasSubstr("SCAN")))) << columns[0];
    for (const bool all_equal : {false, true}) {
      const auto plan = Plan(DeleteSql(shape_, RowMatch::kWholeRow, all_equal));
      EXPECT_THAT(plan, Contains(by_index)) << columns[0];
      EXPECT_THAT(plan, Each(Not(HasSubstr("SCAN")))) << columns[0];
    }
  }
}

// ------------------------------------------------------------------ property

TEST_F(WholeRowTest, AgreesWithAMultiset) {
  const std::vector<const char*> words = {"",  "a",  "A",   "a ", "b",
                                          "B", "01", "1.0", "1"};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const bool hidden = seed % 4 == 0;
    Make('f', hidden
                  ? std::vector<std::string>{"rowid char", "_rowid_ citext",
                                             "oid text"}
                  : std::vector<std::string>{"a char", "b citext", "c text"});
    Execute("begin");
    std::map<std::vector<std::string>, int> model;
    const auto draw = [&] {
      std::vector<std::string> row;
      for (int i = 0; i < 3; ++i) {
        // "\x01" stands for NULL.
        row.emplace_back(random() % 4 == 0 ? "\x01"
                                           : words[random() % words.size()]);
      }
      return row;
    };
    const auto data = [](const std::vector<std::string>& row) {
      Data result;
      for (const std::string& text : row) {
        result.push_back(text == "\x01" ? N() : T(text));
      }
      return result;
    };
    const auto remove = [&](const std::vector<std::string>& row) {
      const auto found = model.find(row);
      if (found == model.end()) return Outcome::kMissing;
      if (--found->second == 0) model.erase(found);
      return Outcome::kDone;
    };
    for (int i = 0; i < 400; ++i) {
      const std::vector<std::string> row = draw();
      const std::vector<std::string> other = draw();
      switch (random() % 4) {
        case 0:
        case 1:
          ASSERT_OK(Insert(data(row)));
          ++model[row];
          break;
        case 2:
          ASSERT_THAT(DeleteO(data(row)), IsOkAndHolds(remove(row)));
          break;
        default:
          ASSERT_THAT(UpdateO(data(row), data(other)),
                      IsOkAndHolds(remove(row)));
          // A missing one was put in, since all of it was sent.
          ++model[other];
      }
    }
    Execute("commit");
    std::vector<std::string> expected;
    for (const auto& [row, count] : model) {
      std::string text;
      for (const std::string& value : row) {
        absl::StrAppend(&text, text.empty() ? "" : "|",
                        value == "\x01" ? "null" : "t:" + value);
      }
      expected.insert(expected.end(), static_cast<std::size_t>(count), text);
    }
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(Rows(), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sublite::testing
