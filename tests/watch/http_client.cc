#include "tests/watch/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace sublite::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Everything until the other side closes.
bool ReadToEnd(int client, absl::Time limit, std::string* all) {
  char buffer[65536];
  while (true) {
    pollfd ready = {client, POLLIN, 0};
    const absl::Duration left = limit - absl::Now();
    if (left <= absl::ZeroDuration() ||
        poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) <= 0)
      return false;
    const ssize_t got = recv(client, buffer, sizeof buffer, 0);
    if (got < 0) return false;
    if (got == 0) return true;
    all->append(buffer, static_cast<std::size_t>(got));
  }
}

void ParseReply(const std::string& raw, bool head, HttpReply* reply) {
  const std::size_t end = raw.find("\r\n\r\n");
  if (raw.compare(0, 9, "HTTP/1.1 ") != 0 || end == std::string::npos ||
      !absl::SimpleAtoi(raw.substr(9, 3), &reply->status)) {
    reply->error = "no status line or no end of the headers: " + raw;
    return;
  }
  reply->body = raw.substr(end + 4);
  std::size_t at = raw.find("\r\n") + 2;
  while (at < end + 2) {
    const std::size_t line_end = raw.find("\r\n", at);
    const std::string line = raw.substr(at, line_end - at);
    const std::size_t colon = line.find(": ");
    at = line_end + 2;
    if (colon == std::string::npos ||
        !reply->headers
             .emplace(absl::AsciiStrToLower(line.substr(0, colon)),
                      line.substr(colon + 2))
             .second) {
      reply->error = "a header that is none, or twice: " + line;
      return;
    }
  }
  const std::string length = absl::StrCat(reply->body.size());
  if (head ? !reply->body.empty() : reply->headers["content-length"] != length)
    reply->error = "a body of another length: " + length;
}

}  // namespace

int ConnectTo(int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = Loopback(port);
  if (connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0)
    return client;
  close(client);
  return -1;
}

HttpReply Exchange(int port, const std::string& request,
                   absl::Duration patience) {
  HttpReply reply;
  const int client = ConnectTo(port);
  if (client < 0) {
    reply.error = "nobody listens";
    return reply;
  }
  std::string raw;
  if (send(client, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    reply.error = "cannot send";
  } else if (!ReadToEnd(client, absl::Now() + patience, &raw)) {
    reply.error = "the connection was not closed in good order";
  } else {
    ParseReply(raw, request.compare(0, 5, "HEAD ") == 0, &reply);
  }
  close(client);
  return reply;
}

HttpReply Get(int port, const std::string& path) {
  return Exchange(port, absl::StrCat("GET ", path,
                                     " HTTP/1.1\r\nHost: localhost\r\n"
                                     "Accept: */*\r\n\r\n"));
}

int FreePort() {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  int port = 0;
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) ==
          0 &&
      getsockname(server, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  close(server);
  return port;
}

}  // namespace sublite::testing
