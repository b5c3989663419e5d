// What the settings of the section `replica` make of tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PipelineSettingsTest : public PipelineFixture {
 protected:
  void Publish(int table, bool published) {
    EXPECT_TRUE(model_.Publish(table, published));
  }
};

TEST_F(PipelineSettingsTest, AnUnpublishedTableIsDroppedWhereThatIsAsked) {
  config_.replica.drop_unpublished = true;
  const int t = AddTable("t", 'd', {"id int4 k"});
  const int u = AddTable("u", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Insert(u, {{"5"}});
  Caught();
  Write("create index local on t (id)");
  Publish(t, false);
  Insert(u, {{"6"}});
  Caught();
  EXPECT_THAT(Query("select name from sqlite_schema where name in ('t', "
                    "'local')"),
              IsEmpty());
  EXPECT_THAT(Query("select pg_table from sublite_tables"), ElementsAre("t:u"));
  EXPECT_THAT(Query("select distinct sqlite_table from sublite_columns"),
              ElementsAre("t:u"));
  EXPECT_THAT(Events("dropped"), SizeIs(1));
  EXPECT_THAT(Rows("u"), ElementsAre("i:5", "i:6"));
  EXPECT_EQ(Query("select consistent from sublite_status"),
            std::vector<std::string>{"i:1"});
  // It comes back like one that was never there.
  Publish(t, true);
  Insert(t, {{"2"}});
  Caught();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:2"));
}

TEST_F(PipelineSettingsTest, OneThatWasKeptIsDroppedWhenTheSettingChanges) {
  const int t = AddTable("t", 'd', {"id int4 k"});
  AddTable("u", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Caught();
  Publish(t, false);
  Caught();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
  config_.replica.drop_unpublished = true;
  Caught();
  EXPECT_THAT(Query("select name from sqlite_schema where name = 't'"),
              IsEmpty());
}

// A publication that is dropped and made again must not cost the rows.
TEST_F(PipelineSettingsTest, NothingIsDroppedWhileAPublicationIsGone) {
  config_.replica.drop_unpublished = true;
  const int t = AddTable("t", 'd', {"id int4 k"});
  Insert(t, {{"1"}});
  Caught();
  bool gone = false;
  Follow([&](FakeStream& stream) {
    if (gone || !stream.idle()) return;
    gone = true;
    publisher_.missing_publications = {"p"};
    Publish(t, false);
    // A table that is not known makes the catalog be read.
    Insert(AddTable("u", 'd', {"id int4 k"}), {{"1"}});
  });
  EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
}

TEST_F(PipelineSettingsTest, AChunkIsWhatMayBeReadInASecond) {
  // Lines of COPY have the key and a newline: 5 bytes each.
  config_.replica.copy_rate = 500;
  const int t = AddTable("t", 'd', {"id int4 k"});
  for (int i = 1000; i < 1150; ++i) Insert(t, {{std::to_string(i)}});
  int rows_at_once = 0;
  publisher_.on_read_row = [&](const std::string&, int row) {
    rows_at_once = std::max(rows_at_once, row + 1);
    return absl::OkStatus();
  };
  do {
    Follow();
  } while (Copying());
  EXPECT_EQ(rows_at_once, 100);
  EXPECT_THAT(Rows("t"), SizeIs(150));
  Caught();
}

}  // namespace
}  // namespace sublite::testing
