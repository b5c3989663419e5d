#include "applier/xid_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace sublite::testing {
namespace {

TEST(XidSetTest, HoldsWhatWasPutIn) {
  XidSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.Contains(0));
  for (const Xid xid : {7u, 4294967295u, 0u, 31u, 32u, 7u}) set.Insert(xid);
  EXPECT_FALSE(set.empty());
  for (const Xid xid : {0u, 7u, 31u, 32u, 4294967295u})
    EXPECT_TRUE(set.Contains(xid)) << xid;
  for (const Xid xid : {1u, 6u, 8u, 30u, 33u, 63u, 4294967294u})
    EXPECT_FALSE(set.Contains(xid)) << xid;
}

TEST(XidSetTest, AgreesWithAPlainSet) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    XidSet set;
    std::set<Xid> plain;
    const std::uint64_t range = std::uint64_t{1} << (3 + random() % 30);
    for (int i = 0; i < 500; ++i) {
      const auto xid = static_cast<Xid>(random() % range);
      if (random() % 3 != 0) {
        set.Insert(xid);
        plain.insert(xid);
      }
      const auto asked = static_cast<Xid>(random() % range);
      ASSERT_EQ(set.Contains(asked), plain.count(asked) > 0)
          << "seed " << seed << ", " << asked;
    }
    for (const Xid xid : plain) ASSERT_TRUE(set.Contains(xid));
  }
}

// A client that rolls back every second of a million savepoints, the inner ones
// first; other sessions take ids in between.
TEST(XidSetTest, NeighboursShareTheirMemory) {
  XidSet set;
  for (Xid group = 0; group < 10000; ++group) {
    for (Xid i = 100; i > 0; --i) set.Insert(group * 100 + i - 1);
    if (group % 100 == 0) set.Insert(group);  // and some twice
  }
  // 1,000,000 ids in 31,250 words of eight bytes; twice that while growing.
  EXPECT_LE(set.memory_bytes(), 4u * 31250 * 8);
  for (Xid xid = 0; xid < 1000000; ++xid) ASSERT_TRUE(set.Contains(xid));
  EXPECT_FALSE(set.Contains(1000000));
}

TEST(XidSetTest, LonersTakeEightBytes) {
  XidSet set;
  for (Xid xid = 0; xid < 100000; ++xid) set.Insert(xid * 1000);
  EXPECT_LE(set.memory_bytes(), 2u * 100000 * 8);
}

}  // namespace
}  // namespace sublite::testing
