// Many seeded runs against a model publisher.
//
//   SUBLITE_SEED=17 or --seed=17   that one run, with the product's log
//   SUBLITE_SEEDS=5000             so many runs instead of 200 and 100
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

void RunSeeds(bool table_troubles, long seeds) {
  const long chosen = ChosenSeed();
  const long first = chosen >= 0 ? chosen : 1;
  const long last = chosen >= 0
                        ? chosen
                        : first + FromEnvironment("SUBLITE_SEEDS", seeds) - 1;
  for (long seed = first; seed <= last; ++seed) {
    SimulationOptions options;
    options.verbose = chosen >= 0;
    options.table_troubles = table_troubles;
    Simulation simulation(static_cast<std::uint64_t>(seed), options);
    simulation.Run();
    if (::testing::Test::HasFailure()) {
      std::cerr << "failing seed: " << seed
                << " (repeat with SUBLITE_SEED=" << seed << ")\n";
      return;
    }
  }
}

TEST(SimulationTest, TheReplicaIsTheModelAtItsPosition) {
  RunSeeds(false, 200);
}

// Of the tables that are not put aside.
TEST(SimulationTest, WithTablesThatArePutAside) { RunSeeds(true, 100); }

}  // namespace
}  // namespace sublite::testing
