#include "schema/value_float.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

namespace sublite {
namespace {

// digits * 10^exponent.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

// mantissa * 2^exponent.
struct Binary {
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

constexpr std::size_t kDigitsMax = 20;

template <typename Float>
struct Format;

template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kExponentBias = 127;
  // Numbers from ten to the power of this on are printed with an exponent.
  static constexpr int kFixedEnd = 6;
};

template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kExponentBias = 1023;
  static constexpr int kFixedEnd = 15;
};

// `real` is positive and finite.
template <typename Float>
Binary ToBinary(Float real) {
  typename Format<Float>::Bits bits = 0;
  std::memcpy(&bits, &real, sizeof(bits));
  constexpr int kMantissaBits = Format<Float>::kMantissaBits;
  constexpr auto kHiddenBit = std::uint64_t{1} << kMantissaBits;
  const int exponent = static_cast<int>(bits >> kMantissaBits);
  Binary binary;
  binary.mantissa = bits & (kHiddenBit - 1);
  if (exponent != 0) binary.mantissa |= kHiddenBit;
  binary.exponent = (exponent == 0 ? 1 : exponent) -
                    Format<Float>::kExponentBias - kMantissaBits;
  return binary;
}

// "1.2345e-07" as to_chars prints it.
Decimal ParseScientific(std::string_view text) {
  Decimal decimal;
  std::size_t at = 0;
  for (; text[at] != 'e'; ++at) {
    if (text[at] == '.') continue;
    decimal.digits =
        decimal.digits * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (at > 0) --decimal.exponent;
  }
  // from_chars takes no plus sign.
  if (text[++at] == '+') ++at;
  int exponent = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), exponent);
  decimal.exponent += exponent;
  return decimal;
}

// True if the two are the same number; `binary.mantissa` must be odd. In
// integers: both sides lose their twos, then their fives.
bool Equal(Decimal decimal, Binary binary) {
  int twos = decimal.exponent;
  std::uint64_t odd = decimal.digits;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  if (twos != binary.exponent) return false;
  for (int fives = decimal.exponent; fives > 0; --fives) {
    if (binary.mantissa % 5 != 0) return false;
    binary.mantissa /= 5;
  }
  for (int fives = decimal.exponent; fives < 0; ++fives) {
    if (odd % 5 != 0) return false;
    odd /= 5;
  }
  return odd == binary.mantissa;
}

// True if `decimal` lies exactly midway between `binary` and a neighbour.
template <typename Float>
bool IsMidway(const Decimal& decimal, const Binary& binary) {
  const Binary above{2 * binary.mantissa + 1, binary.exponent - 1};
  if (Equal(decimal, above)) return true;
  constexpr auto kHiddenBit = std::uint64_t{1} << Format<Float>::kMantissaBits;
  constexpr int kExponentMin =
      1 - Format<Float>::kExponentBias - Format<Float>::kMantissaBits;
  // Below a power of two the neighbours lie twice as close.
  const bool closer =
      binary.mantissa == kHiddenBit && binary.exponent > kExponentMin;
  const Binary below =
      closer ? Binary{4 * binary.mantissa - 1, binary.exponent - 2}
             : Binary{2 * binary.mantissa - 1, binary.exponent - 1};
  return Equal(decimal, below);
}

// True if `real` is the number nearest to `decimal`, and the only one.
template <typename Float>
bool Means(const Decimal& decimal, Float real, const Binary& binary) {
  if (decimal.digits == 0) return false;
  const std::string text =
      std::to_string(decimal.digits) + 'e' + std::to_string(decimal.exponent);
  Float read = 0;
  const std::from_chars_result result =
      std::from_chars(text.data(), text.data() + text.size(), read);
  return result.ec == std::errc() && read == real &&
         !IsMidway<Float>(decimal, binary);
}

// The digits for a number whose shortest ones, `midway`, another number has
// with the same right.
template <typename Float>
Decimal NotMidway(Float real, const Binary& binary, const Decimal& midway) {
  // The one on the number's own side may do.
  for (const std::uint64_t digits : {midway.digits - 1, midway.digits + 1}) {
    const Decimal next{digits, midway.exponent};
    if (Means(next, real, binary)) return next;
  }
  Decimal decimal = midway;
  for (int digits = 1; digits <= std::numeric_limits<Float>::max_digits10;
       ++digits) {
    char text[40];
    const std::to_chars_result result =
        std::to_chars(text, text + sizeof(text), real,
                      std::chars_format::scientific, digits - 1);
    decimal = ParseScientific(
        std::string_view(text, static_cast<std::size_t>(result.ptr - text)));
    if (Means(decimal, real, binary)) break;
  }
  return decimal;
}

// `real` is positive and finite.
template <typename Float>
Decimal Shortest(Float real) {
  char text[40];
  const std::to_chars_result result = std::to_chars(
      text, text + sizeof(text), real, std::chars_format::scientific);
  const Decimal decimal = ParseScientific(
      std::string_view(text, static_cast<std::size_t>(result.ptr - text)));
  const Binary binary = ToBinary(real);
  // Only even numbers are read from what is midway.
  if (binary.mantissa % 2 != 0 || !IsMidway<Float>(decimal, binary)) {
    return decimal;
  }
  return NotMidway(real, binary, decimal);
}

// Appends `decimal` as printf's %g would, with all its digits.
void AppendDecimal(Decimal decimal, int fixed_end, std::string* text) {
  for (; decimal.digits % 10 == 0; decimal.digits /= 10) ++decimal.exponent;
  char digits[kDigitsMax];
  const std::to_chars_result result =
      std::to_chars(digits, digits + sizeof(digits), decimal.digits);
  const auto count = static_cast<std::size_t>(result.ptr - digits);
  // Of the first digit.
  const int exponent = decimal.exponent + static_cast<int>(count) - 1;
  if (exponent < -4 || exponent >= fixed_end) {
    text->push_back(digits[0]);
    if (count > 1) text->append(1, '.').append(digits + 1, count - 1);
    text->append(exponent < 0 ? "e-" : "e+");
    const int magnitude = exponent < 0 ? -exponent : exponent;
    if (magnitude < 10) text->push_back('0');
    text->append(std::to_string(magnitude));
  } else if (exponent < 0) {
    text->append("0.").append(static_cast<std::size_t>(-exponent - 1), '0');
    text->append(digits, count);
  } else if (decimal.exponent >= 0) {
    text->append(digits, count);
    text->append(static_cast<std::size_t>(decimal.exponent), '0');
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    text->append(digits, whole).append(1, '.');
    text->append(digits + whole, count - whole);
  }
}

template <typename Float>
void AppendFloat(Float real, std::string* text) {
  if (std::isnan(real)) {
    text->append("NaN");
    return;
  }
  if (std::signbit(real)) text->push_back('-');
  if (std::isinf(real)) {
    text->append("Infinity");
  } else if (real == 0) {
    text->push_back('0');
  } else {
    AppendDecimal(Shortest(std::abs(real)), Format<Float>::kFixedEnd, text);
  }
}

}  // namespace

void AppendFloat4(float real, std::string* text) { AppendFloat(real, text); }

void AppendFloat8(double real, std::string* text) { AppendFloat(real, text); }

}  // namespace sublite
