// docs/servers.md says what the golden streams and the matrix show.
#include "tests/matrix/servers_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Committed() {
  std::ifstream stream("docs/servers.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

TEST(ServersTableTest, IsWhatWasSeen) {
  const Evidence evidence = ReadEvidence(".");
  ASSERT_GE(evidence.size(), 5u);
  ASSERT_OK_AND_ASSIGN(const std::string table, ServersTable(evidence));
  EXPECT_EQ(table, Committed()) << "run scripts/servers_table";
}

// A capture of another server, a mode that is not there any more: the table is
// another one.
TEST(ServersTableTest, FollowsTheEvidence) {
  Evidence evidence = ReadEvidence(".");
  ASSERT_OK_AND_ASSIGN(const std::string table, ServersTable(evidence));
  EXPECT_THAT(table, HasSubstr("| Stream Prepare | – | 3 |"));
  EXPECT_THAT(table, HasSubstr("| Begin Prepare | – | 3 |"));
  for (auto& [major, server] : evidence) {
    if (major < 16) continue;
    for (auto capture = server.captures.begin();
         capture != server.captures.end();) {
      capture = capture->first.rfind("twophase", 0) == 0
                    ? server.captures.erase(capture)
                    : std::next(capture);
    }
    server.seen.erase("mode parallel_text");
  }
  ASSERT_OK_AND_ASSIGN(const std::string less, ServersTable(evidence));
  EXPECT_THAT(less, HasSubstr("| Stream Prepare | – | 3 | – | – | – |"));
  EXPECT_THAT(less, HasSubstr("| Begin Prepare | – | 3 | – | – | – |"));
  evidence[14].captures["broken"] = "not a capture";
  EXPECT_THAT(ServersTable(evidence), Not(IsOk()));
}

TEST(ServersTableTest, SeenIsReadAsItIsWritten) {
  const SeenSections sections = {{"mode a", {"x 'y'", "z"}},
                                 {"types text", {"integer", "integer[]"}}};
  EXPECT_EQ(PrintSeen(sections),
            "[mode a]\nx 'y'\nz\n\n[types text]\ninteger\ninteger[]\n");
  EXPECT_EQ(ParseSeen(PrintSeen(sections)), sections);
}

}  // namespace
}  // namespace sublite::testing
