#include "tests/support/encode.h"

#include <utility>

namespace sublite::encode {
namespace {

std::string BigEndian(std::uint64_t value, int bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  for (int i = bytes - 1; i >= 0; --i) {
    text[static_cast<std::size_t>(i)] = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  return text;
}

std::string LsnBytes(Lsn lsn) { return Int64(lsn.value()); }
std::string TimeBytes(PgTime time) {
  return Int64(static_cast<std::uint64_t>(time.micros));
}
std::string XidBytes(MaybeXid xid) {
  return xid.has_value() ? Int32(*xid) : std::string();
}

// The fields that the messages about prepared transactions share.
std::string Prepared(Lsn lsn, Lsn end_lsn, PgTime time, Xid xid,
                     std::string_view gid) {
  return LsnBytes(lsn) + LsnBytes(end_lsn) + TimeBytes(time) + Int32(xid) +
         CString(gid);
}

}  // namespace

std::string Int8(int value) {
  return BigEndian(static_cast<std::uint64_t>(value), 1);
}
std::string Int16(int value) {
  return BigEndian(static_cast<std::uint64_t>(value), 2);
}
std::string Int32(std::uint32_t value) { return BigEndian(value, 4); }
std::string Int64(std::uint64_t value) { return BigEndian(value, 8); }
std::string CString(std::string_view text) {
  return std::string(text) + std::string(1, '\0');
}

Value Null() { return {'n', ""}; }
Value Unchanged() { return {'u', ""}; }
Value Text(std::string text) { return {'t', std::move(text)}; }
Value Binary(std::string bytes) { return {'b', std::move(bytes)}; }

Values Texts(const std::vector<std::string>& texts) {
  Values values;
  for (const std::string& text : texts) values.push_back(Text(text));
  return values;
}

std::string TupleData(const Values& values) {
  std::string bytes = Int16(static_cast<int>(values.size()));
  for (const Value& value : values) {
    bytes += value.kind;
    if (value.kind == 't' || value.kind == 'b') {
      bytes += Int32(static_cast<std::uint32_t>(value.bytes.size()));
      bytes += value.bytes;
    }
  }
  return bytes;
}

std::string Begin(Lsn final_lsn, PgTime commit_time, Xid xid) {
  return "B" + LsnBytes(final_lsn) + TimeBytes(commit_time) + Int32(xid);
}

std::string LogicalMessage(bool transactional, Lsn lsn, std::string_view prefix,
                           std::string_view content, MaybeXid xid) {
  return "M" + XidBytes(xid) + Int8(transactional ? 1 : 0) + LsnBytes(lsn) +
         CString(prefix) + Int32(static_cast<std::uint32_t>(content.size())) +
         std::string(content);
}

std::string Commit(Lsn commit_lsn, Lsn end_lsn, PgTime commit_time) {
  return "C" + Int8(0) + LsnBytes(commit_lsn) + LsnBytes(end_lsn) +
         TimeBytes(commit_time);
}

std::string Origin(Lsn origin_lsn, std::string_view name) {
  return "O" + LsnBytes(origin_lsn) + CString(name);
}

std::string Relation(Oid relation, std::string_view pg_namespace,
                     std::string_view name, char identity,
                     const std::vector<Column>& columns, MaybeXid xid) {
  std::string bytes = "R" + XidBytes(xid) + Int32(relation) +
                      CString(pg_namespace) + CString(name) + identity +
                      Int16(static_cast<int>(columns.size()));
  for (const Column& column : columns) {
    bytes += Int8(column.key ? 1 : 0) + CString(column.name) +
             Int32(column.type) +
             Int32(static_cast<std::uint32_t>(column.type_modifier));
  }
  return bytes;
}

std::string Type(Oid type, std::string_view pg_namespace, std::string_view name,
                 MaybeXid xid) {
  return "Y" + XidBytes(xid) + Int32(type) + CString(pg_namespace) +
         CString(name);
}

std::string Insert(Oid relation, const Values& new_values, MaybeXid xid) {
  return "I" + XidBytes(xid) + Int32(relation) + "N" + TupleData(new_values);
}

std::string Update(Oid relation, const Values& new_values, MaybeXid xid) {
  return "U" + XidBytes(xid) + Int32(relation) + "N" + TupleData(new_values);
}

std::string UpdateWithOld(Oid relation, char old_kind, const Values& old_values,
                          const Values& new_values, MaybeXid xid) {
  return "U" + XidBytes(xid) + Int32(relation) + old_kind +
         TupleData(old_values) + "N" + TupleData(new_values);
}

std::string Delete(Oid relation, char old_kind, const Values& old_values,
                   MaybeXid xid) {
  return "D" + XidBytes(xid) + Int32(relation) + old_kind +
         TupleData(old_values);
}

std::string Truncate(const std::vector<Oid>& relations, int options,
                     MaybeXid xid) {
  std::string bytes = "T" + XidBytes(xid) +
                      Int32(static_cast<std::uint32_t>(relations.size())) +
                      Int8(options);
  for (const Oid relation : relations) bytes += Int32(relation);
  return bytes;
}

std::string StreamStart(Xid xid, bool first_segment) {
  return "S" + Int32(xid) + Int8(first_segment ? 1 : 0);
}

std::string StreamStop() { return "E"; }

std::string StreamCommit(Xid xid, Lsn commit_lsn, Lsn end_lsn,
                         PgTime commit_time) {
  return "c" + Int32(xid) + Int8(0) + LsnBytes(commit_lsn) + LsnBytes(end_lsn) +
         TimeBytes(commit_time);
}

std::string StreamAbort(Xid xid, Xid subxid) {
  return "A" + Int32(xid) + Int32(subxid);
}

std::string StreamAbort(Xid xid, Xid subxid, Lsn abort_lsn, PgTime abort_time) {
  return StreamAbort(xid, subxid) + LsnBytes(abort_lsn) + TimeBytes(abort_time);
}

std::string BeginPrepare(Lsn prepare_lsn, Lsn end_lsn, PgTime prepare_time,
                         Xid xid, std::string_view gid) {
  return "b" + Prepared(prepare_lsn, end_lsn, prepare_time, xid, gid);
}

std::string Prepare(Lsn prepare_lsn, Lsn end_lsn, PgTime prepare_time, Xid xid,
                    std::string_view gid) {
  return "P" + Int8(0) + Prepared(prepare_lsn, end_lsn, prepare_time, xid, gid);
}

std::string CommitPrepared(Lsn commit_lsn, Lsn end_lsn, PgTime commit_time,
                           Xid xid, std::string_view gid) {
  return "K" + Int8(0) + Prepared(commit_lsn, end_lsn, commit_time, xid, gid);
}

std::string RollbackPrepared(Lsn prepare_end_lsn, Lsn rollback_end_lsn,
                             PgTime prepare_time, PgTime rollback_time, Xid xid,
                             std::string_view gid) {
  return "r" + Int8(0) + LsnBytes(prepare_end_lsn) +
         LsnBytes(rollback_end_lsn) + TimeBytes(prepare_time) +
         TimeBytes(rollback_time) + Int32(xid) + CString(gid);
}

std::string StreamPrepare(Lsn prepare_lsn, Lsn end_lsn, PgTime prepare_time,
                          Xid xid, std::string_view gid) {
  return "p" + Int8(0) + Prepared(prepare_lsn, end_lsn, prepare_time, xid, gid);
}

std::string XLogData(Lsn data_start, Lsn wal_end, PgTime server_time,
                     std::string_view payload) {
  return "w" + LsnBytes(data_start) + LsnBytes(wal_end) +
         TimeBytes(server_time) + std::string(payload);
}

std::string Keepalive(Lsn wal_end, PgTime server_time, bool reply_requested) {
  return "k" + LsnBytes(wal_end) + TimeBytes(server_time) +
         Int8(reply_requested ? 1 : 0);
}

}  // namespace sublite::encode
