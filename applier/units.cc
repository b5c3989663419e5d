#include "applier/units.h"

#include <charconv>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "schema/status.h"

namespace sublite {
namespace {

// The power of 1024; -1 if it is no unit.
int PowerOf(std::string_view unit) {
  constexpr std::string_view kLetters = "kmgt";
  const std::string lower = absl::AsciiStrToLower(View(unit));
  if (lower.empty() || lower == "b") return 0;
  const std::size_t letter = kLetters.find(lower[0]);
  if (letter == std::string_view::npos) return -1;
  const std::string rest = lower.substr(1);
  return rest == "b" || rest == "ib" ? static_cast<int>(letter) + 1 : -1;
}

absl::Status Bad(const std::string& message) {
  return absl::InvalidArgumentError(message);
}

// One number and unit at *at, e.g. "1.5h"; moves *at past it.
absl::Status ReadDurationPart(std::string_view text, std::size_t* at,
                              absl::Duration* total) {
  double number = 0;
  const char* const begin = text.data() + *at;
  const char* const end = text.data() + text.size();
  // Digits only: from_chars would also take a sign, "inf" and "nan".
  const bool digit = begin != end && absl::ascii_isdigit(*begin);
  const std::from_chars_result read =
      std::from_chars(begin, end, number, std::chars_format::fixed);
  if (!digit || read.ec != std::errc()) {
    return Bad(
        absl::StrCat("is \"", std::string(text),
                     "\", must be a time like \"10s\", \"500ms\", \"1m\""));
  }
  std::size_t unit_at = read.ptr - text.data();
  while (unit_at < text.size() && text[unit_at] == ' ') ++unit_at;
  std::size_t unit_end = unit_at;
  while (unit_end < text.size() && absl::ascii_isalpha(text[unit_end])) {
    ++unit_end;
  }
  static const auto* const kUnits = new std::map<std::string, absl::Duration>{
      {"ms", absl::Milliseconds(1)}, {"s", absl::Seconds(1)},
      {"m", absl::Minutes(1)},       {"min", absl::Minutes(1)},
      {"h", absl::Hours(1)},         {"d", absl::Hours(24)}};
  const auto unit =
      kUnits->find(std::string(text.substr(unit_at, unit_end - unit_at)));
  if (unit == kUnits->end()) {
    return Bad(absl::StrCat("is \"", std::string(text),
                            "\", needs a unit of ms, s, m, h or d: \"10s\""));
  }
  *total += number * unit->second;
  *at = unit_end;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDurationText(std::string_view text) {
  absl::Duration total;
  std::size_t at = 0;
  do {
    RETURN_IF_ERROR(ReadDurationPart(text, &at, &total));
    while (at < text.size() && text[at] == ' ') ++at;
  } while (at < text.size());
  return total;
}

absl::StatusOr<std::int64_t> ParseByteSize(std::string_view text) {
  const auto bad = [text] {
    return absl::InvalidArgumentError(absl::StrCat(
        "is \"", View(text),
        "\", must be a number of bytes, or of kB, MB, GB or TB: \"500MB\""));
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  // Digits only: from_chars would also take a sign, "inf" and "nan".
  if (text.empty() || !absl::ascii_isdigit(text[0])) return bad();
  const std::from_chars_result read =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (read.ec != std::errc()) return bad();
  const char* unit = read.ptr;
  while (unit != end && *unit == ' ') ++unit;
  const int power =
      PowerOf(std::string_view(unit, static_cast<std::size_t>(end - unit)));
  if (power < 0) return bad();
  for (int i = 0; i < power; ++i) number *= 1024;
  // A double holds whole numbers up to 2^53 exactly; beyond that nobody counts
  // single bytes.
  if (number >= 9223372036854775808.0) return bad();
  return static_cast<std::int64_t>(number);
}

}  // namespace sublite
