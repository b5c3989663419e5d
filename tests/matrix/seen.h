// What the matrix saw of each server: committed in tests/matrix/seen, compared
// at every run, and shown in docs/servers.md.
//
// A file for each major version: sections, each a line `[name]` and the lines
// of what was seen, in the order of their names. Paths are relative to the root
// of the source tree, where Bazel runs a test.
#ifndef SUBLITE_TESTS_MATRIX_SEEN_H_
#define SUBLITE_TESTS_MATRIX_SEEN_H_

#include <map>
#include <string>
#include <vector>

namespace sublite::testing {

using SeenSections = std::map<std::string, std::vector<std::string>>;

SeenSections ParseSeen(const std::string& text);
std::string PrintSeen(const SeenSections& sections);

std::string SeenPath(int major_version);

// Fails the test (gtest) if `lines` are not what the file of that version says
// of `section`. Where SUBLITE_WRITE_SEEN names a root of the source tree, the
// section is written there instead (scripts/servers_table does that).
void ExpectSeen(int major_version, const std::string& section,
                const std::vector<std::string>& lines);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_MATRIX_SEEN_H_
