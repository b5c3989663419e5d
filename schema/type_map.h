// From a PostgreSQL type to what SQLite stores for it: the only table of type
// facts (CONTRACT.md section 3).
//
// A ColumnType is decided once, when a SQLite table is made, from what the
// publisher's catalog says of the column, and is kept in the file with the
// column (Encode/Parse), so that rows can be converted without asking the
// publisher again and a table never mixes two forms.
#ifndef SUBLITE_SCHEMA_TYPE_MAP_H_
#define SUBLITE_SCHEMA_TYPE_MAP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace sublite {

// A row of pg_type, as far as it matters here.
struct PgType {
  std::uint32_t oid = 0;
  std::string name;           // typname
  bool builtin = false;       // lives in pg_catalog
  std::string extension;      // name of the extension that owns it, or ""
  bool is_array = false;      // a true array type: some type's typarray. Not
                              // int2vector, point, name
  std::uint32_t element = 0;  // typelem, where is_array
  char delimiter = ',';       // typdelim
  std::uint32_t base = 0;     // typbasetype of a domain, else 0
  std::int32_t base_modifier = -1;  // typtypmod of a domain
  // What binary transfer needs to know besides.
  char kind =
      'b';  // typtype: b, c(omposite), d(omain), e(num), r(ange), m(ultirange)
  bool sends = true;          // has a send function (typsend)
  std::uint32_t subtype = 0;  // of a range; of a multirange its range
  std::vector<std::uint32_t>
      fields;  // of a composite: the types of its attributes in order, without
               // dropped ones
  std::string labels;      // of an enum, as in enum_labels.h
  int server_version = 0;  // of the server that said so (PQserverVersion): a
                           // few forms have changed; 0 is unknown
};

using PgTypes = absl::flat_hash_map<std::uint32_t, PgType>;

// Setting `numeric`.
enum class NumericMode { kAuto, kText, kReal };

// How values of a column are stored.
enum class ValueKind : std::uint8_t {
  kInteger,        // smallint, integer, bigint, oid
  kBoolean,        // 0 or 1
  kReal,           // real, double precision
  kNumericNumber,  // numeric(p,s) with p <= 15 under `auto`: integer where
                   // whole, else real
  kNumericText,    // every digit
  kNumericReal,    // setting `real`: lossy by choice
  kMoney,
  kText,
  kPaddedText,    // char(n): COLLATE RTRIM
  kCaselessText,  // citext: COLLATE NOCASE
  kBytea,
  kTimestamptz,  // offset written with minutes
  kTimetz,
  kJson,    // json, jsonb: text as a column; as an element of an array the JSON
            // itself
  kArray,   // JSON array
  kHstore,  // JSON object
};

// What a type's send function sends, see schema/value_binary.h.
enum class BinaryForm : std::uint8_t {
  kNone,      // no decoder
  kTextOnly,  // the type has no send function: the stream carries its text in
              // binary mode too
  kText,      // the text itself
  kVersionedText,  // jsonb, jsonpath: a version and the text
  kChar,           // "char", printed as it is (before PostgreSQL 15)
  kOctalChar,      // "char", printed as \ooo where it is not ASCII
  kBool,
  kInt2,
  kInt4,
  kInt8,
  kUint4,  // oid, xid, cid
  kUint8,  // xid8
  kFloat4,
  kFloat8,
  kNumeric,
  kMoney,
  kBytea,
  kUuid,
  kDate,
  kTime,
  kTimetz,
  kTimestamp,
  kTimestamptz,
  kInterval,
  kFiniteInterval,  // before PostgreSQL 17, which took the two extremes for the
                    // infinities
  kBits,
  kInet,
  kMacaddr,
  kMacaddr8,
  kPoint,
  kLine,
  kLseg,
  kBox,
  kPath,
  kPolygon,
  kCircle,
  kTsvector,
  kTsquery,
  kPgLsn,
  kTid,
  kSnapshot,
  kInt2Vector,
  kOidVector,
  kHstore,
  kArray,
  kRange,
  kMultirange,
  kRecord,
};

struct TypePart;

struct ColumnType {
  ValueKind kind = ValueKind::kText;
  // kNumericNumber only: declared precision and scale (the scale may be
  // negative or above the precision).
  int precision = 0;
  int scale = 0;
  // kArray only: what the elements are (never kArray itself unless through a
  // domain over an array), and their delimiter.
  std::shared_ptr<const ColumnType> element;
  char delimiter = ',';

  // Only for values in binary form. It says nothing of what is stored, but for
  // kRecord, whose text has its fields.
  BinaryForm form = BinaryForm::kNone;
  // kRange: its subtype; kMultirange: its range; kRecord: its fields.
  std::vector<TypePart> parts;

  // `INTEGER`, `NUMERIC(12,2)`, `TEXT COLLATE RTRIM`, …: what CREATE TABLE
  // says.
  std::string Declaration() const;
  // The same without the collation.
  std::string DeclaredType() const;

  // A short text that holds all of this, for the file ("numeric(12,2)",
  // "array(,;int)", with a binary form "text@range(23;int@int4)"), and back.
  // Parse's error is DataLoss: the file is damaged or newer than this build.
  std::string Encode() const;
  static absl::StatusOr<ColumnType> Parse(std::string_view text);

  friend bool operator==(const ColumnType& a, const ColumnType& b) {
    return a.Encode() == b.Encode();
  }
};

struct TypePart {
  std::uint32_t oid = 0;  // as the binary form names it
  ColumnType type;
};

// True if the stream can be asked for binary values as far as a column of this
// type is concerned.
inline bool HasBinaryDecoder(const ColumnType& type) {
  return type.form != BinaryForm::kNone;
}

// True if values of one are stored as those of the other: all but the binary
// forms is equal.
bool SameStored(const ColumnType& a, const ColumnType& b);

// The type of a column of type `oid` with type modifier `modifier` (-1: none);
// domains are looked through, through `types`. A type that `types` does not
// hold is text.
ColumnType ColumnTypeFor(std::uint32_t oid, std::int32_t modifier,
                         const PgTypes& types, NumericMode numeric);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_TYPE_MAP_H_
