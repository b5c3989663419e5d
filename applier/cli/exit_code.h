// The exit codes of CONTRACT.md section 1, and how a Status becomes one.
#ifndef SUBLITE_APPLIER_CLI_EXIT_CODE_H_
#define SUBLITE_APPLIER_CLI_EXIT_CODE_H_

#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sublite {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFinding = 1;   // of `check`
inline constexpr int kExitUsage = 64;    // wrong command line
inline constexpr int kExitDefect = 70;   // in sublite
inline constexpr int kExitTimeout = 75;  // trying again can help
inline constexpr int kExitConfig = 78;   // only a person can mend it

// The exit code of a command that ends because of `status`.
inline int ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:  // stopped by a signal
      return kExitDone;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return kExitTimeout;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return kExitDefect;
    default:
      return kExitConfig;
  }
}

// Prints each line of the message with "sublite: " in front; returns the code.
inline int Fail(std::ostream& err, const absl::Status& status) {
  absl::string_view rest = status.message();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    err << "sublite: " << std::string(rest.substr(0, end)) << "\n";
    if (end == absl::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return ExitCodeFor(status);
}

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_EXIT_CODE_H_
