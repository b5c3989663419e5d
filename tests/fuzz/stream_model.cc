#include "tests/fuzz/stream_model.h"

#include <optional>
#include <utility>
#include <variant>

namespace sublite::testing {

using Kind = StreamModel::Due::Kind;

void StreamModel::Connect() { *this = StreamModel(); }

bool StreamModel::Take(const Message& message, std::string_view bytes,
                       Due* due) {
  *due = Due();
  ++number_;
  bytes_ = bytes;
  return std::visit([&](const auto& m) { return On(m, due); }, message);
}

std::vector<Xid> StreamModel::open() const {
  return {streamed_.begin(), streamed_.end()};
}

std::shared_ptr<const Definition> StreamModel::Find(Oid oid) const {
  std::shared_ptr<const Definition> found;
  const auto known = known_.find(oid);
  if (known != known_.end()) found = known->second;
  if (state_ != State::kStream) return found;
  const Definitions& own = open_.at(xid_).own;
  const auto mine = own.find(oid);
  if (mine == own.end()) return found;
  return found == nullptr || found->number < mine->second->number ? mine->second
                                                                  : found;
}

bool StreamModel::Keep(ModelMessage message, Due* due) {
  Transaction& transaction = open_.at(xid_);
  due->kind = Kind::kStaged;
  due->xid = xid_;
  due->message = message;
  // An id is never used again: what follows its rollback is as void as what
  // came before.
  if (message.describes || transaction.rolled_back.count(message.subxid) == 0) {
    transaction.messages.push_back(std::move(message));
  }
  return true;
}

bool StreamModel::Change(const std::optional<Xid>& subxid,
                         const std::vector<Oid>& oids, Due* due) {
  if (state_ == State::kIdle) return false;
  ModelMessage message;
  message.bytes = std::make_shared<std::string>(bytes_);
  message.in_stream = state_ == State::kStream;
  message.subxid = message.in_stream ? *subxid : xid_;
  for (Oid oid : oids) {
    message.relations[oid] = Find(oid);
    if (message.relations[oid] == nullptr) message.unknown_relation = true;
  }
  if (state_ != State::kTransaction) return Keep(std::move(message), due);
  due->kind = Kind::kApply;
  due->xid = xid_;
  due->message = std::move(message);
  return true;
}

StreamModel::Transaction StreamModel::Close(Xid xid) {
  Transaction closed = std::move(open_[xid]);
  open_.erase(xid);
  streamed_.erase(xid);
  return closed;
}

// -------------------------------------------------------- whole transactions

bool StreamModel::On(const BeginMessage& m, Due* due) {
  if (state_ != State::kIdle || streamed_.count(m.xid) != 0) return false;
  state_ = State::kTransaction;
  xid_ = m.xid;
  lsn_ = m.final_lsn;
  due->kind = Kind::kBegin;
  due->xid = xid_;
  return true;
}

bool StreamModel::On(const CommitMessage& m, Due* due) {
  if (state_ != State::kTransaction || m.commit_lsn != lsn_) return false;
  state_ = State::kIdle;
  due->kind = Kind::kCommit;
  due->xid = xid_;
  return true;
}

bool StreamModel::On(const LogicalMessage& m, Due* due) {
  if (m.transactional) return Change(m.xid, {}, due);
  due->kind = Kind::kNote;
  return true;
}

bool StreamModel::On(const OriginMessage&, Due*) {
  return state_ != State::kIdle;
}

bool StreamModel::On(const TypeMessage&, Due*) { return true; }

bool StreamModel::On(const RelationMessage& m, Due* due) {
  auto definition = std::make_shared<Definition>();
  definition->oid = m.relation;
  definition->pg_schema = std::string(m.pg_namespace);
  definition->pg_table = std::string(m.name);
  definition->identity = static_cast<char>(m.identity);
  for (const RelationColumn& column : m.columns) {
    definition->columns.push_back({std::string(column.name), column.key,
                                   column.type, column.type_modifier});
  }
  definition->message = std::string(bytes_);
  definition->number = number_;
  if (state_ != State::kStream) {
    known_[m.relation] = definition;
    return true;
  }
  definition->message.erase(1, 4);
  ModelMessage message;
  message.bytes = std::make_shared<std::string>(bytes_);
  message.subxid = *m.xid;
  message.in_stream = true;
  message.describes = true;
  if (!Keep(std::move(message), due)) return false;
  open_.at(xid_).own[m.relation] = definition;
  return true;
}

bool StreamModel::On(const InsertMessage& m, Due* due) {
  return Change(m.xid, {m.relation}, due);
}
bool StreamModel::On(const UpdateMessage& m, Due* due) {
  return Change(m.xid, {m.relation}, due);
}
bool StreamModel::On(const DeleteMessage& m, Due* due) {
  return Change(m.xid, {m.relation}, due);
}
bool StreamModel::On(const TruncateMessage& m, Due* due) {
  return Change(m.xid, {m.relations.begin(), m.relations.end()}, due);
}

// -------------------------------------------------------------------- streams

bool StreamModel::On(const StreamStartMessage& m, Due*) {
  const bool known = streamed_.count(m.xid) != 0;
  if (state_ != State::kIdle || m.first_segment == known) return false;
  state_ = State::kStream;
  xid_ = m.xid;
  streamed_.insert(xid_);
  if (!known) open_[xid_] = Transaction();
  return true;
}

bool StreamModel::On(const StreamStopMessage&, Due*) {
  if (state_ != State::kStream) return false;
  state_ = State::kIdle;
  return true;
}

bool StreamModel::On(const StreamCommitMessage& m, Due* due) {
  if (state_ != State::kIdle || streamed_.count(m.xid) == 0) return false;
  Transaction transaction = Close(m.xid);
  due->kind = Kind::kReplay;
  due->xid = m.xid;
  due->work = std::move(transaction.messages);
  // The publisher does not describe again what it described in a stream that
  // committed.
  for (auto& [oid, definition] : transaction.own) {
    auto& known = known_[oid];
    if (known == nullptr || known->number < definition->number) {
      known = definition;
    }
  }
  return true;
}

bool StreamModel::On(const StreamAbortMessage& m, Due*) {
  if (state_ != State::kIdle) return false;
  // One that was never streamed is passed over: PostgreSQL 18 sends such.
  if (streamed_.count(m.xid) == 0) return true;
  if (m.xid == m.subxid) {
    Close(m.xid);
    return true;
  }
  Transaction& transaction = open_.at(m.xid);
  transaction.rolled_back.insert(m.subxid);
  std::vector<ModelMessage> kept;
  for (ModelMessage& message : transaction.messages) {
    if (message.subxid != m.subxid || message.describes) {
      kept.push_back(std::move(message));
    }
  }
  transaction.messages = std::move(kept);
  return true;
}

// ------------------------------------------------------------------- prepared

bool StreamModel::On(const BeginPrepareMessage& m, Due*) {
  if (state_ != State::kIdle || streamed_.count(m.xid) != 0) return false;
  state_ = State::kPrepare;
  xid_ = m.xid;
  lsn_ = m.prepare_lsn;
  gid_ = std::string(m.gid);
  open_[xid_] = Transaction();
  return true;
}

bool StreamModel::On(const PrepareMessage& m, Due* due) {
  if (state_ == State::kStream || state_ == State::kTransaction) return false;
  due->kind = Kind::kPrepared;
  due->xid = m.xid;
  // Without Begin Prepare: a transaction without changes (PostgreSQL 18).
  if (state_ == State::kIdle) return streamed_.count(m.xid) == 0;
  if (m.xid != xid_ || m.prepare_lsn != lsn_ || m.gid != gid_) return false;
  state_ = State::kIdle;
  due->work = Close(xid_).messages;
  return true;
}

bool StreamModel::On(const StreamPrepareMessage& m, Due* due) {
  if (state_ != State::kIdle || streamed_.count(m.xid) == 0) return false;
  due->kind = Kind::kPrepared;
  due->xid = m.xid;
  due->work = Close(m.xid).messages;
  return true;
}

bool StreamModel::On(const CommitPreparedMessage& m, Due* due) {
  due->kind = Kind::kCommitPrepared;
  due->xid = m.xid;
  if (state_ != State::kIdle) return false;
  // Streamed again although its PREPARE was confirmed.
  if (streamed_.count(m.xid) != 0) Close(m.xid);
  return true;
}

bool StreamModel::On(const RollbackPreparedMessage& m, Due* due) {
  due->kind = Kind::kRollbackPrepared;
  due->xid = m.xid;
  if (state_ != State::kIdle) return false;
  if (streamed_.count(m.xid) != 0) Close(m.xid);
  return true;
}

}  // namespace sublite::testing
