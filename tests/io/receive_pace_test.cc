#include "applier/io/receive_pace.h"

#include <gtest/gtest.h>

namespace sublite {
namespace {

using std::chrono::microseconds;

// Reads `count` times, `apart` from one another.
SteadyTime Read(ReceivePace& pace, SteadyTime from, int count,
                microseconds apart) {
  for (int i = 0; i < count; ++i) {
    from += apart;
    pace.OnRead(from);
  }
  return from;
}

TEST(ReceivePaceTest, ReadsThatComeSeldomAreNeverWaitedFor) {
  ReceivePace pace;
  Read(pace, SteadyNow(), 1000, microseconds(2000));
  EXPECT_FALSE(pace.dense());
}

TEST(ReceivePaceTest, AFewReadsInARowAreATransactionAndNoBacklog) {
  ReceivePace pace;
  SteadyTime now = SteadyNow();
  for (int transaction = 0; transaction < 100; ++transaction)
    now = Read(pace, now + microseconds(2000), 10, microseconds(20));
  EXPECT_FALSE(pace.dense());
}

TEST(ReceivePaceTest, NapsWhileReadsAreDenseUntilOneBringsNothing) {
  ReceivePace pace;
  Read(pace, SteadyNow(), 100, microseconds(20));
  ASSERT_TRUE(pace.dense());
  pace.OnWoken(100);
  EXPECT_TRUE(pace.dense());
  pace.OnWoken(0);
  EXPECT_FALSE(pace.dense());
}

TEST(ReceivePaceTest, NapsAreAsLongAsTheSocketHasRoomAndNeverOver2Ms) {
  ReceivePace pace;
  Read(pace, SteadyNow(), 100, microseconds(20));
  const absl::Duration first = pace.nap();
  pace.OnWoken(ReceivePace::kEnoughBytes / 8);
  EXPECT_EQ(pace.nap(), 2 * first);
  pace.OnWoken(ReceivePace::kEnoughBytes / 2);
  EXPECT_EQ(pace.nap(), 2 * first);
  for (int i = 0; i < 20; ++i) pace.OnWoken(1);
  EXPECT_EQ(pace.nap(), absl::Milliseconds(2));
  for (int i = 0; i < 20; ++i) pace.OnWoken(ReceivePace::kEnoughBytes);
  EXPECT_EQ(pace.nap(), first);
  EXPECT_TRUE(pace.dense());
}

}  // namespace
}  // namespace sublite
