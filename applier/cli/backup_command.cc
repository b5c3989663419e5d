#include "applier/cli/backup_command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/replica_file.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Files that SQLite would read together with a database of that name.
constexpr const char* kSidecars[] = {"-wal", "-shm", "-journal"};

absl::Status SystemError(const std::string& doing, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", doing, " ", path, ": ", std::strerror(errno)));
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

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
  for (const char* sidecar : kSidecars) {
    const std::string path = target + sidecar;
    if (!force && lstat(path.c_str(), &there) == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          path,
          " is left from another database and would be read as a part of "
          "this one: remove it, or let --force do so"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSpace(const std::string& target, Database* database) {
  ASSIGN_OR_RETURN(const std::int64_t pages,
                   database->QueryInt("pragma page_count"));
  ASSIGN_OR_RETURN(const std::int64_t unused,
                   database->QueryInt("pragma freelist_count"));
  ASSIGN_OR_RETURN(const std::int64_t page_bytes,
                   database->QueryInt("pragma page_size"));
  struct statvfs disk = {};
  if (statvfs(FolderOf(target).c_str(), &disk) != 0) {
    return SystemError("write into", FolderOf(target));
  }
  const auto needed_bytes =
      static_cast<std::uint64_t>((pages - unused) * page_bytes);
  const std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (needed_bytes <= free_bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the copy needs up to ", needed_bytes >> 20, " MB, ",
                   FolderOf(target), " has ", free_bytes >> 20, " MB free"));
}

absl::Status Copy(Database* database, const std::string& to) {
  ASSIGN_OR_RETURN(Statement vacuum, database->Prepare("vacuum into ?1"));
  RETURN_IF_ERROR(vacuum.BindText(1, to));
  return vacuum.Run();
}

// Opens the copy as a stranger would; `*applied_lsn` is what it stands at.
absl::Status Verify(const std::string& path, const std::function<bool()>& stop,
                    std::string* applied_lsn) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> copy,
                   OpenReplicaForReading(path));
  copy->StopWhen(stop);
  ASSIGN_OR_RETURN(Statement check, copy->Prepare("pragma integrity_check"));
  ASSIGN_OR_RETURN(const bool row, check.Step());
  if (!row || check.Text(0) != "ok") {
    return absl::DataLossError(absl::StrCat(
        "the copy is not sound, so the replica may not be, either: ",
        std::string(check.Text(0))));
  }
  check.Reset();
  ASSIGN_OR_RETURN(const ReplicaStatus status, ReadReplicaStatus(copy.get()));
  if (!status.started) {
    return absl::FailedPreconditionError(
        "the replica is empty: `sublite run` has not begun yet");
  }
  *applied_lsn = status.applied_lsn;
  return absl::OkStatus();
}

absl::Status Sync(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError("open", path);
  absl::Status status;
  if (fsync(file) != 0) status = SystemError("sync", path);
  close(file);
  return status;
}

absl::Status MoveIntoPlace(const std::string& database, TemporaryFile* copy,
                           const std::string& target, bool force) {
  struct stat source = {};
  if (stat(database.c_str(), &source) == 0 &&
      chmod(copy->path().c_str(), source.st_mode & 0777) != 0) {
    return SystemError("set the mode of", copy->path());
  }
  RETURN_IF_ERROR(Sync(copy->path()));
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
  return Sync(FolderOf(target));
}

absl::Status Backup(const std::string& database, const std::string& target,
                    bool force, const std::function<bool()>& stop,
                    std::string* applied_lsn) {
  RETURN_IF_ERROR(CheckTarget(database, target, force));
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> source,
                   OpenReplicaForReading(database));
  source->StopWhen(stop);
  RETURN_IF_ERROR(CheckSpace(target, source.get()));
  TemporaryFile copy;
  RETURN_IF_ERROR(copy.Create(target));
  RETURN_IF_ERROR(Copy(source.get(), copy.path()));
  RETURN_IF_ERROR(Verify(copy.path(), stop, applied_lsn));
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
