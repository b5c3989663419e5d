// The part of Session that decides which slot this file uses, and never takes
// one from another replica that is known to use it.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/replica_format.h"
#include "applier/session.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr char kName[] = "sublite ";  // in front of a replica's identity
constexpr int kCopyingServer = 120000;

// Whom the server names as the user of a slot.
std::string DescribeUser(const SlotState& slot, const std::string& file_id) {
  std::string text = absl::StrCat("the server process ", slot.active_pid);
  if (!slot.active_name.empty())
    absl::StrAppend(&text, " (", slot.active_name, ")");
  if (!slot.active_client.empty())
    absl::StrAppend(&text, " from ", slot.active_client);
  if (slot.active_name == kName + file_id) {
    return absl::StrCat(text,
                        ", which has the identity of this very file: an "
                        "earlier connection that the server has not given up "
                        "yet, or a copy of this file");
  }
  if (absl::StartsWith(slot.active_name, kName))
    return absl::StrCat(text, ", which is another replica");
  return absl::StrCat(text,
                      ": an earlier connection that the server has not given "
                      "up yet, or a second sublite with the same slot");
}

std::string SqlToCopy(const std::string& from, const std::string& to) {
  return absl::StrCat("SELECT pg_copy_logical_replication_slot(",
                      QuoteLiteral(from), ", ", QuoteLiteral(to), ")");
}

}  // namespace

absl::Status Session::ChooseSlot() {
  const ReplicaState& state = replica_.state();
  const std::string& asked = config_.publisher.slot;
  slot_ = SlotFor(asked, state);
  if (state.applied.has_value() && slot_ != state.slot) {
    SlotPlan plan;
    plan.file_id = NewFileId();
    plan.slot = asked;
    plan.from = state.slot.empty() || state.slot_is_new() ? state.slot_from
                                                          : state.slot;
    if (state.slot.empty() && state.slot_from == asked) {
      // Made from a seed, whose own slot stays where it is.
      plan.slot = OwnSlotName(asked, plan.file_id);
      plan.asked = asked;
      plan.note = absl::StrCat("slot ", asked, " is that of the seed");
    }
    RETURN_IF_ERROR(replica_.PlanSlot(plan));
    slot_ = plan.slot;
  }
  publisher_.Introduce(kName + state.file_id);
  return absl::OkStatus();
}

std::string Session::WhoseSlot(const SlotState& slot, bool past) {
  const ReplicaState& state = replica_.state();
  if (!state.applied.has_value()) return std::string();
  // What this replica made and then was interrupted is past it, too.
  if (!past || state.slot_making == ReplicaState::kMaking ||
      slot.confirmed_flush == Lsn(state.slot_making))
    return std::string();
  const std::string at =
      absl::StrCat("it is at ", slot.confirmed_flush.ToString(),
                   ", past this file's ", state.applied->ToString());
  if (state.slot_is_new())
    return absl::StrCat(at, ", which has never followed it");
  if (IsElsewhere()) {
    return absl::StrCat(at,
                        ", which was last followed on another machine: the "
                        "original went on there");
  }
  if (state.slot_passed > 0)
    return absl::StrCat(at, ", and not for the first time");
  return std::string();
}

bool Session::IsElsewhere() const {
  const ReplicaState& state = replica_.state();
  return !state.home_machine.empty() && !config_.replica.machine.empty() &&
         state.home_machine != config_.replica.machine;
}

absl::Status Session::CheckOwner(const SlotState& slot, bool gap) {
  const ReplicaState& state = replica_.state();
  const bool fresh = !state.applied.has_value();
  const std::string beside = fresh || state.slot_is_new()
                                 ? ""
                                 : replica_.TwinBeside(config_.replica.machine);
  if (!beside.empty()) {
    return TakeOwnSlot(absl::StrCat("this file is a copy of ", beside,
                                    ", which is still there"));
  }
  SlotWatch::Intent intent;
  intent.applied = state.applied.value_or(Lsn());
  intent.doubtful =
      slot.exists && !fresh && !gap && !state.slot_is_new() && IsElsewhere();
  intent.harms = slot.exists && (fresh || gap || intent.doubtful);
  const SlotWatch::Finding finding =
      memory_.slot_watch.Look(slot_, slot, intent, absl::Now());
  std::string why;
  switch (finding.verdict) {
    case SlotWatch::Verdict::kTaken:
      why = finding.why;
      break;
    case SlotWatch::Verdict::kWait:
      return absl::UnavailableError(
          slot.active
              ? absl::StrCat("slot ", slot_, " is in use by ",
                             DescribeUser(slot, state.file_id),
                             ". It is waited for; if it goes on, this replica "
                             "takes a slot of its own")
              : absl::StrCat("slot ", slot_,
                             " may be another replica's: ", finding.why));
    case SlotWatch::Verdict::kFree:
      why = WhoseSlot(slot, MovedPast(WhatWeFollowed(), identity_, slot));
  }
  return why.empty() ? absl::OkStatus() : TakeOwnSlot(why);
}

absl::StatusOr<bool> Session::AskedToResync() {
  ASSIGN_OR_RETURN(const std::vector<Request> requests, replica_.Requests());
  return std::any_of(requests.begin(), requests.end(), [](const Request& r) {
    return r.kind == "resync" && r.argument == "*";
  });
}

absl::Status Session::TakeOwnSlot(const std::string& why) {
  const ReplicaState& state = replica_.state();
  const std::string& asked = config_.publisher.slot;
  SlotPlan plan;
  plan.file_id = NewFileId();
  plan.slot = OwnSlotName(asked, plan.file_id);
  plan.asked = asked;
  if (state.applied.has_value())
    plan.from = state.slot_is_new() ? state.slot_from : slot_;
  const std::string text =
      absl::StrCat("slot ", slot_, " is left to another replica: ", why);
  plan.note = absl::StrCat(
      text,
      ". If nothing uses it any more, drop it, since it keeps WAL: SELECT "
      "pg_drop_replication_slot(",
      QuoteLiteral(slot_), ")");
  LogWarn(text);
  if (config_.replica.on_gap == OnGap::kStop) {
    ASSIGN_OR_RETURN(const bool asked_to, AskedToResync());
    if (!asked_to) {
      RETURN_IF_ERROR(replica_.AddEvent("twin", "", state.applied, text));
      return absl::FailedPreconditionError(absl::StrCat(
          text,
          ": give this one a publisher.slot of its own, or run `sublite "
          "resync` or set replica.on_gap = \"resync\" to let it make one"));
    }
  }
  RETURN_IF_ERROR(replica_.Transaction([&] {
    RETURN_IF_ERROR(replica_.AddEvent(
        "twin", "", state.applied,
        absl::StrCat(text, "; this one takes slot ", plan.slot)));
    return replica_.PlanSlot(plan);
  }));
  // Under its new name.
  restart_ = true;
  return absl::AbortedError(text);
}

absl::StatusOr<std::string> Session::CopySlot(SlotState* slot) {
  const ReplicaState& state = replica_.state();
  copied_from_.clear();
  if (!state.slot_is_new() || !state.applied.has_value() || slot->exists ||
      state.system_identifier != identity_.system_identifier)
    return std::string();
  const std::string& from = state.slot_from;
  const std::string missing = absl::StrCat(
      "slot ", slot_, " is not there, and cannot be copied from ", from);
  if (identity_.server_version < kCopyingServer)
    return absl::StrCat(missing, ": only servers 12 and later copy slots");
  ASSIGN_OR_RETURN(const SlotState source, publisher_.ReadSlot(from));
  if (!source.exists || source.lost || source.plugin != "pgoutput" ||
      source.database != identity_.database ||
      !source.confirmed_flush.valid()) {
    return absl::StrCat(missing, source.exists ? ", which cannot be used" : "",
                        source.exists ? "" : ", which is gone",
                        ": it has to stay for as long as files from it are "
                        "given out");
  }
  const auto past = [&](Lsn at) {
    return absl::StrCat(missing, ", which is at ", at.ToString(),
                        ", past this file's ", state.applied->ToString(),
                        ": make it from a slot that is not (",
                        SqlToCopy("…", slot_), ")");
  };
  if (source.confirmed_flush > *state.applied)
    return past(source.confirmed_flush);
  // That it is this replica's has to outlast a power loss.
  RETURN_IF_ERROR(replica_.Sync());
  RETURN_IF_ERROR(publisher_.CopySlot(from, slot_));
  ASSIGN_OR_RETURN(*slot, publisher_.ReadSlot(slot_));
  if (slot->confirmed_flush > *state.applied) {
    // It moved in that moment.
    const Lsn at = slot->confirmed_flush;
    const absl::Status dropped = publisher_.DropSlot(slot_);
    if (!dropped.ok() && !absl::IsNotFound(dropped)) return dropped;
    *slot = SlotState();
    return past(at);
  }
  copied_from_ = from;
  return std::string();
}

absl::Status Session::Adopt(const SlotState& slot) {
  const std::string detail = absl::StrCat(
      "slot ", slot_,
      copied_from_.empty() ? "" : absl::StrCat(", a copy of ", copied_from_),
      ", is at ", slot.confirmed_flush.ToString(), ": it goes on from ",
      replica_.state().applied->ToString(), " without a copy of the tables");
  LogInfo(detail);
  RETURN_IF_ERROR(
      replica_.AddEvent("slot", "", replica_.state().applied, detail));
  // What the stream does not decode at PREPARE it brings whole with its COMMIT.
  if (!agreed_.two_phase) RETURN_IF_ERROR(replica_.ForgetPrepared());
  return replica_.AdoptSlot(identity_, !slot.two_phase);
}

absl::Status Session::NoteMoved() {
  if (IsElsewhere()) {
    const std::string detail = absl::StrCat(
        "the file was last followed on another machine; it goes on with slot ",
        slot_);
    LogInfo(detail);
    RETURN_IF_ERROR(
        replica_.AddEvent("moved", "", replica_.state().applied, detail));
  }
  return replica_.SetHome(config_.replica.machine);
}

absl::Status Session::CheckHeldSlot(const StreamOptions& options) {
  ASSIGN_OR_RETURN(const SlotState held, publisher_.ReadSlot(options.slot));
  if (held.exists && held.confirmed_flush <= options.start)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "slot ", options.slot, " was moved to ", held.confirmed_flush.ToString(),
      ", past ", options.start.ToString(), ", just before it was used"));
}

}  // namespace sublite
