#include "applier/copy_rate.h"

#include <gtest/gtest.h>

namespace sublite {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

TEST(CopyRateTest, WithoutALimitNothingWaits) {
  CopyRate rate(0);
  rate.Take(std::int64_t{1} << 40, kStart);
  EXPECT_FALSE(rate.limited());
  EXPECT_LE(rate.free_at(), kStart);
}

TEST(CopyRateTest, TheAverageIsTheLimit) {
  CopyRate rate(1000);
  rate.Take(500, kStart);
  EXPECT_EQ(rate.free_at(), kStart + absl::Milliseconds(500));
  rate.Take(250, kStart);
  EXPECT_EQ(rate.free_at(), kStart + absl::Milliseconds(750));
}

TEST(CopyRateTest, WhatWasNotTakenIsNotSaved) {
  CopyRate rate(1000);
  rate.Take(1000, kStart);
  const absl::Time later = kStart + absl::Hours(1);
  rate.Take(1000, later);
  EXPECT_EQ(rate.free_at(), later + absl::Seconds(1));
}

}  // namespace
}  // namespace sublite
