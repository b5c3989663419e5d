// Times and numbers of bytes as a person writes them. Pure.
//
// Errors: InvalidArgument, with what is legal.
#ifndef SUBLITE_APPLIER_UNITS_H_
#define SUBLITE_APPLIER_UNITS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace sublite {

// "10s", "500ms", "1m", "1m 30s", "1.5h". Not negative; a number without a unit
// is an error, since nobody can know what was meant.
absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text);

// "500MB", "1.5 GiB", "4096". Units as in PostgreSQL's settings: B, kB, MB, GB,
// TB, each 1024 of the one before; KiB, MiB, GiB and TiB are the same. Case
// does not matter. Without a unit it is bytes. Not negative, below 2^63, and
// whole bytes are meant where a fraction does not give any.
absl::StatusOr<std::int64_t> ParseByteSize(std::string_view text);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_UNITS_H_
