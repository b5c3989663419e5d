// What the publisher's catalog says of types.
//
// A function of libpq_catalog.cc's; the same rules hold (qualified names, a
// session of libpq_session.h, errors as libpq_error.h, threads as Connection).
#ifndef SUBLITE_APPLIER_IO_LIBPQ_TYPES_H_
#define SUBLITE_APPLIER_IO_LIBPQ_TYPES_H_

#include <cstdint>
#include <set>
#include <string_view>

#include "absl/status/statusor.h"
#include "applier/io/libpq_connection.h"
#include "schema/type_map.h"

namespace sublite {

// The types `oids` and all that they are made of: elements, base types,
// subtypes of ranges, fields of rows. `doing` is for error texts.
absl::StatusOr<PgTypes> ReadTypes(Connection& connection,
                                  const std::set<std::uint32_t>& oids,
                                  std::string_view doing);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_TYPES_H_
