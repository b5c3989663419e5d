#include "applier/io/libpq_connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applier/io/libpq_error.h"
#include "schema/status.h"

namespace sublite {
namespace {

// This program was written after it, so an earlier clock is wrong.
constexpr std::time_t kEarliestNow = 1735689600;  // 2025-01-01

std::string Field(const pg_result* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text != nullptr ? text : "";
}

}  // namespace

void Result::Clear::operator()(pg_result* result) const { PQclear(result); }

int Result::rows() const { return PQntuples(result_.get()); }
int Result::columns() const { return PQnfields(result_.get()); }

bool Result::IsNull(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view Result::Get(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

bool Result::IsCopyOut() const {
  return PQresultStatus(result_.get()) == PGRES_COPY_OUT;
}

bool Result::IsCopyBoth() const {
  return PQresultStatus(result_.get()) == PGRES_COPY_BOTH;
}

Connection::Connection(std::shared_ptr<const Conninfo> conninfo, pg_conn* conn,
                       const StopSignal* stop)
    : conninfo_(std::move(conninfo)), conn_(conn), stop_(stop) {}

Connection::~Connection() {
  PQfreemem(row_);
  PQfinish(conn_);
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(
    std::shared_ptr<const Conninfo> conninfo, const ConnectTarget& target,
    ConnectionKind kind, const StopSignal* stop) {
  const ConnectParameters parameters = conninfo->Parameters(target, kind);
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : parameters) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  pg_conn* conn = PQconnectStartParams(keywords.data(), values.data(), 0);
  if (conn == nullptr) return absl::ResourceExhaustedError("out of memory");
  std::unique_ptr<Connection> connection(
      new Connection(std::move(conninfo), conn, stop));
  // Verbose, so that the SQLSTATE of a refusal can be read from its text.
  PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
  PQsetNoticeProcessor(
      conn, +[](void*, const char*) {}, nullptr);
  RETURN_IF_ERROR(connection->FinishConnecting());
  PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
  PQsetnonblocking(conn, 1);
  return connection;
}

absl::Status Connection::FinishConnecting() {
  const SteadyTime deadline = SteadyIn(conninfo_->connect_timeout());
  if (PQstatus(conn_) == CONNECTION_BAD) return FailedConnect(false);
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED) return FailedConnect(false);
    const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    switch (WaitFor(PQsocket(conn_), events, deadline, stop_)) {
      case Waited::kStopped:
        return absl::CancelledError("stopped while connecting");
      case Waited::kTimedOut:
        return FailedConnect(true);
      case Waited::kReady:
        break;
    }
    next = PQconnectPoll(conn_);
  }
  return absl::OkStatus();
}

absl::Status Connection::FailedConnect(bool timed_out) const {
  ConnectFailure failure;
  failure.message = PQerrorMessage(conn_);
  if (timed_out) {
    absl::StrAppend(&failure.message, "no answer within ",
                    absl::FormatDuration(conninfo_->connect_timeout()));
    return Scrub(ConnectionLost(failure.message, ""));
  }
  failure.needs_password = PQconnectionNeedsPassword(conn_) != 0;
  failure.sslmode_is_default = conninfo_->sslmode_is_default();
  failure.clock_is_wrong = std::time(nullptr) < kEarliestNow;
  return Scrub(StatusFromConnect(failure));
}

absl::Status Connection::Scrub(const absl::Status& status) const {
  if (status.ok()) return status;
  std::string text = conninfo_->Scrub(std::string(status.message()));
  const char* password = PQpass(conn_);  // from the password file, perhaps
  if (password != nullptr) ScrubSecret(password, &text);
  absl::Status scrubbed(status.code(), text);
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    scrubbed.SetPayload(type, payload);
  });
  return scrubbed;
}

absl::Status Connection::Lost(std::string_view doing) {
  broken_ = true;
  return Scrub(ConnectionLost(PQerrorMessage(conn_), doing));
}

absl::Status Connection::ErrorOf(const pg_result* result,
                                 std::string_view doing) {
  ServerError error;
  error.sqlstate = Field(result, PG_DIAG_SQLSTATE);
  error.message = Field(result, PG_DIAG_MESSAGE_PRIMARY);
  error.detail = Field(result, PG_DIAG_MESSAGE_DETAIL);
  error.hint = Field(result, PG_DIAG_MESSAGE_HINT);
  // libpq's own errors have neither fields nor a SQLSTATE.
  if (error.message.empty()) error.message = PQresultErrorMessage(result);
  if (error.sqlstate.empty() || PQstatus(conn_) == CONNECTION_BAD) {
    broken_ = true;
  }
  return Scrub(StatusFromServer(error, doing));
}

absl::Status Connection::WaitSocket(short events, SteadyTime deadline,
                                    const StopSignal* stop, bool* timed_out,
                                    std::string_view doing) {
  *timed_out = false;
  switch (WaitFor(PQsocket(conn_), events, deadline, stop)) {
    case Waited::kReady:
      break;
    case Waited::kTimedOut:
      *timed_out = true;
      break;
    case Waited::kStopped:
      broken_ = true;
      return absl::CancelledError(absl::StrCat("stopped while ", View(doing)));
  }
  return absl::OkStatus();
}

absl::Status Connection::Send(const std::string& sql, std::string_view doing) {
  if (PQsendQuery(conn_, sql.c_str()) != 1) return Lost(doing);
  return absl::OkStatus();
}

absl::StatusOr<bool> Connection::Answered(SteadyTime deadline,
                                          const StopSignal* stop,
                                          std::string_view doing) {
  while (true) {
    const int unsent = PQflush(conn_);
    if (unsent < 0) return Lost(doing);
    if (PQisBusy(conn_) == 0) return true;
    bool timed_out = false;
    const short events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
    RETURN_IF_ERROR(WaitSocket(events, deadline, stop, &timed_out, doing));
    if (timed_out) return false;
    if (PQconsumeInput(conn_) != 1) return Lost(doing);
  }
}

// Waits until PQgetResult or PQgetCopyData has something to say.
absl::Status Connection::Await(const WaitLimits& limits,
                               std::string_view doing) {
  const SteadyTime deadline = SteadyIn(limits.timeout);
  const StopSignal* stop = limits.heed_stop ? stop_ : nullptr;
  while (true) {
    SteadyTime until = deadline;
    if (limits.probe) until = std::min(until, SteadyIn(limits.probe_after));
    ASSIGN_OR_RETURN(const bool answered, Answered(until, stop, doing));
    if (answered) return absl::OkStatus();
    if (SteadyNow() >= deadline) {
      broken_ = true;
      return ConnectionLost(absl::StrCat("no answer within ",
                                         absl::FormatDuration(limits.timeout)),
                            doing);
    }
    const absl::Status alive = limits.probe();
    if (!alive.ok()) {
      broken_ = true;
      return Annotate(alive, absl::StrCat(View(doing), ": no answer"));
    }
  }
}

absl::StatusOr<Result> Connection::Finish(std::string_view doing,
                                          const WaitLimits& limits) {
  Result last;
  absl::Status error;
  while (true) {
    RETURN_IF_ERROR(Await(limits, doing));
    pg_result* raw = PQgetResult(conn_);
    if (raw == nullptr) break;
    Result result(raw);
    switch (PQresultStatus(raw)) {
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
      case PGRES_EMPTY_QUERY:
        last = std::move(result);
        break;
      case PGRES_COPY_OUT:
      case PGRES_COPY_BOTH:
        return result;
      default:
        if (error.ok()) error = ErrorOf(raw, doing);
        break;
    }
    if (PQstatus(conn_) == CONNECTION_BAD) break;
  }
  if (!error.ok()) return error;
  if (PQstatus(conn_) == CONNECTION_BAD) return Lost(doing);
  return last;
}

absl::StatusOr<Result> Connection::Query(const std::string& sql,
                                         std::string_view doing,
                                         const WaitLimits& limits) {
  RETURN_IF_ERROR(Send(sql, doing));
  return Finish(doing, limits);
}

absl::StatusOr<bool> Connection::CopyRow(std::string_view* row,
                                         std::string_view doing,
                                         const WaitLimits& limits) {
  PQfreemem(row_);
  row_ = nullptr;
  const SteadyTime deadline = SteadyIn(limits.timeout);
  while (true) {
    const int size = PQgetCopyData(conn_, &row_, /*async=*/1);
    if (size > 0) {
      *row = {row_, static_cast<std::size_t>(size)};
      return true;
    }
    if (size == -2) return Lost(doing);
    if (size == -1) {
      RETURN_IF_ERROR(Finish(doing, limits).status());
      return false;
    }
    bool timed_out = false;
    SteadyTime until = deadline;
    if (limits.probe) until = std::min(until, SteadyIn(limits.probe_after));
    RETURN_IF_ERROR(WaitSocket(
        POLLIN, until, limits.heed_stop ? stop_ : nullptr, &timed_out, doing));
    if (timed_out && SteadyNow() >= deadline) {
      return ConnectionLost("no data in time", doing);
    }
    if (timed_out) {
      const absl::Status alive = limits.probe();
      if (!alive.ok()) return Annotate(alive, View(doing));
      continue;
    }
    if (PQconsumeInput(conn_) != 1) return Lost(doing);
  }
}

bool Connection::usable() {
  if (broken_) return false;
  if (PQtransactionStatus(conn_) == PQTRANS_ACTIVE) return true;
  // A connection that the server closed meanwhile shows it here: first perhaps
  // a last message, then the end.
  constexpr int kUnasked = 4;
  for (int i = 0; i < kUnasked; ++i) {
    if (PQstatus(conn_) != CONNECTION_OK) broken_ = true;
    if (broken_ || WaitFor(PQsocket(conn_), POLLIN, SteadyNow(), nullptr) ==
                       Waited::kTimedOut) {
      break;
    }
    if (PQconsumeInput(conn_) != 1) broken_ = true;
    PQisBusy(conn_);  // parses what came
  }
  return !broken_;
}

int Connection::server_version() const { return PQserverVersion(conn_); }
int Connection::backend_pid() const { return PQbackendPID(conn_); }

std::string Connection::hostaddr() const {
  const char* address = PQhostaddr(conn_);
  return address != nullptr ? address : "";
}

std::string Connection::parameter(const char* name) const {
  const char* value = PQparameterStatus(conn_, name);
  return value != nullptr ? value : "";
}

}  // namespace sublite
