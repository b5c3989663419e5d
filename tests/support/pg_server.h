// A throwaway PostgreSQL server for tests.
//
//   ASSERT_OK_AND_ASSIGN(std::unique_ptr<PgServer> server, PgServer::Start());
//   ASSERT_OK(server->Exec("create table t (id int primary key)"));
//   ... conninfo = server->Conninfo() ...
//
// The programs are those of the major version that $SUBLITE_TEST_SERVER names
// (postgres_test.bzl sets it), else those in $SUBLITE_PGBIN, else the newest
// below /usr/lib/postgresql. As root the server runs as the user postgres, else
// as the caller. It listens on a Unix socket in a folder of its own below /tmp
// (so that no two servers ever meet), trusts everybody who can reach it, and is
// set up for logical decoding with so little memory (logical_decoding_work_mem
// = 64kB) that transactions of some hundred rows are streamed.
//
// Ownership: the server and its folder go with the object; a guard process of
// its own sees to that even where the test is killed. Starting takes about a
// second: make one server per test binary, and databases in it. A test that
// uses it is declared with postgres_test.bzl, and tagged ["local", "postgres"]
// there: in Bazel's sandbox there is no other user to change to.
//
// Errors: Internal with the program's own words. Threads: one at a time, for
// the server and for each session.
#ifndef SUBLITE_TESTS_SUPPORT_PG_SERVER_H_
#define SUBLITE_TESTS_SUPPORT_PG_SERVER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/support/subprocess.h"

struct pg_conn;

namespace sublite::testing {

// Rows of columns in text form; nothing for NULL.
using PgRows = std::vector<std::vector<std::optional<std::string>>>;

// One connection. Closed with the object; a transaction that is open then is
// rolled back.
class PgSession {
 public:
  static absl::StatusOr<std::unique_ptr<PgSession>> Open(
      const std::string& conninfo);

  ~PgSession();
  PgSession(const PgSession&) = delete;
  PgSession& operator=(const PgSession&) = delete;

  // Runs one or more statements and returns the rows of the last one.
  absl::StatusOr<PgRows> Exec(const std::string& sql);

  // The only column of the only row, as text ("" for NULL).
  absl::StatusOr<std::string> Scalar(const std::string& sql);

 private:
  explicit PgSession(pg_conn* connection) : connection_(connection) {}

  pg_conn* const connection_;
};

struct PgServerOptions {
  // Added to the defaults, or in place of them: {"logical_decoding_work_mem",
  // "64MB"}.
  std::vector<std::pair<std::string, std::string>> settings;
  // Lines of pg_hba.conf, in front of the one that trusts everybody.
  std::vector<std::string> hba;
  // Also listen on a free port of 127.0.0.1.
  bool tcp = false;
};

// The folder of initdb, pg_ctl and postgres that Start() uses. NotFound, with
// what to do, where that version is not installed.
absl::StatusOr<std::string> FindServerPrograms();

class PgServer {
 public:
  static absl::StatusOr<std::unique_ptr<PgServer>> Start(
      const PgServerOptions& options = {});

  // A streaming standby of `primary` (12+), a copy of which is made while it is
  // stopped for a moment. As pg_basebackup it has none of its slots. It has
  // the primary's settings, but for `options`, and reports to it often.
  static absl::StatusOr<std::unique_ptr<PgServer>> StartStandby(
      PgServer& primary, const PgServerOptions& options = {});
  // Ends the recovery of a standby, and waits for it.
  absl::Status Promote();
  // Until a standby has replayed all that `primary` has written.
  absl::Status CatchUp(PgServer& primary);

  ~PgServer();
  PgServer(const PgServer&) = delete;
  PgServer& operator=(const PgServer&) = delete;

  // A clean shutdown, which waits until walsenders have sent everything; then a
  // start on the same address.
  absl::Status Stop();
  absl::Status StartAgain();
  absl::Status Restart();
  // Ends without writing anything, as at a power loss; StartAgain() recovers
  // from the WAL.
  absl::Status Crash();

  // For a superuser: host, port, user and dbname.
  std::string Conninfo(const std::string& database = "postgres") const;
  // The same over TCP; only with Options::tcp.
  std::string TcpConninfo(const std::string& database = "postgres") const;
  int port() const { return port_; }
  // For `host` in a connection string: the folder of the socket.
  const std::string& host() const { return directory_; }
  // 15 for 15.4.
  int major_version() const { return major_version_; }
  // The server's log since its first start, and its end for failure messages.
  std::string Log() const;
  std::string LogTail() const;

  // A new session, for tests that need several at once.
  absl::StatusOr<std::unique_ptr<PgSession>> Connect(
      const std::string& database = "postgres") const;
  // On a session to the database postgres, opened when needed and again after a
  // restart.
  absl::StatusOr<PgRows> Exec(const std::string& sql);
  absl::StatusOr<std::string> Scalar(const std::string& sql);

 private:
  PgServer() = default;

  absl::Status MakeDirectory();
  absl::Status StartGuard();
  absl::Status MakeCluster(const PgServerOptions& options);
  absl::Status Control(const std::vector<std::string>& arguments);
  absl::Status RunProgram(const std::string& program,
                          const std::vector<std::string>& arguments) const;
  absl::StatusOr<PgSession*> DefaultSession();

  std::string programs_;   // the folder of initdb and pg_ctl
  std::string directory_;  // ours: data/, log, output and the socket
  int port_ = 5432;
  int major_version_ = 0;
  int lock_fd_ = -1;   // locks the folder's file `lock` while the test lives
  int guard_fd_ = -1;  // the guard cleans up when this closes
  std::unique_ptr<Subprocess> guard_;
  std::unique_ptr<PgSession> session_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_PG_SERVER_H_
