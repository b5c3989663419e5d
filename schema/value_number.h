// Numbers in PostgreSQL's text form to numbers of SQLite and of JSON.
//
// Inputs are what int8out, float8out, numeric_out and cash_out print (the last
// under lc_monetary C); anything else, leading zeros and a plus sign included,
// is DataLoss. No locale is consulted, nothing is allocated.
#ifndef SUBLITE_SCHEMA_VALUE_NUMBER_H_
#define SUBLITE_SCHEMA_VALUE_NUMBER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "schema/value.h"

namespace sublite {

// smallint, integer, bigint, oid.
absl::Status ParseInteger(std::string_view text, std::int64_t* integer);

// real, double precision. NaN becomes text, -0 becomes 0.
absl::Status RealToSqlValue(std::string_view text, SqlValue* value);

// numeric(p,s) whose values a double gives back: an integer where whole, else
// the nearest real. DataLoss where that would not be exact.
absl::Status NumericToSqlValue(std::string_view text, SqlValue* value);

// The same under the setting `numeric = real`: an integer where whole and of 64
// bits, else the nearest real, which may round, overflow to an infinity or
// underflow to 0.
absl::Status NumericToNearestSqlValue(std::string_view text, SqlValue* value);

// money: an integer where whole; else a real where "%.2f" of it gives the
// cents back; else PostgreSQL's own text, which begins with a currency sign
// and is therefore left alone by NUMERIC affinity.
absl::Status MoneyToSqlValue(std::string_view text, SqlValue* value);

// Appends an integer, float or numeric to JSON with all its digits as they
// stand; NaN and the infinities as strings.
absl::Status AppendJsonNumber(std::string_view text, std::string* json);

// Appends a money amount as a JSON number with two decimals.
absl::Status AppendJsonMoney(std::string_view text, std::string* json);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_NUMBER_H_
