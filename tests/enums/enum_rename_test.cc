// ALTER TYPE … RENAME VALUE changes rows without a word in the stream: the
// replica notices it in the catalog, and copies the tables again that hold the
// enum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/failover/failover_fixture.h"

namespace sublite::testing {
namespace {

class EnumRenameTest : public FailoverTest {
 protected:
  void SetUp() override {
    PgServerOptions options;
    options.settings = {{"max_prepared_transactions", "10"}};
    ASSERT_TRUE(StartPrimary(10, options));
    Sql("create type mood as enum ('sad', E'o\\\\k \\n', 'happy');"
        "create type other as enum ('sad', 'happy');"
        "create domain dmood as mood;"
        "create type pair as (m mood, n int);"
        "create type moods as range (subtype = mood);"
        "create table plain (id int primary key, m mood);"
        "create table keyed (m mood primary key);"
        "create table arrays (id int primary key, m mood[]);"
        "create table domains (id int primary key, m dmood);"
        "create table pairs (id int primary key, m pair);"
        "create table ranges (id int primary key, m moods);"
        "create table none (id int primary key, m other);");
    Sql("insert into plain values (1, 'sad'), (2, 'happy');"
        "insert into keyed values ('sad'), ('happy');"
        "insert into arrays values (1, '{sad,happy}');"
        "insert into domains values (1, 'sad');"
        "insert into pairs values (1, row('sad', 1));"
        "insert into ranges values (1, '[sad,happy]');"
        "insert into none values (1, 'sad');"
        "alter publication pub add table plain, keyed, arrays, domains, pairs, "
        "ranges, none");
  }

  void Start() { StartSublite(primary_->Conninfo("postgres")); }
  void AwaitReady() {
    Await("select count(*) from sublite_tables where state <> 'ready'", "0");
    Await("select consistent from sublite_status", "1");
  }
  // A change of a table that is not known yet makes the catalog be read.
  void MakeItLook() {
    const std::string table = absl::StrCat("look_", ++looks_);
    Sql(absl::StrCat("create table ", table,
                     " (id int primary key);"
                     "alter publication pub add table ",
                     table));
    Sql(absl::StrCat("insert into ", table, " values (1)"));
    Await(absl::StrCat("select count(*) from sublite_tables where pg_table = '",
                       table, "' and state = 'ready'"),
          "1");
  }
  int looks_ = 0;
};

TEST_F(EnumRenameTest, EveryTableThatHoldsTheEnum) {
  Start();
  AwaitReady();
  Sql("alter type mood rename value 'sad' to 'blue'");
  MakeItLook();
  Await("select m from plain where id = 1", "blue");
  Await("select min(m) from keyed", "blue");
  Await("select m from arrays", "[\"blue\",\"happy\"]");
  Await("select m from domains", "blue");
  Await("select m from pairs", "(blue,1)");
  Await("select m from ranges", "[blue,happy]");
  AwaitReady();
  EXPECT_EQ(Read("select m from none"), "sad");
  EXPECT_EQ(Read("select count(*) from sublite_events where kind = 'copied' "
                 "and sqlite_table = 'none'"),
            "1");
  // Two labels that swap their names, while nobody follows.
  EXPECT_OK(StopSublite());
  Sql("alter type mood rename value 'blue' to 'x';"
      "alter type mood rename value 'happy' to 'blue';"
      "alter type mood rename value 'x' to 'happy';"
      "update plain set id = 3 where id = 1");
  Start();
  Await("select m from plain where id = 2", "blue");
  Await("select m from plain where id = 3", "happy");
  Await("select m from arrays", "[\"happy\",\"blue\"]");
  AwaitReady();
}

TEST_F(EnumRenameTest, ALabelThatIsAddedCopiesNothing) {
  Start();
  AwaitReady();
  const std::string copied =
      Read("select count(*) from sublite_events where kind = 'copied'");
  Sql("alter type mood add value 'new' before 'sad'");
  Sql("insert into plain values (5, 'new')");
  MakeItLook();
  Await("select m from plain where id = 5", "new");
  EXPECT_EQ(Read("select count(*) from sublite_events where kind = 'copied' "
                 "and sqlite_table not like 'look%'"),
            copied);
  // It is known once the catalog was read.
  Await(
      "select count(*) from sublite_tables where pg_table = 'plain' and "
      "labels like '%new'",
      "1");
  Sql("alter type mood rename value 'new' to 'newer'");
  MakeItLook();
  Await("select m from plain where id = 5", "newer");
}

// A transaction that wrote the old label and is committed after the copy.
TEST_F(EnumRenameTest, WhatWasPreparedBefore) {
  Start();
  AwaitReady();
  Sql("begin; insert into plain values (7, 'sad'); insert into arrays values "
      "(7, '{sad}'); prepare transaction 'g'");
  Sql("alter type mood rename value 'sad' to 'blue'");
  MakeItLook();
  // The others do not wait for it.
  Await("select m from domains", "blue");
  Sql("insert into none values (2, 'happy')");
  Await("select count(*) from none", "2");
  Sql("commit prepared 'g'");
  Await("select count(*) from plain where id = 7", "1");
  AwaitReady();
  EXPECT_EQ(Read("select m from plain where id = 7"), "blue");
  EXPECT_EQ(Read("select m from arrays where id = 7"), "[\"blue\"]");
  EXPECT_EQ(Read("select count(*) from plain where m = 'sad'"), "0");
}

// A label with a line end and a backslash is told from others.
TEST_F(EnumRenameTest, AnOddLabel) {
  Sql("insert into plain values (4, E'o\\\\k \\n')");
  Start();
  AwaitReady();
  EXPECT_EQ(Read("select m from plain where id = 4"), "o\\k \n");
  Sql("alter type mood rename value E'o\\\\k \\n' to E'o\\\\k \\\\n'");
  MakeItLook();
  Await("select m from plain where id = 4", "o\\k \\n");
}

}  // namespace
}  // namespace sublite::testing
