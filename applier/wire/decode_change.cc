#include "applier/wire/decode_change.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "applier/wire/decode_fields.h"

namespace sublite {
namespace {

// MaxHeapAttributeNumber: no table of PostgreSQL has more columns.
constexpr std::size_t kColumnsMax = 1600;
// One TRUNCATE can name every table of a database; the bytes left bound it
// better than a number can.
constexpr std::size_t kTruncatedRelationsMax = SIZE_MAX;

constexpr std::uint8_t kColumnFlagKey = 1;
constexpr std::uint8_t kMessageFlagTransactional = 1;
constexpr std::uint8_t kTruncateCascade = 1;
constexpr std::uint8_t kTruncateRestartIdentity = 2;

// The byte as a person reads it: 'N', or 0x07 where it does not print.
std::string Printable(char byte) {
  if (byte > ' ' && byte <= '~') return absl::StrFormat("'%c'", byte);
  return absl::StrFormat("0x%02x", static_cast<unsigned char>(byte));
}

void FailByte(Cursor& cursor, absl::StatusCode code, absl::string_view what,
              char byte) {
  cursor.Fail(code, absl::StrCat(what, ", not ", Printable(byte)));
}

Datum ReadDatum(Cursor& cursor) {
  switch (const char kind = cursor.Char("column kind")) {
    case 'n':
      return {Datum::Kind::kNull, {}};
    case 'u':
      return {Datum::Kind::kUnchanged, {}};
    case 't':
      return {Datum::Kind::kText, cursor.Counted("text value")};
    case 'b':
      return {Datum::Kind::kBinary, cursor.Counted("binary value")};
    default:
      FailByte(cursor, absl::StatusCode::kUnimplemented,
               "column kind n, u, t or b expected", kind);
      return {};
  }
}

// TupleData. `tuple` is overwritten.
Tuple ReadTuple(Cursor& cursor, std::vector<Datum>& tuple) {
  tuple.clear();
  // A column takes its kind's byte at least.
  const std::size_t count =
      cursor.Count(cursor.U16("number of columns"), 1, kColumnsMax, "columns");
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    tuple.push_back(ReadDatum(cursor));
  }
  return tuple;
}

void ExpectNewTuple(Cursor& cursor, char marker) {
  if (marker != 'N') {
    FailByte(cursor, absl::StatusCode::kDataLoss, "new tuple 'N' expected",
             marker);
  }
}

Oid ReadRelationOid(Cursor& cursor) { return cursor.U32("relation OID"); }

// The wire has the empty string for pg_catalog, to save space.
std::string_view ReadNamespace(Cursor& cursor) {
  const std::string_view name = cursor.String("namespace");
  return name.empty() ? std::string_view("pg_catalog") : name;
}

ReplicaIdentity ReadReplicaIdentity(Cursor& cursor) {
  const char identity = cursor.Char("replica identity");
  switch (identity) {
    case 'd':
    case 'i':
    case 'f':
    case 'n':
      return static_cast<ReplicaIdentity>(identity);
    default:
      FailByte(cursor, absl::StatusCode::kUnimplemented,
               "replica identity d, i, f or n expected", identity);
      return ReplicaIdentity::kDefault;
  }
}

RelationColumn ReadRelationColumn(Cursor& cursor) {
  RelationColumn column;
  column.key = ReadFlags(cursor, kColumnFlagKey, "column flags") != 0;
  column.name = cursor.String("column name");
  column.type = cursor.U32("column type OID");
  column.type_modifier = cursor.I32("column type modifier");
  return column;
}

}  // namespace

LogicalMessage DecodeLogicalMessage(Cursor& cursor,
                                    const DecodeContext& context) {
  LogicalMessage message;
  message.xid = ReadStreamXid(cursor, context);
  message.transactional =
      ReadFlags(cursor, kMessageFlagTransactional, "message flags") != 0;
  message.lsn = ReadLsn(cursor, "message LSN");
  message.prefix = cursor.String("prefix");
  message.content = cursor.Counted("content");
  return message;
}

RelationMessage DecodeRelation(Cursor& cursor, const DecodeContext& context,
                               DecodeScratch& scratch) {
  RelationMessage message;
  message.xid = ReadStreamXid(cursor, context);
  message.relation = ReadRelationOid(cursor);
  message.pg_namespace = ReadNamespace(cursor);
  message.name = cursor.String("relation name");
  message.identity = ReadReplicaIdentity(cursor);
  // Flags, the end of an empty name, type and modifier.
  constexpr std::size_t kColumnBytesMin = 1 + 1 + 4 + 4;
  const std::size_t count = cursor.Count(
      cursor.U16("number of columns"), kColumnBytesMin, kColumnsMax, "columns");
  scratch.columns.clear();
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    scratch.columns.push_back(ReadRelationColumn(cursor));
  }
  message.columns = scratch.columns;
  return message;
}

TypeMessage DecodeType(Cursor& cursor, const DecodeContext& context) {
  TypeMessage message;
  message.xid = ReadStreamXid(cursor, context);
  message.type = cursor.U32("type OID");
  message.pg_namespace = ReadNamespace(cursor);
  message.name = cursor.String("type name");
  return message;
}

InsertMessage DecodeInsert(Cursor& cursor, const DecodeContext& context,
                           DecodeScratch& scratch) {
  InsertMessage message;
  message.xid = ReadStreamXid(cursor, context);
  message.relation = ReadRelationOid(cursor);
  ExpectNewTuple(cursor, cursor.Char("tuple marker"));
  message.new_tuple = ReadTuple(cursor, scratch.new_tuple);
  return message;
}

UpdateMessage DecodeUpdate(Cursor& cursor, const DecodeContext& context,
                           DecodeScratch& scratch) {
  UpdateMessage message;
  message.xid = ReadStreamXid(cursor, context);
  message.relation = ReadRelationOid(cursor);
  char marker = cursor.Char("tuple marker");
  if (marker == 'K' || marker == 'O') {
    message.old_kind = marker == 'K' ? OldTuple::kKey : OldTuple::kFull;
    message.old_tuple = ReadTuple(cursor, scratch.old_tuple);
    marker = cursor.Char("tuple marker");
    ExpectNewTuple(cursor, marker);
  } else if (marker != 'N') {
    FailByte(cursor, absl::StatusCode::kDataLoss,
             "tuple 'K', 'O' or 'N' expected", marker);
  }
  message.new_tuple = ReadTuple(cursor, scratch.new_tuple);
  return message;
}

DeleteMessage DecodeDelete(Cursor& cursor, const DecodeContext& context,
                           DecodeScratch& scratch) {
  DeleteMessage message;
  message.xid = ReadStreamXid(cursor, context);
  message.relation = ReadRelationOid(cursor);
  const char marker = cursor.Char("tuple marker");
  if (marker != 'K' && marker != 'O') {
    FailByte(cursor, absl::StatusCode::kDataLoss,
             "old tuple 'K' or 'O' expected", marker);
  }
  message.old_kind = marker == 'O' ? OldTuple::kFull : OldTuple::kKey;
  message.old_tuple = ReadTuple(cursor, scratch.old_tuple);
  return message;
}

TruncateMessage DecodeTruncate(Cursor& cursor, const DecodeContext& context,
                               DecodeScratch& scratch) {
  TruncateMessage message;
  message.xid = ReadStreamXid(cursor, context);
  const std::uint32_t relations = cursor.U32("number of relations");
  const std::uint8_t options = ReadFlags(
      cursor, kTruncateCascade | kTruncateRestartIdentity, "truncate options");
  message.cascade = (options & kTruncateCascade) != 0;
  message.restart_identity = (options & kTruncateRestartIdentity) != 0;
  const std::size_t count =
      cursor.Count(relations, sizeof(Oid), kTruncatedRelationsMax, "relations");
  scratch.relations.clear();
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    scratch.relations.push_back(ReadRelationOid(cursor));
  }
  message.relations = scratch.relations;
  return message;
}

}  // namespace sublite
