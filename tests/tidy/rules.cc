#include "tests/tidy/rules.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sublite::testing {
namespace {

constexpr int kMaxLines = 600;
constexpr std::size_t kMinContractChars = 30;

// A layer is a folder; the longest prefix that fits a file names its layer.
// `may_include` lists prefixes of our own headers. Dependencies point one way:
// main -> applier -> wire -> schema.
struct Layer {
  std::string prefix;
  std::vector<std::string> may_include;
};

const std::vector<Layer>& Layers() {
  static const auto& layers = *new std::vector<Layer>{
      {"schema/", {"schema/"}},
      {"applier/wire/", {"schema/", "applier/wire/"}},
      // The core knows SQLite through one wrapper and the publisher through a
      // seam; it must not know who is behind it.
      {"applier/",
       {"schema/", "applier/wire/", "applier/io/sqlite.h", "applier/"}},
      {"applier/io/", {"schema/", "applier/"}},
      {"applier/cli/", {"schema/", "applier/"}},
      {"applier/main.cc", {"schema/", "applier/"}},
      {"tests/", {"schema/", "applier/", "tests/"}},
  };
  return layers;
}

// Headers of other libraries that only some may include. What is not listed
// (the standard library, Abseil) is free.
struct Library {
  std::string include_prefix;
  std::vector<std::string> users;
};

const std::vector<Library>& Libraries() {
  static const auto& libraries = *new std::vector<Library>{
      {"libpq-fe.h", {"applier/io/", "tests/"}},
      {"libpq/", {"applier/io/", "tests/"}},
      {"postgres", {"applier/io/", "tests/"}},
      {"sqlite3.h", {"applier/io/", "tests/"}},
      {"systemd/", {"applier/io/", "tests/"}},
      {"toml++/", {"applier/io/", "tests/"}},
      {"spdlog/", {"applier/io/", "tests/"}},
      {"fmt/", {"applier/io/", "tests/"}},
      {"prometheus/", {"applier/io/", "tests/"}},
      {"civetweb.h", {"applier/io/", "tests/"}},
      {"CLI/", {"applier/io/", "applier/cli/", "tests/"}},
      {"nlohmann/", {"applier/io/", "applier/cli/", "tests/"}},
      {"gtest/", {"tests/"}},
      {"gmock/", {"tests/"}},
      {"benchmark/", {"tests/"}},
  };
  return libraries;
}

// A clock, a thread, a file or a socket: the pure layers have none.
const std::vector<std::string>& ImpureHeaders() {
  static const auto& headers = *new std::vector<std::string>{
      "absl/synchronization/",
      "absl/time/clock.h",
      "arpa/",
      "atomic",
      "chrono",
      "condition_variable",
      "cstdio",
      "ctime",
      "fcntl.h",
      "filesystem",
      "fstream",
      "future",
      "iostream",
      "mutex",
      "netinet/",
      "poll.h",
      "random",
      "signal.h",
      "stdio.h",
      "sys/",
      "thread",
      "time.h",
      "unistd.h",
  };
  return headers;
}

bool IsPure(const std::string& path) {
  return absl::StartsWith(path, "schema/") ||
         absl::StartsWith(path, "applier/wire/");
}

bool IsHeader(const std::string& path) { return absl::EndsWith(path, ".h"); }

bool IsCxx(const std::string& path) {
  return IsHeader(path) || absl::EndsWith(path, ".cc");
}

// A prefix that ends with a slash names a folder, any other a file.
bool Covers(const std::string& prefix, const std::string& path) {
  return absl::EndsWith(prefix, "/") ? absl::StartsWith(path, prefix)
                                     : path == prefix;
}

bool AnyCovers(const std::vector<std::string>& prefixes,
               const std::string& path) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& p) { return Covers(p, path); });
}

const Layer* FindLayer(const std::string& path) {
  const Layer* best = nullptr;
  for (const Layer& layer : Layers()) {
    if (Covers(layer.prefix, path) &&
        (best == nullptr || layer.prefix.size() > best->prefix.size())) {
      best = &layer;
    }
  }
  return best;
}

// applier/ allows "applier/", which also covers its sub-folders; those that
// stand above it are taken out here.
bool LayerAllows(const Layer& layer, const std::string& header) {
  if (layer.prefix == "applier/" &&
      (absl::StartsWith(header, "applier/io/") ||
       absl::StartsWith(header, "applier/cli/"))) {
    return header == "applier/io/sqlite.h";
  }
  return AnyCovers(layer.may_include, header);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string At(const Source& source, std::size_t line_index) {
  return absl::StrCat(source.path, ":", line_index + 1, ": ");
}

// Google's style quotes other people's C++ headers too, so quotes alone do not
// make a header ours.
bool IsLibrary(const std::string& header) {
  return absl::StartsWith(header, "absl/") ||
         std::any_of(Libraries().begin(), Libraries().end(),
                     [&](const Library& library) {
                       return absl::StartsWith(header, library.include_prefix);
                     });
}

void CheckOwnInclude(const Source& source, const std::string& header,
                     const std::string& at, Breaches& breaches) {
  const Layer* layer = FindLayer(source.path);
  if (FindLayer(header) == nullptr) {
    breaches.push_back(absl::StrCat(at, "\"", header,
                                    "\" is not a path from the root of the "
                                    "tree"));
  } else if (layer != nullptr && !LayerAllows(*layer, header)) {
    breaches.push_back(
        absl::StrCat(at, layer->prefix, " may not include ", header));
  }
}

void CheckLibrary(const Source& source, const std::string& header,
                  const std::string& at, Breaches& breaches) {
  for (const Library& library : Libraries()) {
    if (absl::StartsWith(header, library.include_prefix) &&
        !AnyCovers(library.users, source.path)) {
      breaches.push_back(absl::StrCat(at, "<", header, "> belongs behind ",
                                      library.users.front()));
      return;
    }
  }
}

std::string GuardFor(const std::string& path) {
  std::string guard = "SUBLITE_";
  for (char c : path) {
    guard += absl::ascii_isalnum(static_cast<unsigned char>(c))
                 ? absl::ascii_toupper(static_cast<unsigned char>(c))
                 : '_';
  }
  return guard + "_";
}

// Where the literal or comment that begins at `begin` ends, or `begin` if none
// begins there.
std::size_t SkipToken(const std::string& text, std::size_t begin) {
  const auto past = [&](std::string_view end, std::size_t from) {
    const std::size_t at = text.find(end, from);
    return at == std::string::npos ? text.size() : at + end.size();
  };
  const std::string_view rest = std::string_view(text).substr(begin);
  const auto starts = [&](std::string_view prefix) {
    return rest.substr(0, prefix.size()) == prefix;
  };
  if (starts("//")) return std::min(text.find('\n', begin), text.size());
  if (starts("/*")) return past("*/", begin + 2);
  if (starts("R\"")) {
    const std::size_t open = text.find('(', begin);
    if (open == std::string::npos) return text.size();
    return past(")" + text.substr(begin + 2, open - begin - 2) + "\"", open);
  }
  // The apostrophe in 1'000'000 begins no literal.
  const bool separator =
      begin > 0 &&
      absl::ascii_isalnum(static_cast<unsigned char>(text[begin - 1]));
  if (!starts("\"") && (!starts("'") || separator)) return begin;
  std::size_t end = begin + 1;
  while (end < text.size() && text[end] != rest[0] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

bool IsWordChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool HasWord(const std::string& line, const std::string& word) {
  for (std::size_t at = line.find(word); at != std::string::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsWordChar(line[at - 1])) &&
        (end == line.size() || !IsWordChar(line[end]))) {
      return true;
    }
  }
  return false;
}

void Append(Breaches more, Breaches& breaches) {
  breaches.insert(breaches.end(), more.begin(), more.end());
}

}  // namespace

std::string BlankCommentsAndLiterals(const std::string& text) {
  std::string blank = text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = SkipToken(text, at);
    for (std::size_t i = at; i < end; ++i) {
      if (blank[i] != '\n') blank[i] = ' ';
    }
    at = std::max(end, at + 1);
  }
  return blank;
}

Breaches CheckIncludes(const Source& source) {
  Breaches breaches;
  const std::vector<std::string> code =
      Lines(BlankCommentsAndLiterals(source.text));
  const std::vector<std::string> lines = Lines(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!absl::StartsWith(code[i], "#include")) continue;
    const std::size_t open = lines[i].find_first_of("<\"");
    if (open == std::string::npos) continue;
    const bool own = lines[i][open] == '"';
    const std::size_t close = lines[i].find(own ? '"' : '>', open + 1);
    const std::string header = lines[i].substr(open + 1, close - open - 1);
    CheckLibrary(source, header, At(source, i), breaches);
    if (own && !IsLibrary(header)) {
      CheckOwnInclude(source, header, At(source, i), breaches);
    }
    if (!IsPure(source.path)) continue;
    for (const std::string& impure : ImpureHeaders()) {
      if (Covers(impure, header)) {
        breaches.push_back(absl::StrCat(
            At(source, i), header, " has no place in code that is a function ",
            "of its arguments"));
      }
    }
  }
  return breaches;
}

Breaches CheckPureCode(const Source& source) {
  static const auto& ends_process = *new std::vector<std::string>{
      "abort", "assert", "exit", "terminate", "throw", "CHECK", "ABSL_ASSERT"};
  Breaches breaches;
  if (!IsPure(source.path)) return breaches;
  const std::vector<std::string> code =
      Lines(BlankCommentsAndLiterals(source.text));
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (const std::string& word : ends_process) {
      if (HasWord(code[i], word)) {
        breaches.push_back(absl::StrCat(
            At(source, i), word, ": the publisher's bytes must reach no end ",
            "of the process; return a Status"));
      }
    }
  }
  return breaches;
}

Breaches CheckHeader(const Source& source) {
  Breaches breaches;
  if (!IsHeader(source.path)) return breaches;
  const std::vector<std::string> lines = Lines(source.text);
  std::size_t contract = 0;
  std::size_t i = 0;
  for (; i < lines.size() && absl::StartsWith(lines[i], "//"); ++i) {
    contract += lines[i].size() - 2;
  }
  if (contract < kMinContractChars) {
    breaches.push_back(absl::StrCat(
        source.path, ": does not begin with a comment that says what the ",
        "header promises"));
  }
  const std::string guard = GuardFor(source.path);
  if (i + 1 >= lines.size() || lines[i] != "#ifndef " + guard ||
      lines[i + 1] != "#define " + guard) {
    breaches.push_back(absl::StrCat(
        source.path, ": the comment is not followed by the guard ", guard));
  }
  return breaches;
}

Breaches CheckSize(const Source& source) {
  const std::size_t lines = Lines(source.text).size();
  if (!IsCxx(source.path) || lines <= kMaxLines) return {};
  return {absl::StrCat(source.path, ": ", lines, " lines, more than ",
                       kMaxLines, "; it does more than one thing")};
}

Breaches CheckMarkers(const Source& source) {
  static const auto& markers = *new std::vector<std::string>{
      "TO"
      "DO",
      "FIX"
      "ME",
      "XX"
      "X"};
  Breaches breaches;
  const std::vector<std::string> lines = Lines(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& marker : markers) {
      if (HasWord(lines[i], marker)) {
        breaches.push_back(absl::StrCat(At(source, i), marker,
                                        ": do it now or file it as an issue"));
      }
    }
  }
  return breaches;
}

Breaches CheckServerSettings(const Source& source) {
  static const auto& known = *new std::vector<std::string>{
      "enable_bitmapscan", "enable_seqscan", "enable_sort", "row_security",
      "search_path"};
  const std::string words = "SET LOCAL ";
  Breaches breaches;
  if (!absl::StartsWith(source.path, "applier/")) return breaches;
  const std::vector<std::string> lines = Lines(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t at = lines[i].find(words); at != std::string::npos;
         at = lines[i].find(words, at + 1)) {
      const std::size_t begin = at + words.size();
      const std::size_t end = lines[i].find_first_of(" =\"", begin);
      const std::string name = lines[i].substr(begin, end - begin);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      breaches.push_back(absl::StrCat(At(source, i), "sets ", name,
                                      ", which PostgreSQL 10 may not know: see "
                                      "whether pg_settings has it"));
    }
  }
  return breaches;
}

Breaches CheckBuildFile(const Source& source) {
  Breaches breaches;
  const bool product = absl::StartsWith(source.path, "schema/") ||
                       absl::StartsWith(source.path, "applier/");
  if (!product || !absl::EndsWith(source.path, "/BUILD.bazel")) return breaches;
  const std::vector<std::string> lines = Lines(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (absl::StrContains(lines[i], "//visibility:public")) {
      breaches.push_back(
          absl::StrCat(At(source, i), "open it to a package or group by name"));
    }
    const bool opens = absl::StrContains(lines[i], "__pkg__") ||
                       absl::StrContains(lines[i], "__subpackages__");
    if (absl::StrContains(lines[i], "\"//tests") && !opens) {
      breaches.push_back(
          absl::StrCat(At(source, i), "the product does not use its tests"));
    }
  }
  return breaches;
}

Breaches CheckIsBuilt(const Source& source, const Source& build_file) {
  const std::string name = source.path.substr(source.path.rfind('/') + 1);
  if (!IsCxx(source.path) ||
      absl::StrContains(build_file.text, absl::StrCat("\"", name, "\""))) {
    return {};
  }
  return {absl::StrCat(source.path, ": ", build_file.path,
                       " does not name it, so it is never built")};
}

Breaches CheckFile(const Source& source) {
  Breaches breaches;
  if (IsCxx(source.path)) {
    Append(CheckIncludes(source), breaches);
    Append(CheckPureCode(source), breaches);
    Append(CheckHeader(source), breaches);
    Append(CheckSize(source), breaches);
    Append(CheckServerSettings(source), breaches);
  }
  Append(CheckMarkers(source), breaches);
  Append(CheckBuildFile(source), breaches);
  return breaches;
}

}  // namespace sublite::testing
