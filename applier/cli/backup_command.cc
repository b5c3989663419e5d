#include "applier/cli/backup_command.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/replica_image.h"
#include "schema/status.h"

namespace sublite {
namespace {

// The copy while it is made: beside its target, gone unless it is kept.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (path_.empty()) return;
    unlink(path_.c_str());
    for (const char* sidecar : kSidecars) unlink((path_ + sidecar).c_str());
  }

  absl::Status Create(const std::string& target) {
    std::string name = absl::StrCat(target, ".new-XXXXXX");
    const int file = mkstemp(name.data());
    if (file < 0) return SystemError("write beside", target);
    close(file);
    path_ = std::move(name);
    return absl::OkStatus();
  }

  const std::string& path() const { return path_; }
  void Keep() { path_.clear(); }

 private:
  std::string path_;
};

absl::Status CheckTarget(const std::string& database, const std::string& target,
                         bool force) {
  struct stat source = {};
  struct stat there = {};
  if (lstat(target.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) {
      return absl::FailedPreconditionError(
          absl::StrCat(target, " is a folder: name a file in it"));
    }
    if (stat(database.c_str(), &source) == 0 &&
        stat(target.c_str(), &there) == 0 && source.st_ino == there.st_ino &&
        source.st_dev == there.st_dev) {
      return absl::FailedPreconditionError(
          absl::StrCat(target, " is the replica itself"));
    }
    if (!force) {
      return absl::FailedPreconditionError(absl::StrCat(
          target,
          " is there already: name another file, or replace it with "
          "--force"));
    }
  }
  if (!force) return CheckNoSidecars(target, "remove it, or let --force do so");
  return absl::OkStatus();
}

absl::Status MoveIntoPlace(const std::string& database, TemporaryFile* copy,
                           const std::string& target, bool force) {
  struct stat source = {};
  if (stat(database.c_str(), &source) == 0 &&
      chmod(copy->path().c_str(), source.st_mode & 0777) != 0) {
    return SystemError("set the mode of", copy->path());
  }
  RETURN_IF_ERROR(SyncPath(copy->path()));
  if (force) {
    for (const char* sidecar : kSidecars) unlink((target + sidecar).c_str());
    if (rename(copy->path().c_str(), target.c_str()) != 0) {
      return SystemError("replace", target);
    }
    copy->Keep();
  } else if (link(copy->path().c_str(), target.c_str()) != 0) {
    // Unlike rename, link does not replace what came there meanwhile. Some
    // file systems (FAT) have no links.
    if (errno == EEXIST || access(target.c_str(), F_OK) == 0 ||
        rename(copy->path().c_str(), target.c_str()) != 0) {
      return SystemError("make", target);
    }
    copy->Keep();
  }
  return SyncPath(FolderOf(target));
}

absl::Status Backup(const std::string& database, const std::string& target,
                    bool force, const std::function<bool()>& stop,
                    std::string* applied_lsn) {
  RETURN_IF_ERROR(CheckTarget(database, target, force));
  TemporaryFile copy;
  RETURN_IF_ERROR(copy.Create(target));
  ASSIGN_OR_RETURN(*applied_lsn,
                   CopyReplica(database, copy.path(), {stop, nullptr}));
  return MoveIntoPlace(database, &copy, target, force);
}

}  // namespace

int BackupCommand(const std::string& database, const std::string& target,
                  bool force, const std::function<bool()>& stop,
                  std::ostream& out, std::ostream& err) {
  std::string applied_lsn;
  const absl::Status status =
      Backup(database, target, force, stop, &applied_lsn);
  if (absl::IsCancelled(status)) {
    // Not 0: a script must not take this for a backup.
    err << "sublite: interrupted, no backup was made\n";
    return kExitTimeout;
  }
  if (!status.ok()) return Fail(err, status);
  out << "copied " << database << " at " << applied_lsn << " to " << target
      << ", checked\n";
  return kExitDone;
}

}  // namespace sublite
