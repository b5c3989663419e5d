#include "tests/support/pg_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "schema/status.h"
#include "tests/support/subprocess.h"

namespace sublite::testing {
namespace {

constexpr char kServerUser[] = "postgres";
constexpr char kMajorVariable[] = "SUBLITE_TEST_SERVER";
constexpr std::size_t kLogTailBytes = 2000;

// Those that logical replication needs, and what makes a test server quick.
constexpr const char* kSettings[][2] = {
    {"fsync", "off"},
    {"listen_addresses", ""},
    {"log_min_messages", "warning"},
    {"logical_decoding_work_mem", "64kB"},
    {"max_connections", "60"},
    {"max_prepared_transactions", "50"},
    {"max_replication_slots", "20"},
    {"max_wal_senders", "20"},
    {"shared_buffers", "64MB"},
    {"wal_level", "logical"},
};

// What the guard does once the test closes its end of the pipe, or is gone. $1
// is the folder, the rest runs pg_ctl. A killed test may have left initdb or
// pg_ctl at work in the folder, hence the second try.
constexpr char kGuard[] =
    "cat >/dev/null; directory=$1; shift; "
    "for try in 1 2 3 4 5; do"
    " \"$@\" -D \"$directory/data\" -m immediate -w -t 20 stop;"
    " rm -rf \"$directory\" && exit; sleep 1; "
    "done";

absl::Status SystemError(const std::string& what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Where scripts/setup keeps servers that are not Debian's: for all users, and
// where a user has no rights there, for that one alone.
std::vector<std::string> ServerHomes() {
  std::vector<std::string> homes = {"/var/cache/sublite"};
  const passwd* user = getpwuid(geteuid());
  if (user != nullptr && geteuid() != 0)
    homes.push_back(absl::StrCat(user->pw_dir, "/.cache/sublite"));
  return homes;
}

// Of the paths that fit `pattern`, that with the highest number behind its
// first `prefix` characters; "" if there is none.
std::string FindNewest(const std::string& pattern, std::size_t prefix) {
  glob_t found = {};
  std::string newest;
  int newest_number = -1;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      const int number = std::atoi(path.c_str() + prefix);
      if (number <= newest_number) continue;
      newest_number = number;
      newest = path;
    }
  }
  globfree(&found);
  return newest;
}

absl::StatusOr<std::string> FindMajor(const std::string& major) {
  const std::string debian =
      absl::StrCat("/usr/lib/postgresql/", major, "/bin");
  if (access(absl::StrCat(debian, "/initdb").c_str(), X_OK) == 0) return debian;
  for (const std::string& home : ServerHomes()) {
    const std::string release = absl::StrCat(home, "/postgresql-", major, ".");
    const std::string newest =
        FindNewest(absl::StrCat(release, "*/bin"), release.size());
    if (!newest.empty()) return newest;
  }
  return absl::NotFoundError(absl::StrCat("no server programs of PostgreSQL ",
                                          major,
                                          "; run scripts/setup servers"));
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// PostgreSQL refuses to run as root.
std::vector<std::string> AsServerUser(std::vector<std::string> command) {
  if (geteuid() == 0) {
    const std::vector<std::string> prefix = {"/usr/sbin/runuser", "-u",
                                             kServerUser, "--"};
    command.insert(command.begin(), prefix.begin(), prefix.end());
  }
  return command;
}

// A port that is free now. Another process may take it before the server does;
// then the start fails and says so.
absl::StatusOr<int> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return SystemError("socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      bind(fd, generic, length) == 0 && getsockname(fd, generic, &length) == 0;
  close(fd);
  if (!bound) return SystemError("no free port");
  return ntohs(address.sin_port);
}

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

std::string ReadTail(const std::string& path) {
  const std::string text = ReadAll(path);
  return text.size() <= kLogTailBytes
             ? text
             : text.substr(text.size() - kLogTailBytes);
}

std::string SettingLine(const std::string& name, const std::string& value) {
  return absl::StrCat(name, " = '", absl::StrReplaceAll(value, {{"'", "''"}}),
                      "'\n");
}

}  // namespace

absl::StatusOr<std::string> FindServerPrograms() {
  const std::string major = Environment(kMajorVariable);
  if (!major.empty()) return FindMajor(major);
  const std::string chosen = Environment("SUBLITE_PGBIN");
  if (!chosen.empty()) return chosen;
  const std::string debian = "/usr/lib/postgresql/";
  const std::string newest =
      FindNewest(absl::StrCat(debian, "*/bin/initdb"), debian.size());
  if (newest.empty())
    return absl::NotFoundError(
        "no PostgreSQL server programs; run scripts/setup or set "
        "SUBLITE_PGBIN");
  return newest.substr(0, newest.rfind('/'));
}

// ---- PgSession ----

absl::StatusOr<std::unique_ptr<PgSession>> PgSession::Open(
    const std::string& conninfo) {
  std::unique_ptr<PgSession> session(
      new PgSession(PQconnectdb(conninfo.c_str())));
  if (PQstatus(session->connection_) != CONNECTION_OK) {
    return absl::InternalError(PQerrorMessage(session->connection_));
  }
  return session;
}

PgSession::~PgSession() { PQfinish(connection_); }

absl::StatusOr<PgRows> PgSession::Exec(const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexec(connection_, sql.c_str()), &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK &&
      status != PGRES_EMPTY_QUERY) {
    return absl::InternalError(
        absl::StrCat(PQerrorMessage(connection_), "in: ", sql));
  }
  PgRows rows(PQntuples(result.get()));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      if (PQgetisnull(result.get(), row, column)) {
        rows[row].emplace_back();
      } else {
        rows[row].emplace_back(
            std::string(PQgetvalue(result.get(), row, column),
                        PQgetlength(result.get(), row, column)));
      }
    }
  }
  return rows;
}

absl::StatusOr<std::string> PgSession::Scalar(const std::string& sql) {
  ASSIGN_OR_RETURN(const PgRows rows, Exec(sql));
  if (rows.size() != 1 || rows[0].size() != 1) {
    return absl::InternalError(
        absl::StrCat(rows.size(), " rows instead of one value from: ", sql));
  }
  return rows[0][0].value_or("");
}

// ---- PgServer ----

absl::StatusOr<std::unique_ptr<PgServer>> PgServer::Start(
    const PgServerOptions& options) {
  std::unique_ptr<PgServer> server(new PgServer());
  ASSIGN_OR_RETURN(server->programs_, FindServerPrograms());
  if (options.tcp) {
    ASSIGN_OR_RETURN(server->port_, FreePort());
  }
  RETURN_IF_ERROR(server->MakeDirectory());
  RETURN_IF_ERROR(server->StartGuard());
  RETURN_IF_ERROR(server->MakeCluster(options));
  RETURN_IF_ERROR(server->StartAgain());
  ASSIGN_OR_RETURN(const std::string version,
                   server->Scalar("show server_version_num"));
  server->major_version_ = std::atoi(version.c_str()) / 10000;
  const std::string wanted = Environment(kMajorVariable);
  if (!wanted.empty() && wanted != absl::StrCat(server->major_version_))
    return absl::InternalError(absl::StrCat(server->programs_, " is version ",
                                            version, ", not ", wanted));
  return server;
}

PgServer::~PgServer() {
  session_.reset();
  if (guard_ != nullptr) {
    close(guard_fd_);
    guard_->Wait();
  }
  if (lock_fd_ >= 0) close(lock_fd_);
}

absl::Status PgServer::MakeDirectory() {
  char name[] =
      "/tmp/sublite-pg-XXXXXX";  // short: a socket's path has 107 characters
  if (mkdtemp(name) == nullptr) return SystemError("mkdtemp");
  directory_ = name;
  lock_fd_ = open(absl::StrCat(directory_, "/lock").c_str(),
                  O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_fd_ < 0 || flock(lock_fd_, LOCK_EX) != 0) return SystemError("lock");
  if (chmod(name, 0755) != 0) return SystemError("chmod");
  if (geteuid() != 0) return absl::OkStatus();
  const passwd* user = getpwnam(kServerUser);
  if (user == nullptr) return absl::NotFoundError("there is no user postgres");
  if (chown(name, user->pw_uid, user->pw_gid) != 0) return SystemError("chown");
  return absl::OkStatus();
}

absl::Status PgServer::StartGuard() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("pipe2");
  SubprocessOptions options;
  options.stdin_fd = ends[0];
  options.own_session = true;
  std::vector<std::string> command = {"/bin/sh", "-c", kGuard, "guard",
                                      directory_};
  for (const std::string& word :
       AsServerUser({absl::StrCat(programs_, "/pg_ctl")}))
    command.push_back(word);
  absl::StatusOr<std::unique_ptr<Subprocess>> guard =
      Subprocess::Start(command, options);
  close(ends[0]);
  guard_fd_ = ends[1];
  if (!guard.ok()) {
    close(guard_fd_);
    return guard.status();
  }
  guard_ = *std::move(guard);
  return absl::OkStatus();
}

absl::Status PgServer::MakeCluster(const PgServerOptions& options) {
  const std::string data = absl::StrCat(directory_, "/data");
  RETURN_IF_ERROR(
      RunProgram("initdb", {"-D", data, "-U", "postgres", "-A", "trust", "-E",
                            "UTF8", "--locale=C", "--no-sync"}));
  // As root we may write to the server user's files; else they are ours. The
  // last of several settings counts.
  std::ofstream settings(absl::StrCat(data, "/postgresql.conf"), std::ios::app);
  for (const auto& setting : kSettings)
    settings << SettingLine(setting[0], setting[1]);
  settings << SettingLine("unix_socket_directories", directory_)
           << SettingLine("port", absl::StrCat(port_));
  if (options.tcp) settings << SettingLine("listen_addresses", "127.0.0.1");
  for (const auto& [name, value] : options.settings)
    settings << SettingLine(name, value);
  settings.close();

  const std::string hba_path = absl::StrCat(data, "/pg_hba.conf");
  std::ofstream hba(hba_path, std::ios::trunc);
  for (const std::string& line : options.hba) hba << line << "\n";
  hba << "local all all trust\nlocal replication all trust\n"
      << "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 "
         "trust\n";
  hba.close();
  if (!settings || !hba)
    return absl::InternalError(
        absl::StrCat("cannot write the settings in ", data));
  return absl::OkStatus();
}

absl::Status PgServer::Stop() { return Control({"-m", "fast", "stop"}); }

absl::Status PgServer::Crash() { return Control({"-m", "immediate", "stop"}); }

absl::Status PgServer::StartAgain() {
  return Control({"-l", absl::StrCat(directory_, "/log"), "start"});
}

absl::Status PgServer::Restart() {
  RETURN_IF_ERROR(Stop());
  return StartAgain();
}

absl::Status PgServer::Control(const std::vector<std::string>& arguments) {
  session_.reset();
  std::vector<std::string> all = {"-D", absl::StrCat(directory_, "/data"), "-w",
                                  "-t", "60"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const absl::Status status = RunProgram("pg_ctl", all);
  return status.ok() ? status : Annotate(status, absl::StrCat(LogTail(), "\n"));
}

absl::Status PgServer::RunProgram(
    const std::string& program,
    const std::vector<std::string>& arguments) const {
  SubprocessOptions options;
  options.output_path = absl::StrCat(directory_, "/output");
  options.environment = {"LC_ALL=C.UTF-8"};
  std::vector<std::string> command = {absl::StrCat(programs_, "/", program)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSIGN_OR_RETURN(const std::unique_ptr<Subprocess> process,
                   Subprocess::Start(AsServerUser(command), options));
  const std::optional<int> code = process->Wait(absl::Seconds(90));
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      program,
      code ? " failed: " : " does not end: ", ReadTail(options.output_path)));
}

std::string PgServer::Conninfo(const std::string& database) const {
  return absl::StrCat("host=", directory_, " port=", port_,
                      " user=postgres dbname=", database);
}

std::string PgServer::TcpConninfo(const std::string& database) const {
  return absl::StrCat("host=127.0.0.1 port=", port_,
                      " user=postgres dbname=", database);
}

std::string PgServer::Log() const {
  return ReadAll(absl::StrCat(directory_, "/log"));
}

std::string PgServer::LogTail() const {
  return ReadTail(absl::StrCat(directory_, "/log"));
}

absl::StatusOr<std::unique_ptr<PgSession>> PgServer::Connect(
    const std::string& database) const {
  return PgSession::Open(Conninfo(database));
}

absl::StatusOr<PgSession*> PgServer::DefaultSession() {
  if (session_ == nullptr) {
    ASSIGN_OR_RETURN(session_, Connect());
  }
  return session_.get();
}

absl::StatusOr<PgRows> PgServer::Exec(const std::string& sql) {
  ASSIGN_OR_RETURN(PgSession * session, DefaultSession());
  return session->Exec(sql);
}

absl::StatusOr<std::string> PgServer::Scalar(const std::string& sql) {
  ASSIGN_OR_RETURN(PgSession * session, DefaultSession());
  return session->Scalar(sql);
}

}  // namespace sublite::testing
