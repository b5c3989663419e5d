// Errors of the value codec: what was expected and where it ended, never the
// value itself, which may be somebody's secret.
#ifndef SUBLITE_SCHEMA_VALUE_ERROR_H_
#define SUBLITE_SCHEMA_VALUE_ERROR_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace sublite {

// DataLoss: "`expected` expected at byte `offset` of the value".
inline absl::Status UnexpectedText(const char* expected, std::size_t offset) {
  return absl::DataLossError(std::string(expected) + " expected at byte " +
                             std::to_string(offset) + " of the value");
}

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_ERROR_H_
