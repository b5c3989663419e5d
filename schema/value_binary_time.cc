#include "schema/value_binary_time.h"

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "schema/value_binary_number.h"

namespace sublite {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr int kFractionDigits = 6;

// The first day and the one after the last, from 2000-01-01: 4714-11-24 BC and
// 5874898-06-03; the same for timestamps, whose end is 294277-01-01.
constexpr std::int64_t kDateBegin = -2451545;
constexpr std::int64_t kDateEnd = 2145031949;
constexpr std::int64_t kTimestampBegin = kDateBegin * kDay;
constexpr std::int64_t kTimestampEnd = 9223371331200000000;

// Offsets reach to 15:59:59 on both sides.
constexpr std::int32_t kZoneEnd = 16 * 60 * 60;

std::int64_t FloorDivide(std::int64_t number, std::int64_t by) {
  return number / by - (number % by < 0 ? 1 : 0);
}

bool AppendInfinity(bool lowest, bool highest, std::string* text) {
  if (lowest) text->append("-infinity");
  if (highest) text->append("infinity");
  return lowest || highest;
}

template <typename Integer>
bool AppendInfinity(Integer number, std::string* text) {
  return AppendInfinity(number == std::numeric_limits<Integer>::min(),
                        number == std::numeric_limits<Integer>::max(), text);
}

// Appends `2024-02-29`. True if the year is BC, which goes behind the time.
bool AppendDay(std::int64_t day, std::string* text) {
  // Years begin in March here, so that a leap day is a year's last; day 0 is
  // 0000-03-01 of the calendar that has a year 0.
  constexpr std::int64_t kEraDays = 146097;  // 400 years
  const std::int64_t days = day + 730425;
  const std::int64_t era = FloorDivide(days, kEraDays);
  const std::int64_t in_era = days - era * kEraDays;
  const std::int64_t year_in_era =
      (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  const std::int64_t in_year =
      in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
  const std::int64_t from_march = (5 * in_year + 2) / 153;
  const std::int64_t month = from_march < 10 ? from_march + 3 : from_march - 9;
  const std::int64_t year = year_in_era + era * 400 + (month <= 2 ? 1 : 0);
  AppendInteger(year > 0 ? year : 1 - year, text, 4);
  text->push_back('-');
  AppendInteger(month, text, 2);
  text->push_back('-');
  AppendInteger(in_year - (153 * from_march + 2) / 5 + 1, text, 2);
  return year <= 0;
}

// Appends `.5`; nothing for 0.
void AppendFraction(std::int64_t micros, std::string* text) {
  if (micros == 0) return;
  text->push_back('.');
  AppendInteger(micros, text, kFractionDigits);
  text->resize(text->find_last_not_of('0') + 1);
}

// Appends `12:00:00.5`. `micros` is of one day, its end included.
void AppendTimeOfDay(std::int64_t micros, std::string* text) {
  AppendInteger(micros / kHour, text, 2);
  text->push_back(':');
  AppendInteger(micros % kHour / kMinute, text, 2);
  text->push_back(':');
  AppendInteger(micros % kMinute / kSecond, text, 2);
  AppendFraction(micros % kSecond, text);
}

void AppendTimeOfDay(BinaryReader* in, std::string* text) {
  const std::int64_t micros = in->I64();
  if (micros < 0 || micros > kDay) return in->Fail();
  AppendTimeOfDay(micros, text);
}

// Appends `-3D`; nothing for 0.
void AppendIntervalPart(std::int64_t number, char unit, std::string* text) {
  if (number == 0) return;
  AppendInteger(number, text);
  text->push_back(unit);
}

}  // namespace

void AppendDate(BinaryReader* in, std::string* text) {
  const std::int32_t day = in->I32();
  if (AppendInfinity(day, text)) return;
  if (day < kDateBegin || day >= kDateEnd) return in->Fail();
  if (AppendDay(day, text)) text->append(" BC");
}

void AppendTime(BinaryReader* in, std::string* text) {
  AppendTimeOfDay(in, text);
}

void AppendTimetzText(BinaryReader* in, std::string* text) {
  AppendTimeOfDay(in, text);
  // Seconds west of UTC.
  const std::int32_t zone = in->I32();
  if (zone <= -kZoneEnd || zone >= kZoneEnd) return in->Fail();
  const std::int32_t seconds = std::abs(zone);
  text->push_back(zone <= 0 ? '+' : '-');
  AppendInteger(seconds / 3600, text, 2);
  if (seconds % 3600 == 0) return;
  text->push_back(':');
  AppendInteger(seconds / 60 % 60, text, 2);
  if (seconds % 60 == 0) return;
  text->push_back(':');
  AppendInteger(seconds % 60, text, 2);
}

void AppendTimestamp(BinaryReader* in, const char* zone, std::string* text) {
  const std::int64_t micros = in->I64();
  if (AppendInfinity(micros, text)) return;
  if (micros < kTimestampBegin || micros >= kTimestampEnd) return in->Fail();
  const std::int64_t day = FloorDivide(micros, kDay);
  const bool bc = AppendDay(day, text);
  text->push_back(' ');
  AppendTimeOfDay(micros - day * kDay, text);
  text->append(zone);
  if (bc) text->append(" BC");
}

void AppendInterval(BinaryReader* in, bool infinities, std::string* text) {
  const std::int64_t micros = in->I64();
  const std::int32_t days = in->I32();
  const std::int32_t months = in->I32();
  using Micros = std::numeric_limits<std::int64_t>;
  using Days = std::numeric_limits<std::int32_t>;
  if (infinities &&
      AppendInfinity(micros == Micros::min() && days == Days::min() &&
                         months == Days::min(),
                     micros == Micros::max() && days == Days::max() &&
                         months == Days::max(),
                     text)) {
    return;
  }
  if (micros == 0 && days == 0 && months == 0) {
    text->append("PT0S");
    return;
  }
  text->push_back('P');
  AppendIntervalPart(months / 12, 'Y', text);
  AppendIntervalPart(months % 12, 'M', text);
  AppendIntervalPart(days, 'D', text);
  if (micros == 0) return;
  text->push_back('T');
  AppendIntervalPart(micros / kHour, 'H', text);
  AppendIntervalPart(micros % kHour / kMinute, 'M', text);
  const std::int64_t seconds = micros % kMinute;
  if (seconds == 0) return;
  if (seconds < 0) text->push_back('-');
  AppendInteger(std::abs(seconds) / kSecond, text);
  AppendFraction(std::abs(seconds) % kSecond, text);
  text->push_back('S');
}

}  // namespace sublite
