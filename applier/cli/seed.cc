#include "applier/cli/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "applier/cli/replica_file.h"
#include "applier/cli/replica_image.h"
#include "applier/io/sqlite.h"
#include "applier/log.h"
#include "applier/replica_format.h"
#include "schema/status.h"

namespace sublite {
namespace {

bool Exists(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0;
}

// The file in which the database is made: empty, and locked for this process.
class SeedingFile {
 public:
  explicit SeedingFile(std::string path) : path_(std::move(path)) {}
  SeedingFile(const SeedingFile&) = delete;
  SeedingFile& operator=(const SeedingFile&) = delete;
  ~SeedingFile() {
    if (locked_) Remove();
    if (fd_ >= 0) close(fd_);
  }

  absl::Status Create() {
    // As SQLite makes a database; the umask says who may read it.
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd_ < 0) return SystemError("make", path_);
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      return absl::UnavailableError(
          absl::StrCat("another sublite is making ", path_));
    }
    // Who held the lock may have given the file its name meanwhile.
    struct stat mine = {};
    struct stat there = {};
    if (fstat(fd_, &mine) != 0 || stat(path_.c_str(), &there) != 0 ||
        mine.st_ino != there.st_ino || mine.st_dev != there.st_dev) {
      return absl::UnavailableError(
          absl::StrCat("another sublite has just made ", path_));
    }
    locked_ = true;
    for (const char* sidecar : kSidecars) unlink((path_ + sidecar).c_str());
    if (ftruncate(fd_, 0) != 0) return SystemError("empty", path_);
    return absl::OkStatus();
  }

  absl::Status MoveTo(const std::string& target) {
    RETURN_IF_ERROR(SyncPath(path_));
    if (std::rename(path_.c_str(), target.c_str()) != 0)
      return SystemError("make", target);
    locked_ = false;
    return SyncPath(FolderOf(target));
  }

  const std::string& path() const { return path_; }

 private:
  void Remove() {
    unlink(path_.c_str());
    for (const char* sidecar : kSidecars) unlink((path_ + sidecar).c_str());
  }

  std::string path_;
  int fd_ = -1;
  bool locked_ = false;
};

// In the copy: a replica of its own, without a slot and without the seed's past
// troubles.
absl::Status MakeOwn(Database& copy, const std::string& seed) {
  RETURN_IF_ERROR(PrepareReplicaTables(copy));
  ASSIGN_OR_RETURN(
      const std::int64_t usable,
      copy.QueryInt("select count(*) from sublite_state where applied_pos is "
                    "not null and slot || slot_from <> ''"));
  if (usable == 0) {
    return absl::FailedPreconditionError(
        "it has no position yet: let its sublite run until its tables are "
        "copied");
  }
  ASSIGN_OR_RETURN(
      const std::int64_t unready,
      copy.QueryInt("select count(*) from sublite_tables where state not in "
                    "('ready', 'unpublished')"));
  if (unready > 0) {
    LogWarn(
        "tables of the seed were not copied yet; this device copies them, as "
        "will every other",
        {{"tables", absl::StrCat(unready)}});
  }
  ASSIGN_OR_RETURN(
      Statement update,
      copy.Prepare(
          "update sublite_state set file_id = ?1, "
          "slot_from = case slot when '' then slot_from else slot end, "
          "slot = '', slot_asked = '', slot_making = 0, slot_passed = 0, "
          "slot_note = null, home_machine = '', home_path = '', "
          "last_error = null, last_error_at = null, activity = null, "
          "state = 'disconnected'"));
  const std::string file_id = NewFileId();
  RETURN_IF_ERROR(update.BindText(1, file_id));
  RETURN_IF_ERROR(update.Run());
  RETURN_IF_ERROR(copy.Execute("delete from sublite_requests"));
  return AddEvent(&copy, "seeded", absl::StrCat("made from ", seed));
}

}  // namespace

absl::Status MakeFromSeed(const std::string& seed, const std::string& database,
                          const std::function<bool()>& stop) {
  if (Exists(database)) return absl::OkStatus();
  RETURN_IF_ERROR(CheckNoSidecars(database, "remove it"));
  SeedingFile file(database + ".seeding");
  RETURN_IF_ERROR(file.Create());
  // Another process may have been quicker.
  if (Exists(database)) return absl::OkStatus();
  LogInfo("making the replica from a seed", {{"seed", seed}});
  const absl::StatusOr<std::string> at = CopyReplica(
      seed, file.path(),
      {stop, [&seed](Database& copy) { return MakeOwn(copy, seed); }});
  if (!at.ok()) {
    return Annotate(at.status(), absl::StrCat("cannot make ", database,
                                              " from the seed ", seed));
  }
  RETURN_IF_ERROR(file.MoveTo(database));
  LogInfo("made the replica from a seed", {{"seed", seed}, {"lsn", *at}});
  return absl::OkStatus();
}

}  // namespace sublite
