#include "applier/cli/teardown_command.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/replica_file.h"
#include "schema/status.h"

namespace sublite {
namespace {

absl::Status InUse(const std::string& slot, const std::string& by) {
  return absl::FailedPreconditionError(
      absl::StrCat("slot ", slot, " is in use", by,
                   ": stop sublite first (systemctl stop), then try again"));
}

// Sets `*dropped` to false where there was nothing to drop.
absl::Status DropSlot(const std::string& slot, Publisher* publisher,
                      bool* dropped) {
  *dropped = false;
  ASSIGN_OR_RETURN(const PublisherIdentity identity, publisher->Connect());
  ASSIGN_OR_RETURN(const SlotState state, publisher->ReadSlot(slot));
  if (!state.exists) return absl::OkStatus();
  if (state.plugin != "pgoutput" || state.database != identity.database) {
    return absl::FailedPreconditionError(
        absl::StrCat("slot ", slot, " is not sublite's (plugin ", state.plugin,
                     ", database ", state.database, "): it is left alone"));
  }
  if (state.active) {
    return InUse(slot, absl::StrCat(" by process ", state.active_pid,
                                    " of the publisher"));
  }
  absl::Status status = publisher->DropSlot(slot);
  if (absl::IsNotFound(status)) return absl::OkStatus();
  // Somebody was quicker to start it than we to drop it.
  if (absl::IsUnavailable(status) &&
      status.message().find("active") != absl::string_view::npos) {
    return InUse(slot, "");
  }
  *dropped = status.ok();
  return status;
}

bool HasFile(const std::string& path) {
  return !path.empty() && access(path.c_str(), F_OK) == 0;
}

// For the reader of the file, who would otherwise wait for news for ever.
absl::Status NoteInFile(const std::string& path, const std::string& slot) {
  if (!HasFile(path)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                   OpenReplicaForWriting(path));
  RETURN_IF_ERROR(database->Execute("begin immediate"));
  RETURN_IF_ERROR(
      database->Execute("update sublite_state set state = 'disconnected'"));
  RETURN_IF_ERROR(AddEvent(
      database.get(), "teardown",
      absl::StrCat("slot ", slot,
                   " was dropped: changes from here on are not known. Another "
                   "`sublite run` copies all tables again")));
  return database->Execute("commit");
}

// The slot that `run` used, which need not be the one that was configured.
absl::StatusOr<std::string> SlotOf(const Config& config) {
  if (!HasFile(config.replica.database)) return config.publisher.slot;
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                   OpenReplicaForReading(config.replica.database));
  ASSIGN_OR_RETURN(const FileSlot slot, ReadFileSlot(database.get()));
  return slot.Used(config.publisher.slot);
}

}  // namespace

int TeardownCommand(const Config& config, Publisher* publisher,
                    std::ostream& out, std::ostream& err) {
  const absl::StatusOr<std::string> used = SlotOf(config);
  // A slot is to be dropped even where the file is past reading.
  if (!used.ok()) {
    err << "sublite: cannot look which slot the replica uses: "
        << std::string(used.status().message()) << "\n";
  }
  const std::string slot = used.value_or(config.publisher.slot);
  bool dropped = false;
  const absl::Status status = DropSlot(slot, publisher, &dropped);
  if (!status.ok()) return Fail(err, status);
  if (dropped) {
    out << "dropped slot " << slot << " on the publisher\n";
  } else {
    out << "the publisher has no slot " << slot << "\n";
  }
  const std::string& path = config.replica.database;
  if (dropped) {
    const absl::Status noted = NoteInFile(path, slot);
    // The slot is gone, which is what was asked for.
    if (!noted.ok()) {
      err << "sublite: could not note it in the replica: "
          << std::string(noted.message()) << "\n";
    }
  }
  if (HasFile(path)) out << path << " is kept; its rows can still be read\n";
  return kExitDone;
}

}  // namespace sublite
