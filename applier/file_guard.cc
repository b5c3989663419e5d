#include "applier/file_guard.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sublite {

absl::StatusOr<std::unique_ptr<FileGuard>> FileGuard::Lock(
    const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  std::unique_ptr<FileGuard> guard(new FileGuard(path, fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return absl::UnavailableError(
        absl::StrCat("another sublite follows into ", path));
  }
  guard->main_ = Look(path);
  return guard;
}

FileGuard::~FileGuard() { close(fd_); }

FileGuard::Identity FileGuard::Look(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

void FileGuard::Remember() {
  wal_ = Look(path_ + "-wal");
  shm_ = Look(path_ + "-shm");
}

bool FileGuard::MainChanged() const { return !(Look(path_) == main_); }

bool FileGuard::SidecarsChanged() const {
  return !(Look(path_ + "-wal") == wal_) || !(Look(path_ + "-shm") == shm_);
}

}  // namespace sublite
