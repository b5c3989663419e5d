// Publishing from a standby (server 16 and later).
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/failover/failover_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCopies[] =
    "SELECT count(*) FROM sublite_events WHERE kind = 'copied'";
// A table with a key of integers is shown when the stream has passed its copy,
// which is not while replay is paused; this one has none.
constexpr char kKeylessCopies[] =
    "SELECT count(*) FROM sublite_events WHERE kind = 'copied' AND "
    "sqlite_table = 'u'";

class StandbyTest : public FailoverTest {
 protected:
  void StartBoth(const PgServerOptions& standby_options = {}) {
    if (!StartPrimary(16)) GTEST_SKIP() << "no decoding on standbys before 16";
    auto standby = PgServer::StartStandby(*primary_, standby_options);
    ASSERT_OK(standby);
    standby_ = *std::move(standby);
  }
  void TearDown() override {
    if (HasFailure() && standby_ != nullptr) {
      ADD_FAILURE() << "the standby's log: " << standby_->LogTail();
    }
    FailoverTest::TearDown();
  }
  // Making a slot on a standby waits for this on its primary.
  void LogRunning() { Sql("SELECT pg_log_standby_snapshot()"); }
  // Until sublite streams, with as many calls of LogRunning as that takes.
  void StartFollowing() {
    StartSublite(standby_->Conninfo());
    AwaitStreaming();
    AwaitSame(*primary_);
  }
  void AwaitStreaming() {
    AwaitTrue("streaming", [&] {
      LogRunning();
      return Read("SELECT state FROM sublite_status") == "streaming";
    });
  }
  std::string Copies() { return Read(kCopies); }
  // A published table without a key, where a change that is lost or applied
  // twice shows.
  void MakeKeyless() {
    Sql("CREATE TABLE u (v text); INSERT INTO u VALUES ('first');"
        "ALTER TABLE u REPLICA IDENTITY FULL;"
        "ALTER PUBLICATION pub ADD TABLE u");
  }
  void AwaitSameKeyless() {
    Await("SELECT group_concat(v) FROM (SELECT v FROM u ORDER BY v)",
          Scalar(*primary_,
                 "SELECT string_agg(v, ',' ORDER BY v COLLATE \"C\") FROM u"));
  }
  // Replay on the standby.
  void Pause() {
    Sql(*standby_, "SELECT pg_wal_replay_pause()");
    AwaitTrue("paused", [&] {
      return Scalar(*standby_, "SELECT pg_get_wal_replay_pause_state()") ==
             "paused";
    });
  }
  void Resume() { Sql(*standby_, "SELECT pg_wal_replay_resume()"); }
  // All that the primary has written so far.
  void AwaitReceived() {
    const std::string end =
        Scalar(*primary_, "SELECT pg_current_wal_insert_lsn()");
    AwaitTrue("received", [&] {
      return Scalar(*standby_,
                    absl::StrCat("SELECT pg_last_wal_receive_lsn() >= '", end,
                                 "'")) == "t";
    });
  }
  void Resync() {
    Write(
        "INSERT INTO sublite_requests (kind, argument, at)"
        " VALUES ('resync', '*', '2024-02-29 12:00:00+00:00')");
  }

  std::unique_ptr<PgServer> standby_;
};

TEST_F(StandbyTest, CopiesAndFollows) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(standby_->Conninfo());
  // sublite may not log it itself, so it says who has to.
  Await("SELECT activity LIKE '%pg_log_standby_snapshot()%' FROM sublite_state",
        "1");
  AwaitStreaming();
  AwaitSame(*primary_);
  Sql("INSERT INTO t VALUES (1000, 'a'); UPDATE t SET v = 'b' WHERE id = 1;"
      "DELETE FROM t WHERE id = 2");
  Sql("BEGIN; INSERT INTO t VALUES (1001, 'p'); PREPARE TRANSACTION 'p'");
  Await("SELECT group_concat(gid) FROM sublite_prepared", "p");
  Sql("COMMIT PREPARED 'p'");
  // Streamed while it runs.
  Sql("INSERT INTO t SELECT 2000 + i, repeat('x', 200)"
      " FROM generate_series(1, 2000) i");
  AwaitSame(*primary_);
  EXPECT_EQ(Scalar(*standby_, "SELECT slot_name FROM pg_replication_slots"),
            "s");
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_THAT(Events("conflict"), IsEmpty());
  // What holds nothing for the replica passes as well.
  const std::string end = Scalar(
      *primary_, "SELECT pg_logical_emit_message(false, 'x', 'y')::text");
  Await(absl::StrCat("SELECT applied_pos >= ",
                     Scalar(*primary_,
                            absl::StrCat("SELECT '", end, "'::pg_lsn - '0/0'")),
                     " FROM sublite_state"),
        "1");
}

// A slot of a standby is copied there.
TEST_F(StandbyTest, AnotherSlotIsMadeFromTheOneBefore) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(standby_->Conninfo());
  AwaitStreaming();
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  Sql("INSERT INTO t VALUES (1000, 'while it is down')");
  config_.publisher.slot = "another";
  StartSublite(standby_->Conninfo());
  AwaitStreaming();
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_EQ(Scalar(*standby_,
                   "SELECT string_agg(slot_name, ',' ORDER BY slot_name) FROM "
                   "pg_replication_slots"),
            "another,s");
}

// pg_current_snapshot() does not say on a standby that a transaction runs. A
// copy at its word would count the transaction as held, and lose it.
TEST_F(StandbyTest, ATransactionThatRunsDuringTheCopyIsNotLost) {
  StartBoth();
  if (IsSkipped()) return;
  MakeKeyless();
  StartFollowing();
  ASSERT_OK_AND_ASSIGN(const auto running, primary_->Connect());
  ASSERT_OK(
      running->Exec("BEGIN; INSERT INTO t VALUES (1000, 'runs'); SAVEPOINT a;"
                    " INSERT INTO t VALUES (1001, 'runs, too');"
                    " INSERT INTO u VALUES ('runs')"));
  Sql("BEGIN; INSERT INTO u VALUES ('prepared'); PREPARE TRANSACTION 'p'");
  Sql("INSERT INTO t VALUES (1002, 'begins later and ends before')");
  Sql("INSERT INTO u VALUES ('begins later and ends before')");
  AwaitSame(*primary_);
  AwaitSameKeyless();
  ASSERT_EQ(Read(kKeylessCopies), "1");
  // The standby has received their ends when it is copied, and not replayed
  // them.
  Pause();
  ASSERT_OK(running->Exec("COMMIT"));
  Sql("COMMIT PREPARED 'p'");
  Sql("INSERT INTO u VALUES ('after the snapshot')");
  AwaitReceived();
  Resync();
  Await(kKeylessCopies, "2");
  Resume();
  AwaitSame(*primary_);
  AwaitSameKeyless();
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// Transactions begin and end at every moment of a copy, also while the standby
// is behind.
TEST_F(StandbyTest, CopiesUnderLoad) {
  StartBoth();
  if (IsSkipped()) return;
  MakeKeyless();
  StartFollowing();
  Await(kKeylessCopies, "1");
  for (int round = 1; round <= 6; ++round) {
    std::atomic<bool> done{false};
    std::vector<std::thread> writers;
    // Long ones and short ones, so that some that run are older than some
    // that have ended.
    for (int writer = 0; writer < 5; ++writer) {
      writers.emplace_back([&, writer] {
        auto session = primary_->Connect();
        EXPECT_OK(session);
        for (int i = 0; !done && session.ok(); ++i) {
          EXPECT_OK((*session)->Exec(absl::StrCat(
              "BEGIN; INSERT INTO u VALUES ('", round, " ", writer, " ", i,
              "'); ", i % 3 == 0 ? "SAVEPOINT s; " : "",
              "INSERT INTO u VALUES ('more'); ",
              writer < 3 ? "SELECT pg_sleep(random() * 0.1); " : "",
              i % 7 == 0 ? "ROLLBACK" : "COMMIT")));
        }
      });
    }
    const bool behind = round % 2 == 0;
    if (behind) Pause();
    if (behind) AwaitReceived();
    Resync();
    Await(kKeylessCopies, absl::StrCat(1 + round));
    if (behind) Resume();
    done = true;
    for (std::thread& writer : writers) writer.join();
    AwaitSameKeyless();
  }
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// Who wrote to it before is waited for; the locks of the primary are not known
// on a standby. The writer's id is behind all that have ended.
TEST_F(StandbyTest, ANewlyPublishedTable) {
  StartBoth();
  if (IsSkipped()) return;
  StartFollowing();
  Sql("CREATE TABLE u (id int PRIMARY KEY)");
  ASSERT_OK_AND_ASSIGN(const auto first, primary_->Connect());
  ASSERT_OK(first->Exec("BEGIN; SELECT txid_current()"));
  Sql("BEGIN; ALTER PUBLICATION pub ADD TABLE u");
  ASSERT_OK_AND_ASSIGN(const auto writer, primary_->Connect());
  ASSERT_OK(writer->Exec("BEGIN; INSERT INTO u VALUES (1)"));
  Sql("COMMIT");
  ASSERT_OK(first->Exec("INSERT INTO u VALUES (2); COMMIT"));
  Await("SELECT state FROM sublite_tables WHERE pg_table = 'u'", "pending");
  // As long as it runs there is no copy.
  absl::SleepFor(absl::Seconds(1));
  EXPECT_EQ(Read("SELECT state FROM sublite_tables WHERE pg_table = 'u'"),
            "pending");
  ASSERT_OK(writer->Exec("INSERT INTO u VALUES (3); COMMIT"));
  Await("SELECT group_concat(id) FROM (SELECT id FROM u ORDER BY id)", "1,2,3");
}

TEST_F(StandbyTest, RestartOfTheStandby) {
  StartBoth();
  if (IsSkipped()) return;
  StartFollowing();
  Sql("INSERT INTO t VALUES (1000, 'before')");
  AwaitSame(*primary_);
  ASSERT_OK(standby_->Restart());
  Sql("INSERT INTO t VALUES (1001, 'after a restart')");
  AwaitSame(*primary_);
  // After this it begins at its last restartpoint, before where sublite is, and
  // catches up.
  ASSERT_OK(standby_->Crash());
  Sql("INSERT INTO t VALUES (1002, 'while it was down')");
  ASSERT_OK(standby_->StartAgain());
  Sql("INSERT INTO t VALUES (1003, 'after a crash')");
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_EQ(Copies(), "1");
}

// Its WAL ends before where the replica is, until it has received it again.
TEST_F(StandbyTest, OneThatHasToCatchUpIsWaitedFor) {
  StartBoth();
  if (IsSkipped()) return;
  StartFollowing();
  Sql("INSERT INTO t VALUES (1000, 'before')");
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  // As if the standby had lost the end of its WAL, which its primary still has.
  const std::string applied = Read("SELECT applied_pos FROM sublite_state");
  {
    ASSERT_OK(standby_->Stop());
    Sql("INSERT INTO t SELECT 2000 + i, repeat('x', 1000)"
        " FROM generate_series(1, 200) i");
    ASSERT_OK(primary_->Stop());
    ASSERT_OK(standby_->StartAgain());
  }
  Write(absl::StrCat("UPDATE sublite_state SET applied_pos = ", applied,
                     " + 100000"));
  StartSublite(standby_->Conninfo());
  AwaitTrue("it is said", [] {
    for (const std::string& line : LogLines()) {
      if (absl::StrContains(line, "waiting until it has caught up"))
        return true;
    }
    return false;
  });
  ASSERT_OK(StopSublite());
  EXPECT_THAT(Events("gap"), IsEmpty());
  Write(absl::StrCat("UPDATE sublite_state SET applied_pos = ", applied));
  ASSERT_OK(primary_->StartAgain());
  StartSublite(standby_->Conninfo());
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// The slot stays, the stream goes on, and the replica goes over to the new
// timeline with it.
TEST_F(StandbyTest, PromotedWhileItIsFollowed) {
  StartBoth();
  if (IsSkipped()) return;
  StartFollowing();
  Sql("BEGIN; INSERT INTO t VALUES (900, 'prepared before');"
      " PREPARE TRANSACTION 'p'");
  Await("SELECT group_concat(gid) FROM sublite_prepared", "p");
  Sql("INSERT INTO t VALUES (1000, 'before')");
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->Promote());
  Sql(*standby_, "INSERT INTO t VALUES (1001, 'after')");
  AwaitSame(*standby_);
  // What was confirmed behind the switch tells later that it was passed here.
  Await(absl::StrCat(
            "SELECT applied_pos >= ",
            Scalar(*standby_, "SELECT pg_current_wal_insert_lsn() - '0/0'"),
            " FROM sublite_state"),
        "1");
  ASSERT_OK(StopSublite());
  Sql(*standby_, "INSERT INTO t VALUES (1002, 'while sublite was down')");
  Sql(*standby_, "COMMIT PREPARED 'p'");
  StartSublite(standby_->Conninfo());
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_THAT(Events("failover"),
              ElementsAre(HasSubstr("from timeline 1 to 2")));
  EXPECT_EQ(Copies(), "1");
  EXPECT_THAT(Events("conflict"), IsEmpty());
}

// Promoted while nobody looks.
TEST_F(StandbyTest, PromotedWhileSubliteIsDown) {
  StartBoth();
  if (IsSkipped()) return;
  StartFollowing();
  ASSERT_OK(StopSublite());
  Sql("INSERT INTO t VALUES (1000, 'before')");
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->Promote());
  Sql(*standby_, "INSERT INTO t VALUES (1001, 'after')");
  StartSublite(standby_->Conninfo());
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_EQ(Copies(), "1");
}

// Another standby was promoted, and this one goes over to it.
TEST_F(StandbyTest, ItsPrimaryFailedOver) {
  StartBoth();
  if (IsSkipped()) return;
  ASSERT_OK_AND_ASSIGN(const auto next, PgServer::StartStandby(*primary_));
  StartFollowing();
  Sql("INSERT INTO t VALUES (1000, 'before')");
  AwaitSame(*primary_);
  ASSERT_OK(next->CatchUp(*primary_));
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(next->Promote());
  Sql(*standby_, absl::StrCat("ALTER SYSTEM SET primary_conninfo = '",
                              next->Conninfo(), "'"));
  Sql(*standby_, "SELECT pg_reload_conf()");
  Sql(*next, "INSERT INTO t VALUES (1001, 'on the next')");
  AwaitSame(*next);
  ASSERT_OK(StopSublite());
  Sql(*next, "INSERT INTO t VALUES (1002, 'while sublite was down')");
  StartSublite(standby_->Conninfo());
  AwaitSame(*next);
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_EQ(Copies(), "1");
}

// Without hot_standby_feedback VACUUM on the primary takes away what the slot
// needs.
TEST_F(StandbyTest, ASlotThatIsInvalidated) {
  PgServerOptions options;
  options.settings = {{"hot_standby_feedback", "off"}};
  StartBoth(options);
  if (IsSkipped()) return;
  StartFollowing();
  Sql("CREATE TABLE gone (id int)");
  Sql("DROP TABLE gone");
  Sql("VACUUM pg_class");
  Sql("VACUUM pg_attribute");
  Sql("INSERT INTO t VALUES (1000, 'needs a new slot')");
  AwaitTrue("a gap", [&] {
    LogRunning();
    return !Events("gap").empty();
  });
  AwaitTrue("a new copy", [&] {
    LogRunning();
    return Copies() == "2";
  });
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("was invalidated: ")));
  if (primary_->major_version() >= 17) {
    EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("rows_removed")));
  }
}

TEST_F(StandbyTest, PreferStandby) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(Hosts({primary_.get(), standby_.get()}) +
               " target_session_attrs=prefer-standby");
  AwaitStreaming();
  AwaitSame(*primary_);
  constexpr char kSlots[] = "SELECT count(*) FROM pg_replication_slots";
  EXPECT_EQ(Scalar(*standby_, kSlots), "1");
  EXPECT_EQ(Scalar(*primary_, kSlots), "0");
  // The primary has no such slot: nothing is followed blindly.
  ASSERT_OK(standby_->Stop());
  Sql("INSERT INTO t VALUES (1000, 'on the primary')");
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("slot s is gone")));
}

}  // namespace
}  // namespace sublite::testing
