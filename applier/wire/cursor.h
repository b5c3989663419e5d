// A reader of big-endian fields that cannot pass the end of its bytes.
//
// Reads never fail on their own: the first one that asks for more than is left
// records an error, and from then on every read gives zero or an empty view and
// nothing is left. So a decoder is a straight list of fields, and asks once, at
// its end (Finish), whether it went well. A loop over a count from the wire
// must bound that count first (Count), for memory, and may stop at !ok().
//
// Shapes: offsets count from the first byte that the cursor was given. `field`
// names what is read, for the error text, and is used during the call only.
// Ownership: views point into the bytes given to the constructor.
// Errors: DataLoss "offset 9: ..." unless Fail is told another code. The error
// stays the first one.
// Threads: one object belongs to one thread.
// Facts: integers are in network byte order and a String ends with a zero byte
// ("Message Data Types" of PostgreSQL's frontend/backend protocol).
#ifndef SUBLITE_APPLIER_WIRE_CURSOR_H_
#define SUBLITE_APPLIER_WIRE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sublite {

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t U8(absl::string_view field) { return Read<std::uint8_t>(field); }
  std::uint16_t U16(absl::string_view field) {
    return Read<std::uint16_t>(field);
  }
  std::uint32_t U32(absl::string_view field) {
    return Read<std::uint32_t>(field);
  }
  std::uint64_t U64(absl::string_view field) {
    return Read<std::uint64_t>(field);
  }
  std::int32_t I32(absl::string_view field) {
    return static_cast<std::int32_t>(U32(field));
  }
  std::int64_t I64(absl::string_view field) {
    return static_cast<std::int64_t>(U64(field));
  }
  char Char(absl::string_view field) { return static_cast<char>(U8(field)); }

  // The bytes up to the next zero byte, which is passed too.
  std::string_view String(absl::string_view field) {
    field_offset_ = offset_;
    const std::size_t end = bytes_.find('\0', offset_);
    if (end == std::string_view::npos) {
      Fail(absl::StatusCode::kDataLoss,
           absl::StrCat(field, " does not end within the message"));
      return {};
    }
    const std::string_view text = bytes_.substr(offset_, end - offset_);
    offset_ = end + 1;
    return text;
  }

  // An Int32 length, not negative, and that many bytes.
  std::string_view Counted(absl::string_view field) {
    const std::int32_t length = I32(field);
    if (length < 0) {
      Fail(absl::StatusCode::kDataLoss,
           absl::StrCat(field, " has a negative length, ", length));
      return {};
    }
    return Take(static_cast<std::size_t>(length), field);
  }

  // Exactly `size` bytes.
  std::string_view Bytes(std::size_t size, absl::string_view field) {
    field_offset_ = offset_;
    return Take(size, field);
  }

  // `count` if that many items, of `item_bytes_min` bytes or more each, can
  // still follow and they are not more than `count_max`; else 0 and an error.
  std::size_t Count(std::uint32_t count, std::size_t item_bytes_min,
                    std::size_t count_max, absl::string_view items) {
    if (count > count_max) {
      Fail(absl::StatusCode::kDataLoss,
           absl::StrCat(count, " ", items, ", more than ", count_max));
      return 0;
    }
    if (count > remaining() / item_bytes_min) {
      Fail(absl::StatusCode::kDataLoss,
           absl::StrCat(count, " ", items, " cannot follow in ", remaining(),
                        " bytes"));
      return 0;
    }
    return count;
  }

  // All that is left.
  std::string_view Rest() { return Take(remaining(), "rest"); }

  // Records an error of the caller's at the field that was read last.
  void Fail(absl::StatusCode code, absl::string_view text) {
    if (status_.ok()) {
      status_ = absl::Status(
          code, absl::StrCat("offset ", field_offset_, ": ", text));
    }
    offset_ = bytes_.size();
  }

  bool ok() const { return status_.ok(); }
  std::size_t offset() const { return offset_; }
  std::size_t remaining() const { return bytes_.size() - offset_; }

  // The first error; DataLoss if bytes are left over.
  absl::Status Finish() {
    if (status_.ok() && remaining() > 0) {
      field_offset_ = offset_;
      Fail(absl::StatusCode::kDataLoss,
           absl::StrCat(remaining(), " bytes follow the end of the message"));
    }
    return std::move(status_);
  }

 private:
  std::string_view Take(std::size_t size, absl::string_view field) {
    // A length and its bytes are one field: the error points at its start.
    if (size > remaining()) {
      Fail(absl::StatusCode::kDataLoss,
           absl::StrCat(field, " needs ", size, " bytes, ", remaining(),
                        " are left"));
      return {};
    }
    const std::string_view taken = bytes_.substr(offset_, size);
    offset_ += size;
    return taken;
  }

  template <typename Integer>
  Integer Read(absl::string_view field) {
    field_offset_ = offset_;
    const std::string_view taken = Take(sizeof(Integer), field);
    if (taken.size() != sizeof(Integer)) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      value = value << 8 | static_cast<std::uint8_t>(taken[i]);
    }
    return static_cast<Integer>(value);
  }

  std::string_view bytes_;
  std::size_t offset_ = 0;        // <= bytes_.size(), always
  std::size_t field_offset_ = 0;  // where the field read last begins
  absl::Status status_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_CURSOR_H_
