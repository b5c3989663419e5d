// A position in the publisher's write-ahead log.
//
// Text form: PostgreSQL's `X/Y`, upper-case hexadecimal, no leading zeros. Zero
// is "no position" (InvalidXLogRecPtr). What kind of position a variable holds
// (commit, end, prepare, received, durable) stands in its name.
//
// Values without errors or threads.
#ifndef SUBLITE_APPLIER_WIRE_LSN_H_
#define SUBLITE_APPLIER_WIRE_LSN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"

namespace sublite {

class Lsn {
 public:
  constexpr Lsn() = default;
  constexpr explicit Lsn(std::uint64_t value) : value_(value) {}

  // Sets `*lsn` from `X/Y`, each part of one to eight hexadecimal digits. False
  // if `text` is not of that form.
  static bool Parse(std::string_view text, Lsn* lsn);

  constexpr std::uint64_t value() const { return value_; }
  constexpr bool valid() const { return value_ != 0; }
  std::string ToString() const {
    return absl::StrFormat("%X/%X", static_cast<std::uint32_t>(value_ >> 32),
                           static_cast<std::uint32_t>(value_));
  }

  friend constexpr bool operator==(Lsn a, Lsn b) {
    return a.value_ == b.value_;
  }
  friend constexpr bool operator!=(Lsn a, Lsn b) {
    return a.value_ != b.value_;
  }
  friend constexpr bool operator<(Lsn a, Lsn b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(Lsn a, Lsn b) {
    return a.value_ <= b.value_;
  }
  friend constexpr bool operator>(Lsn a, Lsn b) { return a.value_ > b.value_; }
  friend constexpr bool operator>=(Lsn a, Lsn b) {
    return a.value_ >= b.value_;
  }

 private:
  std::uint64_t value_ = 0;
};

// Microseconds since 2000-01-01 00:00:00 UTC, PostgreSQL's epoch.
struct PgTime {
  std::int64_t micros = 0;
};

// `2024-02-29 12:00:00.5+00:00`: the form that CONTRACT.md section 4 gives to
// times (fraction without trailing zeros). Years before 1 end in " BC"; the two
// ends of the range are "infinity" and "-infinity", as in PostgreSQL. Any other
// value is written out, also beyond what PostgreSQL takes.
std::string FormatPgTime(PgTime time);

// The clock's time now. Only callers outside wire/ and schema/ have a clock;
// this turns Unix microseconds into PgTime.
constexpr PgTime PgTimeFromUnixMicros(std::int64_t unix_micros) {
  return PgTime{unix_micros - std::int64_t{946684800} * 1000000};
}

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_LSN_H_
