#include "applier/wire/copy_binary.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "applier/wire/cursor.h"

namespace sublite {
namespace {

constexpr std::string_view kSignature("PGCOPY\n\377\r\n\0", 11);
// A reader that does not know one of these flags has to give up. Bit 16 said
// that each row has an OID in front (before PostgreSQL 12).
constexpr std::uint32_t kCriticalFlags = 0xffff0000;
constexpr std::int16_t kTrailer = -1;

absl::Status CopyError(std::size_t offset, absl::string_view text) {
  return absl::DataLossError(
      absl::StrCat("binary COPY: offset ", offset, ": ", text));
}

void ReadHeader(Cursor& cursor) {
  const std::string_view signature =
      cursor.Bytes(kSignature.size(), "signature");
  if (cursor.ok() && signature != kSignature) {
    cursor.Fail(absl::StatusCode::kDataLoss, "no signature");
  }
  const std::uint32_t flags = cursor.U32("flags");
  if ((flags & kCriticalFlags) != 0) {
    cursor.Fail(absl::StatusCode::kDataLoss,
                absl::StrCat("flags that are not known, ", flags));
  }
  cursor.Counted("header extension");
}

Datum ReadField(Cursor& cursor) {
  const std::int32_t length = cursor.I32("length of a field");
  if (length == -1) return {Datum::Kind::kNull, {}};
  if (length < 0) {
    cursor.Fail(absl::StatusCode::kDataLoss,
                absl::StrCat("a field of length ", length));
    return {};
  }
  return {Datum::Kind::kBinary,
          cursor.Bytes(static_cast<std::size_t>(length), "field")};
}

}  // namespace

absl::StatusOr<bool> BinaryCopy::Parse(std::string_view message, Tuple* row) {
  if (ended_) return CopyError(0, "more data behind the trailer");
  Cursor cursor(message);
  const bool first = !began_;
  if (first) ReadHeader(cursor);
  began_ = true;
  if (first && cursor.ok() && cursor.remaining() == 0) return false;
  const auto fields = static_cast<std::int16_t>(cursor.U16("number of fields"));
  if (cursor.ok() && fields != kTrailer &&
      (fields < 0 || static_cast<std::size_t>(fields) != columns_)) {
    return CopyError(cursor.offset(),
                     absl::StrCat(fields, " columns instead of ", columns_));
  }
  tuple_.clear();
  for (int i = 0; i < fields && cursor.ok(); ++i)
    tuple_.push_back(ReadField(cursor));
  const absl::Status status = cursor.Finish();
  if (!status.ok()) {
    return absl::DataLossError(absl::StrCat("binary COPY: ", status.message()));
  }
  if (fields == kTrailer) {
    ended_ = true;
    return false;
  }
  *row = Tuple(tuple_);
  return true;
}

absl::Status BinaryCopy::End() const {
  if (ended_) return absl::OkStatus();
  return absl::DataLossError("binary COPY: it ended without its trailer");
}

}  // namespace sublite
