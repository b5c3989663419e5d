// Where the metrics and status page listens: the value of http.listen.
//
// Pure. Taken are `127.0.0.1:9187`, `[::1]:9187`, `localhost:9187` (which is
// 127.0.0.1) and `:9187` (every address of the machine). A name is not taken:
// what it stands for may change, and nothing here waits for a name server.
#ifndef SUBLITE_APPLIER_LISTEN_ADDRESS_H_
#define SUBLITE_APPLIER_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sublite {

struct ListenAddress {
  std::string host;  // an address, without brackets; "": all addresses
  int port = 0;
  bool ipv6 = false;
  // Only programs on this machine can reach it.
  bool loopback = false;

  std::string ToString() const;  // with brackets
};

// InvalidArgument, with what is legal.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_LISTEN_ADDRESS_H_
