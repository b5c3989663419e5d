// A small HTTP server for a handful of pages, on civetweb (its sole includer).
//
// GET and HEAD only; each answer closes its connection, so that no client keeps
// one of the few threads. A client that is slow to ask or to read is cut off
// after kPatience; more clients than threads wait in a short queue. A body is
// built before its first byte is sent, so a slow client holds no lock of a
// page. Handlers run on the server's threads, several at a time.
//
// Errors: Unavailable where the address is taken or not this machine's.
// Threads: Start and the destructor on one; the destructor waits until the
// handlers that run have returned, at most a few seconds.
#ifndef SUBLITE_APPLIER_IO_HTTP_SERVER_H_
#define SUBLITE_APPLIER_IO_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/listen_address.h"

struct mg_callbacks;
struct mg_connection;
struct mg_context;

namespace sublite {

struct HttpAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
};

class HttpServer {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  // By path, without the query.
  using Pages = std::map<std::string, std::function<HttpAnswer()>>;

  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const ListenAddress& address, Pages pages);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The one that the system chose where the address has port 0.
  int port() const;

 private:
  explicit HttpServer(Pages pages) : pages_(std::move(pages)) {}
  static mg_callbacks Callbacks();
  int Serve(mg_connection* connection) const;

  const Pages pages_;
  ListenAddress address_;
  std::thread::id starter_;
  std::string start_error_;  // what civetweb said to `starter_`
  mg_context* context_ = nullptr;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_HTTP_SERVER_H_
