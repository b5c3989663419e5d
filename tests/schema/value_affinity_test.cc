// SQLite must hand back what was bound: a column's affinity may change neither
// the class nor the value of anything that the codec stores in it.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/codec.h"
#include "tests/schema/samples.h"
#include "tests/schema/sqlite_column.h"

namespace sublite {
namespace {

using testing::Sample;
using testing::ShowValue;
using testing::SqliteColumn;

// False if the codec refuses `text`.
bool ExpectKept(const std::string& text, const ColumnType& type,
                SqliteColumn* column) {
  Datum datum;
  datum.kind = Datum::Kind::kText;
  datum.bytes = text;
  std::string scratch;
  SqlValue value;
  if (!ToSqlValue(datum, type, &scratch, &value).ok()) return false;
  EXPECT_EQ(ShowValue(column->RoundTrip(value)), ShowValue(value))
      << type.Declaration() << ": " << text;
  return true;
}

TEST(ValueAffinity, KeepsTheSamples) {
  for (const Sample& sample : testing::Samples()) {
    const ColumnType type = testing::TypeOf(sample.type);
    SqliteColumn column(type.Declaration());
    for (const std::string& text : sample.texts) {
      EXPECT_TRUE(ExpectKept(text, type, &column))
          << sample.type << " " << text;
    }
  }
}

TEST(ValueAffinity, KeepsTextThatLooksLikeNumbers) {
  for (const Sample& sample : testing::Samples()) {
    const ColumnType type = testing::TypeOf(sample.type);
    SqliteColumn column(type.Declaration());
    const bool takes_all_text = type.kind == ValueKind::kText ||
                                type.kind == ValueKind::kJson ||
                                type.kind == ValueKind::kPaddedText ||
                                type.kind == ValueKind::kCaselessText;
    for (const std::string& text : testing::TextsThatLookLikeNumbers()) {
      const bool taken = ExpectKept(text, type, &column);
      EXPECT_TRUE(taken || !takes_all_text) << sample.type << " " << text;
    }
  }
}

// A decimal of up to `digits` digits with the point anywhere.
std::string RandomDecimal(std::mt19937_64* random, int digits) {
  std::string text = (*random)() % 2 == 0 ? "" : "-";
  const int count = 1 + static_cast<int>((*random)() % digits);
  const int whole = static_cast<int>((*random)() % (count + 1));
  if (whole == 0) text += '0';
  for (int i = 0; i < count; ++i) {
    if (i == whole) text += '.';
    const int lowest = i == 0 && whole > 0 ? 1 : 0;
    text += static_cast<char>('0' + lowest + (*random)() % (10 - lowest));
  }
  return text;
}

TEST(ValueAffinity, KeepsRandomNumbers) {
  std::mt19937_64 random(20240229);
  struct Range {
    const char* type;
    int digits;
  };
  for (const Range& range : {Range{"numeric(15,5)", 15},
                             {"numeric-real", 15},
                             {"numeric-real", 20},
                             {"numeric-real", 40},
                             {"real", 17},
                             {"numeric-text", 40}}) {
    const ColumnType type = testing::TypeOf(range.type);
    SqliteColumn column(type.Declaration());
    for (int i = 0; i < 20000; ++i) {
      const std::string text = RandomDecimal(&random, range.digits);
      ASSERT_TRUE(ExpectKept(text, type, &column)) << range.type << " " << text;
    }
  }
}

std::string MoneyText(std::int64_t cents) {
  const bool negative = cents < 0;
  const std::uint64_t magnitude = negative
                                      ? 0 - static_cast<std::uint64_t>(cents)
                                      : static_cast<std::uint64_t>(cents);
  std::string whole = std::to_string(magnitude / 100);
  for (int at = static_cast<int>(whole.size()) - 3; at > 0; at -= 3) {
    whole.insert(static_cast<std::size_t>(at), ",");
  }
  const std::string fraction = std::to_string(100 + magnitude % 100).substr(1);
  return (negative ? "-$" : "$") + whole + "." + fraction;
}

TEST(ValueAffinity, KeepsRandomMoney) {
  std::mt19937_64 random(20240229);
  const ColumnType type = testing::TypeOf("money");
  SqliteColumn column(type.Declaration());
  for (int i = 0; i < 100000; ++i) {
    const auto cents = static_cast<std::int64_t>(random()) >> (random() % 64);
    const std::string text = MoneyText(cents);
    ASSERT_TRUE(ExpectKept(text, type, &column)) << text;
    // The amount can be rebuilt from what is stored.
    const std::string stored = testing::Convert(text, type);
    if (stored.rfind("real ", 0) == 0) {
      char rebuilt[64];
      std::snprintf(rebuilt, sizeof(rebuilt), "%.2f",
                    std::stod(stored.substr(5)));
      std::string plain;
      for (char c : text) {
        if (c != '$' && c != ',') plain += c;
      }
      ASSERT_EQ(plain, rebuilt);
    } else if (stored.rfind("text ", 0) == 0) {
      ASSERT_EQ(stored, "text " + text);
    } else {
      ASSERT_EQ(stored, "integer " + std::to_string(cents / 100)) << text;
    }
  }
}

}  // namespace
}  // namespace sublite
