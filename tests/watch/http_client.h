// A strict HTTP client for tests: one request a connection, over a plain
// socket.
//
// The answer has to be well-formed: a status line, headers, exactly as many
// bytes as Content-Length says (none for HEAD), and then the end of the
// connection. `error` says what was wrong; "" where all was well.
#ifndef SUBLITE_TESTS_WATCH_HTTP_CLIENT_H_
#define SUBLITE_TESTS_WATCH_HTTP_CLIENT_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace sublite::testing {

struct HttpReply {
  std::string error;
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// On 127.0.0.1. `request` is the whole request, as it is.
HttpReply Exchange(int port, const std::string& request,
                   absl::Duration patience = absl::Seconds(60));
// GET `path`, as a browser asks for it.
HttpReply Get(int port, const std::string& path);

// A connected socket, or -1.
int ConnectTo(int port);
// A port that nobody listens on now.
int FreePort();

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_WATCH_HTTP_CLIENT_H_
