#include "applier/applier.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "applier/log.h"
#include "applier/wire/frame.h"
#include "schema/status.h"

namespace sublite {
namespace {

// How long transactions share a commit while more of them wait. Readers of a
// busy stream are not kept waiting; while an old backlog is worked off nobody
// notices, and fewer commits write less.
constexpr absl::Duration kGroupTime = absl::Milliseconds(20);
constexpr absl::Duration kBacklogGroupTime = absl::Milliseconds(200);
constexpr absl::Duration kBacklogAge = absl::Seconds(2);
// That the publisher was heard is written this often when there is nothing else
// to write.
constexpr absl::Duration kContactEvery = absl::Seconds(60);
constexpr absl::Duration kStagedNotedEvery = absl::Seconds(1);

}  // namespace

Applier::Applier(Replica& replica, TableCopy& copy, EndedTransactions& ended,
                 ApplierOptions options)
    : replica_(replica),
      metrics_(replica.metrics()),
      copy_(copy),
      ended_(ended),
      options_(std::move(options)),
      prepared_(replica.database()),
      spill_(options_.spill),
      reached_(replica.state().applied.value_or(Lsn())),
      committed_(reached_) {}

bool Applier::TakeConfirm() { return std::exchange(confirm_, false); }

bool Applier::TakeCatalogDue() { return std::exchange(catalog_due_, false); }

// ------------------------------------------------------------------------------------------------
// frames

absl::Status Applier::Consume(std::string_view frame, absl::Time now) {
  now_ = now;
  ASSIGN_OR_RETURN(const ServerFrame parsed, ParseFrame(frame));
  metrics_.received_bytes.Add(static_cast<std::int64_t>(frame.size()));
  if (const auto* keepalive = std::get_if<Keepalive>(&parsed)) {
    NoteReceived(keepalive->wal_end);
    // All that was published before the keepalive's position has been sent
    // before the keepalive.
    if (assembler_.between_transactions() && keepalive->wal_end > reached_)
      reached_ = keepalive->wal_end;
    if (keepalive->reply_requested) sync_soon_ = true;
    return absl::OkStatus();
  }
  const auto& data = std::get<XLogData>(parsed);
  NoteReceived(data.data_start);
  return OnMessage(data);
}

void Applier::NoteReceived(Lsn position) {
  const auto lsn = static_cast<std::int64_t>(position.value());
  if (lsn > metrics_.received_lsn.get()) metrics_.received_lsn.Set(lsn);
}

absl::Status Applier::OnMessage(const XLogData& data) {
  ++serial_;
  const DecodeContext context{options_.protocol_version,
                              assembler_.in_stream_block(),
                              options_.parallel_streaming, data.data_start};
  ASSIGN_OR_RETURN(const Message message,
                   Decode(data.payload, context, scratch_));
  const absl::StatusOr<Step> step = assembler_.Next(message);
  if (!step.ok())
    return Annotate(step.status(),
                    absl::StrCat("message at ", data.data_start.ToString()));
  return Do(*step, message, data.payload);
}

absl::Status Applier::Do(const Step& step, const Message& message,
                         std::string_view payload) {
  switch (step.action) {
    case Action::kNothing:
      return absl::OkStatus();
    case Action::kDescribe:
      relations_.Put(std::get<RelationMessage>(message), payload, serial_,
                     false);
      return absl::OkStatus();
    case Action::kBegin:
      StartApplying(step.xid, std::get<BeginMessage>(message).final_lsn,
                    std::get<BeginMessage>(message).commit_time);
      return absl::OkStatus();
    case Action::kApply:
      return Apply(message, relations_);
    case Action::kCommit: {
      const auto& commit = std::get<CommitMessage>(message);
      return EndApplying(commit.end_lsn, commit.commit_time);
    }
    case Action::kOpenSpool:
      OpenSpool(step.xid, assembler_.in_stream_block() ? Spool::Limit::kCounts
                                                       : Spool::Limit::kNone);
      return absl::OkStatus();
    case Action::kStage: {
      const absl::Status staged = Stage(step, message, payload);
      if (!staged.ok()) NoteSpillFull(staged);
      return staged;
    }
    case Action::kVoid: {
      ASSIGN_OR_RETURN(Spool * spool, FindSpool(step.xid));
      spool->AbortSubtransaction(step.subxid);
      return absl::OkStatus();
    }
    case Action::kDiscard:
      spools_.erase(step.xid);
      return absl::OkStatus();
    case Action::kReplay:
      return Replay(std::get<StreamCommitMessage>(message));
    case Action::kSeal: {
      if (const auto* prepare = std::get_if<PrepareMessage>(&message)) {
        return Seal(step.xid, prepare->gid, prepare->prepare_lsn,
                    prepare->end_lsn, prepare->prepare_time);
      }
      const auto& prepare = std::get<StreamPrepareMessage>(message);
      return Seal(step.xid, prepare.gid, prepare.prepare_lsn, prepare.end_lsn,
                  prepare.prepare_time);
    }
    case Action::kCommitPrepared:
      return CommitPrepared(std::get<CommitPreparedMessage>(message));
    case Action::kRollbackPrepared:
      return RollbackPrepared(std::get<RollbackPreparedMessage>(message));
    case Action::kNote:
      return KeepMessage(std::get<LogicalMessage>(message));
  }
  return absl::InternalError("an action of no kind");
}

// ------------------------------------------------------------------------------------------------
// transactions

void Applier::StartApplying(Xid xid, Lsn commit_lsn, PgTime commit_time) {
  if (replica_.changes() != nullptr)
    replica_.changes()->Begin(commit_lsn, commit_time, now_);
  applying_ = Applying{xid, commit_lsn, false};
  ++applying_number_;
  // The position is the end of a transaction, so a commit record before it has
  // been applied whole.
  const bool before = replica_.state().applied.has_value() &&
                      commit_lsn < *replica_.state().applied;
  const bool chosen = options_.skip.has_value() && *options_.skip == commit_lsn;
  applying_->skip = before || chosen;
}

absl::Status Applier::EndApplying(Lsn end_lsn, PgTime commit_time) {
  const Applying ended = *applying_;
  if (options_.skip.has_value() && *options_.skip == ended.commit_lsn) {
    RETURN_IF_ERROR(replica_.Begin());
    RETURN_IF_ERROR(replica_.AddEvent(
        "skip", "", ended.commit_lsn,
        absl::StrCat("transaction ", ended.xid, " was skipped on request")));
    RETURN_IF_ERROR(replica_.database().Execute(absl::StrCat(
        "delete from sublite_requests where kind = 'skip' and argument = '",
        options_.skip->ToString(), "'")));
    options_.skip.reset();
  }
  // First: a copy made now has to hold this transaction too.
  ended_.Add(ended.xid);
  if (!ended.skip) metrics_.CountTransaction();
  RETURN_IF_ERROR(CopyStale());
  applying_.reset();
  last_commit_ = commit_time;
  if (end_lsn > reached_) reached_ = end_lsn;
  // An empty transaction moves the position with the next write, not with one
  // of its own.
  if (replica_.in_transaction()) replica_.SetPosition(reached_, commit_time);
  return absl::OkStatus();
}

absl::Status Applier::CommitGroup(absl::Time now) {
  const bool positioned = replica_.state().applied.has_value();
  if (positioned) replica_.SetPosition(reached_, std::nullopt);
  replica_.SetContact(now);
  RETURN_IF_ERROR(replica_.Commit());
  committed_ = reached_;
  last_written_ = now;
  return absl::OkStatus();
}

absl::Status Applier::SyncNow(absl::Time now) {
  RETURN_IF_ERROR(replica_.Sync());
  durable_ = committed_;
  metrics_.flushed_lsn.Set(static_cast<std::int64_t>(durable_.value()));
  last_synced_ = now;
  sync_soon_ = false;
  confirm_ = true;
  return absl::OkStatus();
}

absl::Status Applier::NoteStaged(absl::Time now) {
  if (now - staged_noted_ < kStagedNotedEvery) return absl::OkStatus();
  staged_noted_ = now;
  metrics_.staged_transactions.Set(static_cast<std::int64_t>(spools_.size()));
  metrics_.staged_bytes.Set(spill_.counted());
  metrics_.spill_written_bytes.Add(spill_.written() - spill_noted_);
  spill_noted_ = spill_.written();
  if (!prepared_changed_ || replica_.in_transaction()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PreparedStore::Totals totals, prepared_.ReadTotals());
  prepared_changed_ = false;
  metrics_.prepared_transactions.Set(totals.transactions);
  metrics_.prepared_bytes.Set(totals.bytes);
  metrics_.oldest_prepared_at.Set(totals.oldest_micros);
  return absl::OkStatus();
}

absl::Status Applier::Tick(absl::Time now, bool more) {
  now_ = now;
  RETURN_IF_ERROR(NoteStaged(now));
  if (!applying_ && replica_.in_transaction()) {
    if (group_began_ == absl::InfinitePast()) group_began_ = now;
    const bool backlog = now - ToTime(last_commit_) >= kBacklogAge;
    const absl::Duration group_time = backlog ? kBacklogGroupTime : kGroupTime;
    if (!more || now - group_began_ >= group_time) {
      RETURN_IF_ERROR(CommitGroup(now));
      group_began_ = absl::InfinitePast();
    }
  }
  if (at_boundary()) {
    // WAL that held nothing for this replica.
    const bool moved =
        reached_ > committed_ &&
        (sync_soon_ || now - last_written_ >= options_.status_interval);
    if (moved || now - last_written_ >= kContactEvery) {
      RETURN_IF_ERROR(replica_.Begin());
      RETURN_IF_ERROR(CommitGroup(now));
    }
  }
  const bool due = sync_soon_ || now - last_synced_ >= options_.status_interval;
  if (committed_ > durable_ && due && replica_.can_sync()) return SyncNow(now);
  if (sync_soon_) {
    sync_soon_ = false;
    confirm_ = true;
  }
  return absl::OkStatus();
}

absl::Status Applier::Finish(absl::Time now) {
  if (applying_) return absl::OkStatus();
  if (replica_.in_transaction() || (at_boundary() && reached_ > committed_)) {
    RETURN_IF_ERROR(replica_.Begin());
    RETURN_IF_ERROR(CommitGroup(now));
  }
  return committed_ > durable_ ? SyncNow(now) : absl::OkStatus();
}

}  // namespace sublite
