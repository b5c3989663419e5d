// A Session with a fake publisher in front of it and a real file behind it.
//
// A test makes tables and transactions in `model`, runs sessions, and looks at
// the file as a reader does. `Follow` runs one session until all that the model
// has was delivered and worked off; `during` runs before each Receive, so after
// each frame that the session has dealt with.
#ifndef SUBLITE_TESTS_PIPELINE_PIPELINE_FIXTURE_H_
#define SUBLITE_TESTS_PIPELINE_PIPELINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "applier/config.h"
#include "applier/replica.h"
#include "applier/session.h"
#include "applier/streaming_pause.h"
#include "tests/support/fake_publisher.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/pg_model.h"
#include "tests/support/replica_dump.h"

namespace sublite::testing {

class PipelineFixture : public ::testing::Test {
 protected:
  using During = std::function<void(FakeStream&)>;

  void SetUp() override;
  void TearDown() override;

  // As MakeTable in model_publisher.h, in schema public.
  int AddTable(const std::string& name, char identity,
               const std::vector<std::string>& columns);
  // One committed transaction that inserts the rows.
  FullXid Insert(int table, const std::vector<ModelRow>& rows);
  // The place of the row whose first column is `first`, as `xid` sees it.
  int RowOf(FullXid xid, int table, const std::string& first);

  void OpenReplica();
  // As a kill does; with `power` what was not synced is lost.
  void Kill(bool power = false);
  SessionEnd Follow(const During& during = nullptr);
  // Follow, which has to end well.
  void Caught(const During& during = nullptr);
  SessionEnd RunSession();
  SessionMemory NewMemory() const;
  // A table's copy is not through.
  bool Copying() const;

  // A reader's view, now.
  std::vector<std::string> Rows(const std::string& table);
  std::vector<std::string> Query(const std::string& sql);
  std::int64_t Int(const std::string& sql);
  Lsn Applied();
  // By another process.
  void Write(const std::string& sql);
  std::vector<std::string> Events(const std::string& kind);
  // That the file is the model at its position; empty if so.
  std::string Compare();

  FaultVfs& vfs_ = FaultVfs::Install();
  PgModel model_;
  FakePublisher publisher_{model_};
  Config config_;
  std::string path_;
  // Forgotten when the process ends. Pauses in it end as soon as they may.
  SessionMemory memory_;
  absl::Duration owner_patience_ = absl::ZeroDuration();
  std::unique_ptr<Replica> replica_;
  bool stop_ = false;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_PIPELINE_PIPELINE_FIXTURE_H_
