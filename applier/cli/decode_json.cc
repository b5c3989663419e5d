#include "applier/cli/decode_json.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace sublite {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

// Whether every byte belongs to a well-formed UTF-8 sequence (RFC 3629).
bool IsUtf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    int continuation = 0;
    unsigned code = 0;
    unsigned code_min = 0;
    if (lead >= 0xc2 && lead < 0xe0) {
      continuation = 1, code = lead & 0x1f, code_min = 0x80;
    } else if (lead >= 0xe0 && lead < 0xf0) {
      continuation = 2, code = lead & 0x0f, code_min = 0x800;
    } else if (lead >= 0xf0 && lead < 0xf5) {
      continuation = 3, code = lead & 0x07, code_min = 0x10000;
    } else {
      return false;
    }
    for (; continuation > 0; --continuation, ++i) {
      if (i == text.size() || (text[i] & 0xc0) != 0x80) return false;
      code = code << 6 | (text[i] & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code < code_min || code > 0x10ffff || surrogate) return false;
  }
  return true;
}

Json TextToJson(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  return {{"text_hex", Hex(text)}};
}

Json ToJson(const Datum& datum) {
  switch (datum.kind) {
    case Datum::Kind::kNull:
      return nullptr;
    case Datum::Kind::kUnchanged:
      return {{"unchanged", true}};
    case Datum::Kind::kText:
      return TextToJson(datum.bytes);
    case Datum::Kind::kBinary:
      return {{"binary", Hex(datum.bytes)}};
  }
  return nullptr;
}

Json ToJson(Tuple tuple) {
  Json array = Json::array();
  for (const Datum& datum : tuple) array.push_back(ToJson(datum));
  return array;
}

// Adds the fields of one message to the object that is being built.
class Fields {
 public:
  explicit Fields(Json& json) : json_(json) {}

  void operator()(const BeginMessage& m) {
    Lsn_("final_lsn", m.final_lsn);
    Time("commit_time", m.commit_time);
    json_["xid"] = m.xid;
  }
  void operator()(const LogicalMessage& m) {
    MaybeXid(m.xid);
    json_["transactional"] = m.transactional;
    Lsn_("message_lsn", m.lsn);
    json_["prefix"] = m.prefix;
    json_["content"] = TextToJson(m.content);
  }
  void operator()(const CommitMessage& m) {
    Lsn_("commit_lsn", m.commit_lsn);
    Lsn_("end_lsn", m.end_lsn);
    Time("commit_time", m.commit_time);
  }
  void operator()(const OriginMessage& m) {
    Lsn_("origin_lsn", m.origin_lsn);
    json_["name"] = m.name;
  }
  void operator()(const RelationMessage& m) {
    MaybeXid(m.xid);
    json_["relation"] = m.relation;
    json_["namespace"] = m.pg_namespace;
    json_["name"] = m.name;
    json_["replica_identity"] = std::string(1, static_cast<char>(m.identity));
    Json& columns = json_["columns"] = Json::array();
    for (const RelationColumn& column : m.columns) {
      columns.push_back({{"name", column.name},
                         {"type", column.type},
                         {"type_modifier", column.type_modifier},
                         {"key", column.key}});
    }
  }
  void operator()(const TypeMessage& m) {
    MaybeXid(m.xid);
    json_["type"] = m.type;
    json_["namespace"] = m.pg_namespace;
    json_["name"] = m.name;
  }
  void operator()(const InsertMessage& m) {
    MaybeXid(m.xid);
    json_["relation"] = m.relation;
    json_["new"] = ToJson(m.new_tuple);
  }
  void operator()(const UpdateMessage& m) {
    MaybeXid(m.xid);
    json_["relation"] = m.relation;
    Old(m.old_kind, m.old_tuple);
    json_["new"] = ToJson(m.new_tuple);
  }
  void operator()(const DeleteMessage& m) {
    MaybeXid(m.xid);
    json_["relation"] = m.relation;
    Old(m.old_kind, m.old_tuple);
  }
  void operator()(const TruncateMessage& m) {
    MaybeXid(m.xid);
    json_["cascade"] = m.cascade;
    json_["restart_identity"] = m.restart_identity;
    json_["relations"] = m.relations;
  }
  void operator()(const StreamStartMessage& m) {
    json_["xid"] = m.xid;
    json_["first_segment"] = m.first_segment;
  }
  void operator()(const StreamStopMessage&) {}
  void operator()(const StreamCommitMessage& m) {
    json_["xid"] = m.xid;
    Lsn_("commit_lsn", m.commit_lsn);
    Lsn_("end_lsn", m.end_lsn);
    Time("commit_time", m.commit_time);
  }
  void operator()(const StreamAbortMessage& m) {
    json_["xid"] = m.xid;
    json_["subxid"] = m.subxid;
    if (m.abort_lsn.has_value()) Lsn_("abort_lsn", *m.abort_lsn);
    if (m.abort_time.has_value()) Time("abort_time", *m.abort_time);
  }
  void operator()(const BeginPrepareMessage& m) { Prepared(m); }
  void operator()(const PrepareMessage& m) { Prepared(m); }
  void operator()(const CommitPreparedMessage& m) {
    Lsn_("commit_lsn", m.commit_lsn);
    Lsn_("end_lsn", m.end_lsn);
    Time("commit_time", m.commit_time);
    json_["xid"] = m.xid;
    json_["gid"] = m.gid;
  }
  void operator()(const RollbackPreparedMessage& m) {
    Lsn_("prepare_end_lsn", m.prepare_end_lsn);
    Lsn_("rollback_end_lsn", m.rollback_end_lsn);
    Time("prepare_time", m.prepare_time);
    Time("rollback_time", m.rollback_time);
    json_["xid"] = m.xid;
    json_["gid"] = m.gid;
  }
  void operator()(const StreamPrepareMessage& m) { Prepared(m); }

 private:
  // Named apart from the class that it writes.
  void Lsn_(const char* key, Lsn lsn) { json_[key] = lsn.ToString(); }
  void Time(const char* key, PgTime time) { json_[key] = FormatPgTime(time); }
  void MaybeXid(std::optional<Xid> xid) {
    if (xid.has_value()) json_["xid"] = *xid;
  }
  void Old(OldTuple kind, Tuple tuple) {
    if (kind == OldTuple::kKey) json_["old_key"] = ToJson(tuple);
    if (kind == OldTuple::kFull) json_["old"] = ToJson(tuple);
  }
  template <typename Message>
  void Prepared(const Message& m) {
    Lsn_("prepare_lsn", m.prepare_lsn);
    Lsn_("end_lsn", m.end_lsn);
    Time("prepare_time", m.prepare_time);
    json_["xid"] = m.xid;
    json_["gid"] = m.gid;
  }

  Json& json_;
};

void AddMessage(const Message& message, Json& json) {
  json["message"] = MessageName(message);
  std::visit(Fields(json), message);
}

}  // namespace

std::string MessageToJson(const Message& message) {
  Json json;
  AddMessage(message, json);
  return Dump(json);
}

std::string MessageToJson(const XLogData& envelope, const Message& message) {
  Json json;
  // Messages without a position of their own (Relation, the first of several
  // that belong together) come with zero.
  if (envelope.data_start.valid()) {
    json["lsn"] = envelope.data_start.ToString();
  }
  json["wal_end"] = envelope.wal_end.ToString();
  json["sent_at"] = FormatPgTime(envelope.server_time);
  AddMessage(message, json);
  return Dump(json);
}

std::string KeepaliveToJson(const Keepalive& keepalive) {
  Json json;
  json["wal_end"] = keepalive.wal_end.ToString();
  json["sent_at"] = FormatPgTime(keepalive.server_time);
  json["message"] = "Keepalive";
  json["reply_requested"] = keepalive.reply_requested;
  return Dump(json);
}

}  // namespace sublite
