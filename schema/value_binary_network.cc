#include "schema/value_binary_network.h"

#include <array>
#include <cstdint>
#include <string_view>

#include "schema/value_binary_number.h"

namespace sublite {
namespace {

// PGSQL_AF_INET and PGSQL_AF_INET6.
constexpr std::uint8_t kIpv4 = 2;
constexpr std::uint8_t kIpv6 = 3;
constexpr std::size_t kIpv4Bytes = 4;
constexpr std::size_t kIpv6Bytes = 16;
constexpr int kWords = 8;

constexpr char kHex[] = "0123456789abcdef";

void AppendIpv4(std::string_view bytes, std::string* text) {
  for (std::size_t i = 0; i < kIpv4Bytes; ++i) {
    if (i > 0) text->push_back('.');
    AppendInteger(static_cast<unsigned>(static_cast<std::uint8_t>(bytes[i])),
                  text);
  }
}

void AppendHex(unsigned word, std::string* text) {
  char digits[8];
  char* const end =
      std::to_chars(digits, digits + sizeof(digits), word, 16).ptr;
  text->append(digits, static_cast<std::size_t>(end - digits));
}

// A run of zero words.
struct Run {
  int begin = 0;
  int size = 0;
};

// The first of the longest runs; of no size if none has two words or more.
Run LongestRun(const std::array<unsigned, kWords>& words) {
  Run longest;
  Run run;
  for (int i = 0; i < kWords; ++i) {
    if (words[i] != 0) {
      run = Run{i + 1, 0};
      continue;
    }
    if (++run.size > longest.size) longest = run;
  }
  return longest.size < 2 ? Run() : longest;
}

// As inet_net_ntop has it: after six zero words, or five and ffff.
bool EndsInIpv4(const Run& run, const std::array<unsigned, kWords>& words) {
  return run.begin == 0 &&
         (run.size == 6 || (run.size == 5 && words[5] == 0xFFFF));
}

void AppendIpv6(std::string_view bytes, std::string* text) {
  BinaryReader in(bytes);
  std::array<unsigned, kWords> words = {};
  for (unsigned& word : words) word = in.U16();
  const Run zeros = LongestRun(words);
  for (int i = 0; i < kWords; ++i) {
    if (zeros.size > 0 && i == zeros.begin) {
      // The colon in front of the next word follows, or there is none.
      text->append(i + zeros.size == kWords ? "::" : ":");
      i += zeros.size - 1;
      continue;
    }
    if (i > 0) text->push_back(':');
    if (i == kWords - 2 && EndsInIpv4(zeros, words)) {
      AppendIpv4(bytes.substr(kIpv6Bytes - kIpv4Bytes), text);
      return;
    }
    AppendHex(words[i], text);
  }
}

}  // namespace

void AppendInet(BinaryReader* in, std::string* text) {
  const std::uint8_t family = in->U8();
  const unsigned bits = in->U8();
  const std::uint8_t is_cidr = in->U8();
  const std::size_t size = in->U8();
  const bool ipv4 = family == kIpv4;
  const std::string_view bytes = in->Take(size);
  if ((!ipv4 && family != kIpv6) || is_cidr > 1 ||
      bytes.size() != (ipv4 ? kIpv4Bytes : kIpv6Bytes) ||
      bits > bytes.size() * 8) {
    return in->Fail();
  }
  if (ipv4) {
    AppendIpv4(bytes, text);
  } else {
    AppendIpv6(bytes, text);
  }
  if (is_cidr == 0 && bits == bytes.size() * 8) return;
  text->push_back('/');
  AppendInteger(bits, text);
}

void AppendMacaddr(BinaryReader* in, std::size_t size, std::string* text) {
  const std::string_view bytes = in->Take(size);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) text->push_back(':');
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    text->push_back(kHex[byte >> 4]);
    text->push_back(kHex[byte & 0xF]);
  }
}

}  // namespace sublite
