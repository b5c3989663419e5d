// Numbers in PostgreSQL's binary form to the text of int8out, numeric_out and
// cash_out (the last under lc_monetary C).
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_NUMBER_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_NUMBER_H_

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include "schema/value_binary_reader.h"

namespace sublite {

// Appends `number` in decimal, with zeros in front up to `digits_min` digits;
// not for negative ones then.
template <typename Integer>
void AppendInteger(Integer number, std::string* text, int digits_min = 1) {
  char digits[24];
  char* const end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  for (auto digit = end - digits; digit < digits_min; ++digit) {
    text->push_back('0');
  }
  text->append(digits, static_cast<std::size_t>(end - digits));
}

// Append the text of what is left of *in; fail *in where that is malformed.
void AppendNumeric(BinaryReader* in, std::string* text);
void AppendMoney(BinaryReader* in, std::string* text);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_NUMBER_H_
