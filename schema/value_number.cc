#include "schema/value_number.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include "schema/value_error.h"

namespace sublite {
namespace {

// Every decimal of this many significant digits survives a normal double.
constexpr std::size_t kExactDigits = 15;
constexpr std::uint64_t kExactMantissaEnd = 1'000'000'000'000'000;
// A 64-bit integer holds every decimal of this many digits.
constexpr std::size_t kInt64Digits = 18;
// The largest power of ten that is exact as a double.
constexpr std::size_t kExactPowerMax = 22;
constexpr double kPowersOfTen[kExactPowerMax + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Integers up to here are exact as doubles, so that one division by an exact
// power of ten is correctly rounded.
constexpr std::uint64_t kExactIntegerMax = std::uint64_t{1} << 53;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::size_t SkipDigits(std::string_view text, std::size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// A decimal number as numeric_out prints it, cut into views.
struct Decimal {
  bool negative = false;
  std::string_view whole;     // at least one digit, no leading zero but in "0"
  std::string_view fraction;  // without trailing zeros
};

// On failure *offset is where `text` stops being a decimal number.
bool ScanDecimal(std::string_view text, Decimal* decimal, std::size_t* offset) {
  std::size_t at = 0;
  decimal->negative = !text.empty() && text[0] == '-';
  if (decimal->negative) at = 1;
  const std::size_t whole_begin = at;
  at = SkipDigits(text, at);
  *offset = at;
  decimal->whole = text.substr(whole_begin, at - whole_begin);
  if (decimal->whole.empty()) return false;
  if (decimal->whole.size() > 1 && decimal->whole[0] == '0') return false;
  if (at == text.size()) return true;
  if (text[at] != '.') return false;
  const std::size_t fraction_begin = ++at;
  at = SkipDigits(text, at);
  *offset = at;
  if (at == fraction_begin || at != text.size()) return false;
  while (text[at - 1] == '0') --at;
  // The point ends the loop above where the fraction is all zeros.
  decimal->fraction = text.substr(fraction_begin, at - fraction_begin);
  return true;
}

// `digits` are digits only, at most 19.
std::uint64_t DigitsToNumber(std::string_view digits, std::uint64_t number) {
  for (char c : digits) {
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

// Gives `magnitude` its sign. False if 64 bits do not hold it.
bool ApplySign(std::uint64_t magnitude, bool negative, std::int64_t* integer) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (magnitude > kMax + (negative ? 1 : 0)) return false;
  *integer = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

bool DigitsToInteger(std::string_view digits, bool negative,
                     std::int64_t* integer) {
  // 19 digits do not overflow 64 bits without a sign.
  if (digits.size() > kInt64Digits + 1) return false;
  return ApplySign(DigitsToNumber(digits, 0), negative, integer);
}

bool HasNonzeroDigit(std::string_view mantissa) {
  return mantissa.find_first_of("123456789") != std::string_view::npos;
}

// How a decimal text became a double.
enum class Nearest { kFound, kOverflow, kUnderflow, kMalformed };

// The double nearest to the whole of `text`, which must begin with a digit
// after its sign (so neither "inf" nor "nan" gets here). *offset is where the
// number ended.
Nearest NearestDouble(std::string_view text, double* real,
                      std::size_t* offset) {
  const std::size_t begin = !text.empty() && text[0] == '-' ? 1 : 0;
  *offset = begin;
  if (begin == text.size() || !IsDigit(text[begin]) || !IsDigit(text.back())) {
    return Nearest::kMalformed;
  }
  const char* const end = text.data() + text.size();
  const std::from_chars_result result =
      std::from_chars(text.data(), end, *real);
  *offset = static_cast<std::size_t>(result.ptr - text.data());
  if (result.ptr != end) return Nearest::kMalformed;
  // Libraries differ in whether they report an underflow or give 0 alone.
  if (result.ec == std::errc() && std::isfinite(*real) &&
      (*real != 0 || !HasNonzeroDigit(text.substr(0, text.find('e'))))) {
    return Nearest::kFound;
  }
  // from_chars does not say on which side it is out of range.
  const std::size_t exponent = text.find('e');
  const bool tiny =
      exponent != std::string_view::npos
          ? text[exponent + 1] == '-'
          : !HasNonzeroDigit(text.substr(begin, text.find('.') - begin));
  const double limit = tiny ? 0 : kInfinity;
  *real = begin == 1 ? -limit : limit;
  return tiny ? Nearest::kUnderflow : Nearest::kOverflow;
}

void SetInteger(std::int64_t integer, SqlValue* value) {
  value->kind = SqlValue::Kind::kInteger;
  value->integer = integer;
}

void SetReal(double real, SqlValue* value) {
  value->kind = SqlValue::Kind::kReal;
  value->real = real;
}

void SetText(std::string_view text, SqlValue* value) {
  value->kind = SqlValue::Kind::kText;
  value->bytes = text;
}

// Handles NaN and the infinities. False if `text` is none of them.
bool SpecialToSqlValue(std::string_view text, SqlValue* value) {
  if (text == "NaN") {
    SetText(text, value);
  } else if (text == "Infinity") {
    SetReal(kInfinity, value);
  } else if (text == "-Infinity") {
    SetReal(-kInfinity, value);
  } else {
    return false;
  }
  return true;
}

bool IsSpecial(std::string_view text) {
  return text == "NaN" || text == "Infinity" || text == "-Infinity";
}

// A number of cents as cash_out prints it: -$1,234.50.
struct Cents {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

bool ScanMoney(std::string_view text, Cents* cents, std::size_t* offset) {
  std::size_t at = 0;
  cents->negative = !text.empty() && text[0] == '-';
  if (cents->negative) ++at;
  *offset = at;
  if (at == text.size() || text[at] != '$') return false;
  ++at;
  // 2^63 cents have 17 digits in front of the point.
  constexpr std::size_t kWholeDigitsMax = 17;
  std::size_t digits = 0;
  std::uint64_t magnitude = 0;
  for (; at < text.size() && text[at] != '.'; ++at) {
    *offset = at;
    if (text[at] == ',' && digits > 0) continue;
    if (!IsDigit(text[at]) || ++digits > kWholeDigitsMax) return false;
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  *offset = at;
  if (digits == 0 || text.size() - at != 3 || !IsDigit(text[at + 1]) ||
      !IsDigit(text[at + 2])) {
    return false;
  }
  cents->magnitude = DigitsToNumber(text.substr(at + 1), magnitude);
  std::int64_t integer = 0;
  return ApplySign(cents->magnitude, cents->negative, &integer);
}

// The double nearest to the amount.
double CentsToDouble(std::uint64_t cents) {
  if (cents <= kExactIntegerMax) return static_cast<double>(cents) / 100;
  char text[24];
  char* const end = std::to_chars(text, text + sizeof(text), cents).ptr;
  // "e-2" divides in decimal, so that there is one rounding only.
  end[0] = 'e';
  end[1] = '-';
  end[2] = '2';
  double real = 0;
  std::from_chars(text, end + 3, real);
  return real;
}

// True if `real`, rounded to two decimals, is `cents`.
bool GivesCentsBack(double real, std::uint64_t cents) {
  char text[64];
  const std::to_chars_result result = std::to_chars(
      text, text + sizeof(text), real, std::chars_format::fixed, 2);
  if (result.ec != std::errc()) return false;
  std::uint64_t number = 0;
  for (const char* c = text; c != result.ptr; ++c) {
    if (IsDigit(*c))
      number = number * 10 + static_cast<std::uint64_t>(*c - '0');
  }
  return number == cents;
}

}  // namespace

absl::Status ParseInteger(std::string_view text, std::int64_t* integer) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  const std::size_t digits_end = SkipDigits(digits, 0);
  const bool leading_zero = digits.size() > 1 && digits[0] == '0';
  if (digits.empty() || digits_end != digits.size() || leading_zero ||
      !DigitsToInteger(digits, negative, integer)) {
    return UnexpectedText("an integer of 64 bits",
                          digits_end + (negative ? 1 : 0));
  }
  return absl::OkStatus();
}

absl::Status RealToSqlValue(std::string_view text, SqlValue* value) {
  double real = 0;
  std::size_t offset = 0;
  const Nearest nearest = NearestDouble(text, &real, &offset);
  if (nearest == Nearest::kFound) {
    SetReal(real == 0 ? 0.0 : real, value);
    return absl::OkStatus();
  }
  if (SpecialToSqlValue(text, value)) return absl::OkStatus();
  return UnexpectedText("a floating-point number", offset);
}

absl::Status NumericToSqlValue(std::string_view text, SqlValue* value) {
  Decimal decimal;
  std::size_t offset = 0;
  if (!ScanDecimal(text, &decimal, &offset)) {
    if (SpecialToSqlValue(text, value)) return absl::OkStatus();
    return UnexpectedText("a numeric", offset);
  }
  std::int64_t integer = 0;
  if (decimal.fraction.empty() &&
      DigitsToInteger(decimal.whole, decimal.negative, &integer)) {
    SetInteger(integer, value);
    return absl::OkStatus();
  }
  const std::size_t digits = decimal.whole.size() + decimal.fraction.size();
  if (digits <= kInt64Digits && decimal.fraction.size() <= kExactPowerMax) {
    const std::uint64_t mantissa =
        DigitsToNumber(decimal.fraction, DigitsToNumber(decimal.whole, 0));
    if (mantissa < kExactMantissaEnd) {
      const double real =
          static_cast<double>(mantissa) / kPowersOfTen[decimal.fraction.size()];
      SetReal(decimal.negative ? -real : real, value);
      return absl::OkStatus();
    }
  }
  // Very small or very large numbers: count the digits that matter.
  std::string_view whole = decimal.whole;
  std::string_view fraction = decimal.fraction;
  std::size_t significant = whole.size() + fraction.size();
  if (fraction.empty()) {
    significant = whole.find_last_not_of('0') + 1;
  } else if (whole == "0") {
    significant = fraction.size() - fraction.find_first_not_of('0');
  }
  double real = 0;
  if (significant > kExactDigits ||
      NearestDouble(text, &real, &offset) != Nearest::kFound) {
    return UnexpectedText("a numeric of at most 15 digits", text.size());
  }
  SetReal(real, value);
  return absl::OkStatus();
}

absl::Status NumericToNearestSqlValue(std::string_view text, SqlValue* value) {
  Decimal decimal;
  std::size_t offset = 0;
  if (!ScanDecimal(text, &decimal, &offset)) {
    if (SpecialToSqlValue(text, value)) return absl::OkStatus();
    return UnexpectedText("a numeric", offset);
  }
  std::int64_t integer = 0;
  if (decimal.fraction.empty() &&
      DigitsToInteger(decimal.whole, decimal.negative, &integer)) {
    SetInteger(integer, value);
    return absl::OkStatus();
  }
  double real = 0;
  NearestDouble(text, &real, &offset);
  // What NUMERIC affinity would do with it anyway: the value read back has the
  // kind of the value bound.
  constexpr double kInt64Limit = 9223372036854775808.0;
  if (real > -kInt64Limit && real < kInt64Limit && real == std::trunc(real)) {
    SetInteger(static_cast<std::int64_t>(real), value);
  } else {
    SetReal(real, value);
  }
  return absl::OkStatus();
}

absl::Status MoneyToSqlValue(std::string_view text, SqlValue* value) {
  Cents cents;
  std::size_t offset = 0;
  if (!ScanMoney(text, &cents, &offset)) {
    return UnexpectedText("an amount of money under lc_monetary C", offset);
  }
  if (cents.magnitude % 100 == 0) {
    const auto whole = static_cast<std::int64_t>(cents.magnitude / 100);
    SetInteger(cents.negative ? -whole : whole, value);
    return absl::OkStatus();
  }
  const double real = CentsToDouble(cents.magnitude);
  // 15 digits always come back, and most amounts have no more.
  if (cents.magnitude < kExactMantissaEnd ||
      GivesCentsBack(real, cents.magnitude)) {
    SetReal(cents.negative ? -real : real, value);
  } else {
    SetText(text, value);
  }
  return absl::OkStatus();
}

absl::Status AppendJsonNumber(std::string_view text, std::string* json) {
  const std::size_t begin = !text.empty() && text[0] == '-' ? 1 : 0;
  std::size_t at = SkipDigits(text, begin);
  bool valid = at > begin && (text[begin] != '0' || at == begin + 1);
  if (valid && at < text.size() && text[at] == '.') {
    const std::size_t fraction = at + 1;
    at = SkipDigits(text, fraction);
    valid = at > fraction;
  }
  if (valid && at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t exponent = at + 1;
    if (exponent < text.size() &&
        (text[exponent] == '-' || text[exponent] == '+')) {
      ++exponent;
    }
    at = SkipDigits(text, exponent);
    valid = at > exponent;
  }
  if (valid && at == text.size()) {
    json->append(text);
    return absl::OkStatus();
  }
  if (!IsSpecial(text)) return UnexpectedText("a number", at);
  json->push_back('"');
  json->append(text);
  json->push_back('"');
  return absl::OkStatus();
}

absl::Status AppendJsonMoney(std::string_view text, std::string* json) {
  Cents cents;
  std::size_t offset = 0;
  if (!ScanMoney(text, &cents, &offset)) {
    return UnexpectedText("an amount of money under lc_monetary C", offset);
  }
  char digits[24];
  char* const begin = digits;
  char* at = begin;
  if (cents.negative) *at++ = '-';
  at = std::to_chars(at, digits + sizeof(digits), cents.magnitude / 100).ptr;
  *at++ = '.';
  *at++ = static_cast<char>('0' + cents.magnitude / 10 % 10);
  *at++ = static_cast<char>('0' + cents.magnitude % 10);
  json->append(begin, static_cast<std::size_t>(at - begin));
  return absl::OkStatus();
}

}  // namespace sublite
