// The wall clock, in the forms that the replica file holds.
//
// Only code outside wire/ and schema/ may ask it. Threads: any.
#ifndef SUBLITE_APPLIER_CLOCK_H_
#define SUBLITE_APPLIER_CLOCK_H_

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "applier/wire/lsn.h"

namespace sublite {

inline PgTime ToPgTime(absl::Time time) {
  return PgTimeFromUnixMicros(absl::ToUnixMicros(time));
}

// Saturates: the publisher may send any 64 bits.
inline absl::Time ToTime(PgTime time) {
  return absl::FromUnixMicros(time.micros) -
         absl::Microseconds(PgTimeFromUnixMicros(0).micros);
}

// `2024-02-29 12:00:00.5+00:00` for now.
inline std::string NowText() { return FormatPgTime(ToPgTime(absl::Now())); }

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLOCK_H_
