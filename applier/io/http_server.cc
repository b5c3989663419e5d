#include "applier/io/http_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace sublite {
namespace {

// Prometheus asks once at a time; a few more for people, and for a client that
// hangs.
constexpr char kThreads[] = "4";
constexpr std::size_t kPieceBytes = 16 * 1024;

HttpAnswer Plain(int status, const char* text) {
  return {status, "text/plain; charset=utf-8", text};
}

// What no page of ours needs, no page may do.
std::string Head(mg_connection* connection, const HttpAnswer& answer) {
  return absl::StrCat(
      "HTTP/1.1 ", answer.status, " ",
      mg_get_response_code_text(connection, answer.status),
      "\r\nContent-Type: ", answer.content_type,
      "\r\nContent-Length: ", answer.body.size(),
      "\r\nConnection: close\r\nCache-Control: no-store"
      "\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY"
      "\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: "
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'\r\n",
      answer.status == 405 ? "Allow: GET, HEAD\r\n" : "", "\r\n");
}

// An exception (no memory) must not reach civetweb, which is C.
HttpAnswer Answer(const std::function<HttpAnswer()>& page) {
  try {
    return page();
  } catch (const std::exception&) {
    return Plain(500, "The page cannot be made.\n");
  }
}

void Send(mg_connection* connection, std::string_view bytes) {
  const absl::Time until = absl::Now() + HttpServer::kPatience;
  while (!bytes.empty() && absl::Now() < until) {
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    if (mg_write(connection, piece.data(), piece.size()) !=
        static_cast<int>(piece.size()))
      return;
    bytes.remove_prefix(piece.size());
  }
}

// Connects, and goes away.
void Knock(const ListenAddress& address) {
  const int family = address.ipv6 ? AF_INET6 : AF_INET;
  const int client =
      socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (client < 0) return;
  const auto port = htons(static_cast<std::uint16_t>(address.port));
  int refused = 0;
  if (address.ipv6) {
    sockaddr_in6 to = {};
    to.sin6_family = AF_INET6;
    to.sin6_port = port;
    inet_pton(AF_INET6, address.host.c_str(), &to.sin6_addr);
    refused = connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to);
  } else {
    // 0.0.0.0 is this machine, too.
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = port;
    inet_pton(AF_INET, address.host.empty() ? "0.0.0.0" : address.host.c_str(),
              &to.sin_addr);
    refused = connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to);
  }
  static_cast<void>(refused);
  close(client);
}

}  // namespace

int HttpServer::Serve(mg_connection* connection) const {
  const mg_request_info* request = mg_get_request_info(connection);
  const std::string_view method =
      request->request_method == nullptr ? "" : request->request_method;
  const std::string_view path =
      request->local_uri == nullptr ? "" : request->local_uri;
  const auto page = pages_.find(std::string(path));
  HttpAnswer answer;
  if (method != "GET" && method != "HEAD") {
    answer = Plain(405, "Only GET and HEAD.\n");
  } else if (page == pages_.end()) {
    answer = Plain(404, "There is no such page.\n");
  } else {
    answer = Answer(page->second);
  }
  Send(connection, Head(connection, answer));
  if (method != "HEAD") Send(connection, answer.body);
  mg_disable_connection_keep_alive(connection);
  return answer.status;
}

mg_callbacks HttpServer::Callbacks() {
  mg_callbacks callbacks = {};
  callbacks.begin_request = [](mg_connection* connection) {
    const auto* self = static_cast<const HttpServer*>(
        mg_get_request_info(connection)->user_data);
    return self->Serve(connection);
  };
  // What is no request gets an answer of ours: civetweb's own says when it was
  // made, by gmtime(), which is not for several threads.
  callbacks.http_error = [](mg_connection* connection, int status,
                            const char*) {
    const HttpAnswer answer = Plain(status, "This is no request.\n");
    Send(connection, Head(connection, answer));
    Send(connection, answer.body);
    return 0;
  };
  // Nothing of what clients do wrong belongs into our log.
  callbacks.log_message = [](const mg_connection* connection,
                             const char* message) {
    auto* self =
        static_cast<HttpServer*>(mg_get_user_data(mg_get_context(connection)));
    if (self != nullptr && self->starter_ == std::this_thread::get_id())
      self->start_error_ = message;
    return 1;
  };
  return callbacks;
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const ListenAddress& address, Pages pages) {
  static const unsigned initialized = mg_init_library(MG_FEATURES_DEFAULT);
  static_cast<void>(initialized);
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(pages)));
  const std::string ports = address.host.empty()
                                ? absl::StrCat("+", address.port)
                                : address.ToString();
  const std::string patience =
      absl::StrCat(absl::ToInt64Milliseconds(kPatience));
  const char* options[] = {"listening_ports",
                           ports.c_str(),
                           "num_threads",
                           kThreads,
                           "connection_queue",
                           "8",
                           "listen_backlog",
                           "32",
                           "request_timeout_ms",
                           patience.c_str(),
                           "enable_keep_alive",
                           "no",
                           "max_request_size",
                           "8192",
                           nullptr};
  mg_callbacks callbacks = Callbacks();
  server->address_ = address;
  server->starter_ = std::this_thread::get_id();
  char text[256] = "";
  unsigned code = 0;
  mg_error_data error = {&code, text, sizeof text};
  mg_init_data init = {&callbacks, server.get(), options};
  server->context_ = mg_start2(&init, &error);
  server->starter_ = {};
  if (server->context_ == nullptr) {
    const std::string& why = server->start_error_;
    return absl::UnavailableError(absl::StrCat("cannot listen on ",
                                               address.ToString(), ": ",
                                               why.empty() ? text : why));
  }
  return server;
}

HttpServer::~HttpServer() {
  if (context_ == nullptr) return;
  // civetweb looks only every two seconds whether it is to stop, or when a
  // client comes.
  std::atomic<bool> stopped{false};
  ListenAddress address = address_;
  address.port = port();
  std::thread knocking([&] {
    while (!stopped.load()) {
      Knock(address);
      absl::SleepFor(absl::Milliseconds(10));
    }
  });
  mg_stop(context_);
  stopped.store(true);
  knocking.join();
}

int HttpServer::port() const {
  mg_server_port port = {};
  return mg_get_server_ports(context_, 1, &port) == 1 ? port.port : 0;
}

}  // namespace sublite
