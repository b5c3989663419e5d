#include "schema/enum_labels.h"

#include <gtest/gtest.h>

namespace sublite {
namespace {

PgType Enum(std::uint32_t oid, const std::string& labels) {
  PgType type;
  type.oid = oid;
  type.kind = 'e';
  type.labels = labels;
  return type;
}

TEST(EnumLabelsTest, OfAllEnumsThatAreInside) {
  PgTypes types;
  types[100] = Enum(100, "1 red\n3 blue");
  types[101] = Enum(101, "2 with space");
  types[102] = Enum(102, "9 of no column");
  types[200].element = 100;
  types[201].base = 200;
  types[202].subtype = 101;
  types[203].fields = {201, 23, 202, 203};
  types[23].oid = 23;
  EXPECT_EQ(EnumLabels({23}, types), "");
  EXPECT_EQ(EnumLabels({}, types), "");
  EXPECT_EQ(EnumLabels({100, 100}, types), "1 red\n3 blue");
  EXPECT_EQ(EnumLabels({201}, types), "1 red\n3 blue");
  EXPECT_EQ(EnumLabels({203}, types), "1 red\n2 with space\n3 blue");
  // A type that nobody describes.
  EXPECT_EQ(EnumLabels({4711}, types), "");
}

TEST(EnumLabelsTest, Renamed) {
  EXPECT_FALSE(LabelsRenamed("", ""));
  EXPECT_FALSE(LabelsRenamed("1 a\n2 b", "1 a\n2 b"));
  EXPECT_TRUE(LabelsRenamed("1 a\n2 b", "1 a\n2 c"));
  EXPECT_TRUE(LabelsRenamed("1 a\n2 b", "1 b\n2 a"));
  // Added, or of another type.
  EXPECT_FALSE(LabelsRenamed("1 a", "1 a\n2 b"));
  EXPECT_FALSE(LabelsRenamed("", "1 a"));
  EXPECT_FALSE(LabelsRenamed("1 a", "7 z"));
  // Blanks are a part of the label.
  EXPECT_TRUE(LabelsRenamed("1 a", "1 a "));
  EXPECT_TRUE(LabelsRenamed("1 ", "1 a"));
}

}  // namespace
}  // namespace sublite
