#include "applier/cli/skip_command.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/replica_file.h"
#include "schema/status.h"

namespace sublite {
namespace {

// The table that was put aside at this position and still is; "" if none is.
absl::StatusOr<std::string> PutAsideAt(Database* database, Lsn lsn) {
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare(
          "select e.sqlite_table from sublite_events e join sublite_tables t "
          "on t.sqlite_table = e.sqlite_table and t.state = 'failed' where "
          "e.kind = 'table_failed' and e.lsn = ?1 order by e.id desc"));
  const std::string text = lsn.ToString();
  RETURN_IF_ERROR(row.BindText(1, text));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  return found ? std::string(row.Text(0)) : std::string();
}

absl::Status Request(const std::string& path, Lsn lsn, bool* is_the_error) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                   OpenReplicaForWriting(path));
  ASSIGN_OR_RETURN(const ReplicaStatus status,
                   ReadReplicaStatus(database.get()));
  Lsn applied;
  if (Lsn::Parse(status.applied_lsn, &applied) && lsn <= applied) {
    ASSIGN_OR_RETURN(const std::string aside, PutAsideAt(database.get(), lsn));
    if (!aside.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("nothing to skip at ", lsn.ToString(),
                       ": the transaction is applied "
                       "but for the table ",
                       aside, ", which was put aside: `sublite resync ", aside,
                       "` copies it again"));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing to skip at ", lsn.ToString(), ": the replica has got to ",
        applied.ToString(),
        " already. The position to skip stands in sublite_events.lsn beside "
        "the error"));
  }
  *is_the_error = status.error_lsn == lsn.ToString();
  RETURN_IF_ERROR(database->Execute("begin immediate"));
  RETURN_IF_ERROR(AddRequest(database.get(), "skip", lsn.ToString()));
  return database->Execute("commit");
}

}  // namespace

int SkipCommand(const std::string& database, Lsn lsn, std::ostream& out,
                std::ostream& err) {
  bool is_the_error = false;
  const absl::Status status = Request(database, lsn, &is_the_error);
  if (!status.ok()) return Fail(err, status);
  if (!is_the_error) {
    err << "sublite: note: the last error is not at " << lsn.ToString()
        << "; only a transaction at exactly this position is skipped\n";
  }
  out << "asked to skip the transaction at " << lsn.ToString()
      << "\n`sublite run` does so at once if it is running, else when it "
         "starts. Its changes are lost here: `sublite resync` of the tables "
         "brings them back.\n";
  return kExitDone;
}

}  // namespace sublite
