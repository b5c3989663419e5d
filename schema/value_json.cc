#include "schema/value_json.h"

#include <array>

namespace sublite {
namespace {

// Bytes that end a run that can be copied as it stands: `"`, `\` and the
// control characters, which JSON escapes.
constexpr std::array<bool, 256> MakeSpecialBytes() {
  std::array<bool, 256> special = {};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  special['"'] = true;
  special['\\'] = true;
  return special;
}

constexpr std::array<bool, 256> kSpecialBytes = MakeSpecialBytes();

// The end of the run of bytes from `at` that need no attention.
std::size_t PlainEnd(std::string_view text, std::size_t at) {
  while (at < text.size() &&
         !kSpecialBytes[static_cast<unsigned char>(text[at])]) {
    ++at;
  }
  return at;
}

void AppendJsonByte(char c, std::string* json) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
    case '\\':
      json->push_back('\\');
      json->push_back(c);
      break;
    case '\b':
      json->append("\\b", 2);
      break;
    case '\f':
      json->append("\\f", 2);
      break;
    case '\n':
      json->append("\\n", 2);
      break;
    case '\r':
      json->append("\\r", 2);
      break;
    case '\t':
      json->append("\\t", 2);
      break;
    default:
      if (byte < 0x20) {
        json->append("\\u00", 4);
        json->push_back(kHex[byte >> 4]);
        json->push_back(kHex[byte & 0xF]);
      } else {
        json->push_back(c);
      }
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* json) {
  json->push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = PlainEnd(text, at);
    json->append(text.data() + at, end - at);
    if (end == text.size()) break;
    AppendJsonByte(text[end], json);
    at = end + 1;
  }
  json->push_back('"');
}

bool AppendQuotedAsJsonString(std::string_view text, std::size_t* at,
                              std::string* json) {
  json->push_back('"');
  while (true) {
    const std::size_t end = PlainEnd(text, *at);
    json->append(text.data() + *at, end - *at);
    *at = end + 1;
    if (end == text.size()) return false;
    if (text[end] == '"') break;
    if (text[end] != '\\') {
      AppendJsonByte(text[end], json);
      continue;
    }
    if (*at == text.size()) return false;
    AppendJsonByte(text[(*at)++], json);
  }
  json->push_back('"');
  return true;
}

bool AppendUnquoted(std::string_view text, std::size_t* at, std::string* out) {
  while (true) {
    const std::size_t end = text.find_first_of("\"\\", *at);
    if (end == std::string_view::npos) return false;
    out->append(text.data() + *at, end - *at);
    *at = end + 1;
    if (text[end] == '"') return true;
    if (*at == text.size()) return false;
    out->push_back(text[(*at)++]);
  }
}

bool SkipQuoted(std::string_view text, std::size_t* at,
                std::string_view* inner) {
  const std::size_t begin = *at;
  while (true) {
    const std::size_t end = text.find_first_of("\"\\", *at);
    if (end == std::string_view::npos) return false;
    *at = end + 1;
    if (text[end] == '"') {
      *inner = text.substr(begin, end - begin);
      return true;
    }
    if (*at == text.size()) return false;
    ++*at;
  }
}

}  // namespace sublite
