// Writes a decoded message or frame again, byte for byte as it was. So a test
// can see that decoding loses nothing.
#ifndef SUBLITE_TESTS_WIRE_REWRITE_H_
#define SUBLITE_TESTS_WIRE_REWRITE_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "applier/wire/frame.h"
#include "applier/wire/message.h"
#include "tests/support/encode.h"

namespace sublite::testing {

inline encode::Values ValuesOf(Tuple tuple) {
  encode::Values values;
  for (const Datum& datum : tuple) {
    constexpr char kKinds[] = {'n', 'u', 't', 'b'};
    values.push_back(
        {kKinds[static_cast<int>(datum.kind)], std::string(datum.bytes)});
  }
  return values;
}

class Rewriter {
 public:
  explicit Rewriter(std::string_view payload) : payload_(payload) {}

  std::string operator()(const BeginMessage& m) const {
    return encode::Begin(m.final_lsn, m.commit_time, m.xid);
  }
  std::string operator()(const LogicalMessage& m) const {
    return encode::LogicalMessage(m.transactional, m.lsn, m.prefix, m.content,
                                  m.xid);
  }
  std::string operator()(const CommitMessage& m) const {
    return encode::Commit(m.commit_lsn, m.end_lsn, m.commit_time);
  }
  std::string operator()(const OriginMessage& m) const {
    return encode::Origin(m.origin_lsn, m.name);
  }
  std::string operator()(const RelationMessage& m) const {
    std::vector<encode::Column> columns;
    for (const RelationColumn& column : m.columns) {
      columns.push_back({std::string(column.name), column.type, column.key,
                         column.type_modifier});
    }
    return encode::Relation(m.relation, Namespace(m.pg_namespace), m.name,
                            static_cast<char>(m.identity), columns, m.xid);
  }
  std::string operator()(const TypeMessage& m) const {
    return encode::Type(m.type, Namespace(m.pg_namespace), m.name, m.xid);
  }
  std::string operator()(const InsertMessage& m) const {
    return encode::Insert(m.relation, ValuesOf(m.new_tuple), m.xid);
  }
  std::string operator()(const UpdateMessage& m) const {
    if (m.old_kind == OldTuple::kNone) {
      return encode::Update(m.relation, ValuesOf(m.new_tuple), m.xid);
    }
    return encode::UpdateWithOld(
        m.relation, m.old_kind == OldTuple::kKey ? 'K' : 'O',
        ValuesOf(m.old_tuple), ValuesOf(m.new_tuple), m.xid);
  }
  std::string operator()(const DeleteMessage& m) const {
    return encode::Delete(m.relation, m.old_kind == OldTuple::kKey ? 'K' : 'O',
                          ValuesOf(m.old_tuple), m.xid);
  }
  std::string operator()(const TruncateMessage& m) const {
    return encode::Truncate({m.relations.begin(), m.relations.end()},
                            (m.cascade ? 1 : 0) + (m.restart_identity ? 2 : 0),
                            m.xid);
  }
  std::string operator()(const StreamStartMessage& m) const {
    return encode::StreamStart(m.xid, m.first_segment);
  }
  std::string operator()(const StreamStopMessage&) const {
    return encode::StreamStop();
  }
  std::string operator()(const StreamCommitMessage& m) const {
    return encode::StreamCommit(m.xid, m.commit_lsn, m.end_lsn, m.commit_time);
  }
  std::string operator()(const StreamAbortMessage& m) const {
    if (!m.abort_lsn.has_value()) return encode::StreamAbort(m.xid, m.subxid);
    return encode::StreamAbort(m.xid, m.subxid, *m.abort_lsn, *m.abort_time);
  }
  std::string operator()(const BeginPrepareMessage& m) const {
    return encode::BeginPrepare(m.prepare_lsn, m.end_lsn, m.prepare_time, m.xid,
                                m.gid);
  }
  std::string operator()(const PrepareMessage& m) const {
    return encode::Prepare(m.prepare_lsn, m.end_lsn, m.prepare_time, m.xid,
                           m.gid);
  }
  std::string operator()(const CommitPreparedMessage& m) const {
    return encode::CommitPrepared(m.commit_lsn, m.end_lsn, m.commit_time, m.xid,
                                  m.gid);
  }
  std::string operator()(const RollbackPreparedMessage& m) const {
    return encode::RollbackPrepared(m.prepare_end_lsn, m.rollback_end_lsn,
                                    m.prepare_time, m.rollback_time, m.xid,
                                    m.gid);
  }
  std::string operator()(const StreamPrepareMessage& m) const {
    return encode::StreamPrepare(m.prepare_lsn, m.end_lsn, m.prepare_time,
                                 m.xid, m.gid);
  }

 private:
  // The decoder's "pg_catalog" stands for the empty string, unless the wire has
  // that very name.
  std::string_view Namespace(std::string_view name) const {
    const bool from_wire = name.data() >= payload_.data() &&
                           name.data() < payload_.data() + payload_.size();
    return from_wire ? name : std::string_view();
  }

  std::string_view payload_;
};

// `message` was decoded from `payload`.
inline std::string Rewrite(const Message& message, std::string_view payload) {
  return std::visit(Rewriter(payload), message);
}

inline std::string Rewrite(const ServerFrame& frame) {
  if (const auto* keepalive = std::get_if<Keepalive>(&frame)) {
    return encode::Keepalive(keepalive->wal_end, keepalive->server_time,
                             keepalive->reply_requested);
  }
  const auto& data = std::get<XLogData>(frame);
  return encode::XLogData(data.data_start, data.wal_end, data.server_time,
                          data.payload);
}

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_WIRE_REWRITE_H_
