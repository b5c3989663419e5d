// The labels of the enums that a table's values are made of, and whether one
// was renamed.
//
// ALTER TYPE … RENAME VALUE changes what PostgreSQL prints for rows that are
// there, without a word in the stream. The label keeps its OID (pg_enum.oid),
// so the same OID with another label is a rename; OIDs that only one side has
// are labels that were added.
//
// Form: a line `OID label` a label, ascending by OID; a newline or backslash in
// a label is escaped. Pure.
#ifndef SUBLITE_SCHEMA_ENUM_LABELS_H_
#define SUBLITE_SCHEMA_ENUM_LABELS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/type_map.h"

namespace sublite {

// Of all enums in the types `columns`, be they inside of arrays, domains,
// composites or ranges; "" without any.
std::string EnumLabels(const std::vector<std::uint32_t>& columns,
                       const PgTypes& types);

bool LabelsRenamed(std::string_view before, std::string_view after);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_ENUM_LABELS_H_
