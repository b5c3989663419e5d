// A copy of a replica file, as `sublite backup` hands it out and `sublite run
// --seed` takes it: one file in SQLite's rollback mode, checked.
//
// The source is read as by any reader, so that its sublite may run. Memory:
// SQLite's cache. Errors: FailedPrecondition for what a person has to mend (no
// space, no permission, no replica), DataLoss where a file is damaged,
// Cancelled. Threads: one.
#ifndef SUBLITE_APPLIER_CLI_REPLICA_IMAGE_H_
#define SUBLITE_APPLIER_CLI_REPLICA_IMAGE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/io/sqlite.h"

namespace sublite {

// Files that SQLite would read together with a database of that name.
inline constexpr const char* kSidecars[] = {"-wal", "-shm", "-journal"};

struct ImageOptions {
  std::function<bool()> stop;
  // Changes the copy before it is checked; may be none.
  std::function<absl::Status(Database&)> edit;
};

// Copies the replica `from` into the file `to`, which is empty, and checks it
// as a stranger would (integrity_check, the position row). Gives what it stands
// at ("X/Y"). Nothing is synced.
absl::StatusOr<std::string> CopyReplica(const std::string& from,
                                        const std::string& to,
                                        const ImageOptions& options);

std::string FolderOf(const std::string& path);
// FailedPrecondition "cannot <doing> <path>: " and what errno says.
absl::Status SystemError(const std::string& doing, const std::string& path);
// Of a file's content, or of a folder's names.
absl::Status SyncPath(const std::string& path);
// FailedPrecondition if a sidecar of `target` is there.
absl::Status CheckNoSidecars(const std::string& target, const char* mend);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_REPLICA_IMAGE_H_
