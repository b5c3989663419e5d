// The fuzz target without a fuzzer: its seeds, and each of them cut and changed
// a little, so that the target itself stays right.
#include "tests/fuzz/decode_fuzz.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sublite::testing {
namespace {

void RunTarget(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()),
                         input.size());
}

TEST(DecodeFuzzTest, SeedsPass) {
  const std::vector<std::string> seeds = DecodeFuzzSeeds();
  EXPECT_GT(seeds.size(), 1000u);
  for (const std::string& seed : seeds) RunTarget(seed);
  RunTarget("");
}

TEST(DecodeFuzzTest, ChangedSeedsPass) {
  std::mt19937 random(20240229);  // the same inputs each time
  const auto below = [&](std::size_t n) { return random() % n; };
  for (const std::string& seed : DecodeFuzzSeeds()) {
    for (int round = 0; round < 20; ++round) {
      std::string input = seed;
      for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
        input[below(input.size())] = static_cast<char>(below(256));
      }
      if (below(4) == 0) input.resize(below(input.size() + 1));
      RunTarget(input);
    }
  }
}

}  // namespace
}  // namespace sublite::testing
