#include "schema/identifier.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sublite {
namespace {

using Names = std::vector<std::string>;

TEST(Identifier, Quotes) {
  EXPECT_EQ(QuoteIdentifier("orders"), R"("orders")");
  EXPECT_EQ(QuoteIdentifier(R"(a"b)"), R"("a""b")");
  EXPECT_EQ(QuoteIdentifier(R"(x"; DROP TABLE sublite_state; --)"),
            R"("x""; DROP TABLE sublite_state; --")");
  EXPECT_EQ(QuoteIdentifier(""), R"("")");
  EXPECT_EQ(QuoteLiteral("it's"), "'it''s'");
  EXPECT_EQ(QuoteLiteral(R"(back\slash "q")"), R"('back\slash "q"')");
  EXPECT_EQ(QuoteIdentifierList({}), "");
  EXPECT_EQ(QuoteIdentifierList({"a", R"(b"c)", "d,e", " "}),
            R"("a","b""c","d,e"," ")");
  // Both levels, as START_REPLICATION needs them.
  EXPECT_EQ(QuoteLiteral(QuoteIdentifierList({R"(Pub,"two')"})),
            R"('"Pub,""two''"')");
}

TEST(Identifier, FoldsAsciiOnly) {
  EXPECT_EQ(FoldForSqlite("AZaz09_É[{@"), "azaz09_É[{@");
}

TEST(Identifier, DefaultSlotNames) {
  EXPECT_EQ(DefaultSlotName("/var/lib/sublite/plant.db"), "sublite_plant");
  EXPECT_EQ(DefaultSlotName("plant"), "sublite_plant");
  EXPECT_EQ(DefaultSlotName("a.b/My Plant-7.v2.sqlite"),
            "sublite_my_plant_7_v2");
  EXPECT_EQ(DefaultSlotName("Größe.db"), "sublite_gr__e");
  EXPECT_EQ(DefaultSlotName("名前.db"), "sublite___");
  EXPECT_EQ(DefaultSlotName(".hidden"), "sublite__hidden");
  EXPECT_EQ(DefaultSlotName("1slot"), "sublite_1slot");
  EXPECT_EQ(DefaultSlotName("dir.d/"), "sublite_replica");
  EXPECT_EQ(DefaultSlotName(""), "sublite_replica");
  const std::string cut = DefaultSlotName(std::string(200, 'x') + ".db");
  EXPECT_EQ(cut, "sublite_" + std::string(55, 'x'));
  EXPECT_EQ(cut.size(), 63u);
}

TEST(Identifier, DefaultSlotNamesAreLegalForEveryByte) {
  for (int c = 1; c < 256; ++c) {
    std::string slot = DefaultSlotName(std::string(1, static_cast<char>(c)));
    EXPECT_EQ(slot.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string::npos)
        << slot;
    EXPECT_GE(slot.size(), 8u);
  }
}

TEST(Identifier, TableNames) {
  EXPECT_EQ(SqliteTableName("public", "orders", "."), "orders");
  EXPECT_EQ(SqliteTableName("public", "Orders", "__"), "Orders");
  EXPECT_EQ(SqliteTableName("sales", "orders", "."), "sales.orders");
  EXPECT_EQ(SqliteTableName("sales", "orders", "__"), "sales__orders");
  EXPECT_EQ(SqliteTableName("Public", "t", "."), "Public.t");
  EXPECT_EQ(SqliteTableName("we.ird", "ta.ble", "."), "we.ird.ta.ble");
  // Reserved names take the dot whatever the separator is.
  EXPECT_EQ(SqliteTableName("public", "sqlite_sequence", "__"),
            "public.sqlite_sequence");
  EXPECT_EQ(SqliteTableName("public", "Sqlite_Stat1", "."),
            "public.Sqlite_Stat1");
  EXPECT_EQ(SqliteTableName("public", "SUBLITE_status", "."),
            "public.SUBLITE_status");
  EXPECT_EQ(SqliteTableName("public", "sqlite", "."), "sqlite");
  EXPECT_EQ(SqliteTableName("public", "sqlitex_a", "."), "sqlitex_a");
  EXPECT_EQ(SqliteTableName("s", "sqlite_a", "."), "s.sqlite_a");
}

TEST(Identifier, ColumnNames) {
  EXPECT_EQ(SqliteColumnNames({}), Names());
  EXPECT_EQ(SqliteColumnNames({"id", "Val", "val", "VAL"}),
            (Names{"id", "Val", "val_2", "VAL_3"}));
  // The suffixed name may be taken, before or after.
  EXPECT_EQ(SqliteColumnNames({"a_2", "a", "A"}), (Names{"a_2", "a", "A_3"}));
  EXPECT_EQ(SqliteColumnNames({"a", "A", "a_2", "A_2"}),
            (Names{"a", "A_2", "a_2_2", "A_2_3"}));
  EXPECT_EQ(SqliteColumnNames({"é", "É"}), (Names{"é", "É"}));
}

}  // namespace
}  // namespace sublite
