// The house rules that a compiler does not check, as functions over the text of
// one file.
//
// Each takes a file of the source tree and returns one line per breach, "path:
// what is wrong"; none means the file is in order. Pure: reading the tree is
// the test's business, so planted mistakes are tried on made-up files.
//
// What is looked at is text, not syntax: includes and calls are found after
// comments and literals have been blanked out.
#ifndef SUBLITE_TESTS_TIDY_RULES_H_
#define SUBLITE_TESTS_TIDY_RULES_H_

#include <string>
#include <vector>

namespace sublite::testing {

// `path` is relative to the root of the source tree, with slashes:
// "applier/wire/lsn.h".
struct Source {
  std::string path;
  std::string text;
};

using Breaches = std::vector<std::string>;

// Who may include whom, which libraries and system headers are whose, and that
// includes are written from the root.
Breaches CheckIncludes(const Source& source);

// schema/ and applier/wire/ take the publisher's bytes: nothing there ends the
// process or throws.
Breaches CheckPureCode(const Source& source);

// A header begins with a comment that says what it promises, then has a guard
// named after its path.
Breaches CheckHeader(const Source& source);

// No file of C++ is longer than 600 lines.
Breaches CheckSize(const Source& source);

// Nothing is left for later in a comment.
Breaches CheckMarkers(const Source& source);

// A publisher may be as old as PostgreSQL 10, and one that does not know a
// setting refuses to SET it: SQL of the product sets only what 10 has.
Breaches CheckServerSettings(const Source& source);

// BUILD.bazel of the product: nothing visible to all, nothing that depends on
// tests.
Breaches CheckBuildFile(const Source& source);

// A file of C++ that its package's BUILD.bazel (given as `build_file`) does not
// name is neither built nor tested.
Breaches CheckIsBuilt(const Source& source, const Source& build_file);

// All rules for one file, whichever apply to it by its name.
Breaches CheckFile(const Source& source);

// `text` with comments and the insides of string and character literals turned
// into spaces; lines stay where they are.
std::string BlankCommentsAndLiterals(const std::string& text);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_TIDY_RULES_H_
