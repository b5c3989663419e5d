// The part of Session that goes on without streaming of transactions in
// progress where they cannot be staged (streaming_pause.h).
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/session.h"
#include "schema/status.h"

namespace sublite {

absl::Status Session::PauseStreaming(const Applier::SpillFull& full) {
  restart_ = true;
  memory_.streaming_pause.Begin(full.open, full.error, absl::Now());
  const std::string transactions =
      absl::StrCat(full.open.size(),
                   full.open.size() == 1 ? " transaction" : " transactions");
  LogWarn(
      "open transactions cannot be staged; going on without streaming of "
      "transactions in progress until they have ended",
      {{"why", full.error}, {"open", transactions}});
  replica_.Rollback();
  RETURN_IF_ERROR(replica_.Reload());
  // The disk may be full.
  const absl::Status noted =
      replica_.AddEvent("spill_limit", "", replica_.state().applied,
                        absl::StrCat(full.error, "; ", transactions,
                                     " open; going on without streaming"));
  if (!noted.ok()) {
    LogWarn("cannot note it in the replica",
            {{"error", std::string(noted.message())}});
    replica_.Rollback();
    return replica_.Reload();
  }
  return absl::OkStatus();
}

absl::Status Session::TryStreamingAgain(absl::Time now) {
  if (memory_.streaming_pause.ShouldAsk(now)) {
    // The snapshot is taken before the position is: what ended for the one is
    // before the other.
    ASSIGN_OR_RETURN(
        const auto rows,
        publisher_.Query(
            "select pg_current_snapshot(), case when pg_is_in_recovery() then "
            "pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end"));
    Lsn position;
    if (rows.size() != 1 || rows[0].size() != 2 ||
        !Lsn::Parse(rows[0][1], &position)) {
      return absl::DataLossError("the publisher does not tell its position");
    }
    ASSIGN_OR_RETURN(const Snapshot snapshot, Snapshot::Parse(rows[0][0]));
    memory_.streaming_pause.Answer(snapshot, position);
  }
  if (!memory_.streaming_pause.TryEnd(replica_.state().applied.value_or(Lsn())))
    return absl::OkStatus();
  LogInfo("transactions in progress are streamed again");
  restart_ = true;
  return absl::AbortedError(
      "reconnecting, to stream transactions in progress again");
}

}  // namespace sublite
