#include "applier/partial_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using Place = PartialCopy::Place;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Snapshot SnapshotOf(const std::string& text) {
  absl::StatusOr<Snapshot> snapshot = Snapshot::Parse(text);
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? *snapshot : Snapshot();
}

CopyChunk Chunk(CopyKey after, CopyKey upto, const std::string& snapshot,
                std::uint64_t lsn) {
  return {std::move(after), std::move(upto), SnapshotOf(snapshot), Lsn(lsn)};
}

TableColumn Column(const std::string& name, ValueKind kind, int key_place) {
  TableColumn column;
  column.name = name;
  column.pg_name = name;
  column.type.kind = kind;
  column.key_place = key_place;
  column.not_null = key_place > 0;
  return column;
}

TableShape Shape(std::vector<TableColumn> columns) {
  TableShape shape;
  shape.pg_schema = "public";
  shape.pg_table = "t";
  shape.name = "t";
  shape.oid = 16384;
  shape.columns = std::move(columns);
  return shape;
}

Datum Text(std::string_view bytes) { return {Datum::Kind::kText, bytes}; }
Datum Unchanged() { return {Datum::Kind::kUnchanged, {}}; }

// ---------------------------------------------------------------------- chunks

TEST(CopyChunksTest, TextComesBack) {
  std::deque<CopyChunk> chunks;
  chunks.push_back(Chunk({}, {-5, 3}, "750:752:750", 0x100000020));
  chunks.push_back(Chunk({-5, 3}, {7, kMost}, "752:760:753,755", 0x100000400));
  chunks.push_back(Chunk({7, kMost}, {{-43, "-03-15 1:2"}, {0, "a,b \n"}},
                         "752:752:", 0x100000700));
  chunks.push_back(
      Chunk({{-43, "-03-15 1:2"}, {0, "a,b \n"}}, {}, "760:760:", 0x100000800));
  const absl::StatusOr<std::deque<CopyChunk>> parsed =
      ParseChunks(FormatChunks(chunks));
  ASSERT_OK(parsed.status());
  ASSERT_EQ(parsed->size(), chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ((*parsed)[i].after, chunks[i].after);
    EXPECT_EQ((*parsed)[i].upto, chunks[i].upto);
    EXPECT_EQ((*parsed)[i].lsn, chunks[i].lsn);
    EXPECT_EQ((*parsed)[i].snapshot.ToString(), chunks[i].snapshot.ToString());
  }
  EXPECT_EQ(FormatChunks({}), "");
  ASSERT_OK(ParseChunks("").status());
  EXPECT_THAT(*ParseChunks(""), IsEmpty());
}

TEST(CopyChunksTest, OtherTextIsDamage) {
  const std::string good = "- 5 1/20 750:752:750";
  ASSERT_OK(ParseChunks(good).status());
  for (const std::string& text : std::vector<std::string>{
           "\n", good + "\n", "\n" + good, "- 5 1/20", "- 5 1/20 750:752:750 x",
           "- 5 1-20 750:752:750", "- 5 1/20 750:752", "x 5 1/20 750:752:750",
           "- 5x 1/20 750:752:750", "-  1/20 750:752:750 "}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseChunks(text).status())) << text;
  }
}

// ---------------------------------------------------------------------- places

// Transactions: 750 was running at both snapshots, 751 at the first only.
class PlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    copy_.chunks.push_back(Chunk({}, {10}, "750:753:750,751", 1000));
    copy_.chunks.push_back(Chunk({10}, {20}, "750:755:750", 2000));
    copy_.upto = {20};
  }

  Place PlaceOf(std::int64_t key, Xid xid, std::uint64_t commit_lsn) const {
    return copy_.PlaceOf({key}, xid, Lsn(commit_lsn));
  }

  PartialCopy copy_;
};

TEST_F(PlaceTest, WhatIsBehindTheLastChunkIsAhead) {
  for (const std::int64_t key : {std::int64_t{21}, kMost})
    EXPECT_EQ(PlaceOf(key, 752, 500), Place::kAhead);
  EXPECT_NE(PlaceOf(20, 752, 500), Place::kAhead);
  const PartialCopy nothing;
  EXPECT_EQ(nothing.PlaceOf({kLeast}, 752, Lsn(500)), Place::kAhead);
}

TEST_F(PlaceTest, EachKeyByTheSnapshotOfItsChunk) {
  for (const std::int64_t key : {kLeast, std::int64_t{0}, std::int64_t{10}}) {
    EXPECT_EQ(PlaceOf(key, 752, 500), Place::kHeld) << key;
    EXPECT_EQ(PlaceOf(key, 751, 500), Place::kHere) << key;
    EXPECT_EQ(PlaceOf(key, 750, 500), Place::kHere) << key;
    EXPECT_EQ(PlaceOf(key, 753, 1500), Place::kHere) << key;
  }
  for (const std::int64_t key : {11, 20}) {
    EXPECT_EQ(PlaceOf(key, 752, 500), Place::kHeld) << key;
    EXPECT_EQ(PlaceOf(key, 751, 1500), Place::kHeld) << key;
    EXPECT_EQ(PlaceOf(key, 750, 500), Place::kHere) << key;
    EXPECT_EQ(PlaceOf(key, 753, 1500), Place::kHeld) << key;
    EXPECT_EQ(PlaceOf(key, 755, 2500), Place::kHere) << key;
  }
}

// An id that is not in progress any more, of a transaction that commits behind
// the chunk: one of the next epoch.
TEST_F(PlaceTest, ACommitBehindTheChunkIsNotInIt) {
  EXPECT_EQ(PlaceOf(5, 752, 999), Place::kHeld);
  EXPECT_EQ(PlaceOf(5, 752, 1000), Place::kHere);
  EXPECT_EQ(PlaceOf(15, 752, 1999), Place::kHeld);
  EXPECT_EQ(PlaceOf(15, 752, 2000), Place::kHere);
}

TEST_F(PlaceTest, TheLastChunkHasNoEnd) {
  copy_.chunks.push_back(Chunk({20}, {}, "750:757:750", 3000));
  copy_.complete = true;
  for (const std::int64_t key : {std::int64_t{21}, kMost}) {
    EXPECT_EQ(PlaceOf(key, 755, 2500), Place::kHeld) << key;
    EXPECT_EQ(PlaceOf(key, 757, 3500), Place::kHere) << key;
  }
  // A table without rows.
  PartialCopy empty;
  empty.complete = true;
  empty.chunks.push_back(Chunk({}, {}, "750:753:750", 1000));
  EXPECT_EQ(empty.PlaceOf({0}, 752, Lsn(500)), Place::kHeld);
  EXPECT_EQ(empty.PlaceOf({0}, 753, Lsn(1000)), Place::kHere);
}

TEST_F(PlaceTest, PassedChunksAreFollowed) {
  EXPECT_EQ(copy_.last_lsn(), Lsn(2000));
  copy_.ForgetPassed(Lsn(999));
  EXPECT_EQ(copy_.chunks.size(), 2u);
  copy_.ForgetPassed(Lsn(1000));
  ASSERT_EQ(copy_.chunks.size(), 1u);
  EXPECT_EQ(PlaceOf(5, 752, 1000), Place::kHere);
  EXPECT_EQ(PlaceOf(15, 752, 1000), Place::kHeld);
  EXPECT_EQ(PlaceOf(21, 752, 1000), Place::kAhead);
  copy_.ForgetPassed(Lsn(5000));
  EXPECT_THAT(copy_.chunks, IsEmpty());
  EXPECT_EQ(copy_.last_lsn(), Lsn());
  EXPECT_EQ(PlaceOf(20, 760, 5000), Place::kHere);
  EXPECT_EQ(PlaceOf(21, 760, 5000), Place::kAhead);
  copy_.complete = true;
  EXPECT_EQ(PlaceOf(21, 760, 5000), Place::kHere);
}

TEST_F(PlaceTest, AllSeeOnlyIfEveryRowHasIt) {
  EXPECT_TRUE(copy_.AllSee(752, Lsn(500)));
  EXPECT_FALSE(copy_.AllSee(751, Lsn(500)));   // the second only
  EXPECT_FALSE(copy_.AllSee(753, Lsn(1500)));  // likewise
  EXPECT_FALSE(copy_.AllSee(755, Lsn(2500)));
  // Rows of a chunk that was passed do not have what comes now.
  copy_.ForgetPassed(Lsn(1000));
  EXPECT_FALSE(copy_.AllSee(752, Lsn(1000)));
  copy_.ForgetPassed(Lsn(2000));
  EXPECT_FALSE(copy_.AllSee(752, Lsn(2000)));
  // There are no rows yet.
  const PartialCopy nothing;
  EXPECT_TRUE(nothing.AllSee(800, Lsn(5000)));
}

TEST_F(PlaceTest, CompositeKeys) {
  PartialCopy copy;
  copy.chunks.push_back(Chunk({}, {1, -5}, "750:753:", 1000));
  copy.chunks.push_back(Chunk({1, -5}, {2, 0}, "753:755:", 2000));
  copy.upto = {2, 0};
  const auto place = [&](std::int64_t a, std::int64_t b) {
    return copy.PlaceOf({a, b}, 754, Lsn(1500));
  };
  EXPECT_EQ(place(0, kMost), Place::kHere);
  EXPECT_EQ(place(1, -5), Place::kHere);
  EXPECT_EQ(place(1, -4), Place::kHeld);
  EXPECT_EQ(place(2, kLeast), Place::kHeld);
  EXPECT_EQ(place(2, 0), Place::kHeld);
  EXPECT_EQ(place(2, 1), Place::kAhead);
  EXPECT_EQ(place(3, kLeast), Place::kAhead);
}

// ---------------------------------------------------------------- keys of rows

TEST(KeyOfTest, InTheKeysOrder) {
  PartialCopy copy;
  copy.shape = Shape({Column("b", ValueKind::kInteger, 2),
                      Column("v", ValueKind::kText, 0),
                      Column("a", ValueKind::kInteger, 1)});
  copy.key = copy.shape.KeyColumns();
  EXPECT_THAT(copy.key, ElementsAre(2, 0));
  const std::vector<Datum> row = {Text("-7"), Datum(),
                                  Text("9223372036854775807")};
  const absl::StatusOr<CopyKey> key = copy.KeyOf(row);
  ASSERT_OK(key.status());
  EXPECT_THAT(*key, ElementsAre(kMost, -7));
}

TEST(KeyOfTest, ARowWithoutAKeyIsOutOfRange) {
  PartialCopy copy;
  copy.shape = Shape(
      {Column("id", ValueKind::kInteger, 1), Column("v", ValueKind::kText, 0)});
  copy.key = copy.shape.KeyColumns();
  const std::vector<Datum> null_key = {Datum(), Text("x")};
  const std::vector<Datum> unchanged = {Unchanged(), Text("x")};
  const std::vector<Datum> none;
  for (const auto& row : {null_key, unchanged, none})
    EXPECT_TRUE(absl::IsOutOfRange(copy.KeyOf(row).status()));
}

// ------------------------------------------------------------- which tables

TEST(CanCopyInChunksTest, KeysThatCompare) {
  EXPECT_TRUE(CanCopyInChunks(Shape({Column("id", ValueKind::kInteger, 1)})));
  EXPECT_TRUE(CanCopyInChunks(Shape({Column("b", ValueKind::kInteger, 2),
                                     Column("v", ValueKind::kText, 0),
                                     Column("a", ValueKind::kInteger, 1)})));
  EXPECT_FALSE(CanCopyInChunks(Shape({Column("id", ValueKind::kText, 1)})));
  EXPECT_FALSE(CanCopyInChunks(Shape({Column("a", ValueKind::kInteger, 1),
                                      Column("b", ValueKind::kText, 2)})));
  EXPECT_FALSE(CanCopyInChunks(Shape({Column("id", ValueKind::kInteger, 0)})));
  EXPECT_FALSE(CanCopyInChunks(Shape({})));
}

TEST(CanCopyInChunksTest, ByThePublishersTypes) {
  PgTypes types;
  const auto add = [&](std::uint32_t oid, const std::string& name,
                       std::uint32_t base) {
    PgType& type = types[oid];
    type.oid = oid;
    type.name = name;
    type.builtin = base == 0;
    type.base = base;
    if (base != 0) type.kind = 'd';
  };
  add(20, "int8", 0);
  add(21, "int2", 0);
  add(23, "int4", 0);
  add(26, "oid", 0);
  add(16, "bool", 0);
  add(25, "text", 0);
  add(700, "float4", 0);
  add(1082, "date", 0);
  add(1700, "numeric", 0);
  add(2950, "uuid", 0);
  add(1083, "time", 0);
  add(1114, "timestamp", 0);
  add(1184, "timestamptz", 0);
  add(1186, "interval", 0);
  add(90000, "positive", 23);  // domains
  add(90001, "thing", 2950);
  const auto can = [&](std::uint32_t type) {
    TableShape shape = Shape({Column("id", ValueKind::kText, 1)});
    shape.columns[0].type = ColumnTypeFor(type, -1, types, NumericMode::kAuto);
    return CanCopyInChunks(shape);
  };
  for (const std::uint32_t type :
       {20, 21, 23, 26, 90000, 1082, 1114, 1184, 2950, 90001}) {
    EXPECT_TRUE(can(type)) << type;
  }
  for (const std::uint32_t type : {16, 25, 700, 1083, 1186, 1700})
    EXPECT_FALSE(can(type)) << type;
}

TEST(CanCopyInChunksTest, AnOldRowHasToTellItsKey) {
  TableShape shape = Shape({Column("id", ValueKind::kInteger, 1)});
  for (const char identity : {'d', 'f', 'n'}) {
    shape.replica_identity = identity;
    EXPECT_TRUE(CanCopyInChunks(shape)) << identity;
  }
  shape.replica_identity = 'i';
  EXPECT_FALSE(CanCopyInChunks(shape));
}

TEST(CopyMadeAsTest, ChangesWithWhatTheRowsAre) {
  PublishedTable published;
  published.published_as = "1";
  published.attributes = "a";
  published.storage = "16384";
  const TableShape shape = Shape(
      {Column("id", ValueKind::kInteger, 1), Column("v", ValueKind::kText, 0)});
  const std::string made_as = CopyMadeAs(published, shape);

  const auto with = [&](auto&& change) {
    PublishedTable other = published;
    TableShape other_shape = shape;
    change(other, other_shape);
    return CopyMadeAs(other, other_shape);
  };
  using P = PublishedTable;
  using S = TableShape;
  // VACUUM FULL; ANALYZE.
  EXPECT_EQ(made_as, with([](P& p, S&) { p.storage = "2"; }));
  EXPECT_EQ(made_as, with([](P& p, S&) { p.estimated_rows = 5; }));

  EXPECT_NE(made_as, with([](P& p, S&) { p.published_as = "2"; }));
  EXPECT_NE(made_as, with([](P& p, S&) { p.attributes = "b"; }));
  EXPECT_NE(made_as, with([](P& p, S&) { p.row_filter = "id > 5"; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.oid = 16385; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.name = "u"; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.replica_identity = 'f'; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.columns.pop_back(); }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.columns[1].name = "w"; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.columns[1].attnum = 7; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.columns[1].type_oid = 7; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.columns[1].type_modifier = 7; }));
  EXPECT_NE(made_as, with([](P&, S& s) {
              s.columns[1].type.kind = ValueKind::kInteger;
            }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.columns[1].not_null = true; }));
  EXPECT_NE(made_as, with([](P&, S& s) { s.columns[1].key_place = 2; }));

  // A partition may be emptied without a word in the stream.
  published.relkind = 'p';
  const std::string partitioned = CopyMadeAs(published, shape);
  EXPECT_NE(partitioned, with([](P& p, S&) { p.storage = "2"; }));
}

}  // namespace
}  // namespace sublite
