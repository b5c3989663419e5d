#include "tests/io/publisher_fixture.h"

#include "absl/strings/str_cat.h"

namespace sublite::testing {

PgServer* PublisherTest::server_ = nullptr;

void PublisherTest::SetUpTestSuite() {
  if (server_ != nullptr) return;
  PgServerOptions options;
  options.tcp = true;
  options.hba = {"host all +guarded 127.0.0.1/32 scram-sha-256"};
  absl::StatusOr<std::unique_ptr<PgServer>> server = PgServer::Start(options);
  ASSERT_OK(server);
  server_ = server->release();
  ASSERT_OK(server_->Exec("CREATE ROLE guarded"));
}

void PublisherTest::TearDownTestSuite() {
  delete server_;
  server_ = nullptr;
}

void PublisherTest::SetUp() {
  ASSERT_NE(server_, nullptr);
  static int count = 0;
  database_ = absl::StrCat("test_", ++count);
  ASSERT_OK(server_->Exec(absl::StrCat("CREATE DATABASE ", database_)));
  ASSERT_OK_AND_ASSIGN(session_, server_->Connect(database_));
}

void PublisherTest::TearDown() {
  // Prepared transactions would outlive the test.
  if (session_ == nullptr) return;
  const auto left = session_->Exec(
      "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()");
  if (!left.ok()) return;
  for (const auto& row : *left) {
    session_->Exec(absl::StrCat("ROLLBACK PREPARED '", *row[0], "'"))
        .status()
        .IgnoreError();
  }
}

void PublisherTest::Sql(const std::string& sql) {
  EXPECT_OK(session_->Exec(sql)) << sql;
}

std::string PublisherTest::Scalar(const std::string& sql) {
  const absl::StatusOr<std::string> value = session_->Scalar(sql);
  EXPECT_OK(value) << sql;
  return value.value_or("");
}

std::unique_ptr<LibpqPublisher> PublisherTest::MakePublisher(
    const std::string& conninfo, const StreamLimits& limits) {
  LibpqPublisherOptions options;
  options.conninfo = Secret(conninfo.empty() ? Conninfo() : conninfo);
  options.stream = limits;
  return std::make_unique<LibpqPublisher>(std::move(options), &stop_);
}

std::unique_ptr<LibpqPublisher> PublisherTest::Connected(
    const std::string& conninfo, const StreamLimits& limits) {
  std::unique_ptr<LibpqPublisher> publisher = MakePublisher(conninfo, limits);
  EXPECT_OK(publisher->Connect());
  return publisher;
}

absl::StatusOr<std::vector<std::string>> PublisherTest::ReadRows(
    LibpqPublisher& publisher, const std::string& table,
    const std::string& schema) {
  absl::StatusOr<std::unique_ptr<TableReader>> reader =
      publisher.ReadTable(schema, table, {"pub"}, CopyRequest());
  if (!reader.ok()) return reader.status();
  std::vector<std::string> rows;
  std::string_view row;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&row);
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    rows.emplace_back(row.substr(0, row.size() - 1));
  }
}

absl::Duration Measure(const std::function<void()>& what) {
  const absl::Time start = absl::Now();
  what();
  return absl::Now() - start;
}

}  // namespace sublite::testing
