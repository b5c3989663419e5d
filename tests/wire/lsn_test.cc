#include "applier/wire/lsn.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace sublite {
namespace {

TEST(LsnTest, HasPostgresTextForm) {
  EXPECT_EQ(Lsn().ToString(), "0/0");
  EXPECT_EQ(Lsn(0x16B374D48).ToString(), "1/6B374D48");
  EXPECT_EQ(Lsn(0xFFFFFFFFFFFFFFFF).ToString(), "FFFFFFFF/FFFFFFFF");
  EXPECT_EQ(Lsn(0x100000000).ToString(), "1/0");
}

TEST(LsnTest, ParsesWhatItPrintsAndLowerCaseAndLeadingZeros) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"0/0", 0},
      {"1/6B374D48", 0x16B374D48},
      {"1/6b374d48", 0x16B374D48},
      {"00000001/00000002", 0x100000002},
      {"FFFFFFFF/FFFFFFFF", 0xFFFFFFFFFFFFFFFF},
  };
  for (const auto& [text, value] : cases) {
    Lsn lsn(7);
    EXPECT_TRUE(Lsn::Parse(text, &lsn)) << text;
    EXPECT_EQ(lsn.value(), value) << text;
  }
}

TEST(LsnTest, RefusesEverythingElseAndLeavesTheResultAlone) {
  for (const char* text :
       {"", "/", "0", "0/", "/0", "0/0/0", "0/G", "g/0", " 0/0", "0/0 ",
        "0x1/0", "-1/0", "0/123456789", "123456789/0", "0/0\n", "1/+2"}) {
    Lsn lsn(7);
    EXPECT_FALSE(Lsn::Parse(text, &lsn)) << text;
    EXPECT_EQ(lsn, Lsn(7)) << text;
  }
}

TEST(LsnTest, OrdersByPosition) {
  EXPECT_LT(Lsn(0xFFFFFFFF), Lsn(0x100000000));
  EXPECT_LT(Lsn(1), Lsn(0xFFFFFFFFFFFFFFFF));
  EXPECT_FALSE(Lsn().valid());
  EXPECT_TRUE(Lsn(1).valid());
}

// What PostgreSQL 15 prints (TimeZone UTC, DateStyle ISO, its "+00" written as
// "+00:00") for timestamptz 'epoch of PostgreSQL' + the microseconds.
TEST(PgTimeTest, FormatsAsTheContractSays) {
  constexpr std::int64_t kDay = 86400000000;
  const std::pair<std::int64_t, const char*> cases[] = {
      {0, "2000-01-01 00:00:00+00:00"},
      {1, "2000-01-01 00:00:00.000001+00:00"},
      {-1, "1999-12-31 23:59:59.999999+00:00"},
      {762523200500000, "2024-02-29 12:00:00.5+00:00"},
      {59 * kDay, "2000-02-29 00:00:00+00:00"},
      {60 * kDay, "2000-03-01 00:00:00+00:00"},
      {-36524 * kDay, "1900-01-01 00:00:00+00:00"},
      {36584 * kDay, "2100-03-01 00:00:00+00:00"},
      {-946684800000000, "1970-01-01 00:00:00+00:00"},
      {-730119 * kDay, "0001-01-01 00:00:00+00:00"},
      {-730119 * kDay - 1, "0001-12-31 23:59:59.999999+00:00 BC"},
      {-730485 * kDay, "0001-01-01 00:00:00+00:00 BC"},
      {-746411 * kDay, "0045-05-25 00:00:00+00:00 BC"},
      {9223371331200000000 - 1, "294276-12-31 23:59:59.999999+00:00"},
      {-211813488000000000, "4714-11-24 00:00:00+00:00 BC"},
      {std::numeric_limits<std::int64_t>::max(), "infinity"},
      {std::numeric_limits<std::int64_t>::min(), "-infinity"},
  };
  for (const auto& [micros, text] : cases) {
    EXPECT_EQ(FormatPgTime(PgTime{micros}), text);
  }
}

// Values outside of PostgreSQL's range come only from malformed bytes, and must
// not overflow.
TEST(PgTimeTest, FormatsEveryValue) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(FormatPgTime(PgTime{kMax - 1}),
            "294277-01-09 04:00:54.775806+00:00");
  EXPECT_EQ(FormatPgTime(PgTime{-kMax}),
            "290279-12-22 19:59:05.224193+00:00 BC");
}

TEST(PgTimeTest, ComesFromUnixTime) {
  EXPECT_EQ(FormatPgTime(PgTimeFromUnixMicros(0)), "1970-01-01 00:00:00+00:00");
  EXPECT_EQ(PgTimeFromUnixMicros(946684800000000).micros, 0);
}

}  // namespace
}  // namespace sublite
