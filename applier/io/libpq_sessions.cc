#include "applier/io/libpq_sessions.h"

#include <libpq-fe.h>

#include "absl/strings/str_cat.h"
#include "applier/io/libpq_session.h"
#include "schema/status.h"

namespace sublite {

absl::StatusOr<std::unique_ptr<Connection>> OrdinarySessions::Open() {
  ASSIGN_OR_RETURN(
      std::unique_ptr<Connection> session,
      OpenSession(conninfo_, target_, ConnectionKind::kOrdinary, stop_));
  RETURN_IF_ERROR(CheckSameServer(*session, identity_));
  return session;
}

absl::StatusOr<std::unique_ptr<Connection>> OrdinarySessions::Take(bool* kept) {
  if (stop_->requested()) return absl::CancelledError("stopped");
  const bool usable = idle_ != nullptr && idle_->usable();
  if (kept != nullptr) *kept = usable;
  if (usable) return std::move(idle_);
  idle_.reset();
  return Open();
}

void OrdinarySessions::Give(std::unique_ptr<Connection> session) {
  if (session == nullptr || idle_ != nullptr || !session->usable()) return;
  if (PQtransactionStatus(session->raw()) != PQTRANS_IDLE) return;
  idle_ = std::move(session);
}

absl::Status OrdinarySessions::Probe(int pid) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> session, Open());
  ASSIGN_OR_RETURN(
      const Result result,
      session->Query(absl::StrCat("SELECT FROM pg_catalog.pg_stat_activity"
                                  " WHERE pid = ",
                                  pid),
                     "looking for a session"));
  if (result.rows() > 0) return absl::OkStatus();
  return absl::UnavailableError("the publisher has ended the session");
}

}  // namespace sublite
