#include "applier/copy_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

ColumnType TypeOf(ValueKind kind, BinaryForm form) {
  ColumnType type;
  type.kind = kind;
  type.form = form;
  return type;
}

SqlValue Text(std::string_view bytes) {
  SqlValue value;
  value.kind = SqlValue::Kind::kText;
  value.bytes = bytes;
  return value;
}

TEST(CopyKeyTest, OrdersAsPostgresDoes) {
  // select k from (values …) order by k; for two columns by (a, b).
  const std::vector<CopyKey> ascending = {
      {kLeast}, {-10}, {-9}, {-1}, {0}, {9}, {10}, {4294967295}, {kMost}};
  for (std::size_t i = 0; i + 1 < ascending.size(); ++i)
    EXPECT_LT(ascending[i], ascending[i + 1]);
  const std::vector<CopyKey> pairs = {{kLeast, kMost}, {-1, 5},   {0, kLeast},
                                      {0, -1},         {0, 0},    {0, kMost},
                                      {1, kLeast},     {kMost, 0}};
  for (std::size_t i = 0; i + 1 < pairs.size(); ++i)
    EXPECT_LT(pairs[i], pairs[i + 1]);
}

TEST(CopyKeyTest, TextComesBack) {
  EXPECT_EQ(FormatCopyKey({5, -7}), "5,-7");
  EXPECT_EQ(FormatCopyKey({}), "");
  EXPECT_EQ(FormatCopyKey({kLeast, kMost}),
            "-9223372036854775808,9223372036854775807");
  EXPECT_EQ(FormatCopyKey({{0, "az"}, 5, {-43, "-03-15"}}),
            "0x617a,5,-43x2d30332d3135");
  for (const CopyKey& key : std::vector<CopyKey>{{},
                                                 {{0, "a,b x\n"}, {kMost, ""}},
                                                 {0},
                                                 {-1},
                                                 {kLeast},
                                                 {kMost},
                                                 {1, 2},
                                                 {kMost, kLeast, 0}}) {
    const absl::StatusOr<CopyKey> parsed = ParseCopyKey(FormatCopyKey(key));
    ASSERT_OK(parsed.status());
    EXPECT_EQ(*parsed, key);
  }
}

TEST(CopyKeyTest, OtherTextIsDamage) {
  for (const char* text :
       {",", "1,", ",1", "x", "1,,2", "-", "1.5", "9223372036854775808", "x61",
        "1x", "1x6", "1x6g", "1x61x62", "-9223372036854775809", "1\n2"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseCopyKey(text).status())) << text;
  }
}

// As `select v from (values …) order by v` gives them; chunk_copy_test asks
// PostgreSQL itself.
TEST(CopyKeyTest, TimeOrdersAsPostgresDoes) {
  const ColumnType type =
      TypeOf(ValueKind::kTimestamptz, BinaryForm::kTimestamptz);
  const std::vector<std::string> ascending = {
      "-infinity",
      "4714-11-24 00:00:00+00:00 BC",
      "0044-03-15 12:00:00+00:00 BC",
      "0044-03-15 12:00:00.5+00:00 BC",
      "0043-01-01 00:00:00+00:00 BC",
      "0001-12-31 23:59:59.999999+00:00 BC",
      "0001-01-01 00:00:00+00:00",
      "2024-02-29 12:00:00+00:00",
      "2024-02-29 12:00:00.000001+00:00",
      "2024-02-29 12:00:00.5+00:00",
      "2024-02-29 12:00:00.51+00:00",
      "2024-02-29 12:00:01+00:00",
      "9999-12-31 23:59:59+00:00",
      "10000-01-01 00:00:00+00:00",
      "294276-12-31 23:59:59.999999+00:00",
      "infinity"};
  std::vector<CopyKeyPart> parts;
  for (const std::string& text : ascending) {
    const absl::StatusOr<CopyKeyPart> part = ToCopyKeyPart(Text(text), type);
    ASSERT_OK(part.status());
    EXPECT_EQ(CopyKeyText(*part, type), text);
    EXPECT_TRUE(parts.empty() || parts.back() < *part) << text;
    parts.push_back(*part);
  }
}

TEST(CopyKeyTest, WhatIsNoTimeIsNoKey) {
  const ColumnType type = TypeOf(ValueKind::kText, BinaryForm::kDate);
  for (const char* text :
       {"", "-", "2024", "24-01-01", "x024-01-01", "0000-01-01", " 2024-01-01",
        "+2024-01-01", "BC", "99999999999999999999-01-01"}) {
    EXPECT_TRUE(absl::IsOutOfRange(ToCopyKeyPart(Text(text), type).status()))
        << text;
  }
  EXPECT_TRUE(absl::IsOutOfRange(ToCopyKeyPart(SqlValue(), type).status()));
}

TEST(CopyKeyTest, OtherTypesAreNone) {
  const ColumnType text = TypeOf(ValueKind::kText, BinaryForm::kText);
  EXPECT_FALSE(IsCopyKeyType(text));
  EXPECT_TRUE(absl::IsOutOfRange(ToCopyKeyPart(Text("a"), text).status()));
}

}  // namespace
}  // namespace sublite
