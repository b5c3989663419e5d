// `sublite run` with http.listen and replica.changes against a real server:
// what the pages say is what the server and the file say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/memory/run_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/watch/exposition_reader.h"
#include "tests/watch/html_reader.h"
#include "tests/watch/http_client.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr char kHostile[] = "<script>alert(1)</script>\"&'";

class WatchTest : public RunFixture {
 protected:
  void SetUp() override {
    RunFixture::SetUp();
    port_ = FreePort();
    ASSERT_GT(port_, 0);
  }

  void RunWatched(std::vector<std::string> flags = {}) {
    flags.push_back(absl::StrCat("--listen=127.0.0.1:", port_));
    Run(flags);
    // It listens a moment after it has begun.
    Await([this] { return Get(port_, "/healthz").status == 200; });
  }

  void Await(const std::function<bool()>& happened) {
    const absl::Time limit = absl::Now() + kPatience;
    while (!happened()) {
      ASSERT_LT(absl::Now(), limit);
      absl::SleepFor(absl::Milliseconds(50));
    }
  }

  Exposition Metrics() {
    const HttpReply reply = Get(port_, "/metrics");
    EXPECT_EQ(reply.error, "");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.headers.at("content-type"),
              "text/plain; version=0.0.4; charset=utf-8");
    Exposition metrics = ReadExposition(reply.body);
    EXPECT_THAT(metrics.complaints, IsEmpty());
    return metrics;
  }

  double Lsn(const std::string& sql) {
    double lsn = 0;
    EXPECT_TRUE(absl::SimpleAtod(
        Publisher(absl::StrCat("select (", sql, ") - '0/0'::pg_lsn")), &lsn));
    return lsn;
  }

  int port_ = 0;
};

TEST_F(WatchTest, PagesSayWhatHappened) {
  Exec(*session_,
       absl::StrCat("create table item (id int primary key, v text); insert "
                    "into item select g, 'x' from generate_series(1, 500) g; "
                    "create table \"",
                    std::string(kHostile).replace(25, 1, "\"\""),
                    "\" (id int primary key); create publication p for all "
                    "tables"));
  RunWatched();
  const double before = Lsn("pg_current_wal_lsn()");
  Exec(
      *session_,
      "begin; insert into item select g, 'y' from generate_series(501, 600) g; "
      "update item set v = 'z' where id <= 30; commit");
  Exec(*session_, "delete from item where id <= 7");
  Exec(*session_, absl::StrCat("insert into \"",
                               std::string(kHostile).replace(25, 1, "\"\""),
                               "\" values (1)"));
  Exec(*session_, "truncate item");
  CatchUp();

  const Exposition seen = Metrics();
  const auto rows = [&](const std::string& table, const std::string& kind) {
    return seen.Value("sublite_rows_total",
                      {{"schema", "public"}, {"table", table}, {"kind", kind}});
  };
  EXPECT_EQ(rows("item", "insert"), 100);
  EXPECT_EQ(rows("item", "update"), 30);
  EXPECT_EQ(rows("item", "delete"), 7);
  EXPECT_EQ(rows("item", "truncate"), 1);
  EXPECT_EQ(rows(kHostile, "insert"), 1);
  EXPECT_EQ(seen.Value("sublite_transactions_total"), 4);
  EXPECT_EQ(seen.Value("sublite_copied_rows_total"), 500);
  EXPECT_EQ(seen.Value("sublite_copies_total"), 2);
  EXPECT_EQ(seen.Value("sublite_tables", {{"state", "ready"}}), 2);
  EXPECT_EQ(seen.Sum("sublite_tables"), 2);
  EXPECT_EQ(seen.Value("sublite_connected"), 1);
  EXPECT_EQ(seen.Value("sublite_connects_total"), 1);
  EXPECT_EQ(seen.Sum("sublite_errors_total"), 0);
  EXPECT_EQ(seen.Sum("sublite_conflicts_total"), 0);
  EXPECT_EQ(seen.Value("sublite_state", {{"state", "streaming"}}), 1);
  EXPECT_GT(seen.Value("sublite_applied_lsn"), before);
  EXPECT_LE(seen.Value("sublite_applied_lsn"), Lsn("pg_current_wal_lsn()"));
  EXPECT_LE(seen.Value("sublite_flushed_lsn"),
            seen.Value("sublite_applied_lsn"));
  EXPECT_GT(seen.Value("sublite_received_bytes_total"), 100);
  EXPECT_GT(seen.Value("sublite_written_bytes_total"), 4096);
  // What was not read yet when it was read here cannot have grown old.
  EXPECT_LT(seen.Value("sublite_lag_seconds"),
            absl::ToDoubleSeconds(kPatience));

  const HttpReply page = Get(port_, "/");
  EXPECT_EQ(page.error, "");
  const Html html = ReadHtml(page.body);
  EXPECT_THAT(html.complaints, IsEmpty());
  EXPECT_THAT(html.texts, Contains("item"));
  EXPECT_THAT(html.texts, Contains(kHostile));
  EXPECT_THAT(html.texts, Contains("nothing to do"));
  Stop();
  EXPECT_LT(ConnectTo(port_), 0);
}

TEST_F(WatchTest, PreparedWork) {
  Exec(*session_,
       "create table item (id int primary key); create publication p for all "
       "tables");
  RunWatched();
  const std::string gid = absl::StrCat("gid<b>", database_);
  Exec(*session_, absl::StrCat("begin; insert into item values (1), (2); "
                               "prepare transaction '",
                               gid, "'"));
  // Older servers send it when it is decided.
  const bool decoded = Publisher(
                           "select current_setting('server_version_num')"
                           "::int >= 150000") == "t";
  CatchUp();
  Until("select count(*) from sublite_prepared", decoded ? "1" : "0");
  Await([&] {
    return Metrics().Value("sublite_prepared_transactions") ==
           (decoded ? 1 : 0);
  });
  if (decoded) {
    EXPECT_EQ(absl::StrCat(Metrics().Value("sublite_prepared_bytes")),
              Replica("select bytes from sublite_prepared"));
    EXPECT_GE(Metrics().Value("sublite_prepared_oldest_seconds"), 0);
    const Html html = ReadHtml(Get(port_, "/").body);
    EXPECT_THAT(html.complaints, IsEmpty());
    EXPECT_THAT(html.texts, Contains(gid));
  }
  Exec(*session_, "commit prepared '" + gid + "'");
  CatchUp();
  Await([&] { return Metrics().Value("sublite_prepared_transactions") == 0; });
  EXPECT_EQ(Metrics().Value("sublite_transactions_total"), 1);
  EXPECT_EQ(Metrics().Sum("sublite_rows_total"), 2);
  Stop();
}

// SQLite compares names without case: one of the two tables is put aside.
TEST_F(WatchTest, ATableThatFails) {
  Exec(*session_,
       "create table item (id int primary key); create table \"Item\" (id int "
       "primary key); create publication p for all tables");
  RunWatched();
  Await([&] {
    return Metrics().Value("sublite_tables", {{"state", "failed"}}) == 1;
  });
  EXPECT_GE(Metrics().Value("sublite_errors_total", {{"kind", "table"}}), 1);
  const Html html = ReadHtml(Get(port_, "/").body);
  EXPECT_THAT(html.complaints, IsEmpty());
  EXPECT_THAT(html.texts, Contains(HasSubstr("tables.\"public.")));
  Stop();
}

TEST_F(WatchTest, HealthFollowsTheConnection) {
  Exec(*session_,
       "create table item (id int primary key); create publication p for all "
       "tables");
  RunWatched();
  EXPECT_EQ(Get(port_, "/healthz").body, "streaming\n");
  // The publisher does not let it in any more.
  const std::string allow =
      "alter database " + database_ + " allow_connections ";
  ASSERT_OK(server().Exec(allow + "false"));
  ASSERT_OK(server().Exec(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = "
      "'" +
      database_ +
      "' and backend_type <> 'client backend' or "
      "(datname = '" +
      database_ +
      "' and application_name <> '' and pid in "
      "(select active_pid from pg_replication_slots))"));
  HttpReply sick;
  Await([&] {
    sick = Get(port_, "/healthz");
    // The second time it was not let in.
    return sick.status == 503 &&
           sick.body.find("waiting for the publisher: ") == 0 &&
           sick.body.find(database_) != std::string::npos;
  });
  const Exposition seen = Metrics();
  EXPECT_EQ(seen.Value("sublite_connected"), 0);
  EXPECT_EQ(seen.Value("sublite_state", {{"state", "waiting"}}), 1);
  EXPECT_GE(seen.Value("sublite_errors_total", {{"kind", "connection"}}), 1);
  EXPECT_THAT(ReadHtml(Get(port_, "/").body).texts, Contains("disconnected"));
  ASSERT_OK(server().Exec(allow + "true"));
  Await([&] { return Get(port_, "/healthz").status == 200; });
  EXPECT_EQ(Metrics().Value("sublite_connects_total"), 2);
  Stop();
}

// Metrics are not worth stopping replication for.
TEST_F(WatchTest, AnAddressThatIsTakenDoesNotStopReplication) {
  Exec(*session_,
       "create table item (id int primary key); create publication p for all "
       "tables");
  Exec(*session_, "insert into item values (1)");
  RunWatched();
  const std::string first_file = file_;
  auto first = std::move(process_);
  file_ += "2";
  log_ += "2";
  Run({absl::StrCat("--listen=127.0.0.1:", port_), "--slot=second_slot"});
  EXPECT_EQ(Replica("select count(*) from item"), "1");
  Await([&] {
    std::ifstream stream(log_);
    const std::string text{std::istreambuf_iterator<char>(stream),
                           std::istreambuf_iterator<char>()};
    return text.find("http.listen cannot be had") != std::string::npos &&
           text.find(absl::StrCat("127.0.0.1:", port_)) != std::string::npos;
  });
  Stop();
  for (const char* end : {"", "-wal", "-shm", "-notify"})
    unlink((file_ + end).c_str());
  file_ = first_file;
  process_ = std::move(first);
  Stop();
}

TEST_F(WatchTest, WhatTheSlotKeepsIsWhatTheServerSays) {
  Exec(*session_,
       "create table item (id int primary key); create publication p for all "
       "tables");
  const double before = Lsn("pg_current_wal_lsn()");
  RunWatched();
  Exec(*session_, "insert into item values (1)");
  Until(
      "select wal_pos between 1 and applied_pos from sublite_slot, "
      "sublite_state",
      "1");
  double at = 0;
  ASSERT_TRUE(
      absl::SimpleAtod(Replica("select wal_pos from sublite_slot"), &at));
  EXPECT_GE(at, before);
  EXPECT_LE(at, Lsn("pg_current_wal_lsn()"));
  EXPECT_EQ(Replica("select wal_status from sublite_slot"), "reserved");
  // The test's server keeps WAL without a limit.
  EXPECT_EQ(Replica("select safe_bytes is null and keep_bytes is null from "
                    "sublite_slot"),
            "1");
  const Exposition seen = Metrics();
  EXPECT_THAT(seen.families.at("sublite_slot_safe_bytes").samples, IsEmpty());
  EXPECT_GE(seen.Value("sublite_slot_retained_bytes"), 0);
  Stop();
}

TEST_F(WatchTest, ChangesAreFedAndWakeAReader) {
  Exec(*session_,
       "create table item (id int primary key, v text); create publication p "
       "for all tables");
  RunWatched({"--changes=true"});
  const std::string file = file_ + "-notify";
  Exec(*session_, "insert into item values (1, 'a')");
  Until("select count(*) from sublite_changes where kind = 'insert'", "1");
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(watch, 0);
  // The file is written after the commit.
  Await([&] { return access(file.c_str(), R_OK) == 0; });
  ASSERT_GE(inotify_add_watch(watch, file.c_str(), IN_CLOSE_WRITE), 0);
  const std::string lsn = Publisher("select pg_current_wal_insert_lsn()");
  Exec(*session_, "update item set id = 2, v = 'b'");
  // A reader that waits for nothing else sees the change when it wakes up; a
  // position alone may wake it, too.
  Await([&] {
    pollfd ready = {watch, POLLIN, 0};
    EXPECT_EQ(
        poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(kPatience))),
        1);
    char events[4096];
    EXPECT_GT(read(watch, events, sizeof events), 0);
    return Replica("select count(*) from sublite_changes where id > 2") == "2";
  });
  close(watch);
  EXPECT_EQ(Replica("select group_concat(kind || \"key\") from (select * from "
                    "sublite_changes where id > 2 order by id)"),
            "delete{\"id\":1},insert{\"id\":2}");
  EXPECT_EQ(
      Publisher(absl::StrCat(
          "select '",
          Replica("select max(lsn) from sublite_changes where id > 2"),
          "'::pg_lsn between '", lsn, "'::pg_lsn and pg_current_wal_lsn()")),
      "t");
  EXPECT_EQ(Publisher(absl::StrCat(
                "select abs(extract(epoch from now() - '",
                Replica("select committed_at from sublite_changes order by id "
                        "desc limit 1"),
                "'::timestamptz)) < 3600")),
            "t");
  Stop();
  unlink(file.c_str());
}

// Many tables, all of them with counters: bounded memory.
TEST_F(WatchTest, ManyTablesStayBelowTheMemoryThatIsPromised) {
  const int tables = Size(300, 1000);
  for (int from = 0; from < tables; from += 500) {
    Exec(*session_,
         absl::StrCat("do $$ begin for i in ", from, "..",
                      std::min(from + 500, tables) - 1,
                      " loop execute format('create table many_tables_%s (id "
                      "int primary key)', i); end loop; end $$"));
  }
  Exec(*session_, "create publication p for all tables");
  RunWatched();
  Await([&] {
    return Metrics().Value("sublite_tables", {{"state", "ready"}}) == tables;
  });
  for (int from = 0; from < tables; from += 500) {
    Exec(*session_,
         absl::StrCat("do $$ begin for i in ", from, "..",
                      std::min(from + 500, tables) - 1,
                      " loop execute format('insert into many_tables_%s "
                      "values (1)', i); end loop; end $$"));
  }
  CatchUp();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Metrics().Sum("sublite_rows_total"), tables);
    EXPECT_EQ(ReadHtml(Get(port_, "/").body).complaints.size(), 0u);
  }
  EXPECT_LT(PeakBytes(), 64 << 20);
  Stop();
}

}  // namespace
}  // namespace sublite::testing
