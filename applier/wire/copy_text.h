// One row of COPY ... TO STDOUT in text format ("COPY", section "Text Format")
// as a tuple.
//
// The columns become kText or kNull datums. A field without a backslash, and a
// bytea, is a view into `row`; one with escapes is decoded into
// `scratch.unescaped`. Views are valid until the next call with the same
// scratch, and as long as `row`.
//
// Escapes: \b \f \n \r \t \v, \ and one to three octal digits, \x and one or
// two hexadecimal digits; any other byte behind a backslash (tab and newline
// too) is itself. A field that is exactly \N is NULL.
//
// Errors: DataLoss where the number of columns is not `columns`, an escape is
// cut off by the row's end, a newline stands inside the row, or the row is the
// end-of-data marker; the text names the offset, never a value. Threads: one
// scratch belongs to one thread.
#ifndef SUBLITE_APPLIER_WIRE_COPY_TEXT_H_
#define SUBLITE_APPLIER_WIRE_COPY_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "schema/datum.h"

namespace sublite {

struct CopyScratch {
  std::vector<Datum> tuple;
  std::string unescaped;
};

// `row` with or without its ending newline. A relation without columns gives an
// empty row.
absl::StatusOr<Tuple> ParseCopyRow(std::string_view row, std::size_t columns,
                                   CopyScratch& scratch);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_COPY_TEXT_H_
