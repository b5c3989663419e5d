// A reader of big-endian fields that cannot pass the end of its bytes.
//
// The first read that asks for more than is left fails, and from then on every
// read gives zero or nothing and nothing is left. So a decoder is a straight
// list of fields and asks once, at its end, whether all went well
// (AtEnd). A loop over a count from the bytes must bound that count first.
//
// Views point into the bytes given to the constructor. No allocation, no error
// object: the caller knows what was expected, and offset() says where it ended.
#ifndef SUBLITE_SCHEMA_VALUE_BINARY_READER_H_
#define SUBLITE_SCHEMA_VALUE_BINARY_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sublite {

class BinaryReader {
 public:
  explicit BinaryReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t U8() { return Read<std::uint8_t>(); }
  std::uint16_t U16() { return Read<std::uint16_t>(); }
  std::uint32_t U32() { return Read<std::uint32_t>(); }
  std::uint64_t U64() { return Read<std::uint64_t>(); }
  std::int16_t I16() { return static_cast<std::int16_t>(U16()); }
  std::int32_t I32() { return static_cast<std::int32_t>(U32()); }
  std::int64_t I64() { return static_cast<std::int64_t>(U64()); }

  float F32() {
    const std::uint32_t bits = U32();
    float real = 0;
    std::memcpy(&real, &bits, sizeof(real));
    return real;
  }
  double F64() {
    const std::uint64_t bits = U64();
    double real = 0;
    std::memcpy(&real, &bits, sizeof(real));
    return real;
  }

  std::string_view Take(std::size_t size) {
    if (size > remaining()) {
      Fail();
      return {};
    }
    const std::string_view taken = bytes_.substr(offset_, size);
    offset_ += size;
    return taken;
  }

  // An Int32 length and that many bytes. A length of -1 sets *null; any other
  // negative one fails.
  std::string_view Counted(bool* null) {
    const std::int32_t size = I32();
    *null = size == -1;
    if (size >= 0) return Take(static_cast<std::size_t>(size));
    if (size != -1) Fail();
    return {};
  }
  // The same where NULL has no place.
  std::string_view Counted() {
    bool null = false;
    const std::string_view bytes = Counted(&null);
    if (null) Fail();
    return bytes;
  }

  // The bytes up to the next zero byte, which is passed too.
  std::string_view CString() {
    const std::size_t end = bytes_.find('\0', offset_);
    if (end == std::string_view::npos) {
      Fail();
      return {};
    }
    const std::string_view text = bytes_.substr(offset_, end - offset_);
    offset_ = end + 1;
    return text;
  }

  std::string_view Rest() { return Take(remaining()); }

  // For what the caller finds wrong itself. offset() stays where it is.
  void Fail() {
    failed_ = true;
    bytes_ = bytes_.substr(0, offset_);
  }

  bool ok() const { return !failed_; }
  bool AtEnd() const { return !failed_ && remaining() == 0; }
  std::size_t offset() const { return offset_; }
  std::size_t remaining() const { return bytes_.size() - offset_; }

 private:
  template <typename Integer>
  Integer Read() {
    const std::string_view taken = Take(sizeof(Integer));
    std::uint64_t value = 0;
    for (const char byte : taken) {
      value = value << 8 | static_cast<std::uint8_t>(byte);
    }
    return static_cast<Integer>(value);
  }

  std::string_view bytes_;
  std::size_t offset_ = 0;  // <= bytes_.size(), always
  bool failed_ = false;
};

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_BINARY_READER_H_
