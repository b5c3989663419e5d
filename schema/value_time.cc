#include "schema/value_time.h"

#include <cstddef>

#include "schema/value_error.h"

namespace sublite {
namespace {

constexpr std::size_t kFractionDigitsMax = 6;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Moves *at past `text` where it matches `shape`, in which `0` is any digit.
bool Match(std::string_view text, std::string_view shape, std::size_t* at) {
  if (text.size() - *at < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[*at + i];
    if (shape[i] == '0' ? !IsDigit(c) : c != shape[i]) return false;
  }
  *at += shape.size();
  return true;
}

// 12:00:00, 12:00:00.123456
bool MatchTime(std::string_view text, std::size_t* at) {
  if (!Match(text, "00:00:00", at)) return false;
  if (*at == text.size() || text[*at] != '.') return true;
  const std::size_t begin = ++*at;
  while (*at < text.size() && IsDigit(text[*at])) ++*at;
  return *at > begin && *at - begin <= kFractionDigitsMax;
}

}  // namespace

absl::Status AppendTimestamptz(std::string_view text, std::string* out) {
  if (text == "infinity" || text == "-infinity") {
    out->append(text);
    return absl::OkStatus();
  }
  std::size_t at = 0;
  // A year has four digits or more.
  bool matches = Match(text, "0000", &at);
  while (at < text.size() && IsDigit(text[at])) ++at;
  matches = matches && Match(text, "-00-00 ", &at) && MatchTime(text, &at);
  // This 0 stands for any digit too; a zone that is not UTC is refused below.
  const std::size_t zone = at;
  matches = matches && Match(text, "+00", &at) && text[zone + 1] == '0' &&
            text[zone + 2] == '0';
  const std::string_view era = text.substr(at);
  if (!matches || (!era.empty() && era != " BC")) {
    return UnexpectedText(
        "an ISO timestamp with the offset +00 (DateStyle ISO, TimeZone UTC)",
        at);
  }
  out->append(text.data(), at);
  out->append(":00", 3);
  out->append(era);
  return absl::OkStatus();
}

absl::Status AppendTimetz(std::string_view text, std::string* out) {
  std::size_t at = 0;
  bool matches = MatchTime(text, &at);
  const std::size_t zone = at;
  matches = matches && (Match(text, "+00", &at) || Match(text, "-00", &at));
  while (matches && at < text.size() && at - zone <= 6) {
    matches = Match(text, ":00", &at);
  }
  if (!matches || at != text.size()) {
    return UnexpectedText("a time with an offset", at);
  }
  out->append(text);
  if (at - zone == 3) out->append(":00", 3);
  return absl::OkStatus();
}

}  // namespace sublite
