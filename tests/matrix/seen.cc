#include "tests/matrix/seen.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace sublite::testing {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

}  // namespace

SeenSections ParseSeen(const std::string& text) {
  SeenSections sections;
  std::vector<std::string>* current = nullptr;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    // A type's name may end in brackets, none begins with one.
    if (!line.empty() && line[0] == '[') {
      current = &sections[line.substr(1, line.size() - 2)];
    } else if (current != nullptr && !line.empty()) {
      current->push_back(line);
    }
  }
  return sections;
}

std::string PrintSeen(const SeenSections& sections) {
  std::string text;
  for (const auto& [name, lines] : sections) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "[", name, "]\n");
    for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string SeenPath(int major_version) {
  return absl::StrCat("tests/matrix/seen/", major_version, ".txt");
}

void ExpectSeen(int major_version, const std::string& section,
                const std::vector<std::string>& lines) {
  const char* root = std::getenv("SUBLITE_WRITE_SEEN");
  if (root == nullptr) {
    const SeenSections sections = ParseSeen(ReadText(SeenPath(major_version)));
    const auto known = sections.find(section);
    ASSERT_NE(known, sections.end())
        << SeenPath(major_version) << " has no section " << section
        << "; run scripts/servers_table";
    EXPECT_EQ(lines, known->second)
        << "not what " << SeenPath(major_version) << " says of " << section
        << "; if it is right, run scripts/servers_table";
    return;
  }
  const std::string path = absl::StrCat(root, "/", SeenPath(major_version));
  SeenSections sections = ParseSeen(ReadText(path));
  sections[section] = lines;
  std::ofstream stream(path, std::ios::binary);
  stream << PrintSeen(sections);
  stream.close();
  ASSERT_TRUE(stream) << path;
}

}  // namespace sublite::testing
