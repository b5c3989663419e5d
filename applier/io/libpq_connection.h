// One libpq connection whose every wait ends: when the answer is there, at a
// deadline, or when sublite is told to stop.
//
// Lifetime: the stop signal outlives the connection. A Result owns its rows.
// Errors: as libpq_error.h classifies them, with every secret of the connection
// string scrubbed; Cancelled when stopped. After an error of the connection
// itself, a time-out or a stop in mid-query, usable() is false and the
// connection is good for nothing but destruction.
// Threads: one at a time.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_CONNECTION_H_
#define SUBLITE_APPLIER_IO_LIBPQ_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/io/conninfo.h"
#include "applier/io/wait.h"
#include "applier/stop_signal.h"

struct pg_conn;
struct pg_result;

namespace sublite {

// The rows of an answer, in text format.
class Result {
 public:
  Result() = default;
  explicit Result(pg_result* result) : result_(result) {}

  int rows() const;
  int columns() const;
  bool IsNull(int row, int column) const;
  // "" for NULL. Views are valid as long as this Result.
  std::string_view Get(int row, int column) const;
  std::string Text(int row, int column) const {
    return std::string(Get(row, column));
  }
  bool IsCopyOut() const;
  bool IsCopyBoth() const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

// How long an answer may take.
struct WaitLimits {
  absl::Duration timeout = absl::Minutes(5);
  bool heed_stop = true;
  // Asked whether the server is still there after each `probe_after` of
  // silence; an error ends the wait. For waits that may rightly be long.
  std::function<absl::Status()> probe;
  absl::Duration probe_after = absl::Minutes(1);
};

class Connection {
 public:
  // Connects to one target, whose name has been looked up (resolve_host.h).
  static absl::StatusOr<std::unique_ptr<Connection>> Open(
      std::shared_ptr<const Conninfo> conninfo, const ConnectTarget& target,
      ConnectionKind kind, const StopSignal* stop);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs `sql` by the simple protocol and gives the last statement's result, or
  // the first error. `doing` stands in front of error texts.
  absl::StatusOr<Result> Query(const std::string& sql, std::string_view doing,
                               const WaitLimits& limits = {});

  // The same in two halves, for answers that take their time. After Send,
  // Answered waits until Finish can go on (false: the deadline passed).
  absl::Status Send(const std::string& sql, std::string_view doing);
  absl::StatusOr<bool> Answered(SteadyTime deadline, const StopSignal* stop,
                                std::string_view doing);
  absl::StatusOr<Result> Finish(std::string_view doing,
                                const WaitLimits& limits = {});

  // The next CopyData of a running COPY OUT: false at its end, whose status is
  // then OK. `*row` is valid until the next call.
  absl::StatusOr<bool> CopyRow(std::string_view* row, std::string_view doing,
                               const WaitLimits& limits);

  // False once the connection is known to be lost or left in mid-answer. Looks
  // at the socket, without waiting.
  bool usable();

  int server_version() const;
  int backend_pid() const;
  // The address that was connected to; "" for a socket.
  std::string hostaddr() const;
  std::string parameter(const char* name) const;
  pg_conn* raw() { return conn_; }
  const StopSignal* stop() const { return stop_; }
  const Conninfo& conninfo() const { return *conninfo_; }

  // The status with every secret scrubbed from its text.
  absl::Status Scrub(const absl::Status& status) const;
  // The error that a failed result holds.
  absl::Status ErrorOf(const pg_result* result, std::string_view doing);
  // ConnectionLost with libpq's own message; marks the connection unusable.
  absl::Status Lost(std::string_view doing);

 private:
  Connection(std::shared_ptr<const Conninfo> conninfo, pg_conn* conn,
             const StopSignal* stop);
  absl::Status FinishConnecting();
  absl::Status FailedConnect(bool timed_out) const;
  absl::Status WaitSocket(short events, SteadyTime deadline,
                          const StopSignal* stop, bool* timed_out,
                          std::string_view doing);
  absl::Status Await(const WaitLimits& limits, std::string_view doing);

  const std::shared_ptr<const Conninfo> conninfo_;
  pg_conn* const conn_;
  const StopSignal* const stop_;
  bool broken_ = false;
  char* row_ = nullptr;  // the buffer behind CopyRow's last view
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_CONNECTION_H_
