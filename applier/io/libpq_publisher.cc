#include "applier/io/libpq_publisher.h"

#include <libpq-fe.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "applier/io/libpq_catalog.h"
#include "applier/io/libpq_copy.h"
#include "applier/io/libpq_session.h"
#include "applier/io/libpq_slot.h"
#include "applier/io/libpq_standby.h"
#include "schema/status.h"

namespace sublite {
namespace {

// The primary's locks are not known on a standby; there, everybody may have
// written to the table.
absl::StatusOr<std::vector<std::string>> ReadWritersTo(Connection& session,
                                                       std::uint32_t relation) {
  ASSIGN_OR_RETURN(const Result standby,
                   session.Query("SELECT pg_catalog.pg_is_in_recovery()",
                                 "reading who may have written to a table"));
  if (standby.rows() == 1 && standby.Get(0, 0) == "t") {
    return ReadRunningTransactions(session);
  }
  return ReadLockHolders(session, relation);
}

}  // namespace

absl::StatusOr<std::string> RedactedConninfo(const Secret& conninfo) {
  ASSIGN_OR_RETURN(const Conninfo resolved,
                   Conninfo::Resolve(conninfo, Secret()));
  return resolved.Redacted();
}

std::string LibpqVersion() {
  const int version = PQlibVersion();
  return absl::StrCat(version / 10000, ".", version % 10000);
}

LibpqPublisher::LibpqPublisher(LibpqPublisherOptions options,
                               const StopSignal* stop)
    : options_(std::move(options)),
      stop_(stop),
      silent_endings_(std::make_shared<SilentEndings>(0)) {}

LibpqPublisher::~LibpqPublisher() = default;

absl::StatusOr<PublisherIdentity> LibpqPublisher::Connect() {
  replication_.reset();
  sessions_.reset();
  ASSIGN_OR_RETURN(Conninfo conninfo,
                   Conninfo::Resolve(options_.conninfo, options_.password));
  conninfo.NameReplication(name_);
  conninfo_ = std::make_shared<const Conninfo>(std::move(conninfo));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Connection> replication,
      OpenAnySession(conninfo_, ConnectionKind::kReplication, stop_, &target_));
  ASSIGN_OR_RETURN(PublisherIdentity identity, Identify(*replication));
  auto sessions =
      std::make_shared<OrdinarySessions>(conninfo_, target_, identity, stop_);
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> ordinary, sessions->Take());
  sessions->Give(std::move(ordinary));
  identity_ = identity;
  replication_ = std::move(replication);
  sessions_ = std::move(sessions);
  return identity;
}

absl::Status LibpqPublisher::NeedConnected() const {
  if (sessions_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError("not connected to the publisher");
}

// A stream has taken the one that Connect opened, or it was lost.
absl::Status LibpqPublisher::NeedReplication() {
  RETURN_IF_ERROR(NeedConnected());
  if (replication_ != nullptr && replication_->usable()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(
      replication_,
      OpenSession(conninfo_, target_, ConnectionKind::kReplication, stop_));
  const absl::Status same = CheckSameServer(*replication_, identity_);
  if (!same.ok()) replication_.reset();
  return same;
}

absl::StatusOr<SlotState> LibpqPublisher::ReadSlot(const std::string& name) {
  RETURN_IF_ERROR(NeedConnected());
  return sessions_->With(
      [&](Connection& session) { return ReadSlotState(session, name); });
}

absl::StatusOr<CreatedSlot> LibpqPublisher::CreateSlot(
    const SlotOptions& options,
    const std::function<void(std::string_view)>& on_wait) {
  RETURN_IF_ERROR(NeedReplication());
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> ordinary, sessions_->Take());
  absl::StatusOr<CreatedSlot> created =
      MakeSlot(*replication_, *ordinary, options, on_wait);
  sessions_->Give(std::move(ordinary));
  return created;
}

absl::Status LibpqPublisher::CopySlot(const std::string& from,
                                      const std::string& to) {
  RETURN_IF_ERROR(NeedConnected());
  // Not twice: the first may have been done although its answer was lost.
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> session, sessions_->Take());
  const absl::Status copied = CopySlotByName(*session, from, to);
  sessions_->Give(std::move(session));
  return copied;
}

absl::Status LibpqPublisher::EnableFailover(const std::string& name) {
  RETURN_IF_ERROR(NeedReplication());
  return EnableSlotFailover(*replication_, name);
}

absl::Status LibpqPublisher::DropSlot(const std::string& name) {
  RETURN_IF_ERROR(NeedConnected());
  return sessions_->With(
      [&](Connection& session) { return DropSlotByName(session, name); });
}

absl::StatusOr<Publications> LibpqPublisher::ReadPublications(
    const std::vector<std::string>& publications) {
  RETURN_IF_ERROR(NeedConnected());
  return sessions_->With([&](Connection& session)
                             -> absl::StatusOr<Publications> {
    constexpr char kDoing[] = "reading the publications";
    RETURN_IF_ERROR(
        session.Query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", kDoing)
            .status());
    ASSIGN_OR_RETURN(Publications published,
                     ReadPublished(session, publications, /*only=*/0));
    RETURN_IF_ERROR(session.Query("COMMIT", kDoing).status());
    return published;
  });
}

absl::StatusOr<std::vector<std::string>> LibpqPublisher::ReadWriters(
    std::uint32_t relation) {
  RETURN_IF_ERROR(NeedConnected());
  return sessions_->With(
      [&](Connection& session) { return ReadWritersTo(session, relation); });
}

absl::StatusOr<std::unique_ptr<TableReader>> LibpqPublisher::ReadTable(
    const std::string& pg_schema, const std::string& pg_table,
    const std::vector<std::string>& publications, const CopyRequest& request) {
  RETURN_IF_ERROR(NeedConnected());
  return OpenTableReader(sessions_, pg_schema, pg_table, publications, request);
}

absl::StatusOr<std::vector<std::vector<std::string>>> LibpqPublisher::Query(
    std::string_view sql) {
  RETURN_IF_ERROR(NeedConnected());
  using Rows = std::vector<std::vector<std::string>>;
  return sessions_->With([&](Connection& session) -> absl::StatusOr<Rows> {
    ASSIGN_OR_RETURN(const Result result,
                     session.Query(std::string(sql), "asking the catalogs"));
    Rows rows(result.rows());
    for (int row = 0; row < result.rows(); ++row) {
      for (int column = 0; column < result.columns(); ++column) {
        rows[row].push_back(result.Text(row, column));
      }
    }
    return rows;
  });
}

absl::StatusOr<std::unique_ptr<ReplicationStream>>
LibpqPublisher::StartReplication(const StreamOptions& options) {
  RETURN_IF_ERROR(NeedReplication());
  return StartStream(std::move(replication_), options, options_.stream,
                     silent_endings_);
}

}  // namespace sublite
