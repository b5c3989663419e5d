#include "schema/value_binary_number.h"

#include <cstdint>

namespace sublite {
namespace {

constexpr std::uint16_t kNegative = 0x4000;
constexpr std::uint16_t kNaN = 0xC000;
constexpr std::uint16_t kInfinity = 0xD000;
constexpr std::uint16_t kMinusInfinity = 0xF000;
constexpr int kScaleMax = 0x3FFF;
// Decimal digits in one digit of a numeric.
constexpr int kGroupDigits = 4;
constexpr int kGroupEnd = 10000;

// The digits of a numeric, of base 10000; zero where none is sent.
class Groups {
 public:
  Groups(std::string_view bytes, int weight) : bytes_(bytes), weight_(weight) {}

  // The one that counts 10000 to the power of `power`.
  int Get(int power) const {
    const int index = weight_ - power;
    if (index < 0 || index >= static_cast<int>(bytes_.size() / 2)) return 0;
    const auto at = static_cast<std::size_t>(index) * 2;
    return static_cast<std::uint8_t>(bytes_[at]) << 8 |
           static_cast<std::uint8_t>(bytes_[at + 1]);
  }

 private:
  const std::string_view bytes_;
  const int weight_;
};

bool AreGroups(std::string_view bytes) {
  BinaryReader in(bytes);
  while (in.remaining() > 0) {
    if (in.U16() >= kGroupEnd) return false;
  }
  return true;
}

}  // namespace

void AppendNumeric(BinaryReader* in, std::string* text) {
  const std::size_t count = in->U16();
  const int weight = in->I16();
  const std::uint16_t sign = in->U16();
  const int scale = in->U16();
  const std::string_view bytes = in->Take(2 * count);
  if (sign == kNaN || sign == kInfinity || sign == kMinusInfinity) {
    text->append(sign == kNaN        ? "NaN"
                 : sign == kInfinity ? "Infinity"
                                     : "-Infinity");
    return;
  }
  if ((sign != 0 && sign != kNegative) || scale > kScaleMax ||
      !AreGroups(bytes)) {
    in->Fail();
  }
  if (!in->ok()) return;
  const Groups groups(bytes, weight);
  if (sign == kNegative) text->push_back('-');
  AppendInteger(weight < 0 ? 0 : groups.Get(weight), text);
  for (int power = weight - 1; power >= 0; --power) {
    AppendInteger(groups.Get(power), text, kGroupDigits);
  }
  if (scale == 0) return;
  text->push_back('.');
  const std::size_t end = text->size() + static_cast<std::size_t>(scale);
  for (int power = -1; text->size() < end; --power) {
    AppendInteger(groups.Get(power), text, kGroupDigits);
  }
  text->resize(end);
}

void AppendMoney(BinaryReader* in, std::string* text) {
  const std::int64_t cents = in->I64();
  std::uint64_t magnitude = static_cast<std::uint64_t>(cents);
  if (cents < 0) {
    text->push_back('-');
    magnitude = 0 - magnitude;
  }
  text->push_back('$');
  const std::size_t begin = text->size();
  AppendInteger(magnitude / 100, text);
  constexpr std::size_t kBetweenCommas = 3;
  for (std::size_t at = text->size(); at > begin + kBetweenCommas;) {
    at -= kBetweenCommas;
    text->insert(at, 1, ',');
  }
  text->push_back('.');
  AppendInteger(magnitude % 100, text, 2);
}

}  // namespace sublite
