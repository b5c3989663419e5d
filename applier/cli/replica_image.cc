#include "applier/cli/replica_image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "applier/cli/replica_file.h"
#include "schema/status.h"

namespace sublite {
namespace {

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

}  // namespace

absl::Status SystemError(const std::string& doing, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", doing, " ", path, ": ", std::strerror(errno)));
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status SyncPath(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError("open", path);
  absl::Status status;
  if (fsync(file) != 0) status = SystemError("sync", path);
  close(file);
  return status;
}

absl::Status CheckNoSidecars(const std::string& target, const char* mend) {
  struct stat there = {};
  for (const char* sidecar : kSidecars) {
    const std::string path = target + sidecar;
    if (lstat(path.c_str(), &there) != 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        " is left from another database and would be read as a part of "
        "this one: ",
        mend));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CopyReplica(const std::string& from,
                                        const std::string& to,
                                        const ImageOptions& options) {
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<Database> source,
                     OpenReplicaForReading(from));
    source->StopWhen(options.stop);
    RETURN_IF_ERROR(CheckSpace(to, source.get()));
    RETURN_IF_ERROR(Copy(source.get(), to));
  }
  if (options.edit) {
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Database> copy,
        Database::Open(to, Database::Mode::kReadWrite, absl::ZeroDuration()));
    RETURN_IF_ERROR(
        copy->Execute("pragma synchronous = full; begin immediate"));
    RETURN_IF_ERROR(options.edit(*copy));
    RETURN_IF_ERROR(copy->Execute("commit"));
  }
  std::string applied_lsn;
  RETURN_IF_ERROR(Verify(to, options.stop, &applied_lsn));
  return applied_lsn;
}

}  // namespace sublite
