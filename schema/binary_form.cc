#include "schema/binary_form.h"

#include <cstddef>

namespace sublite {
namespace {

// Forms that changed, and the first server whose changes are not known.
constexpr int kOctalCharSince = 150000;
constexpr int kInfiniteIntervalSince = 170000;
constexpr int kUnknownSince = 190000;

struct FormFacts {
  BinaryForm form;
  const char* name;
  const char* expected;
};

// By BinaryForm.
constexpr FormFacts kForms[] = {
    {BinaryForm::kNone, "", "a type with a binary form"},
    {BinaryForm::kTextOnly, "text-only", "a text"},
    {BinaryForm::kText, "text", "a text in binary form"},
    {BinaryForm::kVersionedText, "versioned-text",
     "version 1 of a jsonb or jsonpath in binary form"},
    {BinaryForm::kChar, "char", "a \"char\" in binary form"},
    {BinaryForm::kOctalChar, "octal-char", "a \"char\" in binary form"},
    {BinaryForm::kBool, "bool", "a boolean in binary form"},
    {BinaryForm::kInt2, "int2", "a smallint in binary form"},
    {BinaryForm::kInt4, "int4", "an integer in binary form"},
    {BinaryForm::kInt8, "int8", "a bigint in binary form"},
    {BinaryForm::kUint4, "uint4", "an oid or xid in binary form"},
    {BinaryForm::kUint8, "uint8", "an xid8 in binary form"},
    {BinaryForm::kFloat4, "float4", "a real in binary form"},
    {BinaryForm::kFloat8, "float8", "a double precision in binary form"},
    {BinaryForm::kNumeric, "numeric", "a numeric in binary form"},
    {BinaryForm::kMoney, "money", "a money amount in binary form"},
    {BinaryForm::kBytea, "bytea", "a bytea in binary form"},
    {BinaryForm::kUuid, "uuid", "a uuid in binary form"},
    {BinaryForm::kDate, "date", "a date in binary form"},
    {BinaryForm::kTime, "time", "a time in binary form"},
    {BinaryForm::kTimetz, "timetz", "a timetz in binary form"},
    {BinaryForm::kTimestamp, "timestamp", "a timestamp in binary form"},
    {BinaryForm::kTimestamptz, "timestamptz", "a timestamptz in binary form"},
    {BinaryForm::kInterval, "interval", "an interval in binary form"},
    {BinaryForm::kFiniteInterval, "finite-interval",
     "an interval in binary form"},
    {BinaryForm::kBits, "bits", "a bit string in binary form"},
    {BinaryForm::kInet, "inet", "an inet or cidr in binary form"},
    {BinaryForm::kMacaddr, "macaddr", "a macaddr in binary form"},
    {BinaryForm::kMacaddr8, "macaddr8", "a macaddr8 in binary form"},
    {BinaryForm::kPoint, "point", "a point in binary form"},
    {BinaryForm::kLine, "line", "a line in binary form"},
    {BinaryForm::kLseg, "lseg", "an lseg in binary form"},
    {BinaryForm::kBox, "box", "a box in binary form"},
    {BinaryForm::kPath, "path", "a path in binary form"},
    {BinaryForm::kPolygon, "polygon", "a polygon in binary form"},
    {BinaryForm::kCircle, "circle", "a circle in binary form"},
    {BinaryForm::kTsvector, "tsvector", "a tsvector in binary form"},
    {BinaryForm::kTsquery, "tsquery", "a tsquery in binary form"},
    {BinaryForm::kPgLsn, "pg_lsn", "a pg_lsn in binary form"},
    {BinaryForm::kTid, "tid", "a tid in binary form"},
    {BinaryForm::kSnapshot, "snapshot", "a pg_snapshot in binary form"},
    {BinaryForm::kInt2Vector, "int2vector", "an int2vector in binary form"},
    {BinaryForm::kOidVector, "oidvector", "an oidvector in binary form"},
    {BinaryForm::kHstore, "hstore", "an hstore in binary form"},
    {BinaryForm::kArray, "array", "an array in binary form"},
    {BinaryForm::kRange, "range", "a range in binary form"},
    {BinaryForm::kMultirange, "multirange", "a multirange in binary form"},
    {BinaryForm::kRecord, "record",
     "a row with the known fields in binary form"},
};

constexpr bool IsIndexedByForm() {
  std::size_t index = 0;
  for (const FormFacts& facts : kForms) {
    if (static_cast<std::size_t>(facts.form) != index++) return false;
  }
  return index == static_cast<std::size_t>(BinaryForm::kRecord) + 1;
}
static_assert(IsIndexedByForm(), "FactsOf indexes kForms by BinaryForm");

const FormFacts& FactsOf(BinaryForm form) {
  return kForms[static_cast<std::size_t>(form)];
}

struct BuiltinType {
  const char* name;
  BinaryForm form;
};

// Not here, since what is sent is not enough to print it: regclass and its like
// (an OID for a name in the publisher's catalog), aclitem (a role's OID).
constexpr BuiltinType kBuiltinTypes[] = {
    {"int2", BinaryForm::kInt2},
    {"int4", BinaryForm::kInt4},
    {"int8", BinaryForm::kInt8},
    {"oid", BinaryForm::kUint4},
    {"xid", BinaryForm::kUint4},
    {"cid", BinaryForm::kUint4},
    {"xid8", BinaryForm::kUint8},
    {"bool", BinaryForm::kBool},
    {"float4", BinaryForm::kFloat4},
    {"float8", BinaryForm::kFloat8},
    {"numeric", BinaryForm::kNumeric},
    {"money", BinaryForm::kMoney},
    {"text", BinaryForm::kText},
    {"varchar", BinaryForm::kText},
    {"bpchar", BinaryForm::kText},
    {"name", BinaryForm::kText},
    {"json", BinaryForm::kText},
    // xml_send puts an encoding into the declaration, but for UTF8, and the
    // session's encoding is UTF8.
    {"xml", BinaryForm::kText},
    {"refcursor", BinaryForm::kText},
    {"jsonb", BinaryForm::kVersionedText},
    {"jsonpath", BinaryForm::kVersionedText},
    {"bytea", BinaryForm::kBytea},
    {"uuid", BinaryForm::kUuid},
    {"date", BinaryForm::kDate},
    {"time", BinaryForm::kTime},
    {"timetz", BinaryForm::kTimetz},
    {"timestamp", BinaryForm::kTimestamp},
    {"timestamptz", BinaryForm::kTimestamptz},
    {"bit", BinaryForm::kBits},
    {"varbit", BinaryForm::kBits},
    {"inet", BinaryForm::kInet},
    {"cidr", BinaryForm::kInet},
    {"macaddr", BinaryForm::kMacaddr},
    {"macaddr8", BinaryForm::kMacaddr8},
    {"point", BinaryForm::kPoint},
    {"line", BinaryForm::kLine},
    {"lseg", BinaryForm::kLseg},
    {"box", BinaryForm::kBox},
    {"path", BinaryForm::kPath},
    {"polygon", BinaryForm::kPolygon},
    {"circle", BinaryForm::kCircle},
    {"tsvector", BinaryForm::kTsvector},
    {"tsquery", BinaryForm::kTsquery},
    {"tid", BinaryForm::kTid},
    {"pg_snapshot", BinaryForm::kSnapshot},
    {"txid_snapshot", BinaryForm::kSnapshot},
    {"int2vector", BinaryForm::kInt2Vector},
    {"oidvector", BinaryForm::kOidVector},
};

}  // namespace

std::string_view FormName(BinaryForm form) { return FactsOf(form).name; }

bool FormNamed(std::string_view name, BinaryForm* form) {
  if (name.empty()) return false;
  for (const FormFacts& facts : kForms) {
    if (name != facts.name) continue;
    *form = facts.form;
    return true;
  }
  return false;
}

const char* FormExpected(BinaryForm form) { return FactsOf(form).expected; }

BinaryForm BuiltinForm(std::string_view name, int server_version) {
  for (const BuiltinType& type : kBuiltinTypes) {
    if (name == type.name) return type.form;
  }
  if (server_version == 0) return BinaryForm::kNone;
  if (name == "char") {
    return server_version < kOctalCharSince ? BinaryForm::kChar
                                            : BinaryForm::kOctalChar;
  }
  if (name == "interval") {
    return server_version < kInfiniteIntervalSince ? BinaryForm::kFiniteInterval
                                                   : BinaryForm::kInterval;
  }
  // Its text is about to get leading zeros.
  if (name == "pg_lsn" && server_version < kUnknownSince) {
    return BinaryForm::kPgLsn;
  }
  return BinaryForm::kNone;
}

}  // namespace sublite
