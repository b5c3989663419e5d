#include "applier/row_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schema/relation.h"

namespace sublite {
namespace {

TableColumn Column(const std::string& name, std::uint32_t oid, ValueKind kind,
                   int key_place) {
  TableColumn column;
  column.name = name;
  column.pg_name = name;
  column.type_oid = oid;
  column.type.kind = kind;
  column.key_place = key_place;
  return column;
}

Datum Text(std::string_view bytes) { return {Datum::Kind::kText, bytes}; }

// id integer, kind text, secret text, data bytea.
TableShape Shape(int id, int kind, int data) {
  TableShape shape;
  shape.columns = {Column("id", 23, ValueKind::kInteger, id),
                   Column("kind", 25, ValueKind::kText, kind),
                   Column("secret", 25, ValueKind::kText, 0),
                   Column("data", 17, ValueKind::kBytea, data)};
  return shape;
}

TEST(RowNameTest, TheKeyAndNothingElse) {
  const std::vector<Datum> row = {Text("7"), Text("it's"), Text("secret"),
                                  Text("\\x00ff")};
  EXPECT_EQ(RowName(Shape(1, 0, 0), row), " (row id = 7)");
  EXPECT_EQ(RowName(Shape(2, 1, 0), row), " (row kind = 'it's', id = 7)");
  EXPECT_EQ(RowName(Shape(0, 0, 1), row), " (row data = x'00ff')");
  EXPECT_EQ(RowName(Shape(0, 0, 0), row), "");
}

TEST(RowNameTest, TheIdentityIndexWhereThereIsNoKey) {
  TableShape shape = Shape(0, 0, 0);
  shape.columns[1].identity_place = 1;
  const std::vector<Datum> row = {Text("7"), Text("a"), Text("s"), Datum()};
  EXPECT_EQ(RowName(shape, row), " (row kind = 'a')");
}

TEST(RowNameTest, LongKeysAreCutBetweenCharacters) {
  // 63 bytes and one character of two.
  const std::string text = std::string(63, 'a') + "é" + std::string(90, 'b');
  const std::vector<Datum> row = {Text("7"), Text(text), Text("s"), Datum()};
  EXPECT_EQ(RowName(Shape(0, 1, 0), row),
            " (row kind = '" + std::string(63, 'a') + "…')");
}

TEST(RowNameTest, WhatWasNotSentHasNoName) {
  const std::vector<Datum> unchanged = {Datum{Datum::Kind::kUnchanged, ""},
                                        Text("a"), Text("s"), Datum()};
  EXPECT_EQ(RowName(Shape(1, 0, 0), unchanged), "");
  const std::vector<Datum> broken = {Text("no number"), Text("a"), Text("s"),
                                     Datum()};
  EXPECT_EQ(RowName(Shape(1, 0, 0), broken), "");
  EXPECT_EQ(RowName(Shape(1, 0, 0), Tuple()), "");
}

TEST(RowNameTest, OfAChange) {
  const std::vector<Datum> old_row = {Text("1"), Datum(), Datum(), Datum()};
  const std::vector<Datum> new_row = {Text("2"), Datum(), Datum(), Datum()};
  const TableShape shape = Shape(1, 0, 0);
  InsertMessage insert;
  insert.new_tuple = new_row;
  EXPECT_EQ(RowName(shape, Message(insert)), " (row id = 2)");
  UpdateMessage update;
  update.new_tuple = new_row;
  EXPECT_EQ(RowName(shape, Message(update)), " (row id = 2)");
  update.old_kind = OldTuple::kKey;
  update.old_tuple = old_row;
  EXPECT_EQ(RowName(shape, Message(update)), " (row id = 1)");
  DeleteMessage del;
  del.old_tuple = old_row;
  EXPECT_EQ(RowName(shape, Message(del)), " (row id = 1)");
  EXPECT_EQ(RowName(shape, Message(TruncateMessage())), "");
}

}  // namespace
}  // namespace sublite
