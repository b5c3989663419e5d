#include "tests/pipeline/chunk_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace sublite::testing {

using ::testing::Each;
using ::testing::IsEmpty;

void ChunkFixture::SetUp() {
  PipelineFixture::SetUp();
  config_.replica.copy_chunk_rows = 2;
}

std::string ChunkFixture::State(const std::string& table) {
  const auto rows = Query(absl::StrCat(
      "select state from sublite_tables where pg_table = '", table, "'"));
  return rows.empty() ? "" : rows[0].substr(2);
}

std::string ChunkFixture::Upto() {
  ReplicaReader reader(path_);
  if (!reader.Exists("sublite_copies")) return "";
  return reader.Scalar("select upto from sublite_copies");
}

int ChunkFixture::Beginnings() const {
  int beginnings = 0;
  for (const CopyRequest& range : publisher_.requests) {
    if (range.limit == 0) return -1;
    if (range.after.empty()) ++beginnings;
  }
  return beginnings;
}

void ChunkFixture::ExpectClean() {
  ReplicaReader reader(path_);
  EXPECT_THAT(CheckSound(reader), IsEmpty());
  EXPECT_THAT(Query("select * from sublite_copies"), IsEmpty());
  EXPECT_THAT(Query("select name from sqlite_schema where name glob "
                    "'sublite_copy_*'"),
              IsEmpty());
  EXPECT_EQ(Int("select consistent from sublite_status"), 1);
  EXPECT_THAT(Query("select state from sublite_tables"), Each("t:ready"));
  EXPECT_EQ(Int("select missing_rows + replaced_rows from sublite_status"), 0);
  EXPECT_EQ(Applied(), model_.end());
}

int ChunkFixture::AddTens(int rows, char identity, const std::string& v) {
  const int t = AddTable("t", identity, {"id int4 k", v});
  std::vector<ModelRow> all;
  for (int i = 1; i <= rows; ++i)
    all.push_back({std::to_string(10 * i), std::to_string(i)});
  if (!all.empty()) Insert(t, all);
  return t;
}

void ChunkFixture::Change(const std::function<void(FullXid)>& change) {
  const FullXid xid = model_.Begin();
  change(xid);
  model_.Commit(xid);
}

void ChunkFixture::Update(int table, const std::string& id,
                          const ModelRow& row) {
  Change([&](FullXid xid) {
    EXPECT_TRUE(model_.Update(xid, table, RowOf(xid, table, id), row));
  });
}

void ChunkFixture::Delete(int table, const std::string& id) {
  Change([&](FullXid xid) {
    EXPECT_TRUE(model_.Delete(xid, table, RowOf(xid, table, id)));
  });
}

void ChunkFixture::Meanwhile(Moment moment, const std::string& upto,
                             const std::function<void()>& change) {
  bool done = false;
  const auto now = [&](bool right) {
    if (!right || done || Upto() != upto) return;
    done = true;
    change();
  };
  publisher_.on_read_table = [&](const std::string&) {
    now(moment == Moment::kBefore);
    return absl::OkStatus();
  };
  publisher_.on_read_row = [&](const std::string&, int row) {
    now(moment == Moment::kDuring && row == 0);
    return absl::OkStatus();
  };
  Caught([&](FakeStream&) {
    EXPECT_EQ(Compare(), "");
    now(moment == Moment::kBetween);
  });
  publisher_.on_read_table = nullptr;
  publisher_.on_read_row = nullptr;
  EXPECT_TRUE(done);
}

void ChunkFixture::At(Moment moment, const std::string& upto,
                      const std::function<void()>& change) {
  Meanwhile(moment, upto, change);
  ExpectClean();
}

}  // namespace sublite::testing
