#include "applier/io/libpq_types.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr int kVersion14 = 140000;

template <typename Int>
Int ToInt(std::string_view text, Int otherwise = 0) {
  Int value = 0;
  return absl::SimpleAtoi(View(text), &value) ? value : otherwise;
}

bool ToBool(std::string_view text) { return text == "t"; }

// The types of a row type's attributes: "23 25".
std::vector<std::uint32_t> ToOids(std::string_view text) {
  std::vector<std::uint32_t> oids;
  for (absl::string_view part :
       absl::StrSplit(View(text), ' ', absl::SkipEmpty())) {
    std::uint32_t oid = 0;
    if (absl::SimpleAtoi(part, &oid)) oids.push_back(oid);
  }
  return oids;
}

// A true array type is the typarray of its element; int2vector, point and name
// have elements too but are none.
constexpr char kTypeAndElement[] =
    " JOIN pg_catalog.pg_type t ON t.oid = n.oid"
    " LEFT JOIN pg_catalog.pg_type e"
    " ON e.oid = t.typelem AND e.typarray = t.oid";

constexpr char kAttributes[] =
    " FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid"
    " AND a.attnum > 0 AND NOT a.attisdropped";

// As in schema/enum_labels.h.
constexpr char kLabels[] =
    "(SELECT pg_catalog.string_agg(l.oid::text || ' ' ||"
    " pg_catalog.replace(pg_catalog.replace(l.enumlabel::text, '\\', '\\\\'),"
    " pg_catalog.chr(10), '\\n'), pg_catalog.chr(10) ORDER BY l.oid)"
    " FROM pg_catalog.pg_enum l WHERE l.enumtypid = t.oid)";

std::string TypesSql(const std::set<std::uint32_t>& oids, int version) {
  const bool multiranges = version >= kVersion14;
  const char* range_of = multiranges
                             ? "(SELECT r.rngtypid FROM pg_catalog.pg_range r"
                               " WHERE r.rngmultitypid = t.oid)"
                             : "NULL::pg_catalog.oid";
  const char* subtype_of =
      "(SELECT r.rngsubtype FROM pg_catalog.pg_range r"
      " WHERE r.rngtypid = t.oid)";
  return absl::StrCat(
      "WITH RECURSIVE needed(oid) AS ( SELECT pg_catalog.unnest('{",
      absl::StrJoin(oids, ","),
      "}'::pg_catalog.oid[]) UNION SELECT further.oid FROM needed n",
      kTypeAndElement,
      " CROSS JOIN LATERAL (VALUES (t.typbasetype), (e.oid), (", subtype_of,
      "), (", range_of, ") UNION ALL SELECT a.atttypid", kAttributes,
      ") further(oid) WHERE further.oid <> 0)"
      " SELECT t.oid, t.typname, s.nspname = 'pg_catalog',"
      " (SELECT x.extname FROM pg_catalog.pg_depend d"
      " JOIN pg_catalog.pg_extension x ON x.oid = d.refobjid"
      " WHERE d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass"
      " AND d.objid = t.oid AND d.deptype = 'e' LIMIT 1),"
      " e.oid, t.typdelim, t.typbasetype, t.typtypmod, t.typtype,"
      " t.typsend::pg_catalog.oid <> 0, coalesce(",
      subtype_of, ", ", range_of,
      "), (SELECT pg_catalog.string_agg(a.atttypid::text, ' ' ORDER BY"
      " a.attnum)",
      kAttributes, "), CASE WHEN t.typtype = 'e' THEN ", kLabels,
      " END FROM needed n", kTypeAndElement,
      " JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace");
}

}  // namespace

absl::StatusOr<PgTypes> ReadTypes(Connection& connection,
                                  const std::set<std::uint32_t>& oids,
                                  std::string_view doing) {
  const int version = connection.server_version();
  ASSIGN_OR_RETURN(const Result result,
                   connection.Query(TypesSql(oids, version), doing));
  PgTypes types;
  for (int row = 0; row < result.rows(); ++row) {
    PgType type;
    type.oid = ToInt<std::uint32_t>(result.Get(row, 0));
    type.name = result.Text(row, 1);
    type.builtin = ToBool(result.Get(row, 2));
    type.extension = result.Text(row, 3);
    type.is_array = !result.IsNull(row, 4);
    type.element = ToInt<std::uint32_t>(result.Get(row, 4));
    type.delimiter = result.Get(row, 5).empty() ? ',' : result.Get(row, 5)[0];
    type.base = ToInt<std::uint32_t>(result.Get(row, 6));
    type.base_modifier = ToInt<std::int32_t>(result.Get(row, 7), -1);
    type.kind = result.Get(row, 8).empty() ? 'b' : result.Get(row, 8)[0];
    type.sends = ToBool(result.Get(row, 9));
    type.subtype = ToInt<std::uint32_t>(result.Get(row, 10));
    type.fields = ToOids(result.Get(row, 11));
    type.labels = result.Text(row, 12);
    type.server_version = version;
    types[type.oid] = std::move(type);
  }
  return types;
}

}  // namespace sublite
