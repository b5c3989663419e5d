#include "applier/streaming_pause.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1700000000);

Snapshot Parse(const std::string& text) {
  const absl::StatusOr<Snapshot> snapshot = Snapshot::Parse(text);
  EXPECT_OK(snapshot.status());
  return snapshot.value_or(Snapshot());
}

TEST(StreamingPauseTest, NothingIsAskedWithoutOne) {
  StreamingPause pause;
  EXPECT_FALSE(pause.active());
  EXPECT_FALSE(pause.ShouldAsk(kStart));
  EXPECT_FALSE(pause.TryEnd(Lsn(1)));
}

TEST(StreamingPauseTest, EndsWhenAllHaveEndedAndTheirEndIsPassed) {
  StreamingPause pause(absl::Minutes(10), absl::Seconds(10));
  pause.Begin({800, 805}, "full", kStart);
  EXPECT_TRUE(pause.active());
  EXPECT_EQ(pause.why(), "full");
  EXPECT_FALSE(pause.ShouldAsk(kStart + absl::Minutes(9)));
  const absl::Time later = kStart + absl::Minutes(10);
  EXPECT_TRUE(pause.ShouldAsk(later));
  EXPECT_FALSE(pause.ShouldAsk(later + absl::Seconds(9)));
  pause.Answer(Parse("800:810:800"), Lsn(100));
  EXPECT_FALSE(pause.TryEnd(Lsn(500)));
  EXPECT_TRUE(pause.ShouldAsk(later + absl::Seconds(10)));
  pause.Answer(Parse("805:810:805,807"), Lsn(150));
  EXPECT_FALSE(pause.TryEnd(Lsn(500)));
  EXPECT_TRUE(pause.ShouldAsk(later + absl::Seconds(20)));
  // Others do not matter.
  pause.Answer(Parse("807:810:807"), Lsn(200));
  EXPECT_FALSE(pause.ShouldAsk(later + absl::Hours(1)));
  EXPECT_FALSE(pause.TryEnd(Lsn(199)));
  EXPECT_TRUE(pause.active());
  EXPECT_TRUE(pause.TryEnd(Lsn(200)));
  EXPECT_FALSE(pause.active());
  EXPECT_FALSE(pause.TryEnd(Lsn(200)));
}

TEST(StreamingPauseTest, EachIsTwiceAsLongAndNoneLongerThanADay) {
  StreamingPause pause;
  absl::Time now = kStart;
  absl::Duration expected = absl::Minutes(10);
  for (int i = 0; i < 20; ++i) {
    pause.Begin({800}, "full", now);
    EXPECT_FALSE(pause.ShouldAsk(now + expected - absl::Seconds(1)));
    now += expected;
    EXPECT_TRUE(pause.ShouldAsk(now));
    pause.Answer(Parse("900:900:"), Lsn(1));
    EXPECT_TRUE(pause.TryEnd(Lsn(1)));
    expected = std::min(2 * expected, absl::Hours(24));
  }
  EXPECT_EQ(expected, absl::Hours(24));
}

TEST(StreamingPauseTest, AnotherPublisherHasOtherTransactions) {
  StreamingPause pause;
  pause.Begin({800}, "full", kStart);
  pause.Clear();
  EXPECT_FALSE(pause.active());
  EXPECT_FALSE(pause.ShouldAsk(kStart + absl::Hours(48)));
  EXPECT_FALSE(pause.TryEnd(Lsn(1)));
}

}  // namespace
}  // namespace sublite::testing
