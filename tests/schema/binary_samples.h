// Values in binary form with what is stored for them, by hand from the send
// functions' formats and the documentation's text forms.
#ifndef SUBLITE_TESTS_SCHEMA_BINARY_SAMPLES_H_
#define SUBLITE_TESTS_SCHEMA_BINARY_SAMPLES_H_

#include <string>
#include <vector>

namespace sublite::testing {

struct BinarySample {
  const char* type;      // by ColumnType::Encode
  const char* hex;       // the bytes; spaces for the eye
  const char* expected;  // by ShowValue

  std::string Bytes() const;
};

// At least one of each BinaryForm that has a decoder.
const std::vector<BinarySample>& BinarySamples();

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SCHEMA_BINARY_SAMPLES_H_
