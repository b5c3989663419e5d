// The part of Replica that says which replica the file is, and whose slot it
// follows.
#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "applier/replica.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr std::size_t kSlotNameMax = 63;  // NAMEDATALEN - 1
constexpr std::size_t kIdInName = 8;
constexpr absl::Duration kTwinPatience = absl::Milliseconds(500);

}  // namespace

std::string SlotFor(std::string_view asked, const ReplicaState& state) {
  const bool own = !state.slot_asked.empty() && state.slot_asked == asked;
  return own ? state.slot : std::string(asked);
}

std::string OwnSlotName(std::string_view asked, std::string_view file_id) {
  const std::string_view id = file_id.substr(0, kIdInName);
  return absl::StrCat(View(asked.substr(0, kSlotNameMax - 1 - id.size())), "_",
                      View(id));
}

absl::Status Replica::PlanSlot(const SlotPlan& plan) {
  return Transaction([&] {
    ASSIGN_OR_RETURN(
        Statement update,
        database_->Prepare(
            "update sublite_state set file_id = ?1, slot = ?2, slot_from = ?3, "
            "slot_asked = ?4, slot_note = ?5, slot_making = 0, slot_passed = "
            "0"));
    RETURN_IF_ERROR(update.BindText(1, plan.file_id));
    RETURN_IF_ERROR(update.BindText(2, plan.slot));
    RETURN_IF_ERROR(update.BindText(3, plan.from));
    RETURN_IF_ERROR(update.BindText(4, plan.asked));
    RETURN_IF_ERROR(plan.note.empty() ? update.BindNull(5)
                                      : update.BindText(5, plan.note));
    RETURN_IF_ERROR(update.Run());
    state_.file_id = plan.file_id;
    state_.slot = plan.slot;
    state_.slot_from = plan.from;
    state_.slot_asked = plan.asked;
    state_.slot_making = 0;
    state_.slot_passed = 0;
    return absl::OkStatus();
  });
}

absl::Status Replica::AdoptSlot(const PublisherIdentity& publisher, bool sure) {
  return Transaction([&] {
    ASSIGN_OR_RETURN(
        Statement update,
        database_->Prepare(
            "update sublite_state set slot_from = '', slot_making = 0, "
            "slot_timeline = ?1, slot_on_standby = ?2"));
    const std::uint32_t timeline = sure ? publisher.timeline : 0;
    RETURN_IF_ERROR(update.BindInt(1, timeline));
    RETURN_IF_ERROR(update.BindInt(2, publisher.in_recovery ? 1 : 0));
    RETURN_IF_ERROR(update.Run());
    state_.slot_from.clear();
    state_.slot_making = 0;
    state_.slot_timeline = timeline;
    state_.slot_on_standby = publisher.in_recovery;
    return absl::OkStatus();
  });
}

absl::Status Replica::NoteSlotMaking(bool passed) {
  return Transaction([&] {
    const int more = passed ? 1 : 0;
    RETURN_IF_ERROR(database_->Execute(absl::StrCat(
        "update sublite_state set slot_making = ", ReplicaState::kMaking,
        ", slot_passed = slot_passed + ", more)));
    state_.slot_making = ReplicaState::kMaking;
    state_.slot_passed += more;
    return absl::OkStatus();
  });
}

absl::Status Replica::NoteSlotMade(Lsn consistent_point) {
  return Transaction([&] {
    RETURN_IF_ERROR(database_->Execute(
        absl::StrCat("update sublite_state set slot_making = ",
                     static_cast<std::int64_t>(consistent_point.value()))));
    state_.slot_making = consistent_point.value();
    return absl::OkStatus();
  });
}

absl::Status Replica::HoldShown() {
  RETURN_IF_ERROR(database_->Execute(
      "update sublite_state set shown_pos = applied_pos, shown_commit_time = "
      "applied_commit_time, shown_consistent = (select consistent from "
      "sublite_status) where shown_pos is null"));
  if (!state_.shown.has_value()) state_.shown = state_.applied;
  return absl::OkStatus();
}

absl::Status Replica::EndHold() {
  RETURN_IF_ERROR(database_->Execute(
      "update sublite_state set shown_pos = null, shown_commit_time = null"));
  state_.shown.reset();
  return absl::OkStatus();
}

absl::Status Replica::ForgetPrepared() {
  return Transaction([&] {
    return database_->Execute(
        "delete from sublite_staged; delete from sublite_prepared");
  });
}

absl::Status Replica::SetHome(const std::string& machine) {
  const std::string path = database_->file_name();
  if (state_.home_machine == machine && state_.home_path == path)
    return absl::OkStatus();
  return Transaction([&] {
    ASSIGN_OR_RETURN(Statement update,
                     database_->Prepare("update sublite_state set "
                                        "home_machine = ?1, home_path = ?2"));
    RETURN_IF_ERROR(update.BindText(1, machine));
    RETURN_IF_ERROR(update.BindText(2, path));
    RETURN_IF_ERROR(update.Run());
    state_.home_machine = machine;
    state_.home_path = path;
    return absl::OkStatus();
  });
}

std::string Replica::TwinBeside(const std::string& machine) {
  const std::string& path = state_.home_path;
  const std::string here = database_->file_name();
  if (path.empty() || path == here || state_.home_machine != machine)
    return std::string();
  // By another way to the same file it is no other one.
  struct stat there_info = {};
  struct stat here_info = {};
  if (stat(path.c_str(), &there_info) != 0 ||
      stat(here.c_str(), &here_info) != 0 || !S_ISREG(there_info.st_mode) ||
      there_info.st_ino == here_info.st_ino) {
    return std::string();
  }
  const auto other =
      Database::Open(path, Database::Mode::kReadOnly, kTwinPatience);
  if (!other.ok()) return std::string();
  const absl::StatusOr<std::int64_t> same = (*other)->QueryInt(
      absl::StrCat("select count(*) from sublite_state where file_id = '",
                   state_.file_id, "'"));
  return same.ok() && *same == 1 ? path : std::string();
}

}  // namespace sublite
