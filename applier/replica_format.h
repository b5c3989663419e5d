// sublite's own tables in a replica file, made or brought up to date.
//
// The caller owns the transaction, and has seen that the file is not of a newer
// format. Errors as Database gives them. Threads: one.
#ifndef SUBLITE_APPLIER_REPLICA_FORMAT_H_
#define SUBLITE_APPLIER_REPLICA_FORMAT_H_

#include <string>

#include "absl/status/status.h"
#include "applier/io/sqlite.h"

namespace sublite {

// Makes what is missing (schema/bookkeeping.h). A file that has no identity yet
// gets one.
absl::Status PrepareReplicaTables(Database& database);

// 16 hexadecimal digits that no other file has.
std::string NewFileId();

}  // namespace sublite

#endif  // SUBLITE_APPLIER_REPLICA_FORMAT_H_
