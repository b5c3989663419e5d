// A program that a test runs: the server, or sublite itself.
//
// Ownership: the object owns the process and ends it (SIGKILL) with itself.
// Threads: one at a time. Errors: Internal, with what the system said; a
// program that ends badly is no error of Start or Wait.
#ifndef SUBLITE_TESTS_SUPPORT_SUBPROCESS_H_
#define SUBLITE_TESTS_SUPPORT_SUBPROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace sublite::testing {

struct SubprocessOptions {
  int stdin_fd = -1;  // -1: empty
  std::string
      output_path;  // stdout and stderr are appended to it; empty: thrown away
  std::string directory = "/";           // where it runs
  std::vector<std::string> environment;  // NAME=VALUE, in place of an inherited
                                         // one; NAME alone removes it
  bool own_session =
      false;  // not reached by what ends the test's process group
};

class Subprocess {
 public:
  // `arguments[0]` is the program, looked up in PATH where it has no slash.
  static absl::StatusOr<std::unique_ptr<Subprocess>> Start(
      const std::vector<std::string>& arguments,
      const SubprocessOptions& options = {});

  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  // False if it has ended already.
  bool Signal(int signal);

  // The exit code, or 128 + the signal that ended it; nothing if it has not
  // ended within `limit`.
  std::optional<int> Wait(absl::Duration limit = absl::InfiniteDuration());

 private:
  explicit Subprocess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<int> exit_code_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_SUBPROCESS_H_
