// Numbers of bytes as a person writes them.
//
// Units as in PostgreSQL's settings: B, kB, MB, GB, TB, each 1024 of the one
// before; KiB, MiB, GiB and TiB are the same. Case does not matter. Without a
// unit it is bytes. Errors: InvalidArgument, with what is legal. Pure.
#ifndef SUBLITE_APPLIER_BYTE_SIZE_H_
#define SUBLITE_APPLIER_BYTE_SIZE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace sublite {

// "500MB", "1.5 GiB", "4096". Not negative, below 2^63, and whole bytes are
// meant where a fraction does not give any.
absl::StatusOr<std::int64_t> ParseByteSize(std::string_view text);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_BYTE_SIZE_H_
