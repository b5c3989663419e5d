#include "applier/wire/lsn.h"

#include <cstddef>
#include <limits>

namespace sublite {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1000000;
constexpr std::int64_t kSecondsPerDay = 86400;
// 2000-01-01 counted from 0000-03-01, the day from which CivilFromDays counts.
constexpr std::int64_t kPgEpochDays = 730425;

struct CivilDate {
  std::int64_t year;  // astronomical: 0 is 1 BC
  int month;
  int day;
};

// The proleptic Gregorian date `days` after 0000-03-01. Years begin in March
// here, so that the leap day is the last of its year.
CivilDate CivilFromDays(std::int64_t days) {
  constexpr std::int64_t kDaysPerEra = 146097;  // 400 years
  const std::int64_t era =
      (days >= 0 ? days : days - (kDaysPerEra - 1)) / kDaysPerEra;
  const std::int64_t day_of_era = days - era * kDaysPerEra;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 +
                                    day_of_era / 36524 - day_of_era / 146096) /
                                   365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int march_month = static_cast<int>((5 * day_of_year + 2) / 153);
  const int day =
      static_cast<int>(day_of_year - (153 * march_month + 2) / 5) + 1;
  const int month = march_month < 10 ? march_month + 3 : march_month - 9;
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, day};
}

// 1 to 8 hexadecimal digits. False if `text` is not that.
bool ParseHalf(std::string_view text, std::uint64_t* half) {
  if (text.empty() || text.size() > 8) return false;
  *half = 0;
  for (const char c : text) {
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint64_t>(c - 'A') + 10;
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    } else {
      return false;
    }
    *half = *half << 4 | digit;
  }
  return true;
}

}  // namespace

bool Lsn::Parse(std::string_view text, Lsn* lsn) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  if (!ParseHalf(text.substr(0, slash), &high) ||
      !ParseHalf(text.substr(slash + 1), &low)) {
    return false;
  }
  *lsn = Lsn(high << 32 | low);
  return true;
}

std::string FormatPgTime(PgTime time) {
  // PostgreSQL keeps the two ends of the range for these.
  if (time.micros == std::numeric_limits<std::int64_t>::max()) {
    return "infinity";
  }
  if (time.micros == std::numeric_limits<std::int64_t>::min()) {
    return "-infinity";
  }
  constexpr std::int64_t kMicrosPerDay = kMicrosPerSecond * kSecondsPerDay;
  std::int64_t days = time.micros / kMicrosPerDay;
  std::int64_t micros = time.micros % kMicrosPerDay;
  if (micros < 0) {
    micros += kMicrosPerDay;
    --days;
  }
  const CivilDate date = CivilFromDays(days + kPgEpochDays);
  const std::int64_t seconds = micros / kMicrosPerSecond;
  const bool before_christ = date.year <= 0;
  std::string text = absl::StrFormat("%04d-%02d-%02d %02d:%02d:%02d",
                                     before_christ ? 1 - date.year : date.year,
                                     date.month, date.day, seconds / 3600,
                                     seconds / 60 % 60, seconds % 60);
  if (const std::int64_t fraction = micros % kMicrosPerSecond; fraction != 0) {
    text += absl::StrFormat(".%06d", fraction);
    text.erase(text.find_last_not_of('0') + 1);
  }
  text += "+00:00";
  if (before_christ) text += " BC";
  return text;
}

}  // namespace sublite
