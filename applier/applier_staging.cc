// The part of Applier that keeps transactions which are not due, and replays
// them when they are.
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "applier/applier.h"
#include "applier/log.h"
#include "schema/status.h"

namespace sublite {

void Applier::OpenSpool(Xid xid, Spool::Limit limit) {
  spools_[xid] = std::make_unique<Spool>(spill_, limit);
}

void Applier::NoteSpillFull(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) && !absl::IsUnavailable(status))
    return;
  if (!assembler_.in_stream_block()) return;
  spill_full_.emplace();
  spill_full_->error = std::string(status.message());
  for (const auto& [xid, spool] : spools_) spill_full_->open.push_back(xid);
  // What they hold is worth nothing any more, and the space is wanted.
  spools_.clear();
}

absl::StatusOr<Spool*> Applier::FindSpool(Xid xid) {
  const auto found = spools_.find(xid);
  if (found == spools_.end())
    return absl::InternalError(absl::StrCat("no spool for transaction ", xid));
  return found->second.get();
}

absl::Status Applier::StageDefinition(Spool& spool, Xid xid, Oid oid) {
  const RelationDefinition* relation = relations_.Find(oid);
  const std::uint64_t held = spool.SerialOf(oid);
  if (relation == nullptr) {
    if (held != 0) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("a change of relation ", oid,
                                            ", which was never described"));
  }
  if (relation->serial <= held) return absl::OkStatus();
  spool.SetSerialOf(oid, relation->serial);
  return spool.Append({xid, relation->serial, false, true, relation->message});
}

absl::Status Applier::Stage(const Step& step, const Message& message,
                            std::string_view payload) {
  ASSIGN_OR_RETURN(Spool * spool, FindSpool(step.xid));
  if (const auto* relation = std::get_if<RelationMessage>(&message)) {
    spool->SetSerialOf(relation->relation, serial_);
  } else if (const auto* insert = std::get_if<InsertMessage>(&message)) {
    RETURN_IF_ERROR(StageDefinition(*spool, step.xid, insert->relation));
  } else if (const auto* update = std::get_if<UpdateMessage>(&message)) {
    RETURN_IF_ERROR(StageDefinition(*spool, step.xid, update->relation));
  } else if (const auto* del = std::get_if<DeleteMessage>(&message)) {
    RETURN_IF_ERROR(StageDefinition(*spool, step.xid, del->relation));
  } else if (const auto* truncate = std::get_if<TruncateMessage>(&message)) {
    for (Oid oid : truncate->relations)
      RETURN_IF_ERROR(StageDefinition(*spool, step.xid, oid));
  }
  return spool->Append(
      {step.subxid, serial_, assembler_.in_stream_block(), false, payload});
}

absl::Status Applier::ReplayRecord(const StagedRecord& record,
                                   RelationMap& relations) {
  // Millions of changes may be due at once.
  if ((++replayed_ & 0xfff) == 0 && options_.stop())
    return absl::CancelledError("told to stop");
  const DecodeContext context{options_.protocol_version, record.in_stream_block,
                              options_.parallel_streaming,
                              applying_->commit_lsn};
  ASSIGN_OR_RETURN(const Message message,
                   Decode(record.message, context, replay_scratch_));
  if (const auto* relation = std::get_if<RelationMessage>(&message)) {
    relations.Put(*relation, record.message, record.serial,
                  record.in_stream_block);
    return absl::OkStatus();
  }
  if (std::holds_alternative<TypeMessage>(message)) return absl::OkStatus();
  return Apply(message, relations);
}

absl::Status Applier::Replay(const StreamCommitMessage& message) {
  const auto found = spools_.find(message.xid);
  if (found == spools_.end())
    return absl::InternalError(
        absl::StrCat("no spool for transaction ", message.xid));
  const std::unique_ptr<Spool> spool = std::move(found->second);
  spools_.erase(found);
  StartApplying(message.xid, message.commit_lsn, message.commit_time);
  RelationMap replayed;
  RETURN_IF_ERROR(spool->ForEach([&](const StagedRecord& record) {
    return ReplayRecord(record, replayed);
  }));
  relations_.Promote(replayed);
  return EndApplying(message.end_lsn, message.commit_time);
}

absl::Status Applier::Seal(Xid xid, std::string_view gid, Lsn prepare_lsn,
                           Lsn end_lsn, PgTime time) {
  std::unique_ptr<Spool> spool;
  const auto found = spools_.find(xid);
  if (found != spools_.end()) {
    spool = std::move(found->second);
    spools_.erase(found);
  } else {
    // It changed nothing.
    spool = std::make_unique<Spool>(spill_, Spool::Limit::kNone);
  }
  RETURN_IF_ERROR(replica_.Begin());
  prepared_changed_ = true;
  RETURN_IF_ERROR(prepared_.Seal(
      {xid, gid, prepare_lsn, end_lsn, time, replica_.state().source}, *spool));
  if (end_lsn > reached_) reached_ = end_lsn;
  replica_.SetPosition(reached_, std::nullopt);
  // The publisher's PREPARE is confirmed as soon as it is safe here.
  sync_soon_ = true;
  return absl::OkStatus();
}

absl::Status Applier::CommitPrepared(const CommitPreparedMessage& message) {
  StartApplying(message.xid, message.commit_lsn, message.commit_time);
  const bool streamed = spools_.erase(message.xid) > 0;
  ASSIGN_OR_RETURN(
      const std::optional<std::int64_t> id,
      prepared_.Find(message.xid, message.gid, replica_.state().source));
  if (id.has_value()) {
    RETURN_IF_ERROR(replica_.Begin());
    prepared_changed_ = true;
    RelationMap replayed;
    RETURN_IF_ERROR(prepared_.ForEach(*id, [&](const StagedRecord& record) {
      return ReplayRecord(record, replayed);
    }));
    RETURN_IF_ERROR(prepared_.Remove(*id));
  } else if (!applying_->skip) {
    RETURN_IF_ERROR(MissingPrepared(message, streamed));
  }
  return EndApplying(message.end_lsn, message.commit_time);
}

absl::Status Applier::MissingPrepared(const CommitPreparedMessage& message,
                                      bool had_changes) {
  // Work that every table's copy holds already is not missed.
  bool missed = false;
  for (const auto& table : replica_.tables()) {
    if (table->follows() && !HoldsAlready(*table)) missed = true;
  }
  if (!missed) return absl::OkStatus();
  if (!options_.doubt_prepared && !had_changes) {
    // Servers 16 and 17 send no PREPARE for a transaction without changes
    // (locks only), but do send its end.
    LogInfo(
        "a transaction was committed that prepared nothing for this replica",
        {{"xid", absl::StrCat(message.xid)},
         {"lsn", message.commit_lsn.ToString()}});
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(replica_.Begin());
  const std::string detail = absl::StrCat(
      "gap: transaction ", message.xid, " (GID ", View(message.gid),
      ") was committed, but what it prepared never came; all tables are copied "
      "again");
  LogWarn(detail, {{"lsn", message.commit_lsn.ToString()}});
  RETURN_IF_ERROR(replica_.AddEvent("gap", "", message.commit_lsn, detail));
  ASSIGN_OR_RETURN(Statement insert,
                   replica_.database().Prepare(
                       "insert into sublite_requests (kind, argument, at) "
                       "values ('resync', '*', ?1)"));
  const std::string now = NowText();
  RETURN_IF_ERROR(insert.BindText(1, now));
  return insert.Run();
}

absl::Status Applier::RollbackPrepared(const RollbackPreparedMessage& message) {
  spools_.erase(message.xid);
  ASSIGN_OR_RETURN(
      const std::optional<std::int64_t> id,
      prepared_.Find(message.xid, message.gid, replica_.state().source));
  // Prepared before two-phase decoding began: it was never sent, and is no
  // error.
  if (id.has_value()) {
    RETURN_IF_ERROR(replica_.Begin());
    prepared_changed_ = true;
    RETURN_IF_ERROR(prepared_.Remove(*id));
  }
  ended_.Add(message.xid);
  if (message.rollback_end_lsn > reached_) reached_ = message.rollback_end_lsn;
  if (replica_.in_transaction()) replica_.SetPosition(reached_, std::nullopt);
  return absl::OkStatus();
}

}  // namespace sublite
