// A value in PostgreSQL's binary form to the text that PostgreSQL prints for
// it, from which the text codec goes on: one set of rules decides what is
// stored, whatever way a value came.
//
// Text is that of the session settings of CONTRACT.md section 3 and a database
// in UTF8. Facts relied on: the *send and *out functions of PostgreSQL 14 to
// 18.
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "schema/type_map.h"
#include "schema/value.h"

namespace sublite {

// Appends the text of `bytes` to *text; what stands there after an error is of
// no use.
//
// Errors: DataLoss if `bytes` are no value of the form (or of the form of a
// part). Recursion goes as deep as `type` does, never as deep as `bytes` say.
absl::Status AppendBinaryAsText(std::string_view bytes, const ColumnType& type,
                                std::string* text);

// Sets *value where no text is needed: to the number, or to a view into
// `bytes`. False if the text is needed, or `bytes` are no value of the form.
bool BinaryToSqlValue(std::string_view bytes, const ColumnType& type,
                      SqlValue* value);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_H_
