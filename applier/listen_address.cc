#include "applier/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>

#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

absl::Status Bad(std::string_view text, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "is \"", absl::string_view(text.data(), text.size()), "\", ", why,
      ": write an address and a port, like 127.0.0.1:9187 or [::1]:9187"));
}

}  // namespace

std::string ListenAddress::ToString() const {
  return ipv6 ? absl::StrCat("[", host, "]:", port)
              : absl::StrCat(host, ":", port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Bad(text, "which has no port");
  ListenAddress address;
  const std::string_view digits = text.substr(colon + 1);
  const auto read = std::from_chars(
      digits.data(), digits.data() + digits.size(), address.port);
  if (digits.empty() || read.ec != std::errc() ||
      read.ptr != digits.data() + digits.size() || address.port < 1 ||
      address.port > 65535)
    return Bad(text, "whose port is not between 1 and 65535");

  std::string_view host = text.substr(0, colon);
  if (host.empty()) return address;
  if (host == "localhost") host = "127.0.0.1";
  in6_addr six = {};
  in_addr four = {};
  if (host.front() == '[') {
    if (host.size() < 2 || host.back() != ']')
      return Bad(text, "whose brackets do not match");
    address.host = std::string(host.substr(1, host.size() - 2));
    address.ipv6 = true;
    if (inet_pton(AF_INET6, address.host.c_str(), &six) != 1)
      return Bad(text, "whose brackets hold no IPv6 address");
    address.loopback = IN6_IS_ADDR_LOOPBACK(&six) != 0;
    return address;
  }
  address.host = std::string(host);
  if (inet_pton(AF_INET, address.host.c_str(), &four) != 1) {
    return Bad(text, inet_pton(AF_INET6, address.host.c_str(), &six) == 1
                         ? "an IPv6 address without brackets"
                         : "which does not begin with an address (names are "
                           "not taken)");
  }
  address.loopback = (ntohl(four.s_addr) >> 24) == 127;
  return address;
}

}  // namespace sublite
