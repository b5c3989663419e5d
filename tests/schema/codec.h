// One conversion as one line of text, for tables of cases.
#ifndef SUBLITE_TESTS_SCHEMA_CODEC_H_
#define SUBLITE_TESTS_SCHEMA_CODEC_H_

#include <string>
#include <string_view>

#include "schema/type_map.h"
#include "schema/value.h"

namespace sublite::testing {

// The type that ColumnType::Encode wrote as `encoded`; stops the test if it is
// none.
ColumnType TypeOf(std::string_view encoded);

// "integer 5", "real 0.5" (17 digits), "text x", "blob 00ff", "null".
std::string ShowValue(const SqlValue& value);

// The same, but a real by its bits, as float8send would show them.
std::string ShowBits(const SqlValue& value);

// The value that `text` becomes, by ShowValue, or "DataLoss".
std::string Convert(std::string_view text, const ColumnType& type);
std::string Convert(std::string_view text, std::string_view encoded_type);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SCHEMA_CODEC_H_
