// Values made of other values, in PostgreSQL's binary form to its text: arrays,
// ranges, rows, hstore. Each quotes by its own output function's rules.
//
// Errors: DataLoss as AppendBinaryAsText, which these call for their parts.
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_CONTAINER_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_CONTAINER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "schema/type_map.h"
#include "schema/value_binary_reader.h"

namespace sublite {

// `{1,NULL,"a b"}`, `[0:1]={5,6}`. `type` is a kArray with an element.
absl::Status AppendArrayText(std::string_view bytes, const ColumnType& type,
                             std::string* text);

// `[1,5)`, `empty`, `{[1,2),[5,7)}`, `(1,"a b",)`. `type` has its parts.
absl::Status AppendRangeText(std::string_view bytes, const ColumnType& type,
                             std::string* text);
absl::Status AppendMultirangeText(std::string_view bytes,
                                  const ColumnType& type, std::string* text);
absl::Status AppendRecordText(std::string_view bytes, const ColumnType& type,
                              std::string* text);

// Append the text of what is left of *in; fail *in where that is malformed.
void AppendHstoreText(BinaryReader* in, std::string* text);  // "a"=>"1"
// int2vector and oidvector: `1 2 3`.
void AppendInt2Vector(BinaryReader* in, std::string* text);
void AppendOidVector(BinaryReader* in, std::string* text);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_CONTAINER_H_
