// Times with a zone, from PostgreSQL's ISO form to the form that SQLite reads:
// the offset always with minutes (SQLite's date functions know `+00:00`, not
// `+00`).
//
// The shape is checked byte for byte: a session with another DateStyle or
// TimeZone than the contract's shows here as DataLoss and not as wrong values.
#ifndef SUBLITE_SCHEMA_VALUE_TIME_H_
#define SUBLITE_SCHEMA_VALUE_TIME_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sublite {

// Appends a timestamptz: `2024-02-29 12:00:00.5+00` becomes
// `2024-02-29 12:00:00.5+00:00`, before ` BC` too; the infinities stay.
absl::Status AppendTimestamptz(std::string_view text, std::string* out);

// Appends a timetz: `12:00:00+02` becomes `12:00:00+02:00`. Minutes and seconds
// of the offset that are there stay.
absl::Status AppendTimetz(std::string_view text, std::string* out);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_TIME_H_
