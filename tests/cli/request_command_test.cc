// `wait`, `resync` and `skip`: what they read and leave in the file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "applier/cli/resync_command.h"
#include "applier/cli/skip_command.h"
#include "applier/cli/wait_command.h"
#include "tests/cli/replica_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RequestCommandTest : public ReplicaFixture {
 protected:
  int Wait(std::uint64_t lsn, absl::Duration timeout) {
    err_.str("");
    return WaitCommand(path_, Lsn(lsn), timeout, err_);
  }
  int Resync(const std::vector<std::string>& names) {
    err_.str("");
    return ResyncCommand(path_, names, out_, err_);
  }
  int Skip(std::uint64_t lsn) {
    err_.str("");
    return SkipCommand(path_, Lsn(lsn), out_, err_);
  }
  std::string Requests() {
    return Text(
        "select coalesce(group_concat(kind || ' ' || argument, ', '), '') "
        "from sublite_requests");
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

// ---- wait ----

TEST_F(RequestCommandTest, WaitReturnsAtOnceForWhatIsApplied) {
  Make(100);
  EXPECT_EQ(Wait(100, absl::ZeroDuration()), 0) << err_.str();
  EXPECT_EQ(Wait(50, absl::Seconds(10)), 0);
}

TEST_F(RequestCommandTest, WaitTimesOut) {
  Make(100);
  Run("update sublite_state set last_error = 'disk full'");
  EXPECT_EQ(Wait(101, absl::Milliseconds(120)), 75);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("0/65 is not applied after 120ms"),
                    HasSubstr("applied is 0/64"), HasSubstr("disk full")));
}

TEST_F(RequestCommandTest, WaitSeesTheCommit) {
  Make(100);
  std::thread applier([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    Run("update sublite_state set applied_pos = 200");
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Wait(200, absl::Seconds(30)), 0) << err_.str();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  applier.join();
}

TEST_F(RequestCommandTest, WaitIsForTheRowsNotOnlyThePosition) {
  Make(100);
  AddTable(1, "public", "item", "copying");
  EXPECT_EQ(Wait(100, absl::Milliseconds(60)), 75);
  EXPECT_THAT(err_.str(), HasSubstr("1 table(s) are being copied"));
  Run("update sublite_tables set state = 'ready'");
  EXPECT_EQ(Wait(100, absl::Milliseconds(60)), 0);
}

TEST_F(RequestCommandTest, WaitIsNotHeldUpByAFailedTable) {
  Make(100);
  AddTable(1, "public", "item", "failed");
  EXPECT_EQ(Wait(100, absl::Milliseconds(60)), 0);
  EXPECT_THAT(err_.str(), HasSubstr("item"));
}

TEST_F(RequestCommandTest, WaitForAFileThatIsNotThereYetOrIsReplaced) {
  EXPECT_EQ(Wait(1, absl::Milliseconds(60)), 75);
  EXPECT_THAT(err_.str(), HasSubstr("there is no replica at"));
  Make(100);
  std::thread applier([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    database_.reset();
    const std::string old = path_;
    path_ = folder_ + "/new.db";
    Make(300);
    database_.reset();
    remove((old + "-wal").c_str());
    remove((old + "-shm").c_str());
    rename(path_.c_str(), old.c_str());
    path_ = old;
  });
  std::ostringstream err;
  EXPECT_EQ(
      WaitCommand(folder_ + "/plant.db", Lsn(300), absl::Seconds(30), err), 0)
      << err.str();
  applier.join();
}

// ---- resync ----

TEST_F(RequestCommandTest, ResyncOfAll) {
  Make(100);
  EXPECT_EQ(Resync({}), 0) << err_.str();
  EXPECT_EQ(Requests(), "resync *");
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("all tables"), HasSubstr("sublite run")));
  // Readers are told that the rows are on their way to be replaced.
  EXPECT_EQ(Number("select consistent from sublite_status"), 0);
}

TEST_F(RequestCommandTest, ResyncByEachKindOfName) {
  Make(100);
  AddTable(1, "public", "item");
  AddTable(2, "sales", "orders");
  AddTable(3, "sales", "item");
  EXPECT_EQ(Resync({"item", "public.item", "sales.orders", "orders", "ITEM",
                    "sales.item"}),
            0)
      << err_.str();
  EXPECT_EQ(Requests(),
            "resync 1, resync 1, resync 2, resync 2, resync 1, resync 3");
}

TEST_F(RequestCommandTest, ResyncOfUnknownNamesAsksForNothing) {
  Make(100);
  AddTable(1, "public", "item");
  AddTable(2, "a", "twin");
  AddTable(3, "b", "twin");
  EXPECT_EQ(Resync({"item", "itme", "nothing", "twin"}), 64);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("no table \"itme\"; did you mean \"item\"?"),
                    HasSubstr("no table \"nothing\"; `sublite status`"),
                    HasSubstr("\"twin\" can be any of a.twin, b.twin")));
  EXPECT_EQ(Requests(), "");
}

TEST_F(RequestCommandTest, ResyncOfAnUnpublishedTable) {
  Make(100);
  AddTable(1, "public", "item", "unpublished");
  EXPECT_EQ(Resync({"item"}), 78);
  EXPECT_THAT(err_.str(), HasSubstr("not published any more"));
}

TEST_F(RequestCommandTest, ResyncWithoutAReplica) {
  EXPECT_EQ(Resync({}), 78);
  EXPECT_THAT(err_.str(), HasSubstr("there is no replica"));
}

TEST_F(RequestCommandTest, RequestsWaitForTheWriteLock) {
  Make(100);
  Run("begin immediate");
  std::thread applier([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Run("commit");
  });
  EXPECT_EQ(Resync({}), 0) << err_.str();
  applier.join();
  EXPECT_EQ(Requests(), "resync *");
}

TEST_F(RequestCommandTest, RequestsLeaveTheWalForReaders) {
  Make(100);
  database_.reset();
  EXPECT_EQ(Resync({}), 0);
  FILE* wal = fopen((path_ + "-wal").c_str(), "r");
  ASSERT_NE(wal, nullptr);
  fclose(wal);
}

// ---- skip ----

TEST_F(RequestCommandTest, SkipAtTheError) {
  Make(100, "failed");
  Run("update sublite_state set last_error = 'refused here'");
  Run("insert into sublite_events (at, kind, lsn, detail) values "
      "('x', 'error', '0/C8', 'refused here')");
  EXPECT_EQ(Skip(200), 0) << err_.str();
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(Requests(), "skip 0/C8");
}

TEST_F(RequestCommandTest, SkipElsewhereIsNoted) {
  Make(100);
  EXPECT_EQ(Skip(200), 0);
  EXPECT_THAT(err_.str(), HasSubstr("the last error is not at 0/C8"));
}

TEST_F(RequestCommandTest, SkipOfWhatIsApplied) {
  Make(100);
  EXPECT_EQ(Skip(100), 78);
  EXPECT_THAT(err_.str(), HasSubstr("nothing to skip at 0/64"));
  EXPECT_EQ(Requests(), "");
  // The table was put aside for it meanwhile.
  AddTable(1, "public", "item", "failed");
  Run("insert into sublite_events (at, kind, sqlite_table, lsn, detail) values "
      "('x', 'table_failed', 'item', '0/64', 'refused here')");
  EXPECT_EQ(Skip(100), 78);
  EXPECT_THAT(err_.str(), HasSubstr("`sublite resync item`"));
}

}  // namespace
}  // namespace sublite::testing
