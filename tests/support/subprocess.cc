#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sublite::testing {
namespace {

std::string NameOf(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

// The caller's environment with `changes` made.
std::vector<std::string> MakeEnvironment(
    const std::vector<std::string>& changes) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool changed = std::any_of(changes.begin(), changes.end(),
                                     [&](const std::string& change) {
                                       return NameOf(change) == NameOf(*entry);
                                     });
    if (!changed) environment.emplace_back(*entry);
  }
  for (const std::string& change : changes) {
    if (absl::StrContains(change, "=")) environment.push_back(change);
  }
  return environment;
}

// The null-terminated form that exec takes; views into `strings`.
std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Subprocess>> Subprocess::Start(
    const std::vector<std::string>& arguments,
    const SubprocessOptions& options) {
  std::vector<std::string> argument_copies = arguments;
  std::vector<std::string> environment = MakeEnvironment(options.environment);
  const std::string output =
      options.output_path.empty() ? "/dev/null" : options.output_path;

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.stdin_fd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, options.stdin_fd, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
  }
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (options.own_session)
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);

  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0].c_str(), &actions,
                                 &attributes, Pointers(argument_copies).data(),
                                 Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return absl::InternalError(
        absl::StrCat("cannot run ", arguments[0], ": ", std::strerror(error)));
  return std::unique_ptr<Subprocess>(new Subprocess(pid));
}

Subprocess::~Subprocess() {
  if (Signal(SIGKILL)) Wait();
}

bool Subprocess::Signal(int signal) {
  return !Wait(absl::ZeroDuration()).has_value() && kill(pid_, signal) == 0;
}

std::optional<int> Subprocess::Wait(absl::Duration limit) {
  const absl::Time deadline = absl::Now() + limit;
  while (!exit_code_.has_value()) {
    int status = 0;
    const bool block = limit == absl::InfiniteDuration();
    const pid_t ended = waitpid(pid_, &status, block ? 0 : WNOHANG);
    if (ended == pid_) {
      exit_code_ =
          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (!block && absl::Now() >= deadline) {
      break;
    } else if (!block) {
      absl::SleepFor(absl::Milliseconds(2));
    }
  }
  return exit_code_;
}

}  // namespace sublite::testing
