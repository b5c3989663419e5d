// The one unlinked file beside the database that all spools of a connection
// share, and the bounds that they share: on disk, and in memory.
//
// One file, so that thousands of open transactions need one descriptor. It is
// made at the first extent and goes with the process, whatever ends it. Extents
// are numbered; a spool takes them one by one and gives them back when its
// transaction is decided, and their space goes back to the file system at once
// (where that can punch holes, else with the last spool).
//
// Bounds: `bytes_max` is what all limited spools together may hold
// (replica.spill_limit). `free_min` is what is left to others on the file
// system in any case. `memory_max` is what spools keep in memory before they
// write, together; each may have kPage more.
//
// Errors: ResourceExhausted for either bound, a full disk, a quota of the file
// system, and a file that may not be larger; Unavailable for other I/O errors.
// Threads: one. Lifetime: outlives its spools.
#ifndef SUBLITE_APPLIER_SPILL_FILE_H_
#define SUBLITE_APPLIER_SPILL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sublite {

// In bytes; zeros where a file system does not tell.
struct FileSystemSpace {
  std::int64_t size = 0;
  std::int64_t free = 0;  // to an ordinary user
};

struct SpillOptions {
  std::string directory;
  std::int64_t bytes_max = 0;        // 0: no limit
  std::int64_t free_min = 64 << 20;  // or a sixteenth of the file system
  std::int64_t memory_max = 4 << 20;
  // The file system of an open file. A seam for tests.
  std::function<FileSystemSpace(int file)> space;
};

class SpillFile {
 public:
  using Extent = std::uint32_t;
  static constexpr std::int64_t kExtentBytes = 64 * 1024;
  static constexpr std::size_t kPage = 4096;

  explicit SpillFile(SpillOptions options);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Counts bytes against bytes_max. On an error nothing is counted.
  absl::Status Count(std::int64_t bytes);
  void Uncount(std::int64_t bytes) { counted_ -= bytes; }
  std::int64_t counted() const { return counted_; }
  // Bytes written into the file so far.
  std::int64_t written() const { return written_; }

  // What spools hold in memory. True if that is more than they should.
  bool crowded() const { return buffered_ > options_.memory_max; }
  void AddBuffered(std::int64_t bytes) { buffered_ += bytes; }

  absl::StatusOr<Extent> Take();
  // Empties `*extents`.
  void GiveBack(std::vector<Extent>* extents);

  // Within one extent.
  absl::Status Write(Extent extent, std::int64_t offset,
                     std::string_view bytes);
  // At least one byte, at most `size`; returns how many. DataLoss at the end of
  // the file.
  absl::StatusOr<std::size_t> Read(Extent extent, std::int64_t offset, char* to,
                                   std::size_t size);

 private:
  absl::Status Open();
  absl::Status CheckFree();

  const SpillOptions options_;
  int file_ = -1;
  Extent used_ = 0;  // extents from here on were never written
  std::vector<Extent> free_;
  std::int64_t counted_ = 0;
  std::int64_t written_ = 0;
  std::int64_t buffered_ = 0;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_SPILL_FILE_H_
