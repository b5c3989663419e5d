// main() of the tests that need a server. Where the server that they are for is
// not installed, none of them runs, and all count as skipped: GoogleTest itself
// would call them passed. Under CI (the variable is set) that is a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "tests/support/pg_server.h"

namespace sublite::testing {
namespace {

std::string EscapeXml(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// What Bazel expects of a test: its cases, in the file that it names.
int SkipAll(const std::string& why) {
  const char* path = std::getenv("XML_OUTPUT_FILE");
  std::ofstream xml(path != nullptr ? path : "/dev/null");
  xml << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    xml << "  <testsuite name=\"" << EscapeXml(suite.name()) << "\">\n";
    for (int j = 0; j < suite.total_test_count(); ++j) {
      xml << "    <testcase name=\"" << EscapeXml(suite.GetTestInfo(j)->name())
          << "\" classname=\"" << EscapeXml(suite.name())
          << "\" status=\"notrun\"><skipped message=\"" << EscapeXml(why)
          << "\"/></testcase>\n";
    }
    xml << "  </testsuite>\n";
  }
  xml << "</testsuites>\n";
  xml.close();
  std::printf("[  SKIPPED ] %d tests: %s\n", all.total_test_count(),
              why.c_str());
  return xml ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace sublite::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const absl::StatusOr<std::string> programs =
      sublite::testing::FindServerPrograms();
  if (programs.ok()) return RUN_ALL_TESTS();
  const std::string why(programs.status().message());
  const char* ci = std::getenv("CI");
  if (ci == nullptr || *ci == '\0') return sublite::testing::SkipAll(why);
  std::fprintf(stderr, "%s\n", why.c_str());
  return EXIT_FAILURE;
}
