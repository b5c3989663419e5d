#include "tests/pipeline/pipeline_fixture.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "applier/log.h"
#include "tests/support/model_publisher.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {

void PipelineFixture::SetUp() {
  SetLogSink(
      +[](LogLevel, std::string_view, std::initializer_list<LogField>) {});
  vfs_.Reset();
  path_ = ::testing::TempDir() + "/pipeline.db";
  for (const char* end : {"", "-wal", "-shm", "-journal"}) {
    unlink((path_ + end).c_str());
  }
  config_.replica.database = path_;
  config_.publisher.slot = "s";
  config_.publisher.publications = {"p"};
  memory_ = NewMemory();
}

void PipelineFixture::TearDown() {
  replica_.reset();
  SetLogSink(nullptr);
}

int PipelineFixture::AddTable(const std::string& name, char identity,
                              const std::vector<std::string>& columns) {
  std::vector<bool> external;
  PublishedTable table =
      MakeTable("public", name, identity, columns, &external);
  return model_.AddTable(std::move(table), external);
}

FullXid PipelineFixture::Insert(int table, const std::vector<ModelRow>& rows) {
  const FullXid xid = model_.Begin();
  for (const ModelRow& row : rows) {
    EXPECT_TRUE(model_.Insert(xid, table, row));
  }
  model_.Commit(xid);
  return xid;
}

int PipelineFixture::RowOf(FullXid xid, int table, const std::string& first) {
  const auto& rows = model_.tables()[table].rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (model_.SeesRow(xid, rows[i]) && rows[i].values[0] == first) {
      return static_cast<int>(i);
    }
  }
  ADD_FAILURE() << "the model has no row " << first;
  return 0;
}

void PipelineFixture::OpenReplica() {
  if (replica_ != nullptr) return;
  auto opened = Replica::Open(path_, [this] { return stop_; });
  ASSERT_OK(opened.status());
  replica_ = *std::move(opened);
  std::optional<ChangeFeedOptions> changes;
  if (config_.replica.changes) changes.emplace();
  ASSERT_OK(replica_->KeepChanges(changes));
}

void PipelineFixture::Kill(bool power) {
  if (power) vfs_.PowerOff();
  replica_.reset();
  memory_ = NewMemory();
  if (power) vfs_.PowerLoss(nullptr);
}

SessionMemory PipelineFixture::NewMemory() const {
  return {{},
          StreamingPause(absl::ZeroDuration(), absl::ZeroDuration()),
          {},
          SlotWatch(owner_patience_),
          {},
          {},
          {}};
}

SessionEnd PipelineFixture::RunSession() {
  OpenReplica();
  if (replica_ == nullptr) return {};
  Session session(
      config_, *replica_, publisher_, memory_, [this] { return stop_; },
      [](std::string_view) {});
  return session.Run();
}

SessionEnd PipelineFixture::Follow(const During& during) {
  stop_ = false;
  int idle = 0;
  publisher_.on_receive = [this, &during, &idle](FakeStream& stream) {
    if (during) during(stream);
    idle = stream.idle() ? idle + 1 : 0;
    // Copies beside the stream need some rounds; those that wait for somebody
    // do not end.
    if (idle > (Copying() ? 100 : 2)) stop_ = true;
  };
  const SessionEnd end = RunSession();
  publisher_.on_receive = nullptr;
  stop_ = false;
  return end;
}

bool PipelineFixture::Copying() const {
  return std::any_of(replica_->tables().begin(), replica_->tables().end(),
                     [](const auto& table) {
                       return table->state == TableState::kPending ||
                              table->state == TableState::kCopying;
                     });
}

void PipelineFixture::Caught(const During& during) {
  const SessionEnd end = Follow(during);
  EXPECT_EQ(end.next, SessionEnd::Next::kStop) << end.status;
  EXPECT_EQ(Compare(), "");
}

std::vector<std::string> PipelineFixture::Rows(const std::string& table) {
  ReplicaReader reader(path_);
  return reader.Rows(table);
}

std::vector<std::string> PipelineFixture::Query(const std::string& sql) {
  ReplicaReader reader(path_);
  return reader.Query(sql);
}

std::int64_t PipelineFixture::Int(const std::string& sql) {
  ReplicaReader reader(path_);
  return reader.Int(sql);
}

Lsn PipelineFixture::Applied() {
  ReplicaReader reader(path_);
  return reader.AppliedPos();
}

void PipelineFixture::Write(const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path_.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr),
            SQLITE_OK);
  sqlite3_busy_timeout(db, 1000);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
      << (error == nullptr ? "" : error);
  sqlite3_free(error);
  sqlite3_close(db);
}

std::vector<std::string> PipelineFixture::Events(const std::string& kind) {
  return Query(
      absl::StrCat("select coalesce(sqlite_table, '') || ': ' || detail from "
                   "sublite_events where kind = '",
                   kind, "' order by id"));
}

std::string PipelineFixture::Compare() {
  ReplicaReader reader(path_);
  CompareOptions options;
  options.two_phase = publisher_.slot.state.two_phase;
  return absl::StrJoin(CompareWithModel(reader, model_, options), "\n");
}

}  // namespace sublite::testing
