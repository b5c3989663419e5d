// An array in PostgreSQL's text form to a JSON array.
#ifndef SUBLITE_SCHEMA_VALUE_ARRAY_H_
#define SUBLITE_SCHEMA_VALUE_ARRAY_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "schema/type_map.h"

namespace sublite {

// True if array_out printed the bounds in front, since one of the lower ones is
// not 1: `[0:1]={5,6}`. JSON has no place for them.
bool HasArrayBounds(std::string_view text);

// Appends what array_out printed, without bounds, as a JSON array, its elements
// by `type` (kArray): numbers with all their digits, true and false, null, json
// as itself, an array within a domain as an array, all else as strings.
//
// Errors: DataLoss if `text` is not such a text. No more than PostgreSQL's
// MAXDIM dimensions are read, without recursion; elements recurse only as deep
// as `type` does.
absl::Status AppendArrayAsJson(std::string_view text, const ColumnType& type,
                               std::string* json);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_ARRAY_H_
