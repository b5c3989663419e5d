// Storage that fails at the n-th operation, once or from then on: afterwards
// the file is sound and equal to the model at its position, and when the
// trouble is over everything goes on by itself.
//
//   SUBLITE_FAULTS=all   every n, instead of ever larger steps
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <string>

#include "tests/pipeline/simulation.h"

namespace sublite::testing {
namespace {

struct Kind {
  const char* name;
  unsigned operations;
  int code;
  std::uint64_t seed;
};

constexpr Kind kKinds[] = {
    {"WriteError", FaultVfs::kWrite, SQLITE_IOERR_WRITE, 2},
    {"DiskFull", FaultVfs::kWrite, SQLITE_FULL, 4},
    {"SyncError", FaultVfs::kSync, SQLITE_IOERR_FSYNC, 6},
    {"OpenError", FaultVfs::kOpen, SQLITE_IOERR, 8},
    {"AnyError", FaultVfs::kAny, SQLITE_IOERR, 10},
};

class FaultTest : public ::testing::TestWithParam<Kind> {
 protected:
  // True if the fault came.
  bool RunOne(std::int64_t nth, bool forever, bool in_copy);
  void RunAll(bool forever, bool in_copy);
};

bool FaultTest::RunOne(std::int64_t nth, bool forever, bool in_copy) {
  SimulationOptions options;
  options.status_interval = absl::ZeroDuration();
  Simulation simulation(GetParam().seed, options);
  simulation.workload().Preload(10);
  const FaultVfs::Fault fault{GetParam().operations, nth, GetParam().code,
                              forever};
  if (in_copy) {
    simulation.vfs().SetFault(fault);
  } else {
    EXPECT_EQ(simulation.CatchUp().next, SessionEnd::Next::kStop);
    simulation.workload().Steps(200);
    simulation.workload().Settle(false);
    // A new process opens the file.
    simulation.Kill(false);
    simulation.vfs().SetFault(fault);
  }
  for (int i = 0; i < 3; ++i) {
    const SessionEnd end = simulation.CatchUp();
    EXPECT_NE(end.next, SessionEnd::Next::kNeedsPerson) << end.status;
    if (!forever && simulation.vfs().fault_hit()) break;
  }
  const bool hit = simulation.vfs().fault_hit();
  simulation.vfs().ClearFault();
  simulation.Compare();
  // A success after the failure must not hide it.
  if (nth % 2 == 0) simulation.CatchUp();
  if (nth % 3 == 0) simulation.Kill(nth % 4 != 1);
  simulation.workload().Steps(30);
  simulation.FinishRun();
  return hit;
}

void FaultTest::RunAll(bool forever, bool in_copy) {
  const bool all = std::getenv("SUBLITE_FAULTS") != nullptr;
  for (std::int64_t nth = 1; nth < 100000; nth += all ? 1 : 1 + nth / 12) {
    const bool hit = RunOne(nth, forever, in_copy);
    ASSERT_FALSE(HasFailure())
        << GetParam().name << (forever ? " from " : " at ") << nth
        << (in_copy ? ", copying" : ", streaming");
    if (!hit) return;
  }
}

TEST_P(FaultTest, OnceWhileCopying) { RunAll(false, true); }
TEST_P(FaultTest, OnceWhileStreaming) { RunAll(false, false); }
TEST_P(FaultTest, ForSomeTimeWhileCopying) { RunAll(true, true); }
TEST_P(FaultTest, ForSomeTimeWhileStreaming) { RunAll(true, false); }

INSTANTIATE_TEST_SUITE_P(All, FaultTest, ::testing::ValuesIn(kKinds),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace sublite::testing
