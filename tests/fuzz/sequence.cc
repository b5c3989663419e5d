#include "tests/fuzz/sequence.h"

#include <algorithm>
#include <utility>

namespace sublite::testing {
namespace {

constexpr Xid kFirstXid = 700;
constexpr Xid kFirstSubxid = 800;
constexpr int kPrefixesMax = 4;

// How many bytes follow an operation.
int Operands(Op op) {
  switch (op) {
    case Op::kUpdate:
      return 8;
    case Op::kDelete:
      return 5;
    case Op::kInsert:
    case Op::kCatalog:
      return 4;
    case Op::kRelation:
      return 3;
    case Op::kBegin:
    case Op::kStreamAbort:
    case Op::kBeginPrepare:
    case Op::kPrepare:
    case Op::kStreamPrepare:
    case Op::kMessage:
      return 2;
    case Op::kCommit:
    case Op::kStreamStop:
    case Op::kType:
    case Op::kRaw:
      return 0;
    default:
      return 1;
  }
}

std::string Gid(int byte) { return std::string("g") + "0123"[byte & 3]; }

}  // namespace

Sequence::Sequence(std::string_view input, const StreamModel& model, Lsn start)
    : input_(input), model_(model), lsn_(start) {
  const int options = Byte();
  context_.protocol_version = 4 - (options & 3);
  context_.parallel_streaming = (options & 4) != 0;
  keep_messages_ = (options & 8) != 0;
}

int Sequence::Byte() {
  if (input_.empty()) return 0;
  const auto byte = static_cast<unsigned char>(input_.front());
  input_.remove_prefix(1);
  return byte;
}

void Sequence::Fetch() {
  const int byte = Byte();
  op_ = static_cast<Op>((byte & 0x1f) % static_cast<int>(Op::kCount));
  loose_ = (byte & 0x80) != 0;
  undescribed_ = (byte & 0x40) != 0;
  twist_ = (byte & 0x20) != 0;
  operands_.clear();
  for (int i = Operands(op_) + (twist_ ? 2 : 0); i > 0; --i) {
    operands_.push_back(Byte());
  }
  raw_.clear();
  if (op_ == Op::kRaw) {
    const std::size_t low = static_cast<std::size_t>(Byte());
    const std::size_t size = low + 256 * static_cast<std::size_t>(Byte());
    raw_ = std::string(input_.substr(0, size));
    input_.remove_prefix(raw_.size());
  }
  prefixes_ = 0;
  fetched_ = true;
}

std::optional<Event> Sequence::Next() {
  while (fetched_ || !input_.empty()) {
    if (!fetched_) Fetch();
    if (!loose_ && prefixes_++ < kPrefixesMax) {
      Event event;
      event.message = First();
      if (!event.message.empty()) return event;
    }
    fetched_ = false;
    std::optional<Event> event = Make();
    if (event.has_value()) return event;
  }
  return std::nullopt;
}

// ------------------------------------------------------- what has to come
// first

bool Sequence::IsChange() const {
  return op_ == Op::kInsert || op_ == Op::kUpdate || op_ == Op::kDelete ||
         op_ == Op::kTruncate;
}

bool Sequence::NeedsIdle() const {
  switch (op_) {
    case Op::kBegin:
    case Op::kStreamStart:
    case Op::kStreamCommit:
    case Op::kStreamAbort:
    case Op::kBeginPrepare:
    case Op::kStreamPrepare:
    case Op::kCommitPrepared:
    case Op::kRollbackPrepared:
      return true;
    default:
      return false;
  }
}

std::string Sequence::CloseOpen() {
  switch (model_.state()) {
    case State::kTransaction: {
      const Lsn end(model_.lsn().value() + 8);
      lsn_ = std::max(lsn_, end);
      return encode::Commit(model_.lsn(), end, PgTime());
    }
    case State::kPrepare: {
      const Lsn end(model_.lsn().value() + 8);
      lsn_ = std::max(lsn_, end);
      prepared_.push_back({model_.xid(), model_.gid(), end});
      return encode::Prepare(model_.lsn(), end, PgTime(), model_.xid(),
                             model_.gid());
    }
    case State::kStream:
      return encode::StreamStop();
    case State::kIdle:
      break;
  }
  return {};
}

std::string Sequence::First() {
  if (NeedsIdle()) return CloseOpen();
  const bool inside = IsChange() || op_ == Op::kOrigin ||
                      (op_ == Op::kMessage && (At(0) & 1) != 0);
  if (inside && idle()) return encode::Begin(Later(1), PgTime(), kFirstXid);
  if (!IsChange() || undescribed_) return {};
  for (int table = 0; table < kAllTables; ++table) {
    const bool used =
        op_ == Op::kTruncate ? (At(0) >> table & 1) != 0 : table == Table();
    if (!used || model_.Find(OidOf(table)) != nullptr) continue;
    return FuzzRelation(table, Variant::kSame, 0, Subxid(At(0) >> 4));
  }
  return {};
}

// ------------------------------------------------------------------ its
// message

Lsn Sequence::Later(int steps) {
  lsn_ = Lsn(lsn_.value() + 8 * static_cast<std::uint64_t>(steps));
  return lsn_;
}

Xid Sequence::Xids(int byte) const {
  return kFirstXid + static_cast<Xid>(byte & 7);
}

encode::MaybeXid Sequence::Subxid(int byte) const {
  if (!stream()) return std::nullopt;
  const auto sub = static_cast<Xid>(byte & 3);
  return sub == 0 ? model_.xid() : kFirstSubxid + 4 * model_.xid() + sub;
}

std::string Sequence::Text(char c, std::size_t big, std::size_t small,
                           int byte) {
  int& left = big > (100 << 10) ? huge_left_ : big_left_;
  const bool wanted = byte >> 4 == 15 && left > 0;
  if (wanted) --left;
  return std::string(wanted ? big : small, c);
}

encode::Value Sequence::Value(int byte, Oid type) {
  const bool text = type == 25;
  const int low = byte & 15;
  if (low < 8) return encode::Text(std::to_string(low));
  switch (low) {
    case 8:
      return encode::Null();
    case 9:
      return encode::Unchanged();
    case 10:
      return encode::Text("x");
    case 11:
      return encode::Binary(text         ? "bin"
                            : type == 20 ? encode::Int64(5)
                                         : encode::Int32(5));
    case 12:
      return encode::Text(text ? std::string(100, 'c') : "2147483647");
    case 13:
      return encode::Text(text ? Text('d', 12 << 10, 1, byte) : "-1");
    case 14:
      return encode::Text(text ? Text('e', 40 << 10, 2, byte) : "007");
    default:
      return encode::Text(text ? Text('f', 300 << 10, 0, byte) : "");
  }
}

encode::Values Sequence::Row(std::size_t first) {
  encode::Values row;
  const auto definition = model_.Find(OidOf(Table()));
  if (definition != nullptr) {
    for (std::size_t i = 0; i < definition->columns.size(); ++i) {
      row.push_back(Value(At(first + i), definition->columns[i].type));
    }
    return row;
  }
  const PublishedTable table = FuzzTable(Table());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    row.push_back(Value(At(first + i), table.columns[i].type));
  }
  return row;
}

std::string Sequence::MakeChange() {
  const Oid oid = OidOf(Table());
  const encode::MaybeXid xid = Subxid(At(0) >> 4);
  const bool full = FuzzTable(Table()).replica_identity == 'f';
  switch (op_) {
    case Op::kInsert:
      return encode::Insert(oid, Row(1), xid);
    case Op::kUpdate: {
      const int form = At(1) & 3;
      if (form == 1 || (form == 0 && !full)) {
        return encode::Update(oid, Row(5), xid);
      }
      const char kind = form == 2 ? 'K' : 'O';
      return encode::UpdateWithOld(oid, kind, Row(2), Row(5), xid);
    }
    case Op::kDelete: {
      const int form = At(1) & 3;
      const char kind = form == 2 || (form == 0 && full) ? 'O' : 'K';
      return encode::Delete(oid, kind, Row(2), xid);
    }
    default:
      break;
  }
  std::vector<Oid> oids;
  for (int table = 0; table < kAllTables; ++table) {
    if ((At(0) >> table & 1) != 0) oids.push_back(OidOf(table));
  }
  return encode::Truncate(oids, 0, xid);
}

std::string Sequence::MakeRelation() {
  const auto variant =
      static_cast<Variant>(At(1) % static_cast<int>(Variant::kCount));
  return FuzzRelation(Table(), variant, At(2), Subxid(At(0) >> 4));
}

std::string Sequence::MakePrepared() {
  const PgTime time;
  if (op_ == Op::kPrepare) {
    if (!idle()) return CloseOpen();
    const Lsn lsn = Later(1);
    prepared_.push_back({Xids(At(0)), Gid(At(1)), Later(1)});
    return encode::Prepare(lsn, lsn_, time, Xids(At(0)), Gid(At(1)));
  }
  if (op_ == Op::kBeginPrepare) {
    const Lsn lsn = Later(1);
    return encode::BeginPrepare(lsn, Lsn(lsn.value() + 8), time, Xids(At(0)),
                                Gid(At(1)));
  }
  Prepared chosen{Xids(At(0)), Gid(At(0)), lsn_};
  if (!prepared_.empty() && !loose_) {
    const std::size_t at = static_cast<std::size_t>(At(0)) % prepared_.size();
    chosen = prepared_[at];
    prepared_.erase(prepared_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  const Lsn lsn = Later(1);
  const Lsn end = Later(1);
  return op_ == Op::kCommitPrepared
             ? encode::CommitPrepared(lsn, end, time, chosen.xid, chosen.gid)
             : encode::RollbackPrepared(chosen.end, end, time, time, chosen.xid,
                                        chosen.gid);
}

std::string Sequence::MakeMessage() {
  const PgTime time;
  const std::vector<Xid> open = model_.open();
  Xid streamed = Xids(At(0));
  const bool of_stream = op_ == Op::kStreamCommit || op_ == Op::kStreamAbort ||
                         op_ == Op::kStreamPrepare;
  if (of_stream && !loose_) {
    if (open.empty()) return {};
    streamed = open[static_cast<std::size_t>(At(0)) % open.size()];
  }
  switch (op_) {
    case Op::kBegin: {
      const bool old = (At(1) & 0xf0) == 0xf0;
      return encode::Begin(
          old ? Lsn(lsn_.value() - 64) : Later(1 + (At(1) & 3)), time,
          Xids(At(0)));
    }
    case Op::kStreamStart: {
      const bool known =
          std::find(open.begin(), open.end(), streamed) != open.end();
      return encode::StreamStart(streamed, known == (loose_ && At(0) > 127));
    }
    case Op::kStreamCommit: {
      const Lsn lsn = Later(1);
      return encode::StreamCommit(streamed, lsn, Later(1), time);
    }
    case Op::kStreamAbort: {
      const auto sub = static_cast<Xid>(At(1) & 3);
      const Xid subxid =
          sub == 0 ? streamed : kFirstSubxid + 4 * streamed + sub;
      return context_.parallel_streaming
                 ? encode::StreamAbort(streamed, subxid, lsn_, time)
                 : encode::StreamAbort(streamed, subxid);
    }
    case Op::kStreamPrepare: {
      const Lsn lsn = Later(1);
      prepared_.push_back({streamed, Gid(At(1)), Later(1)});
      return encode::StreamPrepare(lsn, lsn_, time, streamed, Gid(At(1)));
    }
    case Op::kMessage:
      return encode::LogicalMessage((At(0) & 1) != 0, Later(1), "p",
                                    std::to_string(At(1)), Subxid(At(0) >> 4));
    case Op::kOrigin:
      return encode::Origin(Lsn(static_cast<std::uint64_t>(At(0))), "o");
    default:
      return encode::Type(16999, "public", "mood", Subxid(0));
  }
}

std::string Sequence::MakeRaw() {
  switch (op_) {
    case Op::kInsert:
    case Op::kUpdate:
    case Op::kDelete:
    case Op::kTruncate:
      return MakeChange();
    case Op::kRelation:
      return MakeRelation();
    case Op::kCommit:
      if (loose_) return encode::Commit(lsn_, Later(1), PgTime());
      return CloseOpen();
    case Op::kStreamStop:
      return loose_ ? encode::StreamStop() : CloseOpen();
    case Op::kBeginPrepare:
    case Op::kPrepare:
    case Op::kCommitPrepared:
    case Op::kRollbackPrepared:
      return MakePrepared();
    case Op::kRaw:
      return raw_;
    default:
      return MakeMessage();
  }
}

std::optional<Event> Sequence::Make() {
  Event event;
  switch (op_) {
    case Op::kKeepalive:
      event.kind = Event::Kind::kKeepalive;
      event.reply = (At(0) & 1) != 0;
      event.wal_end = (At(0) & 0x80) != 0 ? lsn_ : Later(At(0) >> 4);
      return event;
    case Op::kTick:
      event.kind = Event::Kind::kTick;
      event.more = (At(0) & 1) != 0;
      event.seconds = At(0) >> 2;
      return event;
    case Op::kReconnect:
      event.kind = Event::Kind::kReconnect;
      event.finish = (At(0) & 1) == 0;
      event.again = (At(0) & 2) != 0;
      return event;
    case Op::kCatalog:
      event.kind = Event::Kind::kCatalog;
      event.catalog.table = (At(0) & 7) % kTables;
      event.catalog.kind = static_cast<CatalogAnswer::Kind>((At(0) >> 4) % 5);
      event.catalog.rows = At(1) & 3;
      event.catalog.in_progress = (At(2) & 8) != 0 ? Xids(At(2)) : 0;
      event.catalog.position =
          Lsn(lsn_.value() + 8 * static_cast<std::uint64_t>(At(3) & 15));
      return event;
    default:
      break;
  }
  event.message = MakeRaw();
  if (twist_ && !event.message.empty()) {
    const std::size_t at =
        static_cast<std::size_t>(operands_[operands_.size() - 2]) %
        event.message.size();
    const int with = operands_.back();
    if (with == 0) event.message.resize(at);
    if (with != 0)
      event.message[at] = static_cast<char>(event.message[at] ^ with);
  }
  if (event.message.empty()) return std::nullopt;
  return event;
}

}  // namespace sublite::testing
