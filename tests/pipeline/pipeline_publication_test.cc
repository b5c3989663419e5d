// Tables that come to the publication, leave it, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;

class PipelinePublicationTest : public PipelineFixture {
 protected:
  std::string State(const std::string& table) {
    const auto rows = Query(
        "select state from sublite_tables where pg_table = '" + table + "'");
    return rows.empty() ? "" : rows[0].substr(2);
  }
};

TEST_F(PipelinePublicationTest, ATableIsPublishedWhileSomebodyWritesToIt) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  const int late = AddTable("late", 'd', {"id int4 k"});
  model_.tables()[late].published = false;
  Caught();
  const FullXid writer = model_.Begin();
  EXPECT_TRUE(model_.Insert(writer, late, {"1"}));
  model_.tables()[late].published = true;
  Insert(t, {{"1"}});
  Caught();
  // The writer's row will not be sent: the copy has to wait for it.
  EXPECT_NE(State("late"), "ready");
  EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
  model_.Commit(writer);
  Caught();
  EXPECT_EQ(State("late"), "ready");
  EXPECT_THAT(Rows("late"), ElementsAre("i:1"));
  Insert(late, {{"2"}});
  Caught();
  EXPECT_THAT(Rows("late"), ElementsAre("i:1", "i:2"));
}

TEST_F(PipelinePublicationTest, ATableLeavesThePublicationAndComesBack) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Caught();
  model_.tables()[t].published = false;
  Insert(t, {{"2"}});
  Caught();
  EXPECT_EQ(State("t"), "unpublished");
  EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
  EXPECT_EQ(Int("select consistent from sublite_status"), 1);
  model_.tables()[t].published = true;
  Insert(t, {{"3"}});
  Caught();
  EXPECT_EQ(State("t"), "ready");
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:2", "i:3"));
}

// Noticed only in the stream, while somebody who wrote to the table in between
// is still open: those rows will not be sent.
TEST_F(PipelinePublicationTest, ATableIsPublishedAnewDuringTheStream) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Caught();
  FullXid writer = 0;
  Caught([&](FakeStream& stream) {
    if (writer != 0 || !stream.idle()) return;
    EXPECT_TRUE(model_.Publish(t, false));
    writer = model_.Begin();
    EXPECT_TRUE(model_.Insert(writer, t, {"2"}));
    EXPECT_TRUE(model_.Publish(t, true));
    EXPECT_TRUE(model_.Insert(writer, t, {"3"}));
    Insert(t, {{"4"}});
  });
  EXPECT_NE(State("t"), "ready");
  EXPECT_EQ(Int("select consistent from sublite_status"), 0);
  model_.Prepare(writer, "g");
  Caught();
  EXPECT_NE(State("t"), "ready");
  model_.CommitPrepared(writer);
  Caught();
  EXPECT_EQ(State("t"), "ready");
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:2", "i:3", "i:4"));
}

// The writers of before are waited for; meanwhile it is published anew once
// more, and another one writes to it unseen.
TEST_F(PipelinePublicationTest,
       ATableIsPublishedAnewWhileItsWritersAreWaitedFor) {
  for (const char* column : {"id int4 k", "id text k"}) {
    SCOPED_TRACE(column);
    const std::string name = column[3] == 'i' ? "chunks" : "whole";
    const int t = AddTable(name, 'd', {column});
    Insert(t, {{"1"}});
    Caught();
    const auto publish_anew = [&](const std::string& between) {
      EXPECT_TRUE(model_.Publish(t, false));
      const FullXid writer = model_.Begin();
      EXPECT_TRUE(model_.Insert(writer, t, {between}));
      EXPECT_TRUE(model_.Publish(t, true));
      return writer;
    };
    const FullXid first = publish_anew("2");
    Insert(t, {{"3"}});
    FullXid second = 0;
    Caught([&](FakeStream& stream) {
      if (second != 0 || !stream.idle() || State(name) == "ready") return;
      second = publish_anew("4");
      model_.Commit(first);
    });
    ASSERT_NE(second, 0u);
    EXPECT_NE(State(name), "ready");
    Caught();
    EXPECT_NE(State(name), "ready");
    model_.Commit(second);
    Caught();
    EXPECT_EQ(State(name), "ready");
    EXPECT_EQ(Int(absl::StrCat("select count(*) from ", name)), 4);
  }
}

// The same a second time on one connection: who was waited for the first time
// says nothing of who has to be waited for now.
TEST_F(PipelinePublicationTest, ATableIsPublishedAnewTwiceDuringOneStream) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  const int other = AddTable("other", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Caught();
  const auto publish_anew = [&](const std::string& between,
                                const std::string& after) {
    EXPECT_TRUE(model_.Publish(t, false));
    const FullXid writer = model_.Begin();
    EXPECT_TRUE(model_.Insert(writer, t, {between}));
    EXPECT_TRUE(model_.Publish(t, true));
    Insert(t, {{after}});
    return writer;
  };
  const int reads = publisher_.table_reads;
  int ticks = 0;
  FullXid writer = 0;
  Caught([&](FakeStream& stream) {
    if (!stream.idle()) return;
    // Time enough to copy it too early.
    if (writer != 0) absl::SleepFor(absl::Milliseconds(300));
    if (writer != 0) return;
    if (ticks == 0) model_.Commit(publish_anew("2", "3"));
    // Something to do until the table has been copied.
    ASSERT_LT(++ticks, 100);
    Insert(other, {{std::to_string(ticks)}});
    absl::SleepFor(absl::Milliseconds(100));
    if (publisher_.table_reads == reads || State("t") != "ready") return;
    writer = publish_anew("4", "5");
  });
  ASSERT_NE(writer, 0u);
  EXPECT_NE(State("t"), "ready");
  EXPECT_EQ(Int("select consistent from sublite_status"), 0);
  model_.Commit(writer);
  Caught();
  EXPECT_EQ(State("t"), "ready");
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:2", "i:3", "i:4", "i:5"));
}

}  // namespace
}  // namespace sublite::testing
