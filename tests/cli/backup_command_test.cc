// `backup`: a copy that is whole, or none at all.

#include "applier/cli/backup_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/cli/replica_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::HasSubstr;

class BackupCommandTest : public ReplicaFixture {
 protected:
  BackupCommandTest() : target_(folder_ + "/copy.db") {}

  int Backup(bool force = false) {
    out_.str("");
    err_.str("");
    return BackupCommand(
        path_, target_, force, [] { return false; }, out_, err_);
  }

  // Everything in the folder but the replica's own files.
  std::size_t OtherFiles() {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().string().rfind(path_, 0) != 0) ++files;
    }
    return files;
  }

  std::int64_t NumberInCopy(const std::string& sql) {
    auto copy =
        Database::Open(target_, Database::Mode::kReadOnly, absl::Seconds(1));
    EXPECT_OK(copy);
    const auto number = (*copy)->QueryInt(sql);
    EXPECT_OK(number);
    return number.ok() ? *number : -1;
  }

  const std::string target_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(BackupCommandTest, CopiesRowsAndPosition) {
  Make(100);
  Run("pragma application_id = 7; create table t (id integer primary key, v);"
      "insert into t values (1, 'a'), (2, 'b')");
  chmod(path_.c_str(), 0640);
  ASSERT_EQ(Backup(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("at 0/64 to"));
  EXPECT_EQ(NumberInCopy("select count(*) from t"), 2);
  EXPECT_EQ(NumberInCopy("select applied_pos from sublite_state"), 100);
  EXPECT_EQ(NumberInCopy("pragma application_id"), 7);
  EXPECT_EQ(OtherFiles(), 1u);
  struct stat info = {};
  ASSERT_EQ(stat(target_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(BackupCommandTest, RefusesToOverwriteUnlessForced) {
  Make(100);
  std::ofstream(target_) << "precious";
  EXPECT_EQ(Backup(), 78);
  EXPECT_THAT(err_.str(), HasSubstr("is there already"));
  EXPECT_EQ(std::filesystem::file_size(target_), 8u);
  EXPECT_EQ(Backup(/*force=*/true), 0) << err_.str();
  EXPECT_EQ(NumberInCopy("select applied_pos from sublite_state"), 100);
}

TEST_F(BackupCommandTest, ForeignSidecarsDoNotJoinTheCopy) {
  Make(100);
  std::ofstream(target_ + "-wal") << "old pages";
  EXPECT_EQ(Backup(), 78);
  EXPECT_THAT(err_.str(), HasSubstr("left from another database"));
  EXPECT_EQ(Backup(/*force=*/true), 0) << err_.str();
  EXPECT_EQ(OtherFiles(), 1u);
}

TEST_F(BackupCommandTest, NeverOntoTheReplicaItself) {
  Make(100);
  std::ostringstream err;
  EXPECT_EQ(BackupCommand(
                path_, path_, true, [] { return false; }, out_, err),
            78);
  EXPECT_THAT(err.str(), HasSubstr("is the replica itself"));
  ASSERT_EQ(symlink(path_.c_str(), target_.c_str()), 0);
  EXPECT_EQ(Backup(/*force=*/true), 78);
  EXPECT_EQ(Number("select applied_pos from sublite_state"), 100);
}

TEST_F(BackupCommandTest, FailuresLeaveNothingBehind) {
  Make(100);
  std::ostringstream err;
  EXPECT_EQ(BackupCommand(
                path_, folder_ + "/none/x.db", false, [] { return false; },
                out_, err),
            78);
  EXPECT_EQ(BackupCommand(
                path_, folder_, false, [] { return false; }, out_, err),
            78);
  Run("delete from sublite_state");
  EXPECT_EQ(Backup(), 78);
  EXPECT_THAT(err_.str(), HasSubstr("the replica is empty"));
  EXPECT_EQ(OtherFiles(), 0u);
}

TEST_F(BackupCommandTest, StopsWhenToldTo) {
  Make(100);
  Run("create table t (v); with recursive n(i) as (select 1 union all select "
      "i + 1 from n where i < 100000) insert into t select i from n");
  EXPECT_EQ(BackupCommand(
                path_, target_, false, [] { return true; }, out_, err_),
            75);
  EXPECT_THAT(err_.str(), HasSubstr("no backup was made"));
  EXPECT_EQ(OtherFiles(), 0u);
}

TEST_F(BackupCommandTest, NoReplica) {
  EXPECT_EQ(Backup(), 78);
  EXPECT_EQ(OtherFiles(), 0u);
}

// Each copy is one transaction's state, though the writer never pauses.
TEST_F(BackupCommandTest, UnderWrites) {
  Make(1);
  Run("create table t (id integer primary key, v); insert into t values (1, "
      "1)");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop.load()) {
      Run("begin; update sublite_state set applied_pos = applied_pos + 1;"
          "update t set v = v + 1; commit");
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Backup(/*force=*/true), 0) << err_.str();
    EXPECT_EQ(NumberInCopy("select applied_pos - (select v from t) from "
                           "sublite_state"),
              0);
  }
  stop.store(true);
  writer.join();
}

}  // namespace
}  // namespace sublite::testing
