#include "tests/schema/binary_values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace sublite::testing {
namespace {

using Random = std::mt19937_64;

int Below(Random& random, int end) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(end));
}

// Of all magnitudes alike, with both signs.
std::int64_t AnyInteger(Random& random) {
  const auto bits = random() >> random() % 64;
  const auto number = static_cast<std::int64_t>(bits);
  switch (random() % 16) {
    case 0:
      return std::numeric_limits<std::int64_t>::min();
    case 1:
      return std::numeric_limits<std::int64_t>::max();
    default:
      return random() % 2 == 0 ? number : static_cast<std::int64_t>(0 - bits);
  }
}

std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  const auto begin = static_cast<std::uint64_t>(low);
  const std::uint64_t size = static_cast<std::uint64_t>(high) - begin;
  switch (random() % 16) {
    case 0:
      return low;
    case 1:
      return high;
    case 2:
      return std::min(high, std::max(low, AnyInteger(random)));
    default:
      return static_cast<std::int64_t>(begin + random() % size);
  }
}

// Random bits, few bits, whole numbers, and what has few decimal digits: where
// the digits of a float go wrong if they do.
double AnyDouble(Random& random) {
  std::uint64_t bits = random();
  double real = 0;
  switch (random() % 5) {
    case 0:
      bits &= ~((std::uint64_t{1} << random() % 53) - 1);
      break;
    case 1:
      return std::ldexp(static_cast<double>(AnyInteger(random)),
                        Below(random, 200) - 100);
    case 2:
      return static_cast<double>(AnyInteger(random));
    case 3:
      return std::strtod((std::to_string(AnyInteger(random)) + "e" +
                          std::to_string(Below(random, 60) - 30))
                             .c_str(),
                         nullptr);
    default:
      break;
  }
  std::memcpy(&real, &bits, sizeof(real));
  return real;
}

float AnyFloat(Random& random) {
  if (random() % 2 == 0) return static_cast<float>(AnyDouble(random));
  const auto bits = static_cast<std::uint32_t>(random());
  float real = 0;
  std::memcpy(&real, &bits, sizeof(real));
  return real;
}

double FiniteDouble(Random& random) {
  double real = AnyDouble(random);
  while (!std::isfinite(real)) real = AnyDouble(random);
  return real;
}

void AppendDouble(double real, std::string* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &real, sizeof(bits));
  AppendBigEndian(bits, bytes);
}

template <int count>
std::string Doubles(Random& random, int) {
  std::string bytes;
  for (int i = 0; i < count; ++i) AppendDouble(AnyDouble(random), &bytes);
  return bytes;
}

template <int size>
std::string RandomBytes(Random& random, int) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(random());
  return bytes;
}

template <typename Integer>
std::string Integers(Random& random, int) {
  std::string bytes;
  AppendBigEndian(static_cast<Integer>(AnyInteger(random)), &bytes);
  return bytes;
}

std::string Float4(Random& random, int) {
  const float real = AnyFloat(random);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &real, sizeof(bits));
  std::string bytes;
  AppendBigEndian(bits, &bytes);
  return bytes;
}

std::string Line(Random& random, int) {
  std::string bytes;
  AppendDouble(FiniteDouble(random), &bytes);
  AppendDouble(1, &bytes);
  AppendDouble(AnyDouble(random), &bytes);
  return bytes;
}

std::string Circle(Random& random, int) {
  std::string bytes = Doubles<2>(random, 0);
  AppendDouble(std::abs(FiniteDouble(random)), &bytes);
  return bytes;
}

std::string Numeric(Random& random, int) {
  std::string bytes;
  const int digits = Below(random, 12);
  AppendBigEndian<std::uint16_t>(digits, &bytes);
  AppendBigEndian<std::uint16_t>(Below(random, 16) - 8, &bytes);
  AppendBigEndian<std::uint16_t>(random() % 2 == 0 ? 0 : 0x4000, &bytes);
  AppendBigEndian<std::uint16_t>(Below(random, 50), &bytes);
  for (int i = 0; i < digits; ++i) {
    const int digit = random() % 3 == 0 ? 0 : Below(random, 10000);
    AppendBigEndian<std::uint16_t>(digit, &bytes);
  }
  return bytes;
}

constexpr std::int64_t kDay = 86'400'000'000;
constexpr std::int64_t kDateLow = -2451545;

std::string Date(Random& random, int) {
  std::string bytes;
  AppendBigEndian(
      static_cast<std::int32_t>(Between(random, kDateLow, 2145031948)), &bytes);
  return bytes;
}

std::string Timestamp(Random& random, int) {
  std::string bytes;
  AppendBigEndian(Between(random, kDateLow * kDay, 9223371331199999999),
                  &bytes);
  return bytes;
}

std::string Time(Random& random, int) {
  std::string bytes;
  AppendBigEndian(Between(random, 0, kDay), &bytes);
  return bytes;
}

std::string Timetz(Random& random, int) {
  std::string bytes = Time(random, 0);
  std::int64_t zone = Between(random, -57599, 57599);
  if (random() % 2 == 0) zone -= zone % 1800;
  AppendBigEndian(static_cast<std::int32_t>(zone), &bytes);
  return bytes;
}

std::string Interval(Random& random, int server_version) {
  // PostgreSQL 14 cannot print more hours than an int holds.
  constexpr std::int64_t kPrintable = 7'000'000'000'000'000'000;
  std::int64_t micros = AnyInteger(random);
  if (server_version < 150000) micros %= kPrintable;
  std::string bytes;
  AppendBigEndian(micros, &bytes);
  AppendBigEndian(static_cast<std::int32_t>(AnyInteger(random)), &bytes);
  AppendBigEndian(static_cast<std::int32_t>(AnyInteger(random)), &bytes);
  return bytes;
}

// The extremes, which newer servers take for the infinities.
std::string Extremes(Random& random, int server_version) {
  if (server_version < 150000) return Interval(random, server_version);
  const bool high = random() % 2 == 0;
  std::string bytes(16, high ? '\xFF' : '\0');
  for (const int at : {0, 8, 12}) bytes[at] = high ? '\x7F' : '\x80';
  return bytes;
}

std::string Varbit(Random& random, int) {
  std::string bytes;
  const int bits = Below(random, 70);
  AppendBigEndian(static_cast<std::uint32_t>(bits), &bytes);
  for (int i = 0; i < (bits + 7) / 8; ++i) {
    bytes += static_cast<char>(random());
  }
  return bytes;
}

std::string Inet(Random& random, int) {
  const bool ipv6 = random() % 4 != 0;
  const int size = ipv6 ? 16 : 4;
  std::string bytes;
  bytes += ipv6 ? '\3' : '\2';
  bytes += static_cast<char>(random() % 2 == 0 ? size * 8
                                               : Below(random, size * 8 + 1));
  bytes += '\0';
  bytes += static_cast<char>(size);
  for (int word = 0; word < size / 2; ++word) {
    const std::uint64_t choice = random() % 8;
    const std::uint64_t value = choice < 4    ? 0
                                : choice == 4 ? 0xFFFF
                                : choice == 5 ? 1
                                              : random();
    AppendBigEndian(static_cast<std::uint16_t>(value), &bytes);
  }
  return bytes;
}

}  // namespace

const std::vector<BinaryMaker>& BinaryMakers() {
  static const auto* const kMakers = new std::vector<BinaryMaker>{
      {"int2", Integers<std::int16_t>},
      {"int4", Integers<std::int32_t>},
      {"int8", Integers<std::int64_t>},
      {"oid", Integers<std::uint32_t>},
      {"xid8", Integers<std::uint64_t>},
      {"pg_lsn", Integers<std::uint64_t>},
      {"money", Integers<std::int64_t>},
      {"float4", Float4},
      {"float8", Doubles<1>},
      {"numeric", Numeric},
      {"date", Date},
      {"time", Time},
      {"timetz", Timetz},
      {"timestamp", Timestamp},
      {"timestamptz", Timestamp},
      {"interval", Interval},
      {"interval", Extremes},
      {"uuid", RandomBytes<16>},
      {"macaddr", RandomBytes<6>},
      {"macaddr8", RandomBytes<8>},
      {"varbit", Varbit},
      {"inet", Inet},
      {"point", Doubles<2>},
      {"line", Line},
      {"lseg", Doubles<4>},
      {"box", Doubles<4>},
      {"circle", Circle},
      {"\"char\"", RandomBytes<1>},
  };
  return *kMakers;
}

}  // namespace sublite::testing
