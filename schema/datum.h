// One column of a row as the publisher sent it.
//
// A Datum is a view: its bytes belong to the frame or COPY buffer that it was
// decoded from and are valid as long as that buffer. Three states are kept
// apart that SQL alone cannot: NULL, a value, and "not sent because unchanged"
// (TupleData 'n', 't' or 'b', and 'u' in PostgreSQL's "Logical Replication
// Message Formats").
#ifndef SUBLITE_SCHEMA_DATUM_H_
#define SUBLITE_SCHEMA_DATUM_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace sublite {

struct Datum {
  enum class Kind : std::uint8_t {
    kNull,
    kUnchanged,  // an out-of-line (TOAST) value that did not change and is not
                 // in the message
    kText,       // the type's text output
    kBinary,     // the type's binary send format
  };

  Kind kind = Kind::kNull;
  std::string_view bytes;  // empty unless kText or kBinary

  bool is_null() const { return kind == Kind::kNull; }
  bool is_unchanged() const { return kind == Kind::kUnchanged; }
};

// The columns of one row, in the order of its relation's columns.
using Tuple = absl::Span<const Datum>;

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_DATUM_H_
