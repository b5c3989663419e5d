// What a slot keeps, and for how long: arithmetic.

#include "applier/retention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace sublite {
namespace {

const absl::Time kAt = absl::FromUnixSeconds(1700000000);

Retention Parsed(const std::vector<std::string>& row) {
  const auto retention = ParseRetention(row, kAt);
  EXPECT_TRUE(retention.has_value());
  return retention.value_or(Retention());
}

TEST(RetentionTest, RowsOfEveryServer) {
  const Retention full =
      Parsed({"1/400", "1/0", "reserved", "1073741824", "2147483648", "86400"});
  EXPECT_EQ(full.retained_bytes(), 0x400);
  EXPECT_EQ(full.safe_bytes, 1 << 30);
  EXPECT_EQ(full.keep_bytes, std::int64_t{2} << 30);
  EXPECT_EQ(full.idle_timeout, absl::Hours(24));
  // Server 17 without limits; server 10, which knows none of it.
  const Retention none = Parsed({"1/400", "1/0", "reserved", "", "-1", ""});
  EXPECT_FALSE(none.safe_bytes.has_value());
  EXPECT_FALSE(none.keep_bytes.has_value());
  EXPECT_EQ(none.idle_timeout, absl::ZeroDuration());
  EXPECT_EQ(Parsed({"1/400", "1/0", "", "", "", ""}).wal_status, "");
  // A lost slot needs nothing any more.
  EXPECT_EQ(Parsed({"1/400", "", "lost", "", "5", ""}).retained_bytes(), 0);
}

TEST(RetentionTest, WhatIsNoAnswer) {
  EXPECT_FALSE(ParseRetention({}, kAt).has_value());
  EXPECT_FALSE(ParseRetention({"x", "", "", "", "", ""}, kAt).has_value());
  EXPECT_FALSE(ParseRetention({"1/0", "y", "", "", "", ""}, kAt).has_value());
  EXPECT_FALSE(ParseRetention({"1/0", "", "", "", ""}, kAt).has_value());
}

TEST(RetentionTest, TheRateIsOfRecentHours) {
  Retention before;
  before.at = kAt;
  before.wal_end = Lsn(1000000);
  // The first time it is what it was: 1000 bytes a second for a day, offline or
  // not.
  EXPECT_DOUBLE_EQ(WalRate(before, kAt + absl::Hours(24), Lsn(87400000)), 1000);
  // Then an hour at 2000 counts for all but a third (1/e).
  before.wal_rate = 1000;
  EXPECT_NEAR(WalRate(before, kAt + absl::Hours(1), Lsn(8200000)),
              1000 / std::exp(1) + 2000 * (1 - 1 / std::exp(1)), 1e-6);
  // An idle hour lets it fall; it never becomes negative.
  EXPECT_NEAR(WalRate(before, kAt + absl::Hours(1), Lsn(1000000)),
              1000 / std::exp(1), 1e-6);
  // Too soon, in the past, or a position that went back: nothing is learned.
  EXPECT_EQ(WalRate(before, kAt + absl::Seconds(1), Lsn(2000000)), 1000);
  EXPECT_EQ(WalRate(before, kAt - absl::Hours(1), Lsn(2000000)), 1000);
  EXPECT_EQ(WalRate(before, kAt + absl::Hours(1), Lsn(1)), 1000);
}

TEST(RetentionTest, HowLongItLasts) {
  Retention retention;
  EXPECT_FALSE(OfflineTime(retention).has_value());
  retention.wal_rate = 1000;
  EXPECT_FALSE(OfflineTime(retention).has_value());
  retention.safe_bytes = 3600000;
  EXPECT_EQ(OfflineTime(retention), absl::Hours(1));
  retention.idle_timeout = absl::Minutes(30);
  EXPECT_EQ(OfflineTime(retention), absl::Minutes(30));
  retention.idle_timeout = absl::Hours(30);
  EXPECT_EQ(OfflineTime(retention), absl::Hours(1));
  retention.wal_rate = 0;
  EXPECT_EQ(OfflineTime(retention), absl::Hours(30));
  retention.safe_bytes = -5;  // an unreserved slot
  EXPECT_EQ(OfflineTime(retention), absl::ZeroDuration());
  retention.safe_bytes.reset();
  retention.wal_status = "lost";
  EXPECT_EQ(OfflineTime(retention), absl::ZeroDuration());
}

}  // namespace
}  // namespace sublite
