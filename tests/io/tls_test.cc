// TLS on a host that is not local (C116). Skipped where the machine has no
// address but the loopback, or no openssl program.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;

std::string OwnAddress() {
  ifaddrs* all = nullptr;
  std::string found;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* i = all; i != nullptr && found.empty(); i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET ||
        (i->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(i->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) {
      found = text;
    }
  }
  freeifaddrs(all);
  return found;
}

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    address_ = OwnAddress();
    if (address_.empty()) GTEST_SKIP() << "only the loopback here";
    unsetenv("PGSSLMODE");
    setenv("HOME", ::testing::TempDir().c_str(), 1);
    PgServerOptions options;
    options.tcp = true;
    options.settings = {{"listen_addresses", "*"}};
    options.hba = {"host all al all scram-sha-256", "host all all all trust"};
    ASSERT_OK_AND_ASSIGN(server_, PgServer::Start(options));
    ASSERT_OK(server_->Exec(
        "SET password_encryption = 'scram-sha-256';"
        "CREATE ROLE al LOGIN REPLICATION PASSWORD 'R1ghtS3cret'"));
  }
  absl::Status Connect(const std::string& host, const std::string& more) {
    LibpqPublisherOptions options;
    options.conninfo =
        Secret(absl::StrCat("host=", host, " port=", server_->port(),
                            " dbname=postgres user=al "
                            "password=R1ghtS3cret ",
                            more));
    return LibpqPublisher(options, &stop_).Connect().status();
  }
  // A key and a self-signed certificate for the machine's address.
  bool TurnOnTls() {
    certificate_ = ::testing::TempDir() + "/tls_test.crt";
    const std::string key = ::testing::TempDir() + "/tls_test.key";
    const std::string command = absl::StrCat(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test"
        " -addext subjectAltName=IP:",
        address_, " -keyout ", key, " -out ", certificate_,
        " 2>/dev/null && chmod 644 ", certificate_);
    if (std::system(command.c_str()) != 0) return false;
    // Only the server's own user may read the key, so the server copies it.
    const auto directory = server_->Scalar("SHOW data_directory");
    EXPECT_OK(directory);
    const std::string copy = absl::StrCat(
        "cp ", key, " ", *directory, "/server.key && cp ", certificate_, " ",
        *directory, "/server.crt && chown --reference=", *directory, " ",
        *directory, "/server.key ", *directory, "/server.crt && chmod 600 ",
        *directory, "/server.key");
    if (std::system(copy.c_str()) != 0) return false;
    EXPECT_OK(server_->Exec("ALTER SYSTEM SET ssl = on"));
    EXPECT_OK(server_->Exec("SELECT pg_reload_conf()"));
    absl::SleepFor(absl::Milliseconds(500));
    return true;
  }

  StopSignal stop_;
  std::string address_;
  std::string certificate_;
  std::unique_ptr<PgServer> server_;
};

TEST_F(TlsTest, DefaultIsVerifyFull) {
  // Neither a server without TLS nor one without a known certificate gets the
  // password, and the error says how to choose otherwise.
  EXPECT_THAT(
      Connect(address_, ""),
      StatusIs(kPerson, AllOf(HasSubstr("set sslmode in publisher.conninfo"),
                              Not(HasSubstr("S3cret")))));
  EXPECT_OK(Connect(address_, "sslmode=disable"));
  EXPECT_OK(Connect(address_, "sslmode=prefer"));
  EXPECT_OK(Connect("127.0.0.1", ""));

  if (!TurnOnTls()) GTEST_SKIP() << "no openssl";
  EXPECT_THAT(Connect(address_, ""),
              StatusIs(kPerson, HasSubstr("set sslmode")));
  EXPECT_OK(Connect(address_, "sslmode=require"));
  EXPECT_OK(Connect(address_, "sslmode=require channel_binding=require"));
  EXPECT_OK(Connect(address_, "sslrootcert=" + certificate_));
  // Another name than the certificate's.
  EXPECT_THAT(
      Connect("other.example", absl::StrCat("hostaddr=", address_,
                                            " sslrootcert=", certificate_)),
      StatusIs(kPerson, HasSubstr("does not match")));
}

}  // namespace
}  // namespace sublite::testing
