#include "applier/byte_size.h"

#include <charconv>
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

}  // namespace

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
