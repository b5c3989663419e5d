// COPY ... TO STDOUT in binary format ("COPY", section "Binary Format"),
// message by message, as tuples.
//
// The format is a stream: a header (signature, flags, header extension), tuples
// (Int16 number of fields; each field an Int32 length, -1 for NULL, and the
// bytes of the type's send function), and a trailer (Int16 -1). The server
// sends a tuple a CopyData message, the header in front of the first, the
// trailer in one of its own; the header may also stand alone, and the trailer
// may follow it at once.
//
// The columns become kBinary or kNull datums: views into the message, valid as
// long as that, and until the next call.
//
// Errors: DataLoss where the bytes are not that; the text names the offset,
// never a value. After one the object is of no more use. Threads: one.
#ifndef SUBLITE_APPLIER_WIRE_COPY_BINARY_H_
#define SUBLITE_APPLIER_WIRE_COPY_BINARY_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "schema/datum.h"

namespace sublite {

class BinaryCopy {
 public:
  explicit BinaryCopy(std::size_t columns) : columns_(columns) {}

  // The row in `message`; false where it has none (header or trailer alone).
  absl::StatusOr<bool> Parse(std::string_view message, Tuple* row);
  // To be asked when the messages have ended: whether the trailer has come.
  absl::Status End() const;

 private:
  const std::size_t columns_;
  bool began_ = false;
  bool ended_ = false;
  std::vector<Datum> tuple_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_COPY_BINARY_H_
