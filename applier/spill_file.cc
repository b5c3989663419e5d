#include "applier/spill_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Asking the file system is cheap, but not free.
constexpr SpillFile::Extent kExtentsPerCheck = 16;

absl::Status IoError(const std::string& directory, const char* doing) {
  const int error = errno;
  const std::string text =
      absl::StrCat("spill file in ", directory, ": cannot ", doing, ": ",
                   std::strerror(error));
  // EFBIG: a file system with small files, or a limit of the process.
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return full ? absl::ResourceExhaustedError(text)
              : absl::UnavailableError(text);
}

FileSystemSpace SpaceOf(int file) {
  struct statvfs fs = {};
  if (fstatvfs(file, &fs) != 0) return {};
  const auto block = static_cast<std::int64_t>(fs.f_frsize);
  return {static_cast<std::int64_t>(fs.f_blocks) * block,
          static_cast<std::int64_t>(fs.f_bavail) * block};
}

}  // namespace

SpillFile::SpillFile(SpillOptions options)
    : options_([&options] {
        if (!options.space) options.space = SpaceOf;
        return std::move(options);
      }()) {}

SpillFile::~SpillFile() {
  if (file_ >= 0) close(file_);
}

absl::Status SpillFile::Count(std::int64_t bytes) {
  if (options_.bytes_max > 0 && counted_ + bytes > options_.bytes_max) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the changes of open transactions are more than replica.spill_limit, ",
        options_.bytes_max, " bytes"));
  }
  counted_ += bytes;
  return absl::OkStatus();
}

absl::Status SpillFile::Open() {
  // Unlinked from the beginning: it goes with the process, whatever ends it.
  file_ =
      open(options_.directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return absl::OkStatus();
  std::string name = absl::StrCat(options_.directory, "/.sublite-spill-XXXXXX");
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) return IoError(options_.directory, "make it");
  unlink(name.c_str());
  return absl::OkStatus();
}

absl::Status SpillFile::CheckFree() {
  const FileSystemSpace space = options_.space(file_);
  const std::int64_t kept = std::min(options_.free_min, space.size / 16);
  if (space.free >= kept) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("spill file in ", options_.directory, ": only ", space.free,
                   " bytes are free, and the last ", kept, " are left alone"));
}

absl::StatusOr<SpillFile::Extent> SpillFile::Take() {
  if (file_ < 0) RETURN_IF_ERROR(Open());
  if ((used_ - free_.size()) % kExtentsPerCheck == 0)
    RETURN_IF_ERROR(CheckFree());
  if (free_.empty()) return used_++;
  const Extent extent = free_.back();
  free_.pop_back();
  return extent;
}

void SpillFile::GiveBack(std::vector<Extent>* extents) {
  std::sort(extents->begin(), extents->end());
  free_.insert(free_.end(), extents->rbegin(), extents->rend());
  if (free_.size() == used_) {
    // Where it cannot be cut, its extents are used again.
    if (file_ < 0 || ftruncate(file_, 0) != 0) return extents->clear();
    used_ = 0;
    free_ = std::vector<Extent>();
    return extents->clear();
  }
  for (std::size_t i = 0; i < extents->size();) {
    std::size_t end = i + 1;
    while (end < extents->size() &&
           (*extents)[end] == (*extents)[end - 1] + 1) {
      ++end;
    }
    // A file system without holes keeps the space until the last spool goes.
    if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (*extents)[i] * kExtentBytes,
                  static_cast<std::int64_t>(end - i) * kExtentBytes) != 0) {
      break;
    }
    i = end;
  }
  extents->clear();
}

absl::Status SpillFile::Write(Extent extent, std::int64_t offset,
                              std::string_view bytes) {
  std::int64_t at = extent * kExtentBytes + offset;
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), at);
    if (written < 0) {
      if (errno == EINTR) continue;
      return IoError(options_.directory, "write it");
    }
    at += written;
    written_ += written;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> SpillFile::Read(Extent extent, std::int64_t offset,
                                            char* to, std::size_t size) {
  while (true) {
    const ssize_t got = pread(file_, to, size, extent * kExtentBytes + offset);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) return absl::DataLossError("a spill file lost its end");
    if (errno != EINTR) return IoError(options_.directory, "read it");
  }
}

}  // namespace sublite
