#include "applier/replica.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/replica_format.h"
#include "schema/bookkeeping.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr absl::Duration kLockPatience = absl::Milliseconds(500);
constexpr int kEventsKept = 10000;
// A sublite that is being stopped needs a few seconds at most.
constexpr absl::Duration kFileLockPatience = absl::Seconds(5);

// SQLite needs to make files beside the database, and its own text does not say
// which permission is missing.
absl::Status CheckFolder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the folder ", folder, " of the replica cannot be written to: ",
        std::strerror(errno), "; its user needs write permission there"));
  }
  if (access(path.c_str(), F_OK) == 0 &&
      access(path.c_str(), R_OK | W_OK) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the replica ", path, " cannot be written to: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileGuard>> LockFile(
    const std::string& path, const std::function<bool()>& stop) {
  const absl::Time until = absl::Now() + kFileLockPatience;
  while (true) {
    absl::StatusOr<std::unique_ptr<FileGuard>> guard = FileGuard::Lock(path);
    if (guard.ok() || !absl::IsUnavailable(guard.status())) return guard;
    if (stop()) return absl::CancelledError("told to stop");
    if (absl::Now() > until) {
      return absl::FailedPreconditionError(
          absl::StrCat(guard.status().message(),
                       ": stop it, or give this one a replica.database and a "
                       "slot of its own"));
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Replica>> Replica::Open(
    const std::string& path, std::function<bool()> stop,
    std::shared_ptr<Metrics> metrics) {
  auto replica = std::unique_ptr<Replica>(new Replica());
  replica->path_ = path;
  replica->metrics_ = std::move(metrics);
  replica->stop_ = std::move(stop);
  RETURN_IF_ERROR(CheckFolder(path));
  ASSIGN_OR_RETURN(
      replica->database_,
      Database::Open(path, Database::Mode::kCreate, kLockPatience));
  replica->database_->StopWhen(replica->stop_);
  // Makes the file, without writing to one that is there.
  absl::Status status =
      replica->database_->Execute("pragma journal_mode = wal");
  if (!status.ok())
    return Annotate(status,
                    absl::StrCat("cannot use ", path, " as the replica"));
  ASSIGN_OR_RETURN(replica->guard_,
                   LockFile(replica->database_->file_name(), replica->stop_));
  RETURN_IF_ERROR(replica->Prepare());
  replica->guard_->Remember();
  RETURN_IF_ERROR(replica->Reload());
  RETURN_IF_ERROR(replica->BeginMetrics());
  return replica;
}

absl::Status Replica::Prepare() {
  // A file of a newer format is left alone before anything is written.
  if (database_
          ->QueryInt("select 1 from sqlite_schema where name = 'sublite_state'")
          .ok()) {
    ASSIGN_OR_RETURN(const std::int64_t format,
                     database_->QueryInt("select format from sublite_state"));
    if (format > kFileFormat) {
      return absl::FailedPreconditionError(
          absl::StrCat("the file ", path_, " has format ", format,
                       ", this sublite knows up to ", kFileFormat,
                       ": use the newer sublite that wrote it"));
    }
  }
  // A checkpoint each 16 MB of WAL writes a page that changes often once, not
  // at every commit: flash wears. WAL lets readers and the one writer go on
  // side by side. NORMAL leaves syncing to Sync. The cache bounds memory: a
  // transaction that outgrows it spills into the WAL. Renaming must not look
  // into local views (legacy_alter_table), and a local schema's foreign keys
  // are not ours to enforce.
  RETURN_IF_ERROR(
      database_->Execute("pragma synchronous = normal; pragma cache_size = "
                         "-16000; pragma temp_store = file;"
                         "pragma journal_size_limit = 67108864; pragma "
                         "foreign_keys = off; pragma recursive_triggers = off;"
                         "pragma legacy_alter_table = on;"));
  database_->CheckpointAt(4000);
  RETURN_IF_ERROR(database_->KeepWalFiles());
  database_->DoubtWal();
  ASSIGN_OR_RETURN(begin_, database_->Prepare("begin immediate"));
  ASSIGN_OR_RETURN(commit_, database_->Prepare("commit"));
  RETURN_IF_ERROR(
      Transaction([this] { return PrepareReplicaTables(*database_); }));
  ASSIGN_OR_RETURN(
      write_state_,
      database_->Prepare(
          "update sublite_state set applied_pos = ?1, "
          "applied_commit_time = coalesce(?2, applied_commit_time), "
          "contact_at = coalesce(?3, contact_at)"));
  return absl::OkStatus();
}

absl::Status Replica::Reload() {
  position_pending_ = false;
  commit_time_.reset();
  RETURN_IF_ERROR(LoadState());
  RETURN_IF_ERROR(LoadRetention());
  return LoadTables();
}

absl::Status Replica::LoadState() {
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare("select applied_pos, slot, slot_snapshot, "
                         "system_identifier, source, timeline, slot_timeline, "
                         "slot_on_standby, timeline_began, slot_from, "
                         "slot_asked, slot_making, slot_passed, file_id, "
                         "home_machine, home_path, shown_pos from "
                         "sublite_state"));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  if (!row) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the file ", path_,
        " has lost its position (sublite_state is empty): "
        "move the file away, sublite then copies everything again"));
  }
  state_ = ReplicaState();
  if (!select.IsNull(0))
    state_.applied = Lsn(static_cast<std::uint64_t>(select.Int(0)));
  state_.slot = std::string(select.Text(1));
  if (!select.IsNull(2)) {
    ASSIGN_OR_RETURN(state_.slot_snapshot, Snapshot::Parse(select.Text(2)));
  }
  state_.system_identifier = std::string(select.Text(3));
  state_.source = select.Int(4);
  state_.timeline = static_cast<std::uint32_t>(select.Int(5));
  state_.slot_timeline = static_cast<std::uint32_t>(select.Int(6));
  state_.slot_on_standby = select.Int(7) != 0;
  state_.timeline_began = Lsn(static_cast<std::uint64_t>(select.Int(8)));
  state_.slot_from = std::string(select.Text(9));
  state_.slot_asked = std::string(select.Text(10));
  state_.slot_making = static_cast<std::uint64_t>(select.Int(11));
  state_.slot_passed = static_cast<int>(select.Int(12));
  state_.file_id = std::string(select.Text(13));
  state_.home_machine = std::string(select.Text(14));
  state_.home_path = std::string(select.Text(15));
  if (!select.IsNull(16))
    state_.shown = Lsn(static_cast<std::uint64_t>(select.Int(16)));
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------------------
// transactions

absl::Status Replica::Begin() {
  if (in_transaction()) return absl::OkStatus();
  bool told = false;
  while (true) {
    const absl::Status status = begin_.Run();
    if (status.ok() || !database_->locked_out()) return status;
    if (stop_())
      return absl::CancelledError(
          "told to stop while another program holds the file's write lock");
    if (!told)
      LogWarn("another program holds the write lock of the replica; waiting",
              {{"file", path_}});
    told = true;
  }
}

absl::Status Replica::Commit() {
  if (!in_transaction()) return absl::OkStatus();
  RETURN_IF_ERROR(WriteState());
  if (changes_ != nullptr) RETURN_IF_ERROR(changes_->Prune(absl::Now()));
  RETURN_IF_ERROR(commit_.Run());
  NoteCommitted();
  position_pending_ = false;
  commit_time_.reset();
  contact_.reset();
  retention_pending_ = false;
  database_->CheckpointIfDue();
  return absl::OkStatus();
}

void Replica::Rollback() {
  metrics_->RolledBack();
  if (changes_ != nullptr) changes_->RolledBack();
  if (!in_transaction()) return;
  const absl::Status status = database_->Execute("rollback");
  if (!status.ok())
    LogError("cannot roll back", {{"error", std::string(status.message())}});
}

absl::Status Replica::Transaction(const std::function<absl::Status()>& body) {
  if (in_transaction()) return body();
  RETURN_IF_ERROR(Begin());
  absl::Status status = body();
  if (status.ok()) status = Commit();
  if (!status.ok()) Rollback();
  return status;
}

absl::Status Replica::CheckFiles() {
  const bool main = guard_->MainChanged();
  if (!main && !guard_->SidecarsChanged()) return absl::OkStatus();
  files_changed_ = true;
  std::string detail = absl::StrCat(
      "the replica's files were deleted or replaced under the running "
      "sublite: ",
      path_);
  if (!main) {
    // The database itself is in its place: what is only in the lost -wal goes
    // there now.
    const absl::Status saved = Checkpoint();
    absl::StrAppend(
        &detail,
        saved.ok()
            ? "-wal or -shm; nothing is lost"
            : absl::StrCat(
                  "-wal or -shm, and what they held could not be saved: ",
                  saved.message()));
  }
  return absl::UnavailableError(detail);
}

absl::Status Replica::Checkpoint() {
  ASSIGN_OR_RETURN(Statement checkpoint,
                   database_->Prepare("pragma wal_checkpoint(full)"));
  ASSIGN_OR_RETURN(const bool row, checkpoint.Step());
  if (!row || checkpoint.Int(0) != 0 ||
      checkpoint.Int(1) != checkpoint.Int(2)) {
    return absl::UnavailableError(
        absl::StrCat("readers keep ", path_, " from being checkpointed"));
  }
  return absl::OkStatus();
}

absl::Status Replica::Sync() {
  // What was written into a deleted file must not be confirmed.
  RETURN_IF_ERROR(CheckFiles());
  RETURN_IF_ERROR(Annotate(database_->SyncWal(), "nothing new is confirmed"));
  metrics_->syncs.Add(1);
  return absl::OkStatus();
}

void Replica::SetPosition(Lsn end, std::optional<PgTime> commit_time) {
  if (state_.applied.has_value() && end < *state_.applied) return;
  state_.applied = end;
  position_pending_ = true;
  if (commit_time.has_value()) commit_time_ = commit_time;
}

absl::Status Replica::WriteState() {
  if (retention_pending_) RETURN_IF_ERROR(WriteRetention());
  if (!position_pending_ && !contact_.has_value()) return absl::OkStatus();
  if (!state_.applied.has_value()) return absl::OkStatus();
  const std::string commit_time =
      commit_time_.has_value() ? FormatPgTime(*commit_time_) : "";
  const std::string contact =
      contact_.has_value() ? FormatPgTime(ToPgTime(*contact_)) : "";
  RETURN_IF_ERROR(write_state_.BindInt(
      1, static_cast<std::int64_t>(state_.applied->value())));
  RETURN_IF_ERROR(commit_time.empty() ? write_state_.BindNull(2)
                                      : write_state_.BindText(2, commit_time));
  RETURN_IF_ERROR(contact.empty() ? write_state_.BindNull(3)
                                  : write_state_.BindText(3, contact));
  RETURN_IF_ERROR(write_state_.Run());
  // A copy whose position has been passed is like any other table.
  for (const auto& table : tables_) {
    if (!table->copy_pos.valid() || table->copy_pos > *state_.applied) continue;
    ASSIGN_OR_RETURN(Statement clear,
                     database_->Prepare("update sublite_tables set copy_pos = "
                                        "null, snapshot = null where id = ?1"));
    RETURN_IF_ERROR(clear.BindInt(1, table->id));
    RETURN_IF_ERROR(clear.Run());
    table->copy_pos = Lsn();
    table->snapshot = Snapshot();
  }
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------------------
// state

absl::Status Replica::SetSlot(const std::string& slot,
                              const PublisherIdentity& publisher,
                              const CreatedSlot& created) {
  RETURN_IF_ERROR(SetPublisher(publisher));
  ASSIGN_OR_RETURN(
      Statement update,
      database_->Prepare(
          "update sublite_state set slot = ?1, slot_pos = ?2, slot_snapshot = "
          "?3, "
          "applied_pos = ?2, applied_commit_time = null, slot_timeline = ?4, "
          "slot_on_standby = ?5, slot_from = '', slot_making = 0"));
  const std::string snapshot = created.snapshot.ToString();
  RETURN_IF_ERROR(update.BindText(1, slot));
  RETURN_IF_ERROR(update.BindInt(
      2, static_cast<std::int64_t>(created.consistent_point.value())));
  RETURN_IF_ERROR(update.BindText(3, snapshot));
  RETURN_IF_ERROR(update.BindInt(4, publisher.timeline));
  RETURN_IF_ERROR(update.BindInt(5, publisher.in_recovery ? 1 : 0));
  RETURN_IF_ERROR(update.Run());
  // What was prepared before is decided by the new slot's stream or by the
  // copies.
  RETURN_IF_ERROR(ForgetPrepared());
  state_.slot = slot;
  state_.slot_from.clear();
  state_.slot_making = 0;
  state_.slot_timeline = publisher.timeline;
  state_.slot_on_standby = publisher.in_recovery;
  state_.slot_snapshot = created.snapshot;
  state_.applied = created.consistent_point;
  return absl::OkStatus();
}

absl::Status Replica::SetPublisher(const PublisherIdentity& publisher) {
  ASSIGN_OR_RETURN(
      Statement update,
      database_->Prepare(
          "update sublite_state set source = source + "
          "(coalesce(system_identifier, ?1) <> ?1), "
          "system_identifier = ?1, timeline = ?2, server_version = ?3, "
          "timeline_began = ?4"));
  RETURN_IF_ERROR(update.BindText(1, publisher.system_identifier));
  RETURN_IF_ERROR(update.BindInt(2, publisher.timeline));
  RETURN_IF_ERROR(update.BindText(3, publisher.server_version_text));
  const Lsn began = publisher.timeline_began();
  RETURN_IF_ERROR(began.valid() ? update.BindInt(4, static_cast<std::int64_t>(
                                                        began.value()))
                                : update.BindNull(4));
  RETURN_IF_ERROR(update.Run());
  if (!state_.system_identifier.empty() &&
      state_.system_identifier != publisher.system_identifier)
    ++state_.source;
  state_.system_identifier = publisher.system_identifier;
  state_.timeline = publisher.timeline;
  state_.timeline_began = began;
  return absl::OkStatus();
}

absl::Status Replica::SetState(std::string_view state) {
  ASSIGN_OR_RETURN(const std::int64_t same, database_->QueryInt(absl::StrCat(
                                                "select state = '", View(state),
                                                "' from sublite_state")));
  if (same != 0) return absl::OkStatus();
  return Transaction([&] {
    ASSIGN_OR_RETURN(Statement update,
                     database_->Prepare("update sublite_state set state = ?1"));
    RETURN_IF_ERROR(update.BindText(1, state));
    return update.Run();
  });
}

absl::Status Replica::NoteStopped() {
  // One statement outside of a transaction: it is refused at once where another
  // program writes. The stop signal would interrupt it, so it is not asked.
  database_->StopWhen([] { return false; });
  return database_->Execute(
      "update sublite_state set state = 'disconnected', activity = null where "
      "state <> 'failed'");
}

absl::Status Replica::SetActivity(std::string_view text) {
  return Transaction([&] {
    ASSIGN_OR_RETURN(
        Statement update,
        database_->Prepare(
            "update sublite_state set activity = ?1 where activity is not ?1"));
    RETURN_IF_ERROR(text.empty() ? update.BindNull(1)
                                 : update.BindText(1, text));
    return update.Run();
  });
}

absl::Status Replica::SetPublications(
    const std::vector<std::string>& publications) {
  return Transaction([&] {
    ASSIGN_OR_RETURN(
        Statement update,
        database_->Prepare("update sublite_state set publications = ?1 "
                           "where publications <> ?1"));
    const std::string text = absl::StrJoin(publications, ",");
    RETURN_IF_ERROR(update.BindText(1, text));
    return update.Run();
  });
}

absl::Status Replica::RecordError(std::string_view text) {
  return Transaction([&] {
    ASSIGN_OR_RETURN(
        Statement update,
        database_->Prepare(
            "update sublite_state set last_error = ?1, last_error_at = ?2"));
    const std::string now = NowText();
    RETURN_IF_ERROR(update.BindText(1, text));
    RETURN_IF_ERROR(update.BindText(2, now));
    return update.Run();
  });
}

absl::Status Replica::AddEvent(std::string_view kind,
                               std::string_view sqlite_table,
                               std::optional<Lsn> lsn,
                               std::string_view detail) {
  return Transaction([&] {
    ASSIGN_OR_RETURN(
        Statement insert,
        database_->Prepare(
            "insert into sublite_events (at, kind, sqlite_table, lsn, detail) "
            "values (?1, ?2, ?3, ?4, ?5)"));
    const std::string now = NowText();
    const std::string lsn_text = lsn.has_value() ? lsn->ToString() : "";
    RETURN_IF_ERROR(insert.BindText(1, now));
    RETURN_IF_ERROR(insert.BindText(2, kind));
    RETURN_IF_ERROR(sqlite_table.empty() ? insert.BindNull(3)
                                         : insert.BindText(3, sqlite_table));
    RETURN_IF_ERROR(lsn_text.empty() ? insert.BindNull(4)
                                     : insert.BindText(4, lsn_text));
    RETURN_IF_ERROR(insert.BindText(5, detail));
    RETURN_IF_ERROR(insert.Run());
    return database_->Execute(
        absl::StrCat("delete from sublite_events where id <= ",
                     database_->last_insert_rowid() - kEventsKept));
  });
}

absl::StatusOr<bool> Replica::HasEvent(std::string_view kind,
                                       std::string_view sqlite_table, Lsn lsn,
                                       absl::Time until) {
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare("select 1 from sublite_events where kind = ?1 and "
                         "sqlite_table = ?2 and lsn = ?3 and at <= ?4"));
  const std::string lsn_text = lsn.ToString();
  // As texts times are in the order of time.
  const std::string until_text = FormatPgTime(ToPgTime(until));
  RETURN_IF_ERROR(select.BindText(1, kind));
  RETURN_IF_ERROR(select.BindText(2, sqlite_table));
  RETURN_IF_ERROR(select.BindText(3, lsn_text));
  RETURN_IF_ERROR(select.BindText(4, until_text));
  return select.Step();
}

absl::StatusOr<std::int64_t> Replica::CountEvents(std::string_view kind,
                                                  absl::Time since) {
  ASSIGN_OR_RETURN(Statement select,
                   database_->Prepare("select count(*) from sublite_events "
                                      "where kind = ?1 and at > ?2"));
  const std::string since_text = FormatPgTime(ToPgTime(since));
  RETURN_IF_ERROR(select.BindText(1, kind));
  RETURN_IF_ERROR(select.BindText(2, since_text));
  RETURN_IF_ERROR(select.Step().status());
  return select.Int(0);
}

absl::StatusOr<bool> Replica::IsNewestEvent(std::string_view kind,
                                            std::string_view detail) {
  ASSIGN_OR_RETURN(Statement select,
                   database_->Prepare("select detail = ?2 from sublite_events "
                                      "where kind = ?1 order by id desc limit "
                                      "1"));
  RETURN_IF_ERROR(select.BindText(1, kind));
  RETURN_IF_ERROR(select.BindText(2, detail));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  return row && select.Int(0) != 0;
}

// ------------------------------------------------------------------------------------------------
// requests

absl::StatusOr<std::vector<Request>> Replica::Requests() {
  std::vector<Request> requests;
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare(
          "select id, kind, argument from sublite_requests order by id"));
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return requests;
    requests.push_back({select.Int(0), std::string(select.Text(1)),
                        std::string(select.Text(2))});
  }
}

absl::Status Replica::RemoveRequest(std::int64_t id) {
  return Transaction([&] {
    return database_->Execute(
        absl::StrCat("delete from sublite_requests where id = ", id));
  });
}

}  // namespace sublite
