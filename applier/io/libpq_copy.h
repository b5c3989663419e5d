// The rows of one published table in one snapshot, by COPY.
//
// Order matters (see OpenTableReader): the table is locked against changes of
// its shape before the transaction takes its snapshot, since neither the
// catalog functions nor a rewritten table's rows keep to a snapshot.
//
// Errors: NotFound where the table does not exist or is not published,
// FailedPrecondition where rights are missing or row level security would
// filter, else as libpq_error.h. Threads: as TableReader.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_COPY_H_
#define SUBLITE_APPLIER_IO_LIBPQ_COPY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/io/libpq_sessions.h"
#include "applier/publisher.h"
#include "schema/relation.h"

namespace sublite {

absl::StatusOr<std::unique_ptr<TableReader>> OpenTableReader(
    std::shared_ptr<OrdinarySessions> sessions, const std::string& pg_schema,
    const std::string& pg_table, const std::vector<std::string>& publications,
    const CopyRequest& request);

// `SELECT "a","b" FROM ONLY "s"."t" WHERE (…)`, with a limit also `AND ("a") >
// ('5') ORDER BY "a" LIMIT 10`.
std::string SelectRows(const PublishedTable& table, const CopyRequest& request);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_COPY_H_
