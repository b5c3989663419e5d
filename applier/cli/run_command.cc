#include "applier/cli/run_command.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/seed.h"
#include "applier/cli/watch_pages.h"
#include "applier/io/libpq_publisher.h"
#include "applier/io/machine.h"
#include "applier/io/notify.h"
#include "applier/log.h"
#include "applier/metrics.h"
#include "applier/stop_signal.h"
#include "applier/supervisor.h"

namespace sublite {
namespace {

// A stop must end within three seconds at any moment; what cannot be
// interrupted (a name lookup, a stalled disk) is left to the end of the
// process, which loses nothing that was confirmed.
constexpr absl::Duration kStopPatience = absl::Milliseconds(2500);
// Work without a sign of life for this long is a deadlock, not a slow disk.
constexpr absl::Duration kDeadAfter = absl::Minutes(10);
constexpr absl::Duration kTurn = absl::Milliseconds(200);

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// glibc keeps what was freed once for the next large value, up to 32 MB each,
// and raises its limits with every one. Here a large value comes seldom, and
// its memory belongs to others until the next.
void GiveMemoryBack() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

// Waits for a signal or the end of the work; pings the watchdog while the work
// lives, and serves the pages.
void Watch(const sigset_t& signals, const Supervisor& supervisor,
           const std::atomic<bool>& ended, WatchPages* pages) {
  const absl::Duration watchdog = notify::WatchdogInterval();
  absl::Time pinged = absl::InfinitePast();
  while (!ended.load()) {
    const timespec turn = absl::ToTimespec(kTurn);
    if (sigtimedwait(&signals, nullptr, &turn) > 0) return;
    const absl::Time now = absl::Now();
    pages->Tick(now);
    if (watchdog > absl::ZeroDuration() && now - pinged >= watchdog / 3 &&
        now - supervisor.alive_at() < kDeadAfter) {
      notify::WatchdogPing();
      pinged = now;
    }
  }
}

// Until `ended`; at the deadline the process ends with `code` all the same.
void AwaitEnd(const std::atomic<bool>& ended, absl::Time deadline, int code,
              const std::function<void()>& hurry) {
  while (!ended.load()) {
    hurry();
    if (absl::Now() > deadline) {
      LogWarn(
          "ending although some work does not stop; nothing that was confirmed "
          "is lost");
      std::cerr.flush();
      _exit(code);
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
}

int ExitCode(const absl::Status& result) {
  if (result.ok() || absl::IsCancelled(result)) {
    LogInfo("stopped");
    return kExitDone;
  }
  LogError(std::string(result.message()));
  return absl::IsInternal(result) ? kExitDefect : kExitConfig;
}

}  // namespace

int RunCommand(const Config& configured) {
  Config config = configured;
  config.replica.machine = MachineIdentity();
  GiveMemoryBack();
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A publisher that goes away is an error of write(), not the end of the
  // process.
  signal(SIGPIPE, SIG_IGN);
  // So is a file that has reached a limit of the process (RLIMIT_FSIZE).
  signal(SIGXFSZ, SIG_IGN);

  StopSignal stop;
  LibpqPublisherOptions options;
  options.conninfo = config.publisher.conninfo;
  options.password = config.publisher.password;
  options.stream.status_interval = config.publisher.status_interval;
  LibpqPublisher publisher(std::move(options), &stop);
  const auto metrics = std::make_shared<Metrics>();
  Supervisor supervisor(
      config, publisher, stop,
      {[] { notify::Ready(); },
       [](const std::string& text) { notify::Status(text); }},
      [&config, &stop]() -> absl::Status {
        if (config.replica.seed.empty()) return absl::OkStatus();
        return MakeFromSeed(config.replica.seed, config.replica.database,
                            [&stop] { return stop.requested(); });
      },
      metrics);
  WatchPages pages(config, metrics, [&] { return supervisor.alive_at(); });
  std::atomic<bool> ended{false};
  absl::Status result;
  std::thread work([&] {
    result = supervisor.Run();
    ended.store(true);
  });
  Watch(signals, supervisor, ended, &pages);
  stop.Request();
  notify::Stopping();
  const absl::Time deadline = absl::Now() + kStopPatience;
  // A client that hangs must not keep the process.
  std::atomic<bool> closed{false};
  std::thread closing([&] {
    pages.Stop();
    closed.store(true);
  });
  AwaitEnd(ended, deadline, kExitDone, [&] { supervisor.Interrupt(); });
  work.join();
  const int code = ExitCode(result);
  AwaitEnd(closed, deadline, code, [] {});
  closing.join();
  return code;
}

}  // namespace sublite
