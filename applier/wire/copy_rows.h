// The rows of COPY ... TO STDOUT, message by message, in the form that was
// asked for: copy_text.h and copy_binary.h behind one door.
//
// Rows are views into the message or into this object, valid until the next
// call. Errors and threads: as there.
#ifndef SUBLITE_APPLIER_WIRE_COPY_ROWS_H_
#define SUBLITE_APPLIER_WIRE_COPY_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/wire/copy_binary.h"
#include "applier/wire/copy_text.h"
#include "schema/datum.h"

namespace sublite {

enum class CopyForm : std::uint8_t { kText, kBinary };

class CopyRows {
 public:
  CopyRows(CopyForm form, std::size_t columns)
      : form_(form), columns_(columns), binary_(columns) {}

  // The row in `message`; false where it has none, as a binary copy's trailer.
  absl::StatusOr<bool> Parse(std::string_view message, Tuple* row) {
    if (form_ == CopyForm::kBinary) return binary_.Parse(message, row);
    absl::StatusOr<Tuple> parsed = ParseCopyRow(message, columns_, scratch_);
    if (!parsed.ok()) return parsed.status();
    *row = *parsed;
    return true;
  }

  // To be asked when the messages have ended: whether that was all.
  absl::Status End() const {
    return form_ == CopyForm::kBinary ? binary_.End() : absl::OkStatus();
  }

 private:
  const CopyForm form_;
  const std::size_t columns_;
  BinaryCopy binary_;
  CopyScratch scratch_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_COPY_ROWS_H_
