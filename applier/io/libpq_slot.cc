#include "applier/io/libpq_slot.h"

#include <libpq-fe.h>

#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "applier/io/libpq_catalog.h"
#include "applier/io/libpq_error.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr std::string_view kDoing = "creating the replication slot";

// How often it is looked up who is waited for.
constexpr absl::Duration kTick = absl::Seconds(1);

// What cleaning up after a stop may take, a step. On a network that works it
// takes milliseconds.
WaitLimits CleanUpLimits() {
  WaitLimits limits;
  limits.timeout = absl::Milliseconds(500);
  limits.heed_stop = false;
  return limits;
}

std::string CreateSql(const SlotOptions& options, int server_version) {
  std::string sql =
      absl::StrCat("CREATE_REPLICATION_SLOT ", QuoteIdentifier(options.name),
                   " LOGICAL pgoutput ");
  if (server_version >= 150000) {
    absl::StrAppend(&sql, "(SNAPSHOT 'export'",
                    options.two_phase ? ", TWO_PHASE" : "",
                    options.failover ? ", FAILOVER" : "", ")");
  } else {
    absl::StrAppend(&sql, "EXPORT_SNAPSHOT",
                    options.two_phase ? " TWO_PHASE" : "");
  }
  return sql;
}

// For whom the session `pid` waits, as far as our privileges show it.
absl::StatusOr<std::string> DescribeWait(Connection& ordinary, int pid) {
  ASSIGN_OR_RETURN(
      const Result result,
      ordinary.Query(
          absl::StrCat(
              "SELECT w.transactionid::text, p.gid, p.prepared::text, h.pid,"
              " a.usename, a.application_name, a.state, a.xact_start::text"
              " FROM pg_catalog.pg_locks w"
              " LEFT JOIN pg_catalog.pg_locks h"
              " ON h.locktype = 'transactionid' AND h.granted"
              " AND h.transactionid = w.transactionid"
              " LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = h.pid"
              " LEFT JOIN pg_catalog.pg_prepared_xacts p"
              " ON p.transaction = w.transactionid"
              " WHERE w.pid = ",
              pid, " AND w.locktype = 'transactionid' AND NOT w.granted"),
          "looking up what the slot waits for"));
  if (result.rows() == 0) {
    ASSIGN_OR_RETURN(const Result standby,
                     ordinary.Query("SELECT pg_catalog.pg_is_in_recovery()",
                                    "looking up what the slot waits for"));
    if (standby.rows() == 1 && standby.Get(0, 0) == "t") {
      return "the primary of this standby to log its running transactions "
             "(SELECT pg_log_standby_snapshot() there hurries it)";
    }
    return "transactions that run on the publisher";
  }
  if (!result.IsNull(0, 1)) {
    return absl::StrCat("prepared transaction ", QuoteLiteral(result.Get(0, 1)),
                        " (", result.Text(0, 0), ") since ", result.Text(0, 2));
  }
  std::string text = absl::StrCat("transaction ", result.Text(0, 0));
  if (!result.IsNull(0, 3))
    absl::StrAppend(&text, " of pid ", result.Text(0, 3));
  std::string who = result.Text(0, 4);
  for (const int column : {5, 6}) {
    if (result.Get(0, column).empty()) continue;
    absl::StrAppend(&who, who.empty() ? "" : ", ", result.Text(0, column));
  }
  if (!who.empty()) absl::StrAppend(&text, " (", who, ")");
  if (!result.IsNull(0, 7)) {
    absl::StrAppend(&text, " since ", result.Text(0, 7));
  }
  return text;
}

absl::Status AwaitCreation(
    Connection& replication, Connection& ordinary,
    const std::function<void(std::string_view)>& on_wait) {
  while (true) {
    ASSIGN_OR_RETURN(
        const bool answered,
        replication.Answered(SteadyIn(kTick), replication.stop(), kDoing));
    if (answered) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string whom,
                     DescribeWait(ordinary, replication.backend_pid()));
    if (on_wait) on_wait(whom);
  }
}

// Asks the server to cancel what `connection` runs, on a connection of its own,
// as libpq does it: without depending on any other session, and in a thread,
// since connecting blocks for as long as the network likes.
void CancelInBackground(Connection& connection) {
  PGcancel* cancel = PQgetCancel(connection.raw());
  if (cancel == nullptr) return;
  try {
    std::thread([cancel] {
      char error[256];
      PQcancel(cancel, error, sizeof error);
      PQfreeCancel(cancel);
    }).detach();
  } catch (const std::system_error&) {
    PQfreeCancel(cancel);
  }
}

// Ends what CREATE_REPLICATION_SLOT began, and makes sure that nothing of it is
// left. Best effort: without a network nothing can be done about it.
void Abandon(Connection& replication, const std::string& name) {
  CancelInBackground(replication);
  const absl::StatusOr<Result> answer =
      replication.Finish(kDoing, CleanUpLimits());
  if (!answer.ok()) return;
  // It was finished in the same moment.
  replication
      .Query(absl::StrCat("DROP_REPLICATION_SLOT ", QuoteIdentifier(name)),
             kDoing, CleanUpLimits())
      .status()
      .IgnoreError();
}

// A snapshot that another session exported, as text.
absl::StatusOr<Snapshot> ImportSnapshot(Connection& ordinary,
                                        std::string_view exported) {
  constexpr std::string_view kImporting = "importing the slot's snapshot";
  ASSIGN_OR_RETURN(
      const Result result,
      ordinary.Query(
          absl::StrCat(
              "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
              " SET TRANSACTION SNAPSHOT ",
              QuoteLiteral(exported), "; SELECT ",
              std::string(CurrentSnapshotFunction(ordinary.server_version())),
              "::text"),
          kImporting));
  if (result.rows() != 1) return absl::DataLossError("no snapshot");
  ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Parse(result.Get(0, 0)));
  RETURN_IF_ERROR(ordinary.Query("COMMIT", kImporting).status());
  return snapshot;
}

absl::StatusOr<CreatedSlot> ReadCreated(const Result& result,
                                        Connection& replication,
                                        Connection& ordinary) {
  CreatedSlot created;
  if (result.rows() != 1 || result.columns() < 3 ||
      !Lsn::Parse(result.Get(0, 1), &created.consistent_point)) {
    return absl::DataLossError(
        "CREATE_REPLICATION_SLOT: not a row with a position and a snapshot");
  }
  ASSIGN_OR_RETURN(created.snapshot,
                   ImportSnapshot(ordinary, result.Get(0, 2)));
  // Any command ends the transaction that kept the snapshot exported.
  RETURN_IF_ERROR(replication.Query("IDENTIFY_SYSTEM", kDoing).status());
  return created;
}

}  // namespace

absl::Status CheckSlotName(const std::string& name) {
  constexpr std::size_t kLongest = 63;
  bool legal = !name.empty() && name.size() <= kLongest;
  for (const char c : name) {
    legal =
        legal && (absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_');
  }
  if (legal) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "\"", name,
      "\" cannot be a replication slot's name: up to 63 lower-case "
      "letters, digits and underscores; see publisher.slot"));
}

absl::StatusOr<SlotState> ReadSlotState(Connection& ordinary,
                                        const std::string& name) {
  const int version = ordinary.server_version();
  const bool v17 = version >= 170000;
  const std::string lost = absl::StrCat(
      version >= 130000 ? "coalesce(wal_status = 'lost', false)" : "false",
      version >= 160000 ? " OR coalesce(conflicting, false)" : "",
      v17 ? " OR invalidation_reason IS NOT NULL" : "");
  ASSIGN_OR_RETURN(
      const Result result,
      ordinary.Query(
          absl::StrCat(
              "SELECT plugin, database, active, active_pid,"
              " confirmed_flush_lsn, restart_lsn, ",
              version >= 140000 ? "two_phase" : "false", ", ", lost, ", ",
              v17 ? "invalidation_reason, failover, synced"
                  : "NULL::text, false, false",
              ", a.application_name, host(a.client_addr)"
              " FROM pg_catalog.pg_replication_slots s"
              " LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid"
              " WHERE slot_name = ",
              QuoteLiteral(name)),
          "reading the replication slot"));
  SlotState slot;
  if (result.rows() == 0) return slot;
  slot.exists = true;
  slot.plugin = result.Text(0, 0);
  slot.database = result.Text(0, 1);
  slot.active = result.Get(0, 2) == "t";
  if (!result.IsNull(0, 3) &&
      !absl::SimpleAtoi(View(result.Get(0, 3)), &slot.active_pid)) {
    return absl::DataLossError("the replication slot's pid is no number");
  }
  for (const auto& [column, lsn] :
       {std::pair{4, &slot.confirmed_flush}, std::pair{5, &slot.restart}}) {
    if (result.IsNull(0, column)) continue;
    if (!Lsn::Parse(result.Get(0, column), lsn)) {
      return absl::DataLossError("the replication slot's position is no LSN");
    }
  }
  slot.two_phase = result.Get(0, 6) == "t";
  slot.lost = result.Get(0, 7) == "t";
  slot.lost_reason = result.Text(0, 8);
  slot.failover = result.Get(0, 9) == "t";
  slot.synced = result.Get(0, 10) == "t";
  slot.active_name = result.Text(0, 11);
  slot.active_client = result.Text(0, 12);
  if (slot.lost && slot.lost_reason.empty()) {
    slot.lost_reason = "wal_status is lost";
  }
  return slot;
}

absl::StatusOr<CreatedSlot> MakeSlot(
    Connection& replication, Connection& ordinary, const SlotOptions& options,
    const std::function<void(std::string_view)>& on_wait) {
  RETURN_IF_ERROR(CheckSlotName(options.name));
  RETURN_IF_ERROR(replication.Send(
      CreateSql(options, replication.server_version()), kDoing));
  const absl::Status waited = AwaitCreation(replication, ordinary, on_wait);
  if (!waited.ok()) {
    Abandon(replication, options.name);
    return waited;
  }
  ASSIGN_OR_RETURN(const Result result, replication.Finish(kDoing));
  absl::StatusOr<CreatedSlot> created =
      ReadCreated(result, replication, ordinary);
  if (!created.ok()) {
    ordinary.Query("ROLLBACK", kDoing, CleanUpLimits()).IgnoreError();
    DropSlotByName(ordinary, options.name, CleanUpLimits()).IgnoreError();
  }
  return created;
}

absl::Status EnableSlotFailover(Connection& replication,
                                const std::string& name) {
  RETURN_IF_ERROR(CheckSlotName(name));
  return replication
      .Query(absl::StrCat("ALTER_REPLICATION_SLOT ", QuoteIdentifier(name),
                          " (FAILOVER true)"),
             "making the replication slot a failover slot")
      .status();
}

absl::Status CopySlotByName(Connection& ordinary, const std::string& from,
                            const std::string& to) {
  RETURN_IF_ERROR(CheckSlotName(to));
  return ordinary
      .Query(absl::StrCat("SELECT pg_catalog.pg_copy_logical_replication_slot(",
                          QuoteLiteral(from), ", ", QuoteLiteral(to), ")"),
             "copying the replication slot")
      .status();
}

absl::Status DropSlotByName(Connection& ordinary, const std::string& name,
                            const WaitLimits& limits) {
  const absl::Status dropped =
      ordinary
          .Query(absl::StrCat("SELECT pg_catalog.pg_drop_replication_slot(",
                              QuoteLiteral(name), ")"),
                 "dropping the replication slot", limits)
          .status();
  if (SqlState(dropped) == "42704") {
    return absl::NotFoundError(
        absl::StrCat("there is no replication slot \"", name, "\""));
  }
  return dropped;
}

}  // namespace sublite
