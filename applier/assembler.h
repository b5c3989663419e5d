// The state machine of one replication connection: which transaction a message
// belongs to, and what is due.
//
// No SQL, no storage: Next says what to do, the caller does it. It keeps the
// ids of open streamed transactions only. After a reconnect start with a new
// Assembler.
//
// Errors: DataLoss for a message that cannot come here (a row outside a
// transaction, a Commit that does not fit its Begin); the text names both
// messages.
#ifndef SUBLITE_APPLIER_ASSEMBLER_H_
#define SUBLITE_APPLIER_ASSEMBLER_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "applier/wire/message.h"

namespace sublite {

enum class Action : std::uint8_t {
  kNothing,    // Stream Start of a known transaction, Stream Stop, Type, Origin
  kDescribe,   // a Relation of the connection
  kBegin,      // a transaction begins that is applied as it arrives
  kApply,      // a change of it
  kCommit,     // it ends
  kOpenSpool,  // Begin Prepare, or the first Stream Start: an empty spool for
               // `xid`
  kStage,      // a message into the spool of `xid`
  kVoid,       // Stream Abort of a subtransaction: what `subxid` staged is void
  kDiscard,    // Stream Abort of a whole transaction: its spool goes
  kReplay,     // Stream Commit: the spool of `xid` is applied and committed
  kSeal,       // Prepare, Stream Prepare: the spool of `xid`, if there is one,
               // becomes a prepared transaction
  kCommitPrepared,    // a prepared transaction is applied and committed
  kRollbackPrepared,  // a prepared transaction goes
  kNote,              // a logical message outside of transactions
};

struct Step {
  Action action = Action::kNothing;
  Xid xid = 0;  // the top-level transaction
  Xid subxid =
      0;  // kStage, kVoid: which subtransaction; equal to xid for the top level
};

class Assembler {
 public:
  absl::StatusOr<Step> Next(const Message& message);

  // Between Begin and Commit, Begin Prepare and Prepare, or Stream Start and
  // Stream Stop: what has arrived is not whole.
  bool between_transactions() const { return state_ == State::kIdle; }
  bool in_stream_block() const { return state_ == State::kStreamBlock; }

 private:
  enum class State { kIdle, kTransaction, kPrepare, kStreamBlock };

  absl::StatusOr<Step> On(const BeginMessage& message);
  absl::StatusOr<Step> On(const CommitMessage& message);
  absl::StatusOr<Step> On(const LogicalMessage& message);
  absl::StatusOr<Step> On(const OriginMessage& message);
  absl::StatusOr<Step> On(const RelationMessage& message);
  absl::StatusOr<Step> On(const TypeMessage& message);
  absl::StatusOr<Step> On(const InsertMessage& message) {
    return Change(message.xid, "Insert");
  }
  absl::StatusOr<Step> On(const UpdateMessage& message) {
    return Change(message.xid, "Update");
  }
  absl::StatusOr<Step> On(const DeleteMessage& message) {
    return Change(message.xid, "Delete");
  }
  absl::StatusOr<Step> On(const TruncateMessage& message) {
    return Change(message.xid, "Truncate");
  }
  absl::StatusOr<Step> On(const StreamStartMessage& message);
  absl::StatusOr<Step> On(const StreamStopMessage& message);
  absl::StatusOr<Step> On(const StreamCommitMessage& message);
  absl::StatusOr<Step> On(const StreamAbortMessage& message);
  absl::StatusOr<Step> On(const BeginPrepareMessage& message);
  absl::StatusOr<Step> On(const PrepareMessage& message);
  absl::StatusOr<Step> On(const CommitPreparedMessage& message);
  absl::StatusOr<Step> On(const RollbackPreparedMessage& message);
  absl::StatusOr<Step> On(const StreamPrepareMessage& message);

  absl::StatusOr<Step> Change(const std::optional<Xid>& xid,
                              const char* name) const;
  absl::Status Misplaced(const char* name) const;
  // For what begins or decides a transaction as a whole: DataLoss while it is
  // being streamed.
  absl::Status ExpectNotStreamed(Xid xid, const char* name) const;

  State state_ = State::kIdle;
  Xid xid_ = 0;  // of the open transaction or stream block
  Lsn lsn_;      // what its Commit or Prepare must repeat
  std::string gid_;
  absl::flat_hash_set<Xid>
      streamed_;  // begun in stream blocks and not yet decided
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_ASSEMBLER_H_
