// The part of Session for a slot that cannot be followed from where the replica
// is: everything is copied again, by the same copies as always, beside rows
// that stay as they are until all tables can be shown at once.
//
// The new slot is followed from the beginning, so its position is the replica's
// at once, and a copy that is interrupted goes on; what readers are told is the
// position of the rows that they see (ReplicaState::shown).
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/session.h"
#include "schema/status.h"

namespace sublite {
namespace {

bool IsWaiting(const ReplicaTable& table) {
  return table.state == TableState::kPending ||
         table.state == TableState::kCopying;
}

}  // namespace

absl::Status Session::ReplaceSlot(const SlotState& slot,
                                  const Publications& publications,
                                  const std::string& gap) {
  const std::string detail =
      absl::StrCat("gap: ", gap, "; changes since ",
                   replica_.state().applied->ToString(), " cannot be followed");
  LogWarn(detail);
  ASSIGN_OR_RETURN(const bool asked, AskedToResync());
  // One that was recorded, and could not be mended, is the same.
  ASSIGN_OR_RETURN(const bool known, replica_.IsNewestEvent("gap", detail));
  if (!known) {
    if (!asked) RETURN_IF_ERROR(CheckGapsAreFew(detail));
    RETURN_IF_ERROR(
        replica_.AddEvent("gap", "", replica_.state().applied, detail));
  }
  if (config_.replica.on_gap == OnGap::kStop && !asked) {
    return absl::FailedPreconditionError(
        absl::StrCat(detail,
                     ": run `sublite resync` to copy everything again, or "
                     "set replica.on_gap = \"resync\""));
  }
  RETURN_IF_ERROR(replica_.SetState("copying"));
  // A slot that this replica made and then was killed is past it, too.
  RETURN_IF_ERROR(
      replica_.NoteSlotMaking(replica_.state().slot_making == 0 &&
                              MovedPast(WhatWeFollowed(), identity_, slot)));
  ASSIGN_OR_RETURN(const CreatedSlot created, MakeSlot(slot));
  RETURN_IF_ERROR(replica_.NoteSlotMade(created.consistent_point));
  return CopyAllBeside(publications, created);
}

absl::Status Session::OnUndecodable(const absl::Status& why) {
  ASSIGN_OR_RETURN(const Publications* now, ReadCatalog());
  // Its absence is what the next session says.
  if (now->missing.empty()) {
    memory_.undecodable = absl::StrCat(
        "a publication was dropped and made again, and what was written in "
        "between is in no slot (",
        why.message(), ")");
  }
  return absl::UnavailableError(why.message());
}

// Something makes gaps again and again (two servers behind one name, a script
// that drops the slot): copying everything each time would not mend it, and
// cost the line and the flash.
absl::Status Session::CheckGapsAreFew(const std::string& detail) {
  constexpr absl::Duration kWhile = absl::Hours(1);
  ASSIGN_OR_RETURN(const std::int64_t recent,
                   replica_.CountEvents("gap", absl::Now() - kWhile));
  if (recent < config_.replica.gaps_an_hour) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      detail, "; and this is not the first: there were ", recent,
      " gaps within the last hour, so everything is copied again only when "
      "they "
      "are longer ago. Find out what makes them (sublite_events), or run "
      "`sublite resync` to copy at once"));
}

absl::Status Session::CopyAllBeside(const Publications& publications,
                                    const CreatedSlot& created) {
  return replica_.Transaction([&]() -> absl::Status {
    RETURN_IF_ERROR(replica_.DropCopies());
    ASSIGN_OR_RETURN(const std::vector<Request> requests, replica_.Requests());
    for (const Request& request : requests) {
      if (request.kind == "resync")
        RETURN_IF_ERROR(replica_.RemoveRequest(request.id));
    }
    RETURN_IF_ERROR(replica_.HoldShown());
    RETURN_IF_ERROR(replica_.SetSlot(slot_, identity_, created));
    RETURN_IF_ERROR(replica_.SetHome(config_.replica.machine));
    for (const auto& table : replica_.tables()) {
      if (table->state == TableState::kUnpublished) continue;
      if (table->state != TableState::kPending) {
        RETURN_IF_ERROR(
            replica_.SetTableState(*table, TableState::kCopying, ""));
      }
      // What was published before the slot began needs no more than a snapshot.
      table->newly_published = false;
      const PublishedTable* published =
          publications.Find(table->shape.pg_schema, table->shape.pg_table);
      if (published != nullptr)
        RETURN_IF_ERROR(replica_.SetPublished(*table, *published));
    }
    return Reconcile(publications, true);
  });
}

absl::Status Session::NoteHold() {
  const std::optional<Lsn>& shown = replica_.state().shown;
  if (!shown.has_value()) return absl::OkStatus();
  return replica_.SetActivity(
      absl::StrCat("all tables are copied again; until they are there readers "
                   "see the rows of ",
                   shown->ToString()));
}

absl::StatusOr<bool> Session::ShowTogether(Lsn reached) {
  std::vector<ReplicaTable*> waiting;
  for (const auto& table : replica_.tables()) {
    if (!IsWaiting(*table)) continue;
    if (!ChunkCopy::IsPassed(*table, reached)) return false;
    waiting.push_back(table.get());
  }
  for (ReplicaTable* table : waiting) {
    const absl::Status free = copy_.CheckName(*table, table->partial->shape);
    if (free.ok()) continue;
    if (!ConcernsOneTable(free)) return free;
    RETURN_IF_ERROR(SetAside(*table, {free, std::nullopt, {}}));
    return false;
  }
  std::int64_t showing = 0;
  const absl::Status shown = replica_.Transaction([&]() -> absl::Status {
    for (ReplicaTable* table : waiting) {
      showing = table->id;
      RETURN_IF_ERROR(chunks_.Show(*table));
    }
    showing = 0;
    replica_.SetPosition(reached, std::nullopt);
    RETURN_IF_ERROR(replica_.SetActivity(""));
    return replica_.EndHold();
  });
  if (showing != 0 && ConcernsOneTable(shown))
    return StartOverWithout(showing, {shown, std::nullopt, {}});
  RETURN_IF_ERROR(shown);
  for (ReplicaTable* table : waiting) memory_.retries.Healed(table->id);
  LogInfo("all tables are copied", {{"tables", absl::StrCat(waiting.size())},
                                    {"lsn", reached.ToString()}});
  return true;
}

}  // namespace sublite
