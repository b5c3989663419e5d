// Binary values: when they are asked for, and what happens when a table comes
// for which they cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/model_publisher.h"

namespace sublite::testing {
namespace {

// The model does not know the type; its text is taken as it is.
constexpr std::uint32_t kRegclass = 2205;

class PipelineBinaryTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    config_.publisher.binary = true;
  }

  int AddUndecodable(const std::string& name) {
    std::vector<bool> external;
    PublishedTable table =
        MakeTable("public", name, 'd', {"id int4 k", "r text"}, &external);
    table.columns[1].type = kRegclass;
    table.columns[1].type_text = "regclass";
    return model_.AddTable(std::move(table), external);
  }

  bool LastStreamWasBinary() { return publisher_.streams.back().binary; }
  // Whether all, or none, of the copies since the last call were asked for in
  // binary form. (What the model sends is text: the reader says so.)
  bool CopiesWereBinary() {
    const std::vector<CopyRequest> requests =
        std::exchange(publisher_.requests, {});
    EXPECT_FALSE(requests.empty());
    const bool binary = !requests.empty() && requests[0].binary;
    for (const CopyRequest& request : requests)
      EXPECT_EQ(request.binary, binary);
    return binary;
  }
};

TEST_F(PipelineBinaryTest, IsAskedForWhereEveryTypeHasADecoder) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text", "ok bool"});
  Insert(t, {{"1", "a", "t"}});
  Caught();
  EXPECT_TRUE(LastStreamWasBinary());
  EXPECT_TRUE(CopiesWereBinary());
  // What one table lacks keeps no other from it; see BinaryCopyTest.
  AddUndecodable("u");
  Caught();
  EXPECT_FALSE(LastStreamWasBinary());
  EXPECT_TRUE(CopiesWereBinary());
}

TEST_F(PipelineBinaryTest, IsNotAskedForUnlessChosen) {
  config_.publisher.binary = false;
  AddTable("t", 'd', {"id int4 k"});
  Caught();
  EXPECT_FALSE(LastStreamWasBinary());
  EXPECT_FALSE(CopiesWereBinary());
}

TEST_F(PipelineBinaryTest, IsNotAskedForOfOldServersAndOtherEncodings) {
  AddTable("t", 'd', {"id int4 k"});
  publisher_.identity.server_version = 130000;
  Caught();
  EXPECT_FALSE(LastStreamWasBinary());
  EXPECT_FALSE(CopiesWereBinary());
  publisher_.identity.server_version = 150000;
  publisher_.server_encoding = "LATIN1";
  Caught();
  EXPECT_FALSE(LastStreamWasBinary());
  publisher_.server_encoding = "UTF8";
  Caught();
  EXPECT_TRUE(LastStreamWasBinary());
}

// A table that needs text comes while the stream is binary: the session ends
// at once, without an error, and the next one asks for text.
TEST_F(PipelineBinaryTest, GoesOnInTextWhenATableNeedsIt) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  Insert(t, {{"1", "a"}});
  Caught();
  ASSERT_TRUE(LastStreamWasBinary());
  bool added = false;
  int u = 0;
  SessionEnd end = Follow([&](FakeStream&) {
    if (!added) {
      u = AddUndecodable("u");
      Insert(u, {{"1", "pg_class"}});
      added = true;
    } else if (Int("select count(*) from sublite_tables where pg_table = 'u' "
                   "and state = 'ready'") == 1 &&
               model_.tables()[u].rows.size() == 1) {
      Insert(t, {{"2", "b"}});
      Insert(u, {{"2", "pg_type"}});
    }
  });
  ASSERT_TRUE(LastStreamWasBinary());
  EXPECT_EQ(end.next, SessionEnd::Next::kAgain) << end.status;
  EXPECT_TRUE(end.at_once);
  Caught();
  EXPECT_FALSE(LastStreamWasBinary());
  EXPECT_EQ(Int("select count(*) from u"), 2);
  EXPECT_EQ(Int("select count(*) from t"), 2);
}

// Files of an earlier version say nothing of binary forms. They are learnt
// from the catalog, without another copy.
TEST_F(PipelineBinaryTest, LearnsFormsWithoutCopying) {
  const int t = AddTable("t", 'd', {"id int4 k", "v text"});
  Insert(t, {{"1", "a"}});
  Caught();
  const int reads = publisher_.table_reads;
  Kill();
  Write(
      "update sublite_columns set codec = substr(codec, 1, "
      "instr(codec, '@') - 1)");
  Insert(t, {{"2", "b"}});
  Caught();
  EXPECT_EQ(publisher_.table_reads, reads);
  EXPECT_TRUE(LastStreamWasBinary());
  EXPECT_EQ(Int("select count(*) from sublite_columns where codec like '%@%'"),
            2);
}

}  // namespace
}  // namespace sublite::testing
