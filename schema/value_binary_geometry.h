// Geometric values in PostgreSQL's binary form to its text; coordinates as
// float8out prints them.
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_GEOMETRY_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_GEOMETRY_H_

#include <string>

#include "schema/value_binary_reader.h"

namespace sublite {

// Append the text of what is left of *in; fail *in where that is malformed.
void AppendPoint(BinaryReader* in, std::string* text);    // (1,2)
void AppendLine(BinaryReader* in, std::string* text);     // {1,2,3}
void AppendLseg(BinaryReader* in, std::string* text);     // [(1,2),(3,4)]
void AppendBox(BinaryReader* in, std::string* text);      // (3,4),(1,2)
void AppendPath(BinaryReader* in, std::string* text);     // [(1,2)], ((1,2))
void AppendPolygon(BinaryReader* in, std::string* text);  // ((1,2),(3,4))
void AppendCircle(BinaryReader* in, std::string* text);   // <(1,2),3>

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_GEOMETRY_H_
