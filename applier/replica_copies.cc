// The part of Replica that keeps sublite_copies: copies beside the stream.
#include <utility>

#include "absl/strings/str_cat.h"
#include "applier/replica.h"
#include "schema/status.h"

namespace sublite {

absl::StatusOr<std::vector<StoredCopy>> Replica::StoredCopies() {
  ASSIGN_OR_RETURN(
      Statement select,
      database_->Prepare(
          "select table_id, made_as, upto, complete, chunks, rows, exists "
          "(select 1 from sqlite_schema where type = 'table' and name = "
          "'sublite_copy_' || table_id) from sublite_copies"));
  std::vector<StoredCopy> copies;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return copies;
    StoredCopy copy;
    copy.table_id = select.Int(0);
    copy.made_as = std::string(select.Text(1));
    copy.upto = std::string(select.Text(2));
    copy.complete = select.Int(3) != 0;
    copy.chunks = std::string(select.Text(4));
    copy.rows = select.Int(5);
    copy.hidden_exists = select.Int(6) != 0;
    copies.push_back(std::move(copy));
  }
}

absl::Status Replica::StoreCopy(const StoredCopy& copy) {
  ASSIGN_OR_RETURN(
      Statement insert,
      database_->Prepare("insert or replace into sublite_copies (table_id, "
                         "made_as, upto, complete, chunks, rows) "
                         "values (?1, ?2, ?3, ?4, ?5, ?6)"));
  RETURN_IF_ERROR(insert.BindInt(1, copy.table_id));
  RETURN_IF_ERROR(insert.BindText(2, copy.made_as));
  RETURN_IF_ERROR(insert.BindText(3, copy.upto));
  RETURN_IF_ERROR(insert.BindInt(4, copy.complete ? 1 : 0));
  RETURN_IF_ERROR(insert.BindText(5, copy.chunks));
  RETURN_IF_ERROR(insert.BindInt(6, copy.rows));
  return insert.Run();
}

absl::Status Replica::DropCopy(std::int64_t table_id) {
  ReplicaTable* table = FindTable(table_id);
  if (table != nullptr && table->partial != nullptr) {
    // Its statements must not outlive the hidden table.
    table->partial.reset();
    ++generation_;
  }
  return Transaction([&] {
    return database_->Execute(
        absl::StrCat("delete from sublite_copies where table_id = ", table_id,
                     "; drop table if exists ", HiddenTableName(table_id)));
  });
}

absl::Status Replica::DropCopies() {
  ASSIGN_OR_RETURN(const std::vector<StoredCopy> copies, StoredCopies());
  for (const StoredCopy& copy : copies)
    RETURN_IF_ERROR(DropCopy(copy.table_id));
  return absl::OkStatus();
}

void Replica::SetPartial(ReplicaTable& table,
                         std::unique_ptr<PartialCopy> partial) {
  table.partial = std::move(partial);
  ++generation_;
}

}  // namespace sublite
