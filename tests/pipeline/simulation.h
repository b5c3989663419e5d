// One run of sublite against a seeded publisher, with everything that may go
// wrong around it: lost connections, kills, lost power, failing storage.
//
// The publisher is a ModelPublisher; the replica is real code on a real file
// behind a FaultVfs. At many moments the file, as a reader sees it, is held
// against the model at the position that the file itself gives. A seed decides
// everything, so a failing run can be repeated.
#ifndef SUBLITE_TESTS_PIPELINE_SIMULATION_H_
#define SUBLITE_TESTS_PIPELINE_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "applier/config.h"
#include "applier/replica.h"
#include "applier/session.h"
#include "applier/streaming_pause.h"
#include "tests/support/fake_publisher.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/model_publisher.h"
#include "tests/support/pg_model.h"

namespace sublite::testing {

struct SimulationOptions {
  int rounds = 8;       // sessions with an end of their own
  bool kills = true;    // and lost power
  bool resyncs = true;  // asked for by another process
  // Copies that the publisher refuses or breaks off, and local triggers that
  // refuse rows: tables are put aside, until all is mended at the end.
  bool table_troubles = false;
  bool verbose = false;  // the product's log on standard error
  // Instead of one that the seed chooses.
  std::optional<absl::Duration> status_interval;
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, const SimulationOptions& options);
  ~Simulation();

  // All rounds, and a last one that catches up. Failures are GoogleTest's.
  void Run();

  // For tests that bring their own trouble:
  // one session that ends when all has been delivered; its end.
  SessionEnd CatchUp();
  // Holds what a reader sees now against the model, if there is a file.
  void Compare(bool strict = false);
  // Drops the open replica as a kill does; with `power` lost writes are lost.
  void Kill(bool power);
  // Ends what is open at the publisher, catches up, and looks whether the
  // replica is complete and equal to the model.
  void FinishRun();
  ModelPublisher& workload() { return workload_; }
  FakePublisher& publisher() { return publisher_; }
  FaultVfs& vfs() { return vfs_; }
  const std::string& path() const { return config_.replica.database; }

 private:
  enum class EndKind { kStop, kCut, kKill, kKillInCopy, kPowerOff, kFault };

  std::uint64_t Draw(std::uint64_t below) { return random_() % below; }
  bool Open();
  void CheckCaughtUp();
  void Round();
  SessionEnd RunSession();
  void OnReceive(FakeStream& stream);
  void RequestResync();
  // By another program.
  void Write(const std::string& sql);
  absl::Status DrawTrouble();
  void RefuseSomeRows();
  void MendTables();
  std::vector<std::string> StaleTables() const;

  SimulationOptions options_;
  std::mt19937_64 random_;
  FaultVfs& vfs_;
  PgModel model_;
  WorkloadOptions workload_options_;
  ModelPublisher workload_;
  FakePublisher publisher_;
  Config config_;

  // Forgotten when the process ends. Pauses in it end as soon as they may.
  SessionMemory memory_;
  std::unique_ptr<Replica> replica_;
  absl::Status open_error_;
  EndKind end_kind_ = EndKind::kStop;
  int end_in_ = 0;  // Receives, rows or writes
  bool stop_ = false;
  bool sync_failed_ = false;
  bool catching_up_ = false;
  int idle_rounds_ = 0;
  int compare_percent_ = 10;
  int steps_per_receive_ = 3;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_PIPELINE_SIMULATION_H_
