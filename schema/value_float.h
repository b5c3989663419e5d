// Floating-point numbers to the text that PostgreSQL prints for them.
//
// The digits are the fewest that only this number has, and of those the nearest
// to it; they are never exactly midway to a neighbour, where std::to_chars
// takes such digits for even numbers (section "extra_float_digits" of
// PostgreSQL's documentation; the default since version 12). No locale, no
// allocation but for the text.
#ifndef SUBLITE_SCHEMA_VALUE_FLOAT_H_
#define SUBLITE_SCHEMA_VALUE_FLOAT_H_

#include <string>

namespace sublite {

// What float4out prints: `0.1`, `1e+06`, `NaN`, `-Infinity`, `-0`.
void AppendFloat4(float real, std::string* text);

// What float8out prints: `0.1`, `1e+15`, ….
void AppendFloat8(double real, std::string* text);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_FLOAT_H_
