#include "applier/retry_plan.h"

#include <gtest/gtest.h>

namespace sublite {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1700000000);

TEST(RetryPlanTest, AnUnknownTableIsTriedAtOnce) {
  EXPECT_EQ(RetryPlan().At(1), absl::InfinitePast());
}

TEST(RetryPlanTest, PausesDoubleUpToTheLongest) {
  RetryPlan plan;
  absl::Time now = kNow;
  absl::Duration expected = absl::Seconds(1);
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(plan.Failed(1, "denied", now, absl::ZeroDuration()), i == 0);
    EXPECT_EQ(plan.At(1), now + expected) << i;
    now = plan.At(1);
    expected = std::min(expected * 2, absl::Minutes(10));
  }
  EXPECT_EQ(expected, absl::Minutes(10));
  // Another table has pauses of its own.
  EXPECT_TRUE(plan.Failed(2, "denied", now, absl::ZeroDuration()));
  EXPECT_EQ(plan.At(2), now + absl::Seconds(1));
}

TEST(RetryPlanTest, ALongAttemptIsRepeatedSeldom) {
  RetryPlan plan;
  plan.Failed(1, "broken", kNow, absl::Minutes(30));
  EXPECT_EQ(plan.At(1), kNow + absl::Hours(50));
}

TEST(RetryPlanTest, WhatIsNews) {
  RetryPlan plan;
  EXPECT_TRUE(plan.Failed(1, "denied", kNow, absl::ZeroDuration()));
  EXPECT_FALSE(plan.Failed(1, "denied", kNow, absl::ZeroDuration()));
  EXPECT_TRUE(plan.Failed(1, "broken", kNow, absl::ZeroDuration()));
  plan.Healed(1);
  EXPECT_TRUE(plan.Failed(1, "broken", kNow, absl::ZeroDuration()));
  // A table that heals and breaks all the time is not copied all the time.
  EXPECT_EQ(plan.At(1), kNow + absl::Seconds(8));
  plan.Forget(1);
  EXPECT_EQ(plan.At(1), absl::InfinitePast());
}

TEST(RetryPlanTest, ATableThatHeldBeginsAnew) {
  RetryPlan plan;
  for (int i = 0; i < 5; ++i)
    plan.Failed(1, "denied", kNow, absl::ZeroDuration());
  const absl::Time later = kNow + absl::Hours(2);
  plan.Failed(1, "denied", later, absl::ZeroDuration());
  EXPECT_EQ(plan.At(1), later + absl::Seconds(1));
}

}  // namespace
}  // namespace sublite
