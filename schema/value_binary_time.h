// Dates, times and intervals in PostgreSQL's binary form to its text under
// DateStyle ISO, IntervalStyle iso_8601 and TimeZone UTC.
//
// Days and microseconds count from 2000-01-01; the extremes of their integers
// are the infinities. What PostgreSQL could not store is malformed.
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_TIME_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_TIME_H_

#include <string>

#include "schema/value_binary_reader.h"

namespace sublite {

// Append the text of what is left of *in; fail *in where that is malformed.
void AppendDate(BinaryReader* in, std::string* text);
void AppendTime(BinaryReader* in, std::string* text);
void AppendTimetzText(BinaryReader* in, std::string* text);
// `zone` is what stands behind the time: "" or "+00".
void AppendTimestamp(BinaryReader* in, const char* zone, std::string* text);
// `infinities`: the extremes of all fields stand for them.
void AppendInterval(BinaryReader* in, bool infinities, std::string* text);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_TIME_H_
