// hstore's text form to a JSON object.
#ifndef SUBLITE_SCHEMA_VALUE_HSTORE_H_
#define SUBLITE_SCHEMA_VALUE_HSTORE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sublite {

// Appends what hstore_out printed, `"a"=>"1", "b"=>NULL`, as
// `{"a":"1","b":null}`: keys in the same order, values always strings.
// DataLoss if `text` is anything else.
absl::Status AppendHstoreAsJson(std::string_view text, std::string* json);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_HSTORE_H_
