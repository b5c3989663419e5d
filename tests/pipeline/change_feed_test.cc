// The feed of changes by itself: keys, order, and how much is kept.
#include "applier/change_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "schema/bookkeeping.h"
#include "schema/sql_value_json.h"
#include "tests/pipeline/table_fixture.h"
#include "tests/support/replica_dump.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChangeFeedTest : public TableFixture {
 protected:
  void SetUp() override {
    TableFixture::SetUp();
    Execute(kBookkeepingSql);
    unlink((path_ + "-notify").c_str());
    Open({});
  }

  void Open(const ChangeFeedOptions& options) {
    feed_ = std::make_unique<ChangeFeed>(*database_, path_, options);
    ASSERT_OK(feed_->Open());
    feed_->Begin(Lsn(0x100000020), PgTime{0}, now_);
  }

  std::vector<std::string> Keys() {
    ReplicaReader reader(path_);
    return reader.Query(
        "select kind || ' ' || coalesce(\"key\", '-') from sublite_changes "
        "order by id");
  }
  std::int64_t Int(const std::string& sql) {
    return database_->QueryInt(sql).value_or(-1);
  }

  std::unique_ptr<ChangeFeed> feed_;
  absl::Time now_ = absl::FromUnixSeconds(1709208010);  // 2024-02-29 12:00:10
};

TEST_F(ChangeFeedTest, ARowSaysWhatWhereAndWhen) {
  shape_ = MakeShape('d', {"id int k", "v text"});
  ASSERT_OK(feed_->Insert(shape_, Data{T("7"), T("x")}));
  ReplicaReader reader(path_);
  EXPECT_THAT(
      reader.Query("select sqlite_table, \"key\", kind, lsn, committed_at, "
                   "applied_at from sublite_changes"),
      ElementsAre("t:t|t:{\"id\":7}|t:insert|t:1/20|t:2000-01-01 "
                  "00:00:00+00:00|t:2024-02-29 12:00:10+00:00"));
}

TEST_F(ChangeFeedTest, UpdatesOfTheKeyAreTwoChanges) {
  shape_ = MakeShape('d', {"id int k", "v text"});
  ASSERT_OK(feed_->Update(shape_, OldTuple::kNone, {}, Data{T("1"), T("a")}));
  ASSERT_OK(feed_->Update(shape_, OldTuple::kKey, Data{T("1"), N()},
                          Data{T("2"), U()}));
  // REPLICA IDENTITY FULL sends the old row always.
  ASSERT_OK(feed_->Update(shape_, OldTuple::kFull, Data{T("2"), T("a")},
                          Data{T("2"), T("b")}));
  ASSERT_OK(feed_->Delete(shape_, Data{T("2"), N()}));
  ASSERT_OK(feed_->Truncate(shape_));
  EXPECT_THAT(Keys(), ElementsAre("t:update {\"id\":1}", "t:delete {\"id\":1}",
                                  "t:insert {\"id\":2}", "t:update {\"id\":2}",
                                  "t:delete {\"id\":2}", "t:truncate -"));
}

TEST_F(ChangeFeedTest, KeysOfSeveralColumnsAndOfAnIdentityIndex) {
  shape_ = MakeShape('d', {"b text k", "v text", "a int k"});
  ASSERT_OK(feed_->Insert(shape_, Data{T("x\"\\\n\xc3\xa9"), N(), T("-5")}));
  shape_ = MakeShape('i', {"v text", "u text i"});
  ASSERT_OK(feed_->Insert(shape_, Data{N(), T("unique")}));
  shape_ = MakeShape('f', {"v text"});
  ASSERT_OK(feed_->Insert(shape_, Data{T("no key")}));
  EXPECT_THAT(Keys(),
              ElementsAre("t:insert {\"b\":\"x\\\"\\\\\\n\xc3\xa9\",\"a\":-5}",
                          "t:insert {\"u\":\"unique\"}", "t:insert -"));
  EXPECT_EQ(Int("select min(json_valid(\"key\")) from sublite_changes "
                "where \"key\" is not null"),
            1);
}

// A large key that did not change comes without its value.
TEST_F(ChangeFeedTest, AKeyThatWasNotSentIsTheOldOne) {
  shape_ = MakeShape('d', {"k text k", "n int"});
  ASSERT_OK(feed_->Update(shape_, OldTuple::kKey, Data{T("large"), N()},
                          Data{U(), T("5")}));
  ASSERT_OK(feed_->Update(shape_, OldTuple::kNone, {}, Data{U(), T("5")}));
  EXPECT_THAT(Keys(), ElementsAre("t:update {\"k\":\"large\"}", "t:update -"));
}

TEST(SqlValueJsonTest, EveryKind) {
  const auto json = [](SqlValue::Kind kind, std::int64_t integer, double real,
                       std::string_view bytes) {
    std::string out;
    AppendSqlValueAsJson({kind, integer, real, bytes}, &out);
    return out;
  };
  using Kind = SqlValue::Kind;
  EXPECT_EQ(json(Kind::kNull, 0, 0, ""), "null");
  EXPECT_EQ(json(Kind::kInteger, -9223372036854775807 - 1, 0, ""),
            "-9223372036854775808");
  EXPECT_EQ(json(Kind::kReal, 0, 0.1, ""), "0.1");
  EXPECT_EQ(json(Kind::kReal, 0, 1e300, ""), "1e+300");
  EXPECT_EQ(json(Kind::kReal, 0, HUGE_VAL, ""), "\"Infinity\"");
  EXPECT_EQ(json(Kind::kReal, 0, -HUGE_VAL, ""), "\"-Infinity\"");
  EXPECT_EQ(json(Kind::kText, 0, 0, "a\"b"), "\"a\\\"b\"");
  EXPECT_EQ(json(Kind::kBlob, 0, 0, std::string_view("\x00\xff", 2)),
            "\"\\\\x00ff\"");
}

TEST_F(ChangeFeedTest, TheOldestGoByAge) {
  Open({absl::Hours(1), 64 << 20});
  shape_ = MakeShape('d', {"id int k"});
  for (int minute = 0; minute < 120; minute += 10) {
    feed_->Begin(Lsn(1), PgTime{0}, now_ + absl::Minutes(minute));
    ASSERT_OK(feed_->Insert(shape_, Data{T(std::to_string(minute))}));
  }
  ASSERT_OK(feed_->Prune(now_ + absl::Minutes(110)));
  EXPECT_EQ(Int("select json_extract(\"key\", '$.id') from sublite_changes "
                "order by id limit 1"),
            50);
  // Not more often than once a minute.
  ASSERT_OK(feed_->Prune(now_ + absl::Minutes(110) + absl::Seconds(59)));
  EXPECT_EQ(Int("select count(*) from sublite_changes"), 7);
  ASSERT_OK(feed_->Prune(now_ + absl::Hours(24)));
  EXPECT_EQ(Int("select count(*) from sublite_changes"), 0);
}

TEST_F(ChangeFeedTest, TheOldestGoBySize) {
  Open({absl::Hours(24), 64 << 10});
  shape_ = MakeShape('d', {"id int k"});
  ASSERT_OK(database_->Execute("begin"));
  std::int64_t most = 0;
  for (int i = 1; i <= 20000; ++i) {
    ASSERT_OK(feed_->Insert(shape_, Data{T(std::to_string(i))}));
    if (i % 100 == 0)
      most = std::max(most, Int("select count(*) from sublite_changes"));
  }
  ASSERT_OK(feed_->Prune(now_));
  ASSERT_OK(database_->Execute("commit"));
  feed_->Committed(Lsn(1));
  // Each takes about a hundred bytes.
  const std::int64_t kept = Int("select count(*) from sublite_changes");
  EXPECT_GE(kept, 400);
  EXPECT_LE(kept, 800);
  EXPECT_LE(most, 1000);
  EXPECT_EQ(Int("select max(id) from sublite_changes"), 20000);
  EXPECT_EQ(Int("select max(id) - min(id) + 1 from sublite_changes"), kept);
}

TEST_F(ChangeFeedTest, WhatWasRolledBackDoesNotCount) {
  Open({absl::Hours(24), 64 << 10});
  shape_ = MakeShape('d', {"id int k"});
  for (int round = 0; round < 50; ++round) {
    ASSERT_OK(database_->Execute("begin"));
    for (int i = 0; i < 100; ++i)
      ASSERT_OK(feed_->Insert(shape_, Data{T("1")}));
    ASSERT_OK(database_->Execute("rollback"));
    feed_->RolledBack();
  }
  ASSERT_OK(database_->Execute("begin"));
  for (int i = 0; i < 100; ++i) ASSERT_OK(feed_->Insert(shape_, Data{T("2")}));
  ASSERT_OK(feed_->Prune(now_));
  ASSERT_OK(database_->Execute("commit"));
  EXPECT_EQ(Int("select count(*) from sublite_changes"), 100);
}

TEST_F(ChangeFeedTest, TheFileForInotifyIsWrittenWhenSomethingChanged) {
  const std::string file = path_ + "-notify";
  const auto read = [&] {
    std::string line;
    std::ifstream stream(file);
    std::getline(stream, line);
    return line;
  };
  const auto mark = [&] { std::ofstream(file) << "mark\n"; };
  feed_->Committed(Lsn(0x20));
  EXPECT_EQ(read(), "0/20             ");
  mark();
  feed_->Committed(Lsn(0x20));  // the same position, and no change
  EXPECT_EQ(read(), "mark");
  feed_->Committed(Lsn(0x30));
  EXPECT_EQ(read(), "0/30             ");
  mark();
  shape_ = MakeShape('d', {"id int k"});
  ASSERT_OK(feed_->Insert(shape_, Data{T("1")}));
  feed_->Committed(Lsn(0x30));
  EXPECT_EQ(read(), "0/30             ");
  // Somebody removed it.
  unlink(file.c_str());
  feed_->Committed(Lsn(0x40));
  EXPECT_EQ(read(), "0/40             ");
  // A link leads elsewhere: that is left alone.
  unlink(file.c_str());
  const std::string other = path_ + "-other";
  std::ofstream(other) << "kept\n";
  ASSERT_EQ(symlink(other.c_str(), file.c_str()), 0);
  feed_->Committed(Lsn(0x50));
  EXPECT_EQ(read(), "kept");
  unlink(file.c_str());
}

}  // namespace
}  // namespace sublite::testing
