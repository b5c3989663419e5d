#include "tests/fuzz/replica_model.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/fuzz_tables.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/model_rows.h"

namespace sublite::testing {
namespace {

using Kind = StreamModel::Due::Kind;

// Ids above all that sequences make; raw messages may have larger ones.
constexpr std::uint64_t kXmax = std::uint64_t{1} << 20;

absl::Status Contradiction() { return absl::DataLossError("it cannot be"); }

}  // namespace

Snapshot SnapshotOf(const CatalogAnswer& answer) {
  const std::uint64_t xmin =
      answer.in_progress == 0 ? kXmax : answer.in_progress;
  return *Snapshot::Parse(absl::StrCat(
      xmin, ":", kXmax, ":",
      answer.in_progress == 0 ? "" : absl::StrCat(answer.in_progress)));
}

ReplicaModel::ReplicaModel() : catalog_(kTables) {
  for (int table = 0; table < kTables; ++table) {
    ModelTable made;
    made.shape = ShapeFor(FuzzTable(table), FuzzTypes(), {});
    made.rows = CopiedRows(made.shape, FuzzRows(table));
    working_.tables.push_back(std::move(made));
  }
  whole_ = written_ = working_;
}

void ReplicaModel::Connect(Lsn applied) {
  for (ModelTable& table : written_.tables) {
    table.stale = false;
    table.copied_for.clear();
  }
  working_ = whole_ = written_;
  whole_is_written_ = true;
  stream_.Connect();
  stale_.clear();
  reached_ = applied;
}

void ReplicaModel::Written() {
  if (whole_is_written_) return;
  written_ = whole_;
  whole_is_written_ = true;
  ++writes_;
}

void ReplicaModel::OnKeepalive(Lsn wal_end) {
  if (stream_.state() == StreamModel::State::kIdle) {
    reached_ = std::max(reached_, wal_end);
  }
}

absl::Status ReplicaModel::OnMessage(std::string_view bytes,
                                     DecodeContext context, bool keep_messages,
                                     Lsn applied) {
  context.in_stream_block = stream_.state() == StreamModel::State::kStream;
  context_ = context;
  keep_messages_ = keep_messages;
  applied_ = applied;
  DecodeScratch scratch;
  const absl::StatusOr<Message> message = Decode(bytes, context, scratch);
  if (!message.ok()) return message.status();
  StreamModel::Due due;
  if (!stream_.Take(*message, bytes, &due)) return Contradiction();
  absl::Status status = OnDue(due, *message);
  if (status.ok() && stream_.state() != StreamModel::State::kTransaction &&
      due.kind != Kind::kNothing && due.kind != Kind::kStaged) {
    whole_ = working_;
    whole_is_written_ = false;
  }
  return status;
}

absl::Status ReplicaModel::OnDue(const StreamModel::Due& due,
                                 const Message& message) {
  switch (due.kind) {
    case Kind::kNothing:
      return absl::OkStatus();
    case Kind::kBegin:
      Start(due.xid, std::get<BeginMessage>(message).final_lsn);
      return absl::OkStatus();
    case Kind::kApply:
      return Apply(due.message);
    case Kind::kStaged:
      return due.message.unknown_relation ? Contradiction() : absl::OkStatus();
    case Kind::kCommit:
      return End(std::get<CommitMessage>(message).end_lsn);
    case Kind::kReplay: {
      const auto& m = std::get<StreamCommitMessage>(message);
      Start(m.xid, m.commit_lsn);
      const absl::Status status = ApplyAll(due.work);
      return status.ok() ? End(m.end_lsn) : status;
    }
    case Kind::kPrepared: {
      const auto seal = [&](const auto& m) {
        reached_ = std::max(reached_, m.end_lsn);
        for (const ModelPrepared& known : working_.prepared) {
          if (known.xid == m.xid && known.gid == m.gid &&
              known.lsn == m.prepare_lsn) {
            return;
          }
        }
        working_.prepared.push_back(
            {m.xid, std::string(m.gid), m.prepare_lsn, due.work});
      };
      if (const auto* m = std::get_if<PrepareMessage>(&message)) {
        seal(*m);
      } else {
        seal(std::get<StreamPrepareMessage>(message));
      }
      return absl::OkStatus();
    }
    case Kind::kCommitPrepared:
      return CommitPrepared(std::get<CommitPreparedMessage>(message));
    case Kind::kRollbackPrepared: {
      const auto& m = std::get<RollbackPreparedMessage>(message);
      const auto found = FindPrepared(m.xid, m.gid);
      if (found != working_.prepared.end()) working_.prepared.erase(found);
      ended_.insert(m.xid);
      reached_ = std::max(reached_, m.rollback_end_lsn);
      return absl::OkStatus();
    }
    case Kind::kNote:
      Keep(std::get<LogicalMessage>(message));
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

// -------------------------------------------------------------- transactions

void ReplicaModel::Start(Xid xid, Lsn commit_lsn) {
  xid_ = xid;
  commit_lsn_ = commit_lsn;
  skip_ = commit_lsn < applied_;
}

absl::Status ReplicaModel::End(Lsn end_lsn) {
  // What was applied has to be covered by the position, or it comes again.
  Require(end_lsn > commit_lsn_, "a transaction ends before its commit");
  ended_.insert(xid_);
  reached_ = std::max(reached_, end_lsn);
  return CopyStale();
}

std::vector<ModelPrepared>::iterator ReplicaModel::FindPrepared(
    Xid xid, std::string_view gid) {
  auto newest = working_.prepared.end();
  for (auto it = working_.prepared.begin(); it != working_.prepared.end();
       ++it) {
    if (it->xid == xid && it->gid == gid) newest = it;
  }
  return newest;
}

absl::Status ReplicaModel::CommitPrepared(const CommitPreparedMessage& m) {
  Start(m.xid, m.commit_lsn);
  const auto found = FindPrepared(m.xid, m.gid);
  if (found != working_.prepared.end()) {
    const std::vector<ModelMessage> work = std::move(found->work);
    working_.prepared.erase(found);
    const absl::Status status = ApplyAll(work);
    if (!status.ok()) return status;
  }
  return End(m.end_lsn);
}

void ReplicaModel::Keep(const LogicalMessage& m) {
  if (!keep_messages_) return;
  working_.messages.emplace(
      m.lsn.ToString(),
      absl::StrCat(m.transactional ? 1 : 0, "|", std::string(m.prefix), "|",
                   std::string(m.content)));
}

absl::Status ReplicaModel::ApplyAll(const std::vector<ModelMessage>& work) {
  for (const ModelMessage& message : work) {
    if (message.describes) continue;
    const absl::Status status = Apply(message);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReplicaModel::Apply(const ModelMessage& change) {
  if (skip_) return absl::OkStatus();
  DecodeContext context = context_;
  context.in_stream_block = change.in_stream;
  DecodeScratch scratch;
  const Message message = *Decode(*change.bytes, context, scratch);
  if (const auto* m = std::get_if<LogicalMessage>(&message)) {
    Keep(*m);
    return absl::OkStatus();
  }
  const auto row_change = [&](Oid relation, auto apply) -> absl::Status {
    const auto& definition = change.relations.at(relation);
    if (definition == nullptr) return Contradiction();
    const absl::StatusOr<ModelTable*> table = Target(*definition);
    if (!table.ok() || *table == nullptr) return table.status();
    return apply(**table) ? absl::OkStatus() : MarkStale(**table, "");
  };
  if (const auto* insert = std::get_if<InsertMessage>(&message)) {
    return row_change(insert->relation, [&](ModelTable& table) {
      return Insert(table, insert->new_tuple);
    });
  }
  if (const auto* update = std::get_if<UpdateMessage>(&message)) {
    return row_change(update->relation, [&](ModelTable& table) {
      return Update(table, *update);
    });
  }
  if (const auto* del = std::get_if<DeleteMessage>(&message)) {
    return row_change(del->relation,
                      [&](ModelTable& table) { return Delete(table, *del); });
  }
  for (Oid oid : std::get<TruncateMessage>(message).relations) {
    const absl::Status status = row_change(oid, [](ModelTable& table) {
      table.rows.clear();
      return true;
    });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// --------------------------------------------------------------------- tables

absl::StatusOr<ModelTable*> ReplicaModel::Target(const Definition& definition) {
  for (ModelTable& table : working_.tables) {
    if (table.shape.pg_schema != definition.pg_schema ||
        table.shape.pg_table != definition.pg_table) {
      continue;
    }
    if (!table.follows || table.stale) return nullptr;
    if (table.copy_pos.valid() && commit_lsn_ < table.copy_pos &&
        table.snapshot.Sees(xid_)) {
      return nullptr;
    }
    if (!SameRowsAs(definition, table.shape)) {
      const absl::Status status = MarkStale(table, definition.message);
      if (!status.ok()) return status;
      return nullptr;
    }
    if (!TakeIdentity(definition, &table)) {
      const absl::Status status = MarkStale(table, definition.message);
      if (!status.ok()) return status;
      return nullptr;
    }
    return &table;
  }
  // The replica does not know it: it is copied between transactions.
  return nullptr;
}

absl::Status ReplicaModel::MarkStale(ModelTable& table,
                                     const std::string& definition) {
  if (!definition.empty() && table.copied_for == definition) {
    return absl::AbortedError("stream and catalog disagree");
  }
  table.stale = true;
  table.copied_for = definition;
  stale_.push_back(static_cast<std::size_t>(&table - working_.tables.data()));
  return absl::OkStatus();
}

absl::Status ReplicaModel::CopyStale() {
  while (!stale_.empty()) {
    ModelTable& table = working_.tables[stale_.back()];
    const CatalogAnswer& answer = catalog_[stale_.back()];
    stale_.pop_back();
    if (answer.kind == CatalogAnswer::Kind::kLost) {
      return absl::UnavailableError("the connection is lost");
    }
    table.stale = false;
    if (answer.kind == CatalogAnswer::Kind::kNotPublished) {
      table.follows = false;
      continue;
    }
    const Snapshot snapshot = SnapshotOf(answer);
    if (!SeesAllEnded(snapshot)) return absl::CancelledError("it would wait");
    if (answer.kind == CatalogAnswer::Kind::kProblem) {
      return absl::AbortedError("the table cannot be copied");
    }
    const bool wider = answer.kind == CatalogAnswer::Kind::kWider;
    table.shape = ShapeFor(FuzzTable(answer.table, wider), FuzzTypes(), {});
    table.rows =
        CopiedRows(table.shape, FuzzRows(answer.table, answer.rows, wider));
    table.copy_pos = answer.position;
    table.snapshot = snapshot;
  }
  return absl::OkStatus();
}

bool ReplicaModel::SeesAllEnded(const Snapshot& snapshot) const {
  return std::all_of(ended_.begin(), ended_.end(),
                     [&](Xid xid) { return snapshot.Sees(xid); });
}

// ----------------------------------------------------------------------- rows

bool ReplicaModel::Insert(ModelTable& table, Tuple tuple) {
  const std::optional<NewRow> row = Convert(table.shape, tuple);
  if (!row.has_value() || !row->Whole()) return false;
  if (BreaksNotNull(table.shape, row->Values())) return false;
  RemoveEqual(table, UniqueColumns(table.shape), row->Values());
  table.rows.push_back(row->Values());
  return true;
}

bool ReplicaModel::Update(ModelTable& table, const UpdateMessage& m) {
  const TableShape& shape = table.shape;
  const bool has_old = m.old_kind != OldTuple::kNone;
  if (m.new_tuple.size() != shape.columns.size() ||
      (has_old && m.old_tuple.size() != shape.columns.size())) {
    return false;
  }
  const Match match = MatchOf(shape);
  if (match.none || (match.whole && m.old_kind != OldTuple::kFull))
    return false;
  const Tuple key = has_old ? m.old_tuple : m.new_tuple;
  std::set<std::size_t> set;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    if (m.new_tuple[i].is_unchanged()) continue;
    const bool same = !match.whole && match.columns.count(i) != 0 &&
                      m.new_tuple[i].kind == key[i].kind &&
                      m.new_tuple[i].bytes == key[i].bytes;
    if (!same) set.insert(i);
  }
  for (std::size_t i : match.columns) {
    if (key[i].is_unchanged()) return false;
  }
  if (set.empty()) return true;  // says nothing
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    if (m.new_tuple[i].is_null() && shape.columns[i].not_null) return false;
  }
  const std::optional<NewRow> old_row = Convert(shape, key, match.columns);
  const std::optional<NewRow> new_row = Convert(shape, m.new_tuple);
  if (!old_row.has_value() || !new_row.has_value()) return false;
  const std::vector<std::size_t> found = Find(table, match, old_row->values);
  if (found.empty()) return !new_row->Whole() || Insert(table, m.new_tuple);
  if (found.size() > 1) unsure_ = true;
  ModelRow row = table.rows[found.front()];
  for (std::size_t i : set) row[i] = *new_row->values[i];
  ModelTable rest;
  rest.rows = table.rows;
  rest.rows.erase(rest.rows.begin() +
                  static_cast<std::ptrdiff_t>(found.front()));
  const std::set<std::size_t> unique = UniqueColumns(shape);
  if (HasEqual(rest, unique, row)) {
    // Whose key is taken has to be told.
    for (std::size_t i : unique) {
      if (m.new_tuple[i].is_unchanged()) return false;
    }
    RemoveEqual(rest, unique, row);
  }
  table.rows = std::move(rest.rows);
  table.rows.push_back(std::move(row));
  return true;
}

bool ReplicaModel::Delete(ModelTable& table, const DeleteMessage& m) {
  const TableShape& shape = table.shape;
  if (m.old_tuple.size() != shape.columns.size()) return false;
  const Match match = MatchOf(shape);
  if (match.none || (match.whole && m.old_kind != OldTuple::kFull))
    return false;
  for (std::size_t i : match.columns) {
    if (m.old_tuple[i].is_unchanged()) return false;
  }
  const std::optional<NewRow> row = Convert(shape, m.old_tuple, match.columns);
  if (!row.has_value()) return false;
  std::vector<std::size_t> found = Find(table, match, row->values);
  if (match.whole && found.size() > 1) found.resize(1);
  for (auto at = found.rbegin(); at != found.rend(); ++at) {
    table.rows.erase(table.rows.begin() + static_cast<std::ptrdiff_t>(*at));
  }
  return true;
}

}  // namespace sublite::testing
