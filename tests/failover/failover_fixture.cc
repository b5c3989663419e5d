#include "tests/failover/failover_fixture.h"

#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "applier/log.h"

namespace sublite::testing {
namespace {

std::mutex log_mutex;
std::vector<std::string>& LogStore() {
  static auto* lines = new std::vector<std::string>();
  return *lines;
}

void KeepLine(LogLevel level, std::string_view message,
              std::initializer_list<LogField> fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", std::string(field.name), "=", field.value);
  }
  const std::lock_guard<std::mutex> lock(log_mutex);
  LogStore().push_back(
      absl::StrCat(level >= LogLevel::kWarn ? "warn: " : "", line));
}

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};

}  // namespace

FailoverTest::FailoverTest() {
  std::string name = ::testing::TempDir() + "/failover-XXXXXX";
  folder_ = mkdtemp(name.data());
  path_ = folder_ + "/replica.db";
  config_.publisher.publications = {"pub"};
  config_.publisher.slot = "s";
  config_.publisher.status_interval = absl::Milliseconds(200);
  config_.replica.database = path_;
  const std::lock_guard<std::mutex> lock(log_mutex);
  LogStore().clear();
  SetLogSink(KeepLine);
}

void FailoverTest::TearDown() {
  if (running()) {
    EXPECT_OK(StopSublite());
  }
  if (HasFailure()) {
    ADD_FAILURE() << "the log: " << absl::StrJoin(LogLines(), "\n");
  }
}

FailoverTest::~FailoverTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool FailoverTest::StartPrimary(int major, const PgServerOptions& options) {
  static int known_major = 0;  // one start is enough to know it
  if (known_major != 0 && known_major < major) return false;
  auto server = PgServer::Start(options);
  EXPECT_OK(server);
  if (!server.ok()) return false;
  primary_ = *std::move(server);
  known_major = primary_->major_version();
  if (known_major < major) return false;
  Sql("CREATE TABLE t (id int PRIMARY KEY, v text);"
      "CREATE PUBLICATION pub FOR TABLE t;"
      "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 100) i");
  return true;
}

void FailoverTest::Sql(PgServer& server, const std::string& sql) {
  ASSERT_OK(server.Exec(sql)) << sql;
}

std::string FailoverTest::Scalar(PgServer& server, const std::string& sql) {
  const absl::StatusOr<std::string> value = server.Scalar(sql);
  EXPECT_OK(value) << sql;
  return value.value_or("");
}

std::string FailoverTest::Hosts(const std::vector<const PgServer*>& servers) {
  return absl::StrCat(
      "host=",
      absl::StrJoin(servers, ",",
                    [](std::string* out, const PgServer* server) {
                      out->append(server->host());
                    }),
      " port=",
      absl::StrJoin(servers, ",",
                    [](std::string* out, const PgServer* server) {
                      absl::StrAppend(out, server->port());
                    }),
      " user=postgres dbname=postgres");
}

void FailoverTest::StartSublite(const std::string& conninfo) {
  ASSERT_FALSE(running());
  stop_ = std::make_unique<StopSignal>();
  LibpqPublisherOptions options;
  options.conninfo = Secret(conninfo);
  options.stream.status_interval = config_.publisher.status_interval;
  publisher_ =
      std::make_unique<LibpqPublisher>(std::move(options), stop_.get());
  supervisor_ =
      std::make_unique<Supervisor>(config_, *publisher_, *stop_,
                                   Announcer{[] {}, [](const std::string&) {}});
  thread_ = std::thread([this] { ended_ = supervisor_->Run(); });
}

absl::Status FailoverTest::StopSublite() {
  stop_->Request();
  supervisor_->Interrupt();
  thread_.join();
  supervisor_.reset();
  publisher_.reset();
  return absl::IsCancelled(ended_) ? absl::OkStatus() : ended_;
}

std::string FailoverTest::Read(const std::string& sql) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path_.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  const std::unique_ptr<sqlite3, CloseDatabase> db(raw);
  if (opened != SQLITE_OK) return "";
  sqlite3_busy_timeout(raw, 5000);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(raw, sql.c_str(), -1, &statement, nullptr) !=
      SQLITE_OK) {
    return "";
  }
  std::string value;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text =
        reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    absl::StrAppend(&value, value.empty() ? "" : "\n",
                    text == nullptr ? "" : text);
  }
  sqlite3_finalize(statement);
  return value;
}

void FailoverTest::Write(const std::string& sql) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path_.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, CloseDatabase> db(raw);
  ASSERT_EQ(opened, SQLITE_OK);
  sqlite3_busy_timeout(raw, 30000);
  ASSERT_EQ(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sql;
}

void FailoverTest::AwaitTrue(const std::string& what,
                             const std::function<bool()>& is) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!is()) {
    ASSERT_LT(absl::Now(), deadline) << "in vain: " << what;
    absl::SleepFor(absl::Milliseconds(30));
  }
}

void FailoverTest::Await(const std::string& sql, const std::string& value) {
  const absl::Time deadline = absl::Now() + kPatience;
  std::string is;
  while ((is = Read(sql)) != value) {
    ASSERT_LT(absl::Now(), deadline)
        << sql << "\nis " << is << "\nnot " << value;
    absl::SleepFor(absl::Milliseconds(30));
  }
}

void FailoverTest::AwaitSame(PgServer& server) {
  Await(
      "SELECT group_concat(id || '=' || v) FROM (SELECT * FROM t ORDER BY id)",
      Scalar(server,
             "SELECT string_agg(id || '=' || v, ',' ORDER BY id) FROM t"));
}

std::vector<std::string> FailoverTest::LogLines() {
  const std::lock_guard<std::mutex> lock(log_mutex);
  return LogStore();
}

std::vector<std::string> FailoverTest::Events(const std::string& kind) {
  std::vector<std::string> events;
  const int count = std::atoi(
      Read(absl::StrCat("SELECT count(*) FROM sublite_events WHERE kind = '",
                        kind, "'"))
          .c_str());
  for (int i = 0; i < count; ++i) {
    events.push_back(
        Read(absl::StrCat("SELECT detail FROM sublite_events WHERE kind = '",
                          kind, "' ORDER BY id LIMIT 1 OFFSET ", i)));
  }
  return events;
}

}  // namespace sublite::testing
