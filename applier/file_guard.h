// Holds the replica file for one sublite, and notices when somebody takes it
// away.
//
// Two writers with positions of their own would undo each other, and a file
// that was deleted or replaced under a running process is written to without an
// error, by a name that nobody can open. So the file is locked (flock, which
// SQLite's own fcntl locks do not meet), and its device and inode, and those of
// -wal and -shm, are compared now and then.
//
// The descriptor is closed only after SQLite's: closing any descriptor of a
// file drops the process's fcntl locks on it. Threads: one.
#ifndef SUBLITE_APPLIER_FILE_GUARD_H_
#define SUBLITE_APPLIER_FILE_GUARD_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sublite {

class FileGuard {
 public:
  // Locks `path`, which exists. Unavailable while another process holds it.
  static absl::StatusOr<std::unique_ptr<FileGuard>> Lock(
      const std::string& path);
  ~FileGuard();
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;

  // Remembers which files -wal and -shm are; call when both exist.
  void Remember();

  // Whether the database, or -wal or -shm, is no longer the file that was
  // remembered.
  bool MainChanged() const;
  bool SidecarsChanged() const;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity& other) const {
      return device == other.device && inode == other.inode;
    }
  };

  FileGuard(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  static Identity Look(const std::string& path);

  std::string path_;
  int fd_;
  Identity main_;
  Identity wal_;
  Identity shm_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_FILE_GUARD_H_
