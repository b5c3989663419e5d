#include "applier/assembler.h"

#include "absl/strings/str_cat.h"
#include "schema/status.h"

namespace sublite {

absl::Status Assembler::Misplaced(const char* name) const {
  std::string where;
  switch (state_) {
    case State::kIdle:
      where = "outside of any transaction";
      break;
    case State::kTransaction:
      where = absl::StrCat("in transaction ", xid_, ", which began with Begin");
      break;
    case State::kPrepare:
      where = absl::StrCat("in transaction ", xid_,
                           ", which began with Begin Prepare");
      break;
    case State::kStreamBlock:
      where = absl::StrCat("in a stream block of transaction ", xid_);
      break;
  }
  return absl::DataLossError(absl::StrCat(name, " cannot come ", where));
}

absl::Status Assembler::ExpectNotStreamed(Xid xid, const char* name) const {
  if (!streamed_.contains(xid)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(name, " of transaction ", xid, ", which is being streamed"));
}

absl::StatusOr<Step> Assembler::Next(const Message& message) {
  return std::visit([this](const auto& m) { return On(m); }, message);
}

absl::StatusOr<Step> Assembler::Change(const std::optional<Xid>& xid,
                                       const char* name) const {
  switch (state_) {
    case State::kTransaction:
      return Step{Action::kApply, xid_, xid_};
    case State::kPrepare:
      return Step{Action::kStage, xid_, xid_};
    case State::kStreamBlock:
      return Step{Action::kStage, xid_, xid.value_or(xid_)};
    case State::kIdle:
      break;
  }
  return Misplaced(name);
}

absl::StatusOr<Step> Assembler::On(const BeginMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Begin");
  RETURN_IF_ERROR(ExpectNotStreamed(message.xid, "Begin"));
  state_ = State::kTransaction;
  xid_ = message.xid;
  lsn_ = message.final_lsn;
  return Step{Action::kBegin, xid_, xid_};
}

absl::StatusOr<Step> Assembler::On(const CommitMessage& message) {
  if (state_ != State::kTransaction) return Misplaced("Commit");
  if (message.commit_lsn != lsn_) {
    return absl::DataLossError(absl::StrCat(
        "Commit at ", message.commit_lsn.ToString(), " in transaction ", xid_,
        ", whose Begin announced ", lsn_.ToString()));
  }
  state_ = State::kIdle;
  return Step{Action::kCommit, xid_, xid_};
}

absl::StatusOr<Step> Assembler::On(const LogicalMessage& message) {
  // One that is not transactional belongs to no transaction, wherever it
  // stands.
  if (!message.transactional) return Step{Action::kNote, 0, 0};
  return Change(message.xid, "Message");
}

absl::StatusOr<Step> Assembler::On(const OriginMessage&) {
  if (state_ == State::kIdle) return Misplaced("Origin");
  return Step{};
}

absl::StatusOr<Step> Assembler::On(const RelationMessage& message) {
  if (state_ == State::kStreamBlock)
    return Step{Action::kStage, xid_, message.xid.value_or(xid_)};
  return Step{Action::kDescribe, xid_, xid_};
}

absl::StatusOr<Step> Assembler::On(const TypeMessage&) { return Step{}; }

absl::StatusOr<Step> Assembler::On(const StreamStartMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Stream Start");
  const bool known = streamed_.contains(message.xid);
  if (message.first_segment == known) {
    return absl::DataLossError(
        absl::StrCat("Stream Start of transaction ", message.xid,
                     known ? " says that it begins, but it is open already"
                           : " continues it, but its beginning never came"));
  }
  state_ = State::kStreamBlock;
  xid_ = message.xid;
  if (known) return Step{Action::kNothing, xid_, xid_};
  streamed_.insert(xid_);
  return Step{Action::kOpenSpool, xid_, xid_};
}

absl::StatusOr<Step> Assembler::On(const StreamStopMessage&) {
  if (state_ != State::kStreamBlock) return Misplaced("Stream Stop");
  state_ = State::kIdle;
  return Step{};
}

absl::StatusOr<Step> Assembler::On(const StreamCommitMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Stream Commit");
  if (streamed_.erase(message.xid) == 0) {
    return absl::DataLossError(absl::StrCat("Stream Commit of transaction ",
                                            message.xid,
                                            ", which was never streamed"));
  }
  return Step{Action::kReplay, message.xid, message.xid};
}

absl::StatusOr<Step> Assembler::On(const StreamAbortMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Stream Abort");
  // A publisher may abort what it never streamed (PostgreSQL 18 has): there is
  // nothing to drop.
  if (!streamed_.contains(message.xid)) return Step{};
  if (message.xid != message.subxid)
    return Step{Action::kVoid, message.xid, message.subxid};
  streamed_.erase(message.xid);
  return Step{Action::kDiscard, message.xid, message.xid};
}

absl::StatusOr<Step> Assembler::On(const BeginPrepareMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Begin Prepare");
  RETURN_IF_ERROR(ExpectNotStreamed(message.xid, "Begin Prepare"));
  state_ = State::kPrepare;
  xid_ = message.xid;
  lsn_ = message.prepare_lsn;
  gid_ = std::string(message.gid);
  return Step{Action::kOpenSpool, xid_, xid_};
}

absl::StatusOr<Step> Assembler::On(const PrepareMessage& message) {
  // PostgreSQL 18 sends no Begin Prepare for a transaction without changes.
  if (state_ == State::kIdle && !streamed_.contains(message.xid))
    return Step{Action::kSeal, message.xid, message.xid};
  if (state_ != State::kPrepare) return Misplaced("Prepare");
  if (message.xid != xid_ || message.prepare_lsn != lsn_ ||
      message.gid != gid_) {
    return absl::DataLossError(
        absl::StrCat("Prepare of transaction ", message.xid, " at ",
                     message.prepare_lsn.ToString(),
                     " ends the Begin Prepare of transaction ", xid_, " at ",
                     lsn_.ToString()));
  }
  state_ = State::kIdle;
  return Step{Action::kSeal, xid_, xid_};
}

absl::StatusOr<Step> Assembler::On(const CommitPreparedMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Commit Prepared");
  // Its PREPARE was confirmed, but not its changes: after a reconnect they are
  // streamed once more, and the PREPARE is left out.
  streamed_.erase(message.xid);
  return Step{Action::kCommitPrepared, message.xid, message.xid};
}

absl::StatusOr<Step> Assembler::On(const RollbackPreparedMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Rollback Prepared");
  streamed_.erase(message.xid);
  return Step{Action::kRollbackPrepared, message.xid, message.xid};
}

absl::StatusOr<Step> Assembler::On(const StreamPrepareMessage& message) {
  if (state_ != State::kIdle) return Misplaced("Stream Prepare");
  if (streamed_.erase(message.xid) == 0) {
    return absl::DataLossError(absl::StrCat("Stream Prepare of transaction ",
                                            message.xid,
                                            ", which was never streamed"));
  }
  return Step{Action::kSeal, message.xid, message.xid};
}

}  // namespace sublite
