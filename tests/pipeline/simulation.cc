#include "tests/pipeline/simulation.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "applier/log.h"
#include "tests/support/replica_dump.h"

namespace sublite::testing {
namespace {

// Some runs cross the end of an epoch of 32-bit transaction ids.
FullXid FirstXid(std::uint64_t seed) {
  return seed % 5 == 0 ? (FullXid{3} << 32) - 60 : 750 + seed % 3;
}

WorkloadOptions WorkloadFor(std::uint64_t seed) {
  WorkloadOptions options;
  options.alters = seed % 2 == 0;
  options.messages = seed % 3 == 0;
  options.late_visibility = seed % 4 != 0;
  options.publications = seed % 7 < 3;
  options.sessions = 1 + static_cast<int>(seed % 5);
  return options;
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, const SimulationOptions& options)
    : options_(options),
      random_(seed * 7919 + 13),
      vfs_(FaultVfs::Install()),
      model_(FirstXid(seed)),
      workload_options_(WorkloadFor(seed)),
      workload_(model_, seed, workload_options_),
      publisher_(model_, seed + 1000003),
      memory_({{},
               StreamingPause(absl::ZeroDuration(), absl::ZeroDuration()),
               {},
               {},
               {},
               {},
               {}}) {
  SetLogSink(options.verbose ? LogSink(nullptr)
                             : +[](LogLevel, std::string_view,
                                   std::initializer_list<LogField>) {});
  if (options.verbose) {
    publisher_.trace = [](const std::string& line) {
      std::cerr << line << "\n";
    };
  }
  vfs_.Reset();
  AddTables(model_);
  config_.publisher.slot = "s";
  config_.publisher.publications = {"p"};
  config_.publisher.messages = workload_options_.messages;
  config_.publisher.two_phase = Draw(5) != 0;
  // Some rows of open transactions, then no more.
  config_.replica.spill_limit = seed % 4 == 1 ? 400 : 0;
  config_.publisher.status_interval =
      Draw(2) == 0 ? absl::ZeroDuration() : absl::Hours(1);
  if (options.status_interval.has_value()) {
    config_.publisher.status_interval = *options.status_interval;
  }
  config_.replica.database =
      absl::StrCat(::testing::TempDir(), "/simulation-", getpid(), ".db");
  for (const char* end : {"", "-wal", "-shm", "-journal"}) {
    unlink((config_.replica.database + end).c_str());
  }
  // 10 to 13, 14, 15, 16 and 17, 18.
  constexpr int kVersions[] = {130000, 140005, 150018, 160002, 180001};
  publisher_.identity.server_version = kVersions[Draw(5)];
  if (workload_options_.late_visibility) {
    publisher_.synchronous_standby_names = "standby";
  }
  config_.replica.gaps_an_hour = 1000000;
  config_.replica.copy_chunk_rows = 1 + static_cast<std::int64_t>(Draw(5));
  publisher_.batch = 1 + static_cast<int>(Draw(6));
  publisher_.lookahead = 1 + static_cast<int>(Draw(40));
  publisher_.stream_per_mille = Draw(3) == 0 ? 0 : static_cast<int>(Draw(200));
  publisher_.gap_per_mille = static_cast<int>(Draw(3)) * 200;
  publisher_.keepalive_per_mille = static_cast<int>(Draw(3)) * 40;
  publisher_.on_receive = [this](FakeStream& stream) { OnReceive(stream); };
  publisher_.on_read_row = [this](const std::string&, int) {
    if (end_kind_ == EndKind::kKillInCopy && --end_in_ == 0) throw Killed();
    return options_.table_troubles && Draw(8) == 0 ? DrawTrouble()
                                                   : absl::OkStatus();
  };
  publisher_.on_read_table = [this](const std::string&) {
    return DrawTrouble();
  };
  if (options.table_troubles)
    config_.replica.refusal_patience = absl::ZeroDuration();
  publisher_.during_create_slot = [this] {
    workload_.Steps(static_cast<int>(Draw(6)));
  };
}

Simulation::~Simulation() {
  replica_.reset();
  SetLogSink(nullptr);
}

// ------------------------------------------------------------- one session

bool Simulation::Open() {
  if (replica_ != nullptr) return true;
  auto opened =
      Replica::Open(config_.replica.database, [this] { return stop_; });
  if (!opened.ok()) {
    open_error_ = opened.status();
    return false;
  }
  replica_ = *std::move(opened);
  return true;
}

SessionEnd Simulation::RunSession() {
  Session session(
      config_, *replica_, publisher_, memory_, [this] { return stop_; },
      [](std::string_view) {});
  return session.Run();
}

std::vector<std::string> Simulation::StaleTables() const {
  std::vector<std::string> names;
  if (replica_ == nullptr) return names;
  for (const auto& table : replica_->tables()) {
    if (table->stale) names.push_back(table->shape.name);
  }
  return names;
}

void Simulation::Compare(bool strict) {
  // Before it is in WAL mode a file that was being made cannot be read.
  if (access((config_.replica.database + "-wal").c_str(), F_OK) != 0) return;
  ReplicaReader reader(config_.replica.database);
  CompareOptions options;
  options.not_these = StaleTables();
  options.two_phase = publisher_.slot.state.two_phase;
  options.strict = strict;
  const std::vector<std::string> differences =
      CompareWithModel(reader, model_, options);
  EXPECT_TRUE(differences.empty()) << absl::StrJoin(differences, "\n");
}

void Simulation::OnReceive(FakeStream& stream) {
  if (catching_up_) {
    // Copies beside the stream need some rounds more; those that wait for
    // somebody do not end.
    const bool copying =
        std::any_of(replica_->tables().begin(), replica_->tables().end(),
                    [](const auto& table) {
                      return table->state == TableState::kPending ||
                             table->state == TableState::kCopying;
                    });
    const bool idle =
        stream.idle() && (stream.last_kind() == 'k' || stream.delivered() == 0);
    if (idle && (!copying || ++idle_rounds_ > 300)) stop_ = true;
    return;
  }
  workload_.Steps(
      static_cast<int>(Draw(static_cast<std::uint64_t>(steps_per_receive_))));
  if (vfs_.powered() && Draw(100) < static_cast<unsigned>(compare_percent_)) {
    Compare();
  }
  if (end_kind_ == EndKind::kKillInCopy || end_kind_ == EndKind::kPowerOff ||
      end_kind_ == EndKind::kFault) {
    // Should the trouble not come, the session ends all the same.
    if (stream.delivered() > 300) stop_ = true;
    return;
  }
  if (--end_in_ > 0) return;
  switch (end_kind_) {
    case EndKind::kStop:
      stop_ = true;
      break;
    case EndKind::kCut:
      stream.Cut(static_cast<int>(Draw(10)));
      end_in_ = 1 << 30;
      break;
    default:
      throw Killed();
  }
}

void Simulation::Kill(bool power) {
  if (power) vfs_.PowerOff();
  replica_.reset();
  memory_ = {{}, StreamingPause(absl::ZeroDuration(), absl::ZeroDuration()),
             {}, {},
             {}, {},
             {}};
  if (power) vfs_.PowerLoss(&random_);
}

void Simulation::Round() {
  constexpr EndKind kKinds[] = {EndKind::kStop,       EndKind::kCut,
                                EndKind::kKill,       EndKind::kPowerOff,
                                EndKind::kKillInCopy, EndKind::kFault};
  end_kind_ = kKinds[Draw(options_.kills ? 6 : 2)];
  // Power that is lost while the damage of a failed sync is being mended is
  // more than anybody can promise to survive.
  if (std::exchange(sync_failed_, false) && end_kind_ != EndKind::kCut) {
    end_kind_ = EndKind::kStop;
  }
  end_in_ = 1 + static_cast<int>(Draw(60));
  if (options_.verbose) {
    std::cerr << "round, to be ended by " << static_cast<int>(end_kind_)
              << "\n";
  }
  stop_ = false;
  if (end_kind_ == EndKind::kPowerOff) {
    vfs_.PowerOffAt(1 + static_cast<std::int64_t>(Draw(120)));
  }
  if (end_kind_ == EndKind::kFault) {
    const bool sync = Draw(2) == 0;
    vfs_.SetFault({sync ? FaultVfs::kSync : FaultVfs::kWrite,
                   1 + static_cast<std::int64_t>(Draw(sync ? 15 : 120)),
                   SQLITE_IOERR_WRITE, false});
  }
  bool killed = false;
  try {
    if (Open()) {
      const SessionEnd end = RunSession();
      EXPECT_NE(end.next, SessionEnd::Next::kNeedsPerson) << end.status;
      EXPECT_NE(end.next, SessionEnd::Next::kWait) << end.status;
    }
  } catch (const Killed&) {
    killed = true;
  }
  const bool power_off = !vfs_.powered();
  vfs_.PowerOffAt(0);
  sync_failed_ = end_kind_ == EndKind::kFault && vfs_.fault_hit();
  vfs_.ClearFault();
  if (killed || power_off) {
    Kill(power_off || Draw(2) == 0);
  } else if (Draw(4) == 0) {
    Kill(Draw(2) == 0);
  }
  workload_.Steps(static_cast<int>(Draw(30)));
  if (options_.resyncs && Draw(4) == 0) RequestResync();
  if (options_.table_troubles && Draw(2) == 0) RefuseSomeRows();
}

void Simulation::Write(const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_open_v2(config_.replica.database.c_str(), &db, SQLITE_OPEN_READWRITE,
                  nullptr);
  sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  sqlite3_close(db);
}

void Simulation::RequestResync() {
  const std::string which =
      Draw(2) == 0 ? "'*'" : absl::StrCat("'", 1 + Draw(8), "'");
  Write(
      absl::StrCat("insert into sublite_requests (kind, argument, at) values "
                   "('resync', ",
                   which, ", 'now')"));
}

// --------------------------------------------------------- troubles of tables

absl::Status Simulation::DrawTrouble() {
  if (!options_.table_troubles || catching_up_) return absl::OkStatus();
  switch (Draw(12)) {
    case 0:
      return absl::FailedPreconditionError("permission denied");
    case 1:
      return absl::AbortedError("could not read block");
    case 2:
      return absl::OutOfRangeError("a value that does not fit");
    default:
      return absl::OkStatus();
  }
}

void Simulation::RefuseSomeRows() {
  if (access((config_.replica.database + "-wal").c_str(), F_OK) != 0) return;
  std::vector<std::string> tables;
  {
    ReplicaReader reader(config_.replica.database);
    if (!reader.Exists("sublite_tables")) return;
    tables = reader.Query(
        "select sqlite_table from sublite_tables where state = 'ready'");
  }
  if (tables.empty()) return;
  const std::string table = tables[Draw(tables.size())].substr(2);
  constexpr const char* kChanges[] = {"insert", "update", "delete"};
  const char* change = kChanges[Draw(3)];
  constexpr const char* kHow[] = {"abort", "fail", "rollback"};
  Write(absl::StrCat("create trigger \"refuse ", change, " ", table,
                     "\" after ", change, " on \"", table, "\" when ",
                     change == kChanges[2] ? "old" : "new",
                     ".rowid % 5 = ", Draw(5), " begin select raise(",
                     kHow[Draw(3)], ", 'refused'); end"));
}

void Simulation::MendTables() {
  std::vector<std::string> triggers;
  {
    ReplicaReader reader(config_.replica.database);
    triggers =
        reader.Query("select name from sqlite_schema where type = 'trigger'");
  }
  for (const std::string& name : triggers)
    Write(absl::StrCat("drop trigger \"", name.substr(2), "\""));
  Write(
      "insert into sublite_requests (kind, argument, at) select 'resync', id, "
      "'now' from sublite_tables where state = 'failed'");
}

// -------------------------------------------------------------------- a run

SessionEnd Simulation::CatchUp() {
  catching_up_ = true;
  idle_rounds_ = 0;
  end_kind_ = EndKind::kStop;
  stop_ = false;
  SessionEnd end;
  if (Open()) {
    end = RunSession();
  } else {
    end.status = open_error_;
  }
  catching_up_ = false;
  return end;
}

void Simulation::CheckCaughtUp() {
  Compare(true);
  ReplicaReader reader(config_.replica.database);
  EXPECT_EQ(absl::StrJoin(CheckSound(reader), "\n"), "");
  EXPECT_EQ(reader.Query("select sqlite_table, state, error from "
                         "sublite_tables where state <> 'ready'"),
            std::vector<std::string>{});
  EXPECT_EQ(reader.Query("select * from sublite_requests"),
            std::vector<std::string>{});
  EXPECT_EQ(reader.Int("select consistent from sublite_status"), 1);
  EXPECT_EQ(reader.AppliedPos().ToString(), model_.end().ToString());
  EXPECT_EQ(reader.Query("select name from sqlite_schema where name glob "
                         "'sublite_copy_*'"),
            std::vector<std::string>{});
  // Nothing of this may ever be needed here. (A slot is made again where the
  // first one was not yet noted safely when the power went.)
  EXPECT_EQ(reader.Query("select kind, sqlite_table, detail from "
                         "sublite_events where kind not in ('copied', "
                         "'schema', 'unpublished', 'spill_limit', "
                         "'table_failed', 'local_object_gone') and "
                         "detail not like '%this file holds "
                         "nothing of it%'"),
            std::vector<std::string>{});
}

void Simulation::Run() {
  workload_.Preload(static_cast<int>(Draw(12)));
  workload_.Steps(static_cast<int>(Draw(60)));
  for (int i = 0; i < options_.rounds && !::testing::Test::HasFailure(); ++i) {
    Round();
  }
  FinishRun();
  if (options_.verbose) std::cerr << model_.DescribeWal();
}

void Simulation::FinishRun() {
  workload_.Settle(Draw(2) == 0);
  model_.Noise(100);
  if (options_.table_troubles) {
    CatchUp();
    Compare();
    MendTables();
  }
  for (int tries = 0; tries < 20; ++tries) {
    const SessionEnd end = CatchUp();
    ASSERT_TRUE(end.next == SessionEnd::Next::kStop || end.at_once)
        << end.status;
    const bool ready = std::all_of(
        replica_->tables().begin(), replica_->tables().end(),
        [](const auto& table) { return table->state == TableState::kReady; });
    if (ready && end.next == SessionEnd::Next::kStop) break;
    // A table may wait for those who wrote to it.
    if (tries == 5) workload_.Settle(true);
  }
  CheckCaughtUp();
  EXPECT_LE(publisher_.slot.state.confirmed_flush.value(),
            model_.end().value());
}

}  // namespace sublite::testing
