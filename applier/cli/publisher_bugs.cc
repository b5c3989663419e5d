#include "applier/cli/publisher_bugs.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sublite {
namespace {

constexpr int kOldestMajor = 10;
constexpr int kNever = 1000;  // the major ended before it was mended
constexpr int kMajors = 9;    // 10 to 18

struct Bug {
  const char* what;
  // The first minor with it and the first without, for 10, 11, … 18.
  int from[kMajors];
  int mended[kMajors];
};

constexpr Bug kBugs[] = {
    // November 2022; 15 never had it.
    {"after its restart rows may be decoded by an old catalog",
     {0, 0, 0, 0, 0, 0, 0, 0, 0},
     {23, 18, 13, 9, 6, 0, 0, 0, 0}},
    // 8 August 2024.
    {"a new slot may begin inside a transaction, whose beginning is then lost",
     {0, 0, 0, 0, 0, 0, 0, 0, 0},
     {kNever, kNever, 20, 16, 13, 8, 4, 0, 0}},
    // 8 May 2025.
    {"changes may be left out or decoded wrong while ALTER PUBLICATION or "
     "ALTER TYPE runs beside them",
     {0, 0, 0, 0, 0, 0, 0, 0, 0},
     {kNever, kNever, kNever, 21, 18, 13, 9, 5, 0}},
    // 14 August 2025: the mend before had it.
    {"decoding may need more memory with each ALTER beside it, until it fails",
     {0, 0, 0, 21, 18, 13, 9, 5, 0},
     {0, 0, 0, 22, 19, 14, 10, 6, 0}},
    // 12 February 2026.
    {"a checkpoint may invalidate a slot that was just made",
     {0, 0, 0, 0, 0, 0, 0, 0, 0},
     {kNever, kNever, kNever, kNever, 21, 16, 12, 8, 2}},
};

}  // namespace

std::string KnownBugs(int server_version) {
  const int major = server_version / 10000;
  const int minor = server_version % 10000;
  if (major < kOldestMajor || major >= kOldestMajor + kMajors) return "";
  std::vector<std::string> bugs;
  int mended = 0;
  for (const Bug& bug : kBugs) {
    const int at = major - kOldestMajor;
    if (minor < bug.from[at] || minor >= bug.mended[at]) continue;
    bugs.emplace_back(bug.what);
    mended = std::max(mended, bug.mended[at]);
  }
  if (bugs.empty()) return "";
  const std::string release =
      mended == kNever ? absl::StrCat("a later major than ", major)
                       : absl::StrCat(major, ".", mended, " or later");
  return absl::StrCat("PostgreSQL ", major, ".", minor, ": ",
                      absl::StrJoin(bugs, "; "), ": update the server to ",
                      release);
}

}  // namespace sublite
