#include "applier/cli/wait_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/replica_file.h"
#include "applier/io/sqlite.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Well below what a person notices, and twenty cheap questions a second.
constexpr absl::Duration kPoll = absl::Milliseconds(50);

struct Progress {
  Lsn applied;
  std::int64_t copying = 0;  // tables whose rows are not yet those of `applied`
  std::string failed;        // names of tables put aside
  std::string last_error;
};

// The file that `path` names now, looked at again only when it has changed.
class Watcher {
 public:
  explicit Watcher(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<Progress> Look() {
    RETURN_IF_ERROR(FollowFile());
    // Cheap: reads the WAL index, no page.
    ASSIGN_OR_RETURN(const std::int64_t version,
                     database_->QueryInt("pragma data_version"));
    if (version == version_) return progress_;
    ASSIGN_OR_RETURN(progress_, Read());
    version_ = version;
    return progress_;
  }

 private:
  // Opens the file, also when another one has taken its name.
  absl::Status FollowFile() {
    struct stat info = {};
    const bool there = stat(path_.c_str(), &info) == 0;
    if (database_ != nullptr && there && info.st_ino == file_ &&
        info.st_dev == device_) {
      return absl::OkStatus();
    }
    database_.reset();
    version_ = -1;
    if (!there) {
      return absl::UnavailableError(
          absl::StrCat("there is no replica at ", path_));
    }
    ASSIGN_OR_RETURN(database_, OpenReplicaForReading(path_));
    file_ = info.st_ino;
    device_ = info.st_dev;
    return absl::OkStatus();
  }

  absl::StatusOr<Progress> Read() {
    ASSIGN_OR_RETURN(
        Statement row,
        database_->Prepare(
            "select applied_lsn, coalesce(last_error, ''), "
            "(select count(*) from sublite_tables "
            " where state in ('pending', 'copying')), "
            "(select coalesce(group_concat(sqlite_table, ', '), '') "
            " from sublite_tables where state = 'failed') "
            "from sublite_status"));
    Progress progress;
    ASSIGN_OR_RETURN(const bool found, row.Step());
    if (!found) return progress;
    Lsn::Parse(row.Text(0), &progress.applied);
    progress.last_error = std::string(row.Text(1));
    progress.copying = row.Int(2);
    progress.failed = std::string(row.Text(3));
    return progress;
  }

  const std::string path_;
  std::unique_ptr<Database> database_;
  ino_t file_ = 0;
  dev_t device_ = 0;
  std::int64_t version_ = -1;
  Progress progress_;
};

std::string WhyNot(Lsn lsn, const absl::StatusOr<Progress>& progress) {
  if (!progress.ok()) return std::string(progress.status().message());
  std::string why =
      progress->applied < lsn
          ? absl::StrCat("applied is ", progress->applied.ToString())
          : absl::StrCat(progress->copying, " table(s) are being copied");
  if (!progress->last_error.empty()) {
    absl::StrAppend(&why, "; last error: ", progress->last_error);
  }
  return why;
}

}  // namespace

int WaitCommand(const std::string& database, Lsn lsn, absl::Duration timeout,
                std::ostream& err) {
  // The monotonic clock: a device's wall clock may jump.
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Watcher watcher(database);
  while (true) {
    const absl::StatusOr<Progress> progress = watcher.Look();
    if (progress.ok() && progress->applied >= lsn && progress->copying == 0) {
      if (!progress->failed.empty()) {
        err << "sublite: not up to date, put aside after an error: "
            << progress->failed << "\n";
      }
      return kExitDone;
    }
    if (absl::IsFailedPrecondition(progress.status()) ||
        absl::IsPermissionDenied(progress.status()) ||
        absl::IsDataLoss(progress.status())) {
      return Fail(err, progress.status());
    }
    const absl::Duration left =
        timeout - absl::FromChrono(Clock::now() - start);
    if (left <= absl::ZeroDuration()) {
      err << "sublite: " << lsn.ToString() << " is not applied after "
          << absl::FormatDuration(timeout) << ": " << WhyNot(lsn, progress)
          << "\n";
      return kExitTimeout;
    }
    std::this_thread::sleep_for(
        absl::ToChronoNanoseconds(std::min(left, kPoll)));
  }
}

}  // namespace sublite
