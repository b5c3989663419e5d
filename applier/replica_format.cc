#include "applier/replica_format.h"

#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "schema/bookkeeping.h"
#include "schema/status.h"

namespace sublite {
namespace {

absl::Status AddMissingColumns(Database& database) {
  bool added = false;
  for (const AddedColumn& column : kAddedColumns) {
    ASSIGN_OR_RETURN(
        const std::int64_t there,
        database.QueryInt(absl::StrCat(
            "select count(*) from pragma_table_info('", column.table,
            "') where name = '", column.column, "'")));
    if (there != 0) continue;
    RETURN_IF_ERROR(
        database.Execute(absl::StrCat("alter table ", column.table, " add ",
                                      column.column, " ", column.type)));
    added = true;
  }
  if (!added) return absl::OkStatus();
  RETURN_IF_ERROR(database.Execute("drop view sublite_status"));
  return database.Execute(kBookkeepingSql);
}

}  // namespace

std::string NewFileId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

absl::Status PrepareReplicaTables(Database& database) {
  RETURN_IF_ERROR(database.Execute(kBookkeepingSql));
  RETURN_IF_ERROR(AddMissingColumns(database));
  ASSIGN_OR_RETURN(
      Statement insert,
      database.Prepare(
          "insert into sublite_state (one, format, state, sublite_version, "
          "file_id) values (1, ?1, 'copying', ?2, ?3) on conflict do update "
          "set sublite_version = ?2, "
          "file_id = case file_id when '' then ?3 else file_id end"));
  const std::string file_id = NewFileId();
  RETURN_IF_ERROR(insert.BindInt(1, kFileFormat));
  RETURN_IF_ERROR(insert.BindText(2, kVersion));
  RETURN_IF_ERROR(insert.BindText(3, file_id));
  RETURN_IF_ERROR(insert.Run());
  ASSIGN_OR_RETURN(const std::int64_t id,
                   database.QueryInt("pragma application_id"));
  return id != 0 ? absl::OkStatus()
                 : database.Execute(absl::StrCat("pragma application_id = ",
                                                 kApplicationId));
}

}  // namespace sublite
