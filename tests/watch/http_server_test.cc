// The HTTP server, by clients of all sorts.

#include "applier/io/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/status_matchers.h"
#include "tests/watch/http_client.h"

namespace sublite::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Ge;
using ::testing::HasSubstr;

// More than the buffers of two sockets take.
constexpr std::size_t kLargeBytes = 32 << 20;

ListenAddress Loopback(int port) {
  ListenAddress address;
  address.host = "127.0.0.1";
  address.port = port;
  address.loopback = true;
  return address;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(server_, Start(0)); }

  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(int port) {
    return HttpServer::Start(
        Loopback(port),
        {{"/",
          [] {
            return HttpAnswer{200, "text/html; charset=utf-8", "<p>\n"};
          }},
         {"/sick",
          [] {
            return HttpAnswer{503, "text/plain", "waiting\n"};
          }},
         {"/throws", []() -> HttpAnswer { throw std::bad_alloc(); }},
         {"/large", [] {
            return HttpAnswer{200, "text/plain", std::string(kLargeBytes, 'x')};
          }}});
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersInGoodOrder) {
  const HttpReply reply = Get(server_->port(), "/");
  EXPECT_EQ(reply.error, "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "<p>\n");
  EXPECT_EQ(reply.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
  EXPECT_THAT(reply.headers.at("content-security-policy"),
              HasSubstr("default-src 'none'"));
  EXPECT_EQ(Get(server_->port(), "/sick").status, 503);
  EXPECT_EQ(Get(server_->port(), "/?from=bookmark").status, 200);
  EXPECT_EQ(Get(server_->port(), "/throws").status, 500);
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  const HttpReply reply =
      Exchange(server_->port(), "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(reply.error, "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-length"), "4");
}

TEST_F(HttpServerTest, RefusesAllElse) {
  for (const char* path : {"/nothing", "/metrics/", "/../etc/passwd",
                           "/%2e%2e/x", "/index.html"}) {
    EXPECT_EQ(Get(server_->port(), path).status, 404) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const HttpReply reply = Exchange(
        server_->port(), absl::StrCat(method,
                                      " / HTTP/1.1\r\nHost: localhost\r\n"
                                      "Content-Length: 0\r\n\r\n"));
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.headers.at("allow"), "GET, HEAD") << method;
  }
  for (const std::string& nonsense :
       {std::string("nonsense\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        "GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n"}) {
    EXPECT_THAT(Exchange(server_->port(), nonsense).status, AnyOf(0, Ge(400)));
  }
  // An answer in our form.
  const HttpReply reply = Exchange(server_->port(), "GET / HTTP/9.9\r\n\r\n");
  EXPECT_EQ(reply.error, "");
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_EQ(Get(server_->port(), "/").status, 200);
}

TEST_F(HttpServerTest, SendsLargePages) {
  const HttpReply reply = Get(server_->port(), "/large");
  EXPECT_EQ(reply.error, "");
  EXPECT_EQ(reply.body.size(), kLargeBytes);
}

// Clients that ask slowly, or not at all, and clients that do not read, occupy
// every thread and the queue; the next one waits, and is served.
TEST_F(HttpServerTest, OutlivesClientsThatHang) {
  std::vector<int> hanging;
  for (int i = 0; i < 8; ++i) {
    const int client = ConnectTo(server_->port());
    ASSERT_GE(client, 0);
    const std::string begun = i % 2 == 0
                                  ? "GET / HTTP/1.1\r\nHost: lo"
                                  : "GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_EQ(send(client, begun.data(), begun.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(begun.size()));
    hanging.push_back(client);
  }
  const HttpReply reply = Get(server_->port(), "/");
  EXPECT_EQ(reply.error, "");
  EXPECT_EQ(reply.status, 200);
  for (int client : hanging) close(client);
}

TEST_F(HttpServerTest, StopsWhileClientsHang) {
  std::vector<int> hanging;
  for (int i = 0; i < 8; ++i) {
    hanging.push_back(ConnectTo(server_->port()));
    ASSERT_GE(hanging.back(), 0);
  }
  const absl::Time began = absl::Now();
  server_.reset();
  // Far less than all of them together might have taken.
  EXPECT_LT(absl::Now() - began, 6 * HttpServer::kPatience);
  for (int client : hanging) close(client);
}

TEST_F(HttpServerTest, PortsThatAreTakenAndFreedAgain) {
  const int port = server_->port();
  const auto second = Start(port);
  ASSERT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("127.0.0.1:", port)));
  server_.reset();
  EXPECT_LT(ConnectTo(port), 0);
  ASSERT_OK_AND_ASSIGN(server_, Start(port));
  EXPECT_EQ(Get(port, "/").status, 200);
}

TEST(HttpServerAddressTest, NotOfThisMachine) {
  ListenAddress address = Loopback(0);
  address.host = "192.0.2.1";  // for documentation only
  EXPECT_TRUE(absl::IsUnavailable(HttpServer::Start(address, {}).status()));
}

}  // namespace
}  // namespace sublite::testing
