// What http.listen takes.

#include "applier/listen_address.h"

#include <gtest/gtest.h>

#include <string>

namespace sublite {
namespace {

TEST(ListenAddressTest, Forms) {
  struct Case {
    const char* text;
    const char* same;
    bool ipv6;
    bool loopback;
  };
  for (const Case& c : {Case{"127.0.0.1:9187", "127.0.0.1:9187", false, true},
                        {"127.8.9.1:1", "127.8.9.1:1", false, true},
                        {"localhost:9187", "127.0.0.1:9187", false, true},
                        {"[::1]:9187", "[::1]:9187", true, true},
                        {"[::]:65535", "[::]:65535", true, false},
                        {"[fd00::7]:80", "[fd00::7]:80", true, false},
                        {"0.0.0.0:9187", "0.0.0.0:9187", false, false},
                        {"10.0.0.7:9187", "10.0.0.7:9187", false, false},
                        {":9187", ":9187", false, false}}) {
    const auto address = ParseListenAddress(c.text);
    ASSERT_TRUE(address.ok()) << c.text << ": " << address.status();
    EXPECT_EQ(address->ToString(), c.same);
    EXPECT_EQ(address->ipv6, c.ipv6) << c.text;
    EXPECT_EQ(address->loopback, c.loopback) << c.text;
  }
}

TEST(ListenAddressTest, Mistakes) {
  for (const char* text : {"",
                           "9187",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:0",
                           "127.0.0.1:65536",
                           "127.0.0.1:-1",
                           "127.0.0.1:+1",
                           "127.0.0.1:91 87",
                           "127.0.0.1:9187 ",
                           "127.1:9187",
                           "::1:9187",
                           "[::1]",
                           "[::1:9187",
                           "[]:9187",
                           "[127.0.0.1]:9187",
                           "plant:9187",
                           "*:9187",
                           " 127.0.0.1:9187",
                           "127.0.0.1:9187,0.0.0.0:9188",
                           "127.0.0.1:9187s",
                           "[::1]x:9187"}) {
    EXPECT_EQ(ParseListenAddress(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace sublite
