// Strings of JSON, from plain text and from PostgreSQL's quoted text.
//
// Quoted text is what array_out and hstore_out put between double quotes: a
// backslash stands in front of `"` and `\` and is dropped in front of any other
// byte. Bytes above 0x7f are passed on unread, so UTF-8 stays as it is and
// whatever an SQL_ASCII database holds does too.
#ifndef SUBLITE_SCHEMA_VALUE_JSON_H_
#define SUBLITE_SCHEMA_VALUE_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace sublite {

// Appends `text` as a JSON string.
void AppendJsonString(std::string_view text, std::string* json);

// The three below read quoted text. *at is the offset in `text` of the byte
// after the opening quote; they move it past the closing one. False if `text`
// ends before that.

// Appends it as a JSON string.
bool AppendQuotedAsJsonString(std::string_view text, std::size_t* at,
                              std::string* json);

// Appends it without its backslashes.
bool AppendUnquoted(std::string_view text, std::size_t* at, std::string* out);

// Sets *inner to what is between the quotes, backslashes included.
bool SkipQuoted(std::string_view text, std::size_t* at,
                std::string_view* inner);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_JSON_H_
