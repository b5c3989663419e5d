// A fuzz target without a fuzzer: its seeds, each of them cut and changed a
// little, and what was once found. Linked with one target; see fuzz_target.h.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace sublite::testing {
namespace {

void RunTarget(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()),
                         input.size());
}

TEST(FuzzReplayTest, SeedsPass) {
  const std::vector<std::string> seeds = FuzzSeeds();
  EXPECT_GT(seeds.size(), 10u);
  for (const std::string& seed : seeds) RunTarget(seed);
  RunTarget("");
}

TEST(FuzzReplayTest, ChangedSeedsPass) {
  const char* count = std::getenv("SUBLITE_FUZZ_INPUTS");
  ASSERT_NE(count, nullptr);
  const std::size_t inputs = std::stoul(count);
  std::mt19937 random(20240229);  // the same inputs each time
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::vector<std::string> seeds = FuzzSeeds();
  ASSERT_FALSE(seeds.empty());
  for (std::size_t i = 0; i < inputs; ++i) {
    std::string input = seeds[i % seeds.size()];
    // Long ones take long, and bring nothing that short ones do not.
    if (input.empty() || input.size() > 4000) continue;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      input[below(input.size())] = static_cast<char>(below(256));
    }
    if (below(4) == 0) input.resize(below(input.size() + 1));
    RunTarget(input);
  }
}

// tests/fuzz/regressions/TARGET/NAME, in the runfiles.
TEST(FuzzReplayTest, WhatWasFoundStaysMended) {
  const char* folder = std::getenv("SUBLITE_FUZZ_REGRESSIONS");
  ASSERT_NE(folder, nullptr);
  int inputs = 0;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(entry.path());
      std::ifstream file(entry.path(), std::ios::binary);
      ASSERT_TRUE(file.good());
      RunTarget(std::string(std::istreambuf_iterator<char>(file), {}));
      ++inputs;
    }
  }
  RecordProperty("inputs", inputs);
}

}  // namespace
}  // namespace sublite::testing
