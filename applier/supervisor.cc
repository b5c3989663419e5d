#include "applier/supervisor.h"

#include <poll.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "schema/status.h"

namespace sublite {
namespace {

// The same trouble is written into the file again only after this long: flash
// wears.
constexpr absl::Duration kNoteAgain = absl::Minutes(5);
constexpr absl::Duration kRefusedPauseMin = absl::Seconds(5);

}  // namespace

Supervisor::Supervisor(const Config& config, Publisher& publisher,
                       const StopSignal& stop, Announcer announcer,
                       std::function<absl::Status()> seed,
                       std::shared_ptr<Metrics> metrics)
    : config_(config),
      publisher_(publisher),
      stop_(stop),
      announcer_(std::move(announcer)),
      seed_(std::move(seed)),
      metrics_(std::move(metrics)),
      backoff_(std::random_device()()) {}

bool Supervisor::Stopped() {
  alive_micros_.store(absl::ToUnixMicros(absl::Now()),
                      std::memory_order_relaxed);
  return stop_.requested();
}

void Supervisor::Announce(const std::string& text) {
  metrics_->SetNote(text);
  announcer_.status(text);
}

void Supervisor::Interrupt() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (replica_ != nullptr) replica_->database().Interrupt();
}

absl::Status Supervisor::OpenReplica() {
  const std::string& path = config_.replica.database;
  if (seed_) RETURN_IF_ERROR(seed_());
  absl::StatusOr<std::unique_ptr<Replica>> opened = Replica::Open(
      path, [this] { return Stopped(); }, metrics_);
  if (!opened.ok()) return opened.status();
  std::optional<ChangeFeedOptions> changes;
  if (config_.replica.changes) {
    changes.emplace();
    changes->age = config_.replica.changes_age;
    changes->bytes = config_.replica.changes_size;
  }
  RETURN_IF_ERROR((*opened)->KeepChanges(changes));
  const std::lock_guard<std::mutex> lock(mutex_);
  replica_ = *std::move(opened);
  return absl::OkStatus();
}

absl::Status Supervisor::Run() {
  Stopped();
  while (true) {
    const absl::Status opened = OpenReplica();
    if (opened.ok()) {
      announcer_.ready();
      bool reopen = false;
      const absl::Status status = Follow(&reopen);
      const std::lock_guard<std::mutex> lock(mutex_);
      replica_.reset();
      if (!reopen) return status;
    } else {
      // Readers of a file that is merely locked or short of space lose nothing
      // by waiting.
      if (!absl::IsUnavailable(opened) && !absl::IsResourceExhausted(opened))
        return opened;
      LogError("cannot open the replica; trying again",
               {{"error", std::string(opened.message())}});
      metrics_->CountError(ErrorKind::kOther);
      metrics_->SetPhase(Phase::kWaiting);
      metrics_->SetNote(std::string(opened.message()));
    }
    if (!Pause(backoff_.Next())) return absl::CancelledError("told to stop");
  }
}

absl::Status Supervisor::Follow(bool* reopen) {
  Replica* replica = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    replica = replica_.get();
  }
  while (!Stopped()) {
    Session session(
        config_, *replica, publisher_, memory_, [this] { return Stopped(); },
        [this](std::string_view text) { Announce(std::string(text)); });
    const SessionEnd end = session.Run();
    if (end.next == SessionEnd::Next::kStop) break;
    if (end.next == SessionEnd::Next::kReopen) {
      LogError("opening the replica again",
               {{"error", std::string(end.status.message())}});
      *reopen = true;
      return absl::OkStatus();
    }
    if (end.progressed) backoff_.Reset();
    if (end.at_once) continue;
    NoteEnd(end);
    if (end.next == SessionEnd::Next::kNeedsPerson) return end.status;
    absl::Duration pause = backoff_.Next();
    if (end.next == SessionEnd::Next::kWait)
      pause = std::max(pause, kRefusedPauseMin);
    Announce(absl::StrCat(end.next == SessionEnd::Next::kWait
                              ? "waiting for a person: "
                              : "waiting for the publisher: ",
                          end.status.message()));
    if (!Pause(pause)) break;
  }
  // Best effort: the file may be locked or the disk full, and stopping must not
  // wait for either.
  const absl::Status noted = replica->NoteStopped();
  if (!noted.ok())
    LogWarn("cannot note the stop in the replica",
            {{"error", std::string(noted.message())}});
  return absl::OkStatus();
}

void Supervisor::NoteEnd(const SessionEnd& end) {
  Replica* replica = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    replica = replica_.get();
  }
  const std::string text(end.status.message());
  const bool waits =
      end.next == SessionEnd::Next::kAgain && absl::IsUnavailable(end.status);
  // A refused transaction was counted as that.
  if (waits || end.next != SessionEnd::Next::kWait)
    metrics_->CountError(waits ? ErrorKind::kConnection : ErrorKind::kOther);
  if (waits) {
    LogWarn("lost the publisher; trying again", {{"error", text}});
  } else {
    LogError("stopped following", {{"error", text}});
  }
  absl::Status written = replica->SetState(waits ? "disconnected" : "failed");
  const absl::Time now = absl::Now();
  if (written.ok() && (text != noted_error_ || now - noted_at_ >= kNoteAgain)) {
    written = replica->RecordError(text);
    noted_error_ = text;
    noted_at_ = now;
  }
  if (!written.ok())
    LogWarn("cannot note the error in the replica",
            {{"error", std::string(written.message())}});
}

bool Supervisor::Pause(absl::Duration pause) {
  Replica* replica = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    replica = replica_.get();
  }
  const absl::Time until = absl::Now() + pause;
  std::int64_t version = 0;
  while (!Stopped()) {
    const absl::Duration left = until - absl::Now();
    if (left <= absl::ZeroDuration()) return true;
    pollfd stop = {stop_.fd(), POLLIN, 0};
    poll(&stop, 1,
         static_cast<int>(absl::ToInt64Milliseconds(
             std::min(left, absl::Milliseconds(500)))) +
             1);
    if (replica == nullptr) continue;
    // `sublite skip` and `sublite resync` should not have to wait for the pause
    // to end.
    const absl::StatusOr<std::int64_t> now =
        replica->database().QueryInt("pragma data_version");
    if (now.ok() && version != 0 && *now != version) {
      const absl::StatusOr<std::vector<Request>> requests = replica->Requests();
      if (requests.ok() && !requests->empty()) return true;
    }
    if (now.ok()) version = *now;
  }
  return false;
}

}  // namespace sublite
