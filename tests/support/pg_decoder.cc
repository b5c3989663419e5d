#include "tests/support/pg_decoder.h"

#include <algorithm>
#include <utility>

#include "tests/support/encode.h"

namespace sublite::testing {
namespace {

Xid Narrow(FullXid xid) { return static_cast<Xid>(xid); }
PgTime Time(std::int64_t micros) { return PgTime{micros}; }

encode::Value Value(const ModelValue& value) {
  return value.has_value() ? encode::Text(*value) : encode::Null();
}

encode::Values Whole(const ModelRow& row) {
  encode::Values values;
  for (const ModelValue& value : row) values.push_back(Value(value));
  return values;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The columns that make up the replica identity; all of them for FULL.
std::vector<bool> IdentityColumns(const PublishedTable& def) {
  std::vector<bool> identity;
  for (const PublishedColumn& column : def.columns) {
    identity.push_back(def.replica_identity == 'f' ||
                       (def.replica_identity == 'd' &&
                        Contains(def.primary_key, column.name)) ||
                       (def.replica_identity == 'i' &&
                        Contains(def.identity_index, column.name)));
  }
  return identity;
}

bool IsExternal(const TableVersion& shape, std::size_t column,
                const ModelValue& value) {
  return shape.external[column] && value.has_value() &&
         value->size() > kExternalBytes;
}

encode::Values NewValues(const TableVersion& shape, const ModelRow& old_row,
                         const ModelRow& new_row) {
  encode::Values values = Whole(new_row);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (IsExternal(shape, i, new_row[i]) && old_row[i] == new_row[i]) {
      values[i] = encode::Unchanged();
    }
  }
  return values;
}

encode::Values KeyValues(const std::vector<bool>& identity,
                         const ModelRow& row) {
  encode::Values values = Whole(row);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!identity[i]) values[i] = encode::Null();
  }
  return values;
}

std::string UpdateMessage(const TableVersion& shape, const WalRecord& record,
                          encode::MaybeXid xid) {
  const PublishedTable& def = shape.def;
  const encode::Values values =
      NewValues(shape, record.old_row, record.new_row);
  if (def.replica_identity == 'f') {
    return encode::UpdateWithOld(def.oid, 'O', Whole(record.old_row), values,
                                 xid);
  }
  const std::vector<bool> identity = IdentityColumns(def);
  // The old key is logged if it changed, or if a part of it is not in the new
  // row because it is stored out of line.
  bool key = false;
  for (std::size_t i = 0; i < identity.size(); ++i) {
    key = key || (identity[i] && (record.old_row[i] != record.new_row[i] ||
                                  values[i].kind == 'u'));
  }
  if (!key) return encode::Update(def.oid, values, xid);
  return encode::UpdateWithOld(
      def.oid, 'K', KeyValues(identity, record.old_row), values, xid);
}

std::string DeleteMessage(const TableVersion& shape, const WalRecord& record,
                          encode::MaybeXid xid) {
  const PublishedTable& def = shape.def;
  if (def.replica_identity == 'f') {
    return encode::Delete(def.oid, 'O', Whole(record.old_row), xid);
  }
  return encode::Delete(def.oid, 'K',
                        KeyValues(IdentityColumns(def), record.old_row), xid);
}

}  // namespace

PgDecoder::PgDecoder(const PgModel& model, const DecoderOptions& options,
                     std::mt19937_64* random)
    : model_(model),
      options_(options),
      random_(random),
      next_(options.restart),
      sent_(options.start) {}

bool PgDecoder::Step() {
  if (at_end()) return false;
  const std::size_t index = next_++;
  // A copy: the WAL may grow while the caller looks at it.
  const WalRecord record = model_.wal()[index];
  at_ = record.start;
  Transaction& transaction = transactions_[record.xid];
  if (record.sub != record.xid) transaction.subs.insert(record.sub);
  switch (record.kind) {
    case WalRecord::Kind::kChange:
    case WalRecord::Kind::kMessage:
      OnChange(index, record);
      break;
    case WalRecord::Kind::kAbortSubs:
    case WalRecord::Kind::kAbort:
      OnAbort(record);
      break;
    case WalRecord::Kind::kCommit:
      OnCommit(record);
      break;
    case WalRecord::Kind::kPrepare:
      OnPrepare(record);
      break;
    case WalRecord::Kind::kCommitPrepared:
      OnCommitPrepared(record);
      break;
    case WalRecord::Kind::kRollbackPrepared: {
      const ModelTransaction& whole = model_.transactions().at(record.xid);
      if (!NeedsSkip(record) && options_.two_phase) {
        Emit(encode::RollbackPrepared(whole.prepare_end, record.end,
                                      Time(record.time), Time(record.time),
                                      Narrow(record.xid), record.gid));
      } else if (!options_.two_phase) {
        OnAbort(record);
      }
      transactions_.erase(record.xid);
      break;
    }
    case WalRecord::Kind::kInvalidation:
      for (int table : record.tables) {
        relations_[table].sent = false;
        relations_[table].streamed_in.clear();
      }
      break;
  }
  if (record.end > sent_) sent_ = record.end;
  return true;
}

// ---------------------------------------------------------------- collecting

bool PgDecoder::Sends(const WalRecord& record) const {
  if (record.kind == WalRecord::Kind::kMessage) return options_.messages;
  return std::find(record.published.begin(), record.published.end(), true) !=
         record.published.end();
}

void PgDecoder::OnChange(std::size_t index, const WalRecord& record) {
  if (record.kind == WalRecord::Kind::kMessage && !record.transactional) {
    if (options_.messages && !NeedsSkip(record)) {
      Emit(encode::LogicalMessage(false, record.start, record.prefix,
                                  record.content));
    }
    return;
  }
  transactions_[record.xid].pending.push_back(index);
  if (!streaming() || NeedsSkip(record) || random_ == nullptr ||
      static_cast<int>((*random_)() % 1000) >= options_.stream_per_mille) {
    return;
  }
  FullXid largest = record.xid;
  for (const auto& [xid, transaction] : transactions_) {
    if (transaction.pending.size() > transactions_[largest].pending.size()) {
      largest = xid;
    }
  }
  StreamNow(largest);
}

void PgDecoder::StreamNow(FullXid xid) {
  Transaction& transaction = transactions_[xid];
  Emit(encode::StreamStart(Narrow(xid), !transaction.streamed));
  transaction.streamed = true;
  for (std::size_t index : std::exchange(transaction.pending, {})) {
    const WalRecord record = model_.wal()[index];
    EmitChange(record, true);
  }
  Emit(encode::StreamStop());
  transaction.streamed_subs.insert(transaction.subs.begin(),
                                   transaction.subs.end());
}

void PgDecoder::OnAbort(const WalRecord& record) {
  Transaction& transaction = transactions_[record.xid];
  const bool whole = record.kind != WalRecord::Kind::kAbortSubs;
  auto& pending = transaction.pending;
  for (FullXid sub : record.subs) {
    pending.erase(std::remove_if(pending.begin(), pending.end(),
                                 [&](std::size_t index) {
                                   return model_.wal()[index].sub == sub;
                                 }),
                  pending.end());
  }
  if (NeedsSkip(record) || !transaction.streamed) {
    if (whole) transactions_.erase(record.xid);
    return;
  }
  std::vector<FullXid> told;
  for (FullXid sub : record.subs) {
    if (transaction.streamed_subs.count(sub) > 0) told.push_back(sub);
  }
  if (whole) told.push_back(record.xid);
  for (FullXid sub : told) {
    if (options_.streaming == Streaming::kParallel) {
      Emit(encode::StreamAbort(Narrow(record.xid), Narrow(sub), record.end,
                               Time(record.time)));
    } else {
      Emit(encode::StreamAbort(Narrow(record.xid), Narrow(sub)));
    }
  }
  // What an abort invalidates is what the transaction had changed.
  for (auto& [table, entry] : relations_) entry.streamed_in.erase(record.xid);
  if (whole) transactions_.erase(record.xid);
}

// ------------------------------------------------------------------ deciding

void PgDecoder::OnCommit(const WalRecord& record) {
  Transaction& transaction = transactions_[record.xid];
  if (NeedsSkip(record)) {
    transactions_.erase(record.xid);
    return;
  }
  if (transaction.streamed) {
    StreamNow(record.xid);
    Emit(encode::StreamCommit(Narrow(record.xid), record.start, record.end,
                              Time(record.time)));
    for (auto& [table, entry] : relations_) {
      if (entry.streamed_in.erase(record.xid) > 0) entry.sent = true;
    }
  } else {
    EmitPlain(record.xid, transaction.pending, record.start, record.end,
              record.time);
  }
  transactions_.erase(record.xid);
}

void PgDecoder::EmitPlain(FullXid xid, const std::vector<std::size_t>& records,
                          Lsn commit_lsn, Lsn end_lsn, std::int64_t time) {
  bool begun =
      options_.empty_transactions && model_.transactions().at(xid).has_changes;
  if (begun) Emit(encode::Begin(commit_lsn, Time(time), Narrow(xid)));
  for (std::size_t index : records) {
    const WalRecord record = model_.wal()[index];
    if (!Sends(record)) continue;
    if (!begun) {
      Emit(encode::Begin(commit_lsn, Time(time), Narrow(xid)));
      if (xid % 7 == 0) Emit(encode::Origin(commit_lsn, "elsewhere"));
    }
    begun = true;
    EmitChange(record, false);
  }
  if (begun) Emit(encode::Commit(commit_lsn, end_lsn, Time(time)));
}

void PgDecoder::EmitPrepared(FullXid xid) {
  const ModelTransaction& whole = model_.transactions().at(xid);
  const PgTime time = Time(whole.time);
  const std::string prepare = encode::Prepare(
      whole.prepare_lsn, whole.prepare_end, time, Narrow(xid), whole.gid);
  if (!whole.has_changes &&
      options_.empty_prepared != DecoderOptions::EmptyPrepared::kWhole) {
    if (options_.empty_prepared == DecoderOptions::EmptyPrepared::kPrepare) {
      Emit(prepare);
    }
    return;
  }
  Transaction& transaction = transactions_[xid];
  if (transaction.streamed) {
    StreamNow(xid);
    Emit(encode::StreamPrepare(whole.prepare_lsn, whole.prepare_end, time,
                               Narrow(xid), whole.gid));
  } else {
    Emit(encode::BeginPrepare(whole.prepare_lsn, whole.prepare_end, time,
                              Narrow(xid), whole.gid));
    for (std::size_t index : transaction.pending) {
      EmitChange(model_.wal()[index], false);
    }
    Emit(prepare);
  }
  transaction = Transaction();
}

void PgDecoder::OnPrepare(const WalRecord& record) {
  // Before two_phase_at: kept, and sent when it is committed.
  if (!options_.two_phase || NeedsSkip(record)) return;
  EmitPrepared(record.xid);
}

void PgDecoder::OnCommitPrepared(const WalRecord& record) {
  if (!options_.two_phase) return OnCommit(record);
  if (!NeedsSkip(record)) {
    if (model_.transactions().at(record.xid).prepare_lsn <
        options_.two_phase_at) {
      EmitPrepared(record.xid);
    }
    Emit(encode::CommitPrepared(record.start, record.end, Time(record.time),
                                Narrow(record.xid), record.gid));
  }
  transactions_.erase(record.xid);
}

// ------------------------------------------------------------------- changes

void PgDecoder::Describe(int table, const TableVersionPtr& shape,
                         const WalRecord& record, bool in_stream) {
  Entry& entry = relations_[table];
  if (entry.shape != shape) {
    entry.shape = shape;
    entry.sent = false;
    entry.streamed_in.clear();
  }
  if (in_stream ? entry.streamed_in.count(record.xid) > 0 : entry.sent) return;
  const std::vector<bool> identity = IdentityColumns(shape->def);
  std::vector<encode::Column> columns;
  for (std::size_t i = 0; i < shape->def.columns.size(); ++i) {
    const PublishedColumn& column = shape->def.columns[i];
    columns.push_back(
        {column.name, column.type, identity[i], column.type_modifier});
  }
  encode::MaybeXid xid;
  if (in_stream) xid = Narrow(record.sub);
  Emit(encode::Relation(shape->def.oid, shape->def.pg_schema,
                        shape->def.pg_table, shape->def.replica_identity,
                        columns, xid));
  if (in_stream) {
    entry.streamed_in.insert(record.xid);
  } else {
    entry.sent = true;
  }
}

bool PgDecoder::EmitChange(const WalRecord& record, bool in_stream) {
  if (!Sends(record)) return false;
  encode::MaybeXid xid;
  if (in_stream) xid = Narrow(record.sub);
  if (record.kind == WalRecord::Kind::kMessage) {
    Emit(encode::LogicalMessage(true, record.start, record.prefix,
                                record.content, xid));
    return true;
  }
  if (record.operation == 'T') {
    std::vector<Oid> oids;
    for (std::size_t i = 0; i < record.tables.size(); ++i) {
      if (!record.published[i]) continue;
      Describe(record.tables[i], record.shapes[i], record, in_stream);
      oids.push_back(record.shapes[i]->def.oid);
    }
    Emit(encode::Truncate(oids, 0, xid));
    return true;
  }
  Describe(record.tables[0], record.shape, record, in_stream);
  switch (record.operation) {
    case 'I':
      Emit(encode::Insert(record.shape->def.oid, Whole(record.new_row), xid));
      break;
    case 'U':
      Emit(UpdateMessage(*record.shape, record, xid));
      break;
    default:
      Emit(DeleteMessage(*record.shape, record, xid));
      break;
  }
  return true;
}

}  // namespace sublite::testing
