// Many seeded runs against a model publisher.
//
//   SUBLITE_SEED=17 or --seed=17   that one run, with the product's log
//   SUBLITE_SEEDS=5000             so many runs instead of 200
#include "tests/pipeline/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

namespace sublite::testing {
namespace {

long FromEnvironment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

long ChosenSeed() {
  for (const std::string& argument : ::testing::internal::GetArgvs()) {
    if (argument.rfind("--seed=", 0) == 0) {
      return std::atol(argument.c_str() + std::strlen("--seed="));
    }
  }
  return FromEnvironment("SUBLITE_SEED", -1);
}

TEST(SimulationTest, TheReplicaIsTheModelAtItsPosition) {
  const long chosen = ChosenSeed();
  const long first = chosen >= 0 ? chosen : 1;
  const long last =
      chosen >= 0 ? chosen : first + FromEnvironment("SUBLITE_SEEDS", 200) - 1;
  for (long seed = first; seed <= last; ++seed) {
    SimulationOptions options;
    options.verbose = chosen >= 0;
    Simulation simulation(static_cast<std::uint64_t>(seed), options);
    simulation.Run();
    if (HasFailure()) {
      std::cerr << "failing seed: " << seed
                << " (repeat with SUBLITE_SEED=" << seed << ")\n";
      return;
    }
  }
}

}  // namespace
}  // namespace sublite::testing
