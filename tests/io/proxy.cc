#include "tests/io/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace sublite::testing {
namespace {

constexpr int kTickMs = 20;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace

Proxy::Proxy(int to_port) : to_port_(to_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread(&Proxy::Run, this);
}

Proxy::~Proxy() {
  stop_.Request();
  thread_.join();
  CloseAll();
  close(listener_);
}

void Proxy::CloseAll() {
  for (const Pair& pair : pairs_) {
    close(pair.client);
    if (pair.server >= 0) close(pair.server);
  }
  pairs_.clear();
}

void Proxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  int server = -1;
  if (to_port_ != 0) {
    server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(to_port_);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0) {
      close(server);
      close(client);
      return;
    }
  }
  ++connections_;
  pairs_.push_back(Pair{client, server});
}

bool Proxy::Forward(int from, int to) {
  char buffer[65536];
  const ssize_t size = recv(from, buffer, sizeof buffer, MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN;
  if (size == 0) return false;
  ssize_t sent = 0;
  while (sent < size) {
    const ssize_t n = send(to, buffer + sent, size - sent, MSG_NOSIGNAL);
    if (n < 0) return false;
    sent += n;
  }
  return true;
}

void Proxy::Run() {
  while (!stop_.requested()) {
    if (hang_up_.exchange(false)) CloseAll();
    std::vector<pollfd> fds = {{listener_, POLLIN, 0}, {stop_.fd(), POLLIN, 0}};
    if (!paused_) {
      for (const Pair& pair : pairs_) {
        fds.push_back({pair.server >= 0 ? pair.client : -1, POLLIN, 0});
        fds.push_back({pair.server, POLLIN, 0});
      }
    }
    const std::size_t watched = (fds.size() - 2) / 2;
    if (poll(fds.data(), fds.size(), kTickMs) <= 0) continue;
    for (std::size_t i = watched; i-- > 0;) {
      const Pair pair = pairs_[i];
      const bool open =
          (fds[2 + 2 * i].revents == 0 || Forward(pair.client, pair.server)) &&
          (fds[3 + 2 * i].revents == 0 || Forward(pair.server, pair.client));
      if (open) continue;
      close(pair.client);
      close(pair.server);
      pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (fds[0].revents != 0) Accept();
  }
}

}  // namespace sublite::testing
