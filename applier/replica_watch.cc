// The part of Replica that serves those who watch it: what the slot keeps at
// the publisher, the metrics, and the feed of changes.
#include <algorithm>
#include <array>

#include "applier/replica.h"
#include "schema/status.h"

namespace sublite {
namespace {

std::int64_t Seconds(absl::Duration duration) {
  return absl::ToInt64Seconds(duration);
}

}  // namespace

void Replica::SetRetention(const Retention& retention) {
  retention_ = retention;
  retention_pending_ = true;
  NoteRetention();
}

void Replica::NoteRetention() {
  if (!retention_.has_value()) return;
  const std::optional<std::int64_t> safe = retention_->safe_bytes;
  metrics_->publisher_lsn.Set(
      static_cast<std::int64_t>(retention_->wal_end.value()));
  metrics_->slot_retained_bytes.Set(retention_->retained_bytes());
  metrics_->slot_safe_bytes.Set(
      safe.has_value() ? std::max<std::int64_t>(*safe, 0) : -1);
  const std::optional<absl::Duration> offline = OfflineTime(*retention_);
  metrics_->slot_offline_seconds.Set(offline.has_value() ? Seconds(*offline)
                                                         : -1);
}

absl::Status Replica::BeginMetrics() {
  NoteRetention();
  NoteTables();
  if (state_.applied.has_value())
    metrics_->applied_lsn.Set(
        static_cast<std::int64_t>(state_.applied->value()));
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare("select strftime('%s', contact_at) * 1000000, "
                         "strftime('%s', applied_commit_time) * 1000000 from "
                         "sublite_state"));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  if (!row) return absl::OkStatus();
  if (!select.IsNull(0)) {
    metrics_->contact_at.Set(select.Int(0));
    metrics_->as_of.Set(std::max(metrics_->as_of.get(), select.Int(0)));
  }
  if (!select.IsNull(1)) metrics_->applied_commit_at.Set(select.Int(1));
  return absl::OkStatus();
}

absl::Status Replica::WriteRetention() {
  ASSIGN_OR_RETURN(
      Statement write,
      database_->Prepare(
          "insert or replace into sublite_slot (one, observed_at, wal_pos, "
          "restart_pos, wal_status, safe_bytes, keep_bytes, "
          "idle_timeout_seconds, wal_rate) values (1, ?1, ?2, ?3, ?4, ?5, ?6, "
          "?7, ?8)"));
  const std::string at = FormatPgTime(ToPgTime(retention_->at));
  RETURN_IF_ERROR(write.BindText(1, at));
  RETURN_IF_ERROR(
      write.BindInt(2, static_cast<std::int64_t>(retention_->wal_end.value())));
  RETURN_IF_ERROR(retention_->restart.valid()
                      ? write.BindInt(3, static_cast<std::int64_t>(
                                             retention_->restart.value()))
                      : write.BindNull(3));
  RETURN_IF_ERROR(retention_->wal_status.empty()
                      ? write.BindNull(4)
                      : write.BindText(4, retention_->wal_status));
  RETURN_IF_ERROR(retention_->safe_bytes.has_value()
                      ? write.BindInt(5, *retention_->safe_bytes)
                      : write.BindNull(5));
  RETURN_IF_ERROR(retention_->keep_bytes.has_value()
                      ? write.BindInt(6, *retention_->keep_bytes)
                      : write.BindNull(6));
  const std::int64_t idle = Seconds(retention_->idle_timeout);
  RETURN_IF_ERROR(idle > 0 ? write.BindInt(7, idle) : write.BindNull(7));
  RETURN_IF_ERROR(
      write.BindInt(8, static_cast<std::int64_t>(retention_->wal_rate)));
  return write.Run();
}

absl::Status Replica::LoadRetention() {
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare(
          "select strftime('%s', observed_at), wal_pos, restart_pos, "
          "wal_status, safe_bytes, keep_bytes, idle_timeout_seconds, wal_rate "
          "from sublite_slot"));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  // What was asked since then is newer than the file.
  if (!row || retention_pending_) return absl::OkStatus();
  Retention loaded;
  loaded.at = absl::FromUnixSeconds(select.Int(0));
  loaded.wal_end = Lsn(static_cast<std::uint64_t>(select.Int(1)));
  loaded.restart = Lsn(static_cast<std::uint64_t>(select.Int(2)));
  loaded.wal_status = std::string(select.Text(3));
  if (!select.IsNull(4)) loaded.safe_bytes = select.Int(4);
  if (!select.IsNull(5)) loaded.keep_bytes = select.Int(5);
  loaded.idle_timeout = absl::Seconds(select.Int(6));
  loaded.wal_rate = static_cast<double>(select.Int(7));
  retention_ = loaded;
  return absl::OkStatus();
}

absl::Status Replica::KeepChanges(
    const std::optional<ChangeFeedOptions>& options) {
  if (options.has_value()) {
    changes_ = std::make_unique<ChangeFeed>(*database_, path_, *options);
    return changes_->Open();
  }
  ASSIGN_OR_RETURN(
      const std::int64_t left,
      database_->QueryInt("select exists (select 1 from sublite_changes)"));
  if (left == 0) return absl::OkStatus();
  return Transaction([this] { return ChangeFeed::Clear(*database_); });
}

void Replica::NoteCommitted() {
  metrics_->Committed();
  if (changes_ != nullptr) changes_->Committed(state_.applied.value_or(Lsn()));
  const std::int64_t written = database_->wal_bytes_written();
  metrics_->wal_written_bytes.Add(written - wal_bytes_counted_);
  wal_bytes_counted_ = written;
  if (state_.applied.has_value())
    metrics_->applied_lsn.Set(
        static_cast<std::int64_t>(state_.applied->value()));
  if (commit_time_.has_value())
    metrics_->applied_commit_at.Set(absl::ToUnixMicros(ToTime(*commit_time_)));
  NoteTables();
}

void Replica::NoteTables() {
  if (metrics_generation_ == generation_) return;
  metrics_generation_ = generation_;
  std::array<std::int64_t, 5> states = {};
  for (const auto& table : tables_)
    ++states[static_cast<std::size_t>(table->state)];
  for (std::size_t i = 0; i < states.size(); ++i)
    metrics_->tables[i].Set(states[i]);
}

}  // namespace sublite
