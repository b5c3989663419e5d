// A stored value as JSON: integers and reals as numbers with all their digits,
// text as a string, a blob as the string "\x…" in hexadecimal, NULL as null.
// An infinite real is the string "Infinity" or "-Infinity", since JSON has no
// such number. Pure.
#ifndef SUBLITE_SCHEMA_SQL_VALUE_JSON_H_
#define SUBLITE_SCHEMA_SQL_VALUE_JSON_H_

#include <string>
#include <string_view>

#include "schema/value.h"

namespace sublite {

void AppendSqlValueAsJson(const SqlValue& value, std::string* json);
// As a JSON string.
void AppendTextAsJson(std::string_view text, std::string* json);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_SQL_VALUE_JSON_H_
