#include "applier/snapshot.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sublite {
namespace {

constexpr std::uint64_t kEpoch = std::uint64_t{1} << 32;

Snapshot Parsed(const std::string& text) {
  absl::StatusOr<Snapshot> snapshot = Snapshot::Parse(text);
  EXPECT_TRUE(snapshot.ok()) << text << ": " << snapshot.status();
  return snapshot.ok() ? *snapshot : Snapshot();
}

TEST(Snapshot, ReadsAndPrintsPostgresText) {
  for (const char* text :
       {"10:10:", "10:20:", "10:20:10,14,15", "748:749:748",
        "18446744073709551614:18446744073709551615:18446744073709551614"}) {
    EXPECT_EQ(Parsed(text).ToString(), text);
  }
  const Snapshot snapshot = Parsed("10:20:10,14");
  EXPECT_EQ(snapshot.xmin(), 10u);
  EXPECT_EQ(snapshot.xmax(), 20u);
  EXPECT_EQ(snapshot.in_progress(), (std::vector<std::uint64_t>{10, 14}));
}

TEST(Snapshot, RefusesOtherText) {
  for (const char* text : {"",
                           "10",
                           "10:",
                           "10:20",
                           ":20:",
                           "10::",
                           "0:20:",
                           "20:10:",
                           "a:20:",
                           "10:20:x",
                           "10:20:9",
                           "10:20:20",
                           "10:20:14,",
                           "10:20:,14",
                           "10:20:14,14",
                           "10:20:15,14",
                           "10:20:14 ",
                           " 10:20:",
                           "-1:20:",
                           "+1:20:",
                           "10:20:14:",
                           "99999999999999999999:20:"}) {
    absl::StatusOr<Snapshot> snapshot = Snapshot::Parse(text);
    EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

TEST(Snapshot, SeesWhatHadFinished) {
  const Snapshot snapshot = Parsed("10:20:10,14,15");
  EXPECT_TRUE(snapshot.Sees(3));
  EXPECT_TRUE(snapshot.Sees(9));
  EXPECT_FALSE(snapshot.Sees(10));
  EXPECT_TRUE(snapshot.Sees(11));
  EXPECT_FALSE(snapshot.Sees(14));
  EXPECT_FALSE(snapshot.Sees(15));
  EXPECT_TRUE(snapshot.Sees(19));
  EXPECT_FALSE(snapshot.Sees(20));
  EXPECT_FALSE(snapshot.Sees(21));
}

TEST(Snapshot, TheDefaultSeesNothing) {
  const Snapshot snapshot;
  for (Xid xid : {0u, 1u, 3u, 1000u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
    EXPECT_FALSE(snapshot.Sees(xid)) << xid;
    EXPECT_EQ(snapshot.Widen(xid), xid);
  }
}

TEST(Snapshot, WidensToTheNearestEpoch) {
  const Snapshot snapshot = Parsed(std::to_string(3 * kEpoch + 5) + ":" +
                                   std::to_string(3 * kEpoch + 10) + ":" +
                                   std::to_string(3 * kEpoch + 7));
  EXPECT_EQ(snapshot.Widen(9), 3 * kEpoch + 9);
  EXPECT_EQ(snapshot.Widen(10), 3 * kEpoch + 10);
  EXPECT_EQ(snapshot.Widen(500), 3 * kEpoch + 500);
  // Before the wrap, and seen.
  EXPECT_EQ(snapshot.Widen(0xFFFFFFF0u), 3 * kEpoch - 16);
  EXPECT_TRUE(snapshot.Sees(0xFFFFFFF0u));
  EXPECT_FALSE(snapshot.Sees(7));
  EXPECT_FALSE(snapshot.Sees(500));
  // Just before a wrap, ids after it are the future.
  const Snapshot before = Parsed(std::to_string(kEpoch - 20) + ":" +
                                 std::to_string(kEpoch - 10) + ":");
  EXPECT_EQ(before.Widen(5), kEpoch + 5);
  EXPECT_FALSE(before.Sees(5));
  EXPECT_TRUE(before.Sees(0xFFFFFF00u));
}

TEST(Snapshot, ThereIsNoEpochBeforeTheFirst) {
  const Snapshot young = Parsed("700:800:");
  EXPECT_EQ(young.Widen(0xFFFFFFF0u), 0xFFFFFFF0u);
  EXPECT_FALSE(young.Sees(0xFFFFFFF0u));
}

TEST(Snapshot, ThereIsNoEpochAfterTheLast) {
  const Snapshot old = Parsed("18446744073709551000:18446744073709551600:");
  EXPECT_EQ(old.Widen(5), 0xFFFFFFFF00000005u);
  EXPECT_EQ(old.Widen(0xFFFFFFFFu), 0xFFFFFFFFFFFFFFFFu);
}

TEST(Snapshot, WidenIsTheNearestOfAllEpochs) {
  std::mt19937_64 random(20240229);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t xmax = (random() >> (random() % 40)) / 2 + 1;
    std::string text = std::to_string(xmax);
    text += ":" + text + ":";
    const Snapshot snapshot = Parsed(text);
    // Within half an epoch the id itself is the answer.
    const std::int64_t distance =
        static_cast<std::int64_t>(random() % (kEpoch - 1)) -
        static_cast<std::int64_t>(kEpoch / 2 - 1);
    if (distance < 0 && static_cast<std::uint64_t>(-distance) > xmax) continue;
    const std::uint64_t full = xmax + static_cast<std::uint64_t>(distance);
    ASSERT_EQ(snapshot.Widen(static_cast<Xid>(full)), full) << xmax;
  }
}

}  // namespace
}  // namespace sublite
