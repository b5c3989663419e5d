// The part of Session that puts one table aside, so that the others go on, and
// takes it up again.
//
// Where a row does not fit, the whole SQLite transaction is rolled back: the
// table keeps the rows of the last boundary, marked as failed, and the next
// run of the stream leaves its changes out. A kill in between shows nothing but
// one of the two states.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/session.h"
#include "schema/status.h"

namespace sublite {

std::string Session::MadeAs(const ReplicaTable& table) const {
  const PublishedTable* published =
      catalog_.Find(table.shape.pg_schema, table.shape.pg_table);
  return published == nullptr
             ? std::string()
             : CopyMadeAs(*published,
                          copy_.ShapeOf(*published, catalog_.types));
}

absl::Status Session::SetAside(ReplicaTable& table, const Trouble& trouble) {
  const std::string text(trouble.why.message());
  const std::string name = table.shape.FullName();
  const Lsn lsn =
      trouble.lsn.value_or(replica_.state().applied.value_or(Lsn()));
  table.stale = false;
  if (absl::IsNotFound(trouble.why)) {
    LogWarn("the table is not published any more",
            {{"table", name}, {"error", text}});
    return replica_.Transaction([&] {
      RETURN_IF_ERROR(
          replica_.AddEvent("unpublished", table.shape.name, lsn, text));
      return replica_.SetTableState(table, TableState::kUnpublished, text);
    });
  }
  const absl::Time now = absl::Now();
  const bool news = memory_.retries.Failed(table.id, text, now, trouble.took);
  std::optional<absl::Time> retry_at;
  if (MayPass(trouble.why)) retry_at = memory_.retries.At(table.id);
  return replica_.Transaction([&]() -> absl::Status {
    if (news) {
      LogWarn("the table is put aside; the others go on",
              {{"table", name}, {"error", text}});
      RETURN_IF_ERROR(
          replica_.AddEvent("table_failed", table.shape.name, lsn, text));
      replica_.metrics().CountError(ErrorKind::kTable);
      RETURN_IF_ERROR(replica_.RecordError(text));
    }
    const std::string error =
        retry_at.has_value()
            ? text
            : absl::StrCat(text, "; `sublite resync` copies the table again");
    return replica_.SetFailed(table, error, MadeAs(table), retry_at);
  });
}

absl::Status Session::StartOverWithout(std::int64_t table,
                                       const Trouble& trouble) {
  replica_.Rollback();
  RETURN_IF_ERROR(replica_.Reload());
  ReplicaTable* found = replica_.FindTable(table);
  if (found != nullptr) RETURN_IF_ERROR(SetAside(*found, trouble));
  restart_ = true;
  return absl::AbortedError(trouble.why.message());
}

// What something local refuses may be a mistake of a moment ago, so the
// transaction waits for a person for a while, whole. Then the others count for
// more than the one table.
absl::Status Session::OnRefused(const Applier::Refused& refused) {
  replica_.Rollback();
  RETURN_IF_ERROR(replica_.Reload());
  ReplicaTable* table = replica_.FindTable(refused.table);
  if (table == nullptr) return absl::InternalError("a table that is not there");
  const std::string name = table->shape.name;
  const absl::Duration patience = config_.replica.refusal_patience;
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(const bool known,
                   replica_.HasEvent("refused", name, refused.commit_lsn, now));
  ASSIGN_OR_RETURN(
      const bool over,
      replica_.HasEvent("refused", name, refused.commit_lsn, now - patience));
  if (over || patience <= absl::ZeroDuration()) {
    // A copy would do away with the refusal, but the next row would be refused
    // again: OutOfRange, which is not tried again.
    return StartOverWithout(refused.table,
                            {absl::OutOfRangeError(refused.error),
                             refused.commit_lsn, absl::ZeroDuration()});
  }
  refused_ = refused;
  const std::string text = absl::StrCat(
      refused.error, "; `sublite skip --lsn=", refused.commit_lsn.ToString(),
      "` leaves the transaction out, else the table is put aside ",
      absl::FormatDuration(patience), " after the first try");
  if (!known) {
    RETURN_IF_ERROR(
        replica_.AddEvent("refused", name, refused.commit_lsn, text));
  }
  return absl::FailedPreconditionError(text);
}

absl::Status Session::RetryFailed(absl::Time now) {
  for (const auto& table : replica_.tables()) {
    if (table->state != TableState::kFailed || !table->retries ||
        now < memory_.retries.At(table->id)) {
      continue;
    }
    LogInfo("trying to copy the table again",
            {{"table", table->shape.FullName()}});
    RETURN_IF_ERROR(replica_.SetTableState(*table, TableState::kPending, ""));
    // Whoever writes to it now has been left out.
    table->newly_published = true;
  }
  return absl::OkStatus();
}

}  // namespace sublite
