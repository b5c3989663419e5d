// The house rules over the whole source tree, and over planted mistakes, so
// that a rule that no longer bites is noticed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/tidy/rules.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kContract[] =
    "// Says at some length what the header promises to those who include "
    "it.\n";

// ---- the tree ----

// The source tree itself: WORKSPACE in the runfiles is a link to the real one.
std::filesystem::path Root() {
  const std::filesystem::path runfiles = std::getenv("TEST_SRCDIR");
  return std::filesystem::canonical(runfiles / std::getenv("TEST_WORKSPACE") /
                                    "WORKSPACE")
      .parent_path();
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

// C++ and BUILD files below the folders that are ours.
std::vector<Source> Tree() {
  const std::filesystem::path root = Root();
  std::vector<Source> sources;
  for (const char* folder : {"schema", "applier", "tests"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::filesystem::path& path = entry.path();
      if (path.extension() == ".h" || path.extension() == ".cc" ||
          path.filename() == "BUILD.bazel") {
        sources.push_back(
            {path.lexically_relative(root).generic_string(), ReadFile(path)});
      }
    }
  }
  return sources;
}

void Report(const Breaches& breaches) {
  for (const std::string& breach : breaches) ADD_FAILURE() << breach;
}

TEST(TreeTest, KeepsTheRules) {
  const std::vector<Source> sources = Tree();
  ASSERT_GT(sources.size(), 20u) << "the tree was not found";
  for (const Source& source : sources) {
    Report(CheckFile(source));
  }
}

TEST(TreeTest, IsBuiltWhole) {
  const std::filesystem::path root = Root();
  for (const Source& source : Tree()) {
    std::filesystem::path folder =
        std::filesystem::path(source.path).parent_path();
    while (!folder.empty() &&
           !std::filesystem::exists(root / folder / "BUILD.bazel"))
      folder = folder.parent_path();
    const std::filesystem::path build_file = folder / "BUILD.bazel";
    Report(CheckIsBuilt(
        source, {build_file.generic_string(), ReadFile(root / build_file)}));
  }
}

// ---- planted mistakes ----

Breaches Includes(const std::string& path, const std::string& line) {
  return CheckIncludes({path, line + "\n"});
}

TEST(IncludesTest, OwnLayersPointOneWay) {
  EXPECT_THAT(Includes("schema/a.cc", "#include \"schema/b.h\""), IsEmpty());
  EXPECT_THAT(
      Includes("schema/a.cc", "#include \"applier/wire/lsn.h\""),
      ElementsAre("schema/a.cc:1: schema/ may not include applier/wire/lsn.h"));
  EXPECT_THAT(Includes("applier/wire/a.cc", "#include \"applier/publisher.h\""),
              ElementsAre(HasSubstr("may not")));
  EXPECT_THAT(Includes("applier/wire/a.cc", "#include \"schema/datum.h\""),
              IsEmpty());
  EXPECT_THAT(Includes("applier/a.cc", "#include \"applier/wire/decode.h\""),
              IsEmpty());
  EXPECT_THAT(Includes("applier/a.cc", "#include \"applier/io/sqlite.h\""),
              IsEmpty());
  EXPECT_THAT(
      Includes("applier/a.cc", "#include \"applier/io/libpq_publisher.h\""),
      ElementsAre(HasSubstr("may not")));
  EXPECT_THAT(
      Includes("applier/main.cc", "#include \"applier/io/libpq_publisher.h\""),
      IsEmpty());
}

TEST(IncludesTest, ProductDoesNotUseTests) {
  for (const char* path : {"schema/a.h", "applier/a.cc", "applier/wire/a.cc",
                           "applier/io/a.cc", "applier/main.cc"}) {
    EXPECT_THAT(Includes(path, "#include \"tests/support/x.h\""),
                ElementsAre(HasSubstr("may not")))
        << path;
  }
}

TEST(IncludesTest, LibrariesHaveOneHome) {
  for (const char* header :
       {"libpq-fe.h", "sqlite3.h", "systemd/sd-daemon.h", "toml++/toml.h",
        "spdlog/spdlog.h", "CLI/CLI.hpp", "nlohmann/json.hpp",
        "prometheus/text_serializer.h", "civetweb.h"}) {
    const std::string line = std::string("#include <") + header + ">";
    EXPECT_THAT(Includes("schema/a.cc", line),
                ElementsAre(HasSubstr("belongs behind")))
        << header;
    EXPECT_THAT(Includes("applier/a.cc", line),
                ElementsAre(HasSubstr("belongs behind")))
        << header;
    EXPECT_THAT(Includes("applier/io/a.cc", line), IsEmpty()) << header;
    EXPECT_THAT(Includes("tests/a.cc", line), IsEmpty()) << header;
  }
  EXPECT_THAT(Includes("applier/a.cc", "#include \"gtest/gtest.h\""),
              ElementsAre(HasSubstr("belongs behind")));
  EXPECT_THAT(Includes("tests/a.cc", "#include \"gtest/gtest.h\""), IsEmpty());
  EXPECT_THAT(Includes("applier/cli/a.cc", "#include <CLI/CLI.hpp>"),
              IsEmpty());
  EXPECT_THAT(Includes("applier/cli/a.cc", "#include <sqlite3.h>"),
              ElementsAre(HasSubstr("belongs behind")));
  EXPECT_THAT(Includes("applier/io/a.cc", "#include <gtest/gtest.h>"),
              ElementsAre(HasSubstr("belongs behind")));
}

TEST(IncludesTest, PureLayersHaveNoWorld) {
  for (const char* header : {"<chrono>", "<sys/socket.h>", "<fstream>",
                             "<mutex>", "\"absl/time/clock.h\""}) {
    const std::string line = std::string("#include ") + header;
    EXPECT_THAT(Includes("schema/a.cc", line),
                ElementsAre(HasSubstr("no place")))
        << header;
    EXPECT_THAT(Includes("applier/wire/a.cc", line),
                ElementsAre(HasSubstr("no place")))
        << header;
    EXPECT_THAT(Includes("applier/a.cc", line), IsEmpty()) << header;
  }
  EXPECT_THAT(Includes("schema/a.cc", "#include <string>"), IsEmpty());
}

TEST(IncludesTest, AreWrittenFromTheRoot) {
  EXPECT_THAT(Includes("applier/wire/a.cc", "#include \"lsn.h\""),
              ElementsAre(HasSubstr("not a path from the root")));
}

TEST(IncludesTest, CommentsAndLiteralsAreNoIncludes) {
  EXPECT_THAT(Includes("schema/a.cc", "/*\n#include <sqlite3.h>\n*/"),
              IsEmpty());
  EXPECT_THAT(
      Includes("schema/a.cc", "auto s = R\"x(\n#include <sqlite3.h>\n)x\";"),
      IsEmpty());
}

TEST(PureCodeTest, EndsNoProcess) {
  for (const char* code : {"assert(n > 0);", "std::abort();", "CHECK(x);",
                           "throw 1;", "std::exit(1);"}) {
    EXPECT_THAT(CheckPureCode({"applier/wire/a.cc", code}),
                ElementsAre(HasSubstr("return a Status")))
        << code;
    EXPECT_THAT(CheckPureCode({"schema/a.cc", code}),
                ElementsAre(HasSubstr("return a Status")))
        << code;
    EXPECT_THAT(CheckPureCode({"applier/a.cc", code}), IsEmpty()) << code;
  }
  EXPECT_THAT(CheckPureCode(
                  {"schema/a.cc",
                   "static_assert(true); // assert(x)\nauto s = \"abort(\";"}),
              IsEmpty());
}

TEST(HeaderTest, BeginsWithContractAndGuard) {
  const std::string guard =
      "#ifndef SUBLITE_SCHEMA_A_H_\n#define SUBLITE_SCHEMA_A_H_\n#endif\n";
  EXPECT_THAT(CheckHeader({"schema/a.h", kContract + guard}), IsEmpty());
  EXPECT_THAT(CheckHeader({"schema/a.h", guard}),
              ElementsAre(HasSubstr("does not begin with a comment")));
  EXPECT_THAT(CheckHeader({"schema/a.h", "// Things.\n" + guard}),
              ElementsAre(HasSubstr("does not begin")));
  EXPECT_THAT(CheckHeader({"schema/b.h", kContract + guard}),
              ElementsAre(HasSubstr("SUBLITE_SCHEMA_B_H_")));
  EXPECT_THAT(
      CheckHeader({"schema/a.h", std::string(kContract) + "#pragma once\n"}),
      ElementsAre(HasSubstr("guard")));
  EXPECT_THAT(CheckHeader({"schema/a.cc", ""}), IsEmpty());
}

TEST(SizeTest, HasACeiling) {
  const auto lines = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "int i;\n";
    return text;
  };
  EXPECT_THAT(CheckSize({"applier/a.cc", lines(600)}), IsEmpty());
  EXPECT_THAT(CheckSize({"applier/a.cc", lines(601)}),
              ElementsAre(HasSubstr("601 lines")));
}

TEST(MarkersTest, NothingIsLeftForLater) {
  for (const std::string marker : {"TO"
                                   "DO",
                                   "FIX"
                                   "ME",
                                   "XX"
                                   "X"}) {
    EXPECT_THAT(CheckMarkers({"schema/a.cc", "// " + marker + ": mend"}),
                ElementsAre(HasSubstr("do it now")));
  }
  EXPECT_THAT(CheckMarkers({"schema/a.cc", "mkdtemp(\"/tmp/aXXXXXX\")"}),
              IsEmpty());
}

TEST(ServerSettingsTest, OldServersKnowThem) {
  EXPECT_THAT(CheckServerSettings(
                  {"applier/io/a.cc",
                   "\" SET LOCAL enable_sort = off; SET LOCAL jit = off\""}),
              ElementsAre(HasSubstr("sets jit")));
  EXPECT_THAT(CheckServerSettings(
                  {"applier/io/a.cc", "\"; SET LOCAL row_security = off\""}),
              IsEmpty());
}

TEST(BuildFileTest, ProductIsPrivateAndKnowsNoTests) {
  EXPECT_THAT(CheckBuildFile({"schema/BUILD.bazel",
                              "visibility = [\"//visibility:public\"]"}),
              ElementsAre(HasSubstr("by name")));
  EXPECT_THAT(CheckBuildFile({"applier/BUILD.bazel",
                              "deps = [\"//tests/support:pg_server\"]"}),
              ElementsAre(HasSubstr("does not use its tests")));
  EXPECT_THAT(CheckBuildFile({"applier/BUILD.bazel",
                              "visibility = [\"//tests:__subpackages__\"]"}),
              IsEmpty());
  EXPECT_THAT(CheckBuildFile({"tests/x/BUILD.bazel",
                              "deps = [\"//tests/support:pg_server\"]"}),
              IsEmpty());
}

TEST(IsBuiltTest, OrphansAreFound) {
  const Source build_file = {"schema/BUILD.bazel", "srcs = [\"a.cc\"]"};
  EXPECT_THAT(CheckIsBuilt({"schema/a.cc", ""}, build_file), IsEmpty());
  EXPECT_THAT(CheckIsBuilt({"schema/b.cc", ""}, build_file),
              ElementsAre(HasSubstr("never built")));
}

TEST(BlankTest, KeepsCodeAndLines) {
  EXPECT_EQ(BlankCommentsAndLiterals("a // b\nc /* d\ne */ f"),
            "a     \nc     \n     f");
  EXPECT_EQ(BlankCommentsAndLiterals("x = \"a\\\"b\" + 'c';"),
            "x =        +    ;");
  EXPECT_EQ(BlankCommentsAndLiterals("1'000 + 'x'"), "1'000 +    ");
  EXPECT_EQ(BlankCommentsAndLiterals("\"open"), "     ");
}

}  // namespace
}  // namespace sublite::testing
