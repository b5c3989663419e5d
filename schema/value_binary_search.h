// tsvector and tsquery in PostgreSQL's binary form to its text.
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_SEARCH_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_SEARCH_H_

#include <string>

#include "schema/value_binary_reader.h"

namespace sublite {

// Append the text of what is left of *in; fail *in where that is malformed.
void AppendTsvector(BinaryReader* in, std::string* text);  // 'a':1A,3 'b'

// `'a' & !( 'b':*A | 'c' )`. A query may be nested as deep as it is long, so
// nothing recurses.
void AppendTsquery(BinaryReader* in, std::string* text);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_SEARCH_H_
