// The bounds that spools share: bytes, memory, descriptors, and the disk.
#include "applier/spill_file.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applier/staging.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kHeader = 17;

SpillOptions OptionsFor(std::int64_t bytes_max) {
  SpillOptions options;
  options.directory = ::testing::TempDir();
  options.bytes_max = bytes_max;
  options.free_min = 0;
  return options;
}

absl::Status Put(Spool& spool, std::size_t size) {
  return spool.Append({1, 1, true, false, std::string(size, 'I')});
}

std::vector<int> OpenFiles() {
  std::vector<int> files;
  DIR* open = opendir("/proc/self/fd");
  for (const dirent* entry = readdir(open); entry != nullptr;
       entry = readdir(open)) {
    const int file = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && file != dirfd(open)) files.push_back(file);
  }
  closedir(open);
  return files;
}

// What files that no name leads to take on disk.
std::int64_t UnlinkedBytesOnDisk() {
  std::int64_t bytes = 0;
  for (const int file : OpenFiles()) {
    struct stat info = {};
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 0)
      bytes += 512 * static_cast<std::int64_t>(info.st_blocks);
  }
  return bytes;
}

TEST(SpillFileTest, TheLimitIsForAllSpoolsTogether) {
  SpillFile file(OptionsFor(3 * (100 + kHeader)));
  Spool a(file, Spool::Limit::kCounts);
  auto b = std::make_unique<Spool>(file, Spool::Limit::kCounts);
  Spool c(file, Spool::Limit::kCounts);
  ASSERT_OK(Put(a, 100));
  ASSERT_OK(Put(*b, 100));
  ASSERT_OK(Put(*b, 100));
  EXPECT_EQ(file.counted(), 3 * (100 + kHeader));
  EXPECT_THAT(Put(c, 1), StatusIs(absl::StatusCode::kResourceExhausted,
                                  HasSubstr("replica.spill_limit, 351 bytes")));
  EXPECT_EQ(file.counted(), 3 * (100 + kHeader));
  // What is decided makes room.
  b.reset();
  EXPECT_EQ(file.counted(), 100 + kHeader);
  EXPECT_OK(Put(c, 100));
  EXPECT_OK(Put(c, 100 - 1));
  EXPECT_THAT(Put(c, 1), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(SpillFileTest, WhatMustBeStagedDoesNotCount) {
  SpillFile file(OptionsFor(1000));
  Spool limited(file, Spool::Limit::kCounts);
  ASSERT_OK(Put(limited, 900));
  {
    Spool spool(file, Spool::Limit::kNone);
    ASSERT_OK(Put(spool, 100000));
    EXPECT_EQ(file.counted(), 900 + kHeader);
  }
  EXPECT_EQ(file.counted(), 900 + kHeader);
}

TEST(SpillFileTest, NoLimitIsNone) {
  SpillFile file(OptionsFor(0));
  Spool spool(file, Spool::Limit::kCounts);
  for (int i = 0; i < 100; ++i) ASSERT_OK(Put(spool, 50000));
}

TEST(SpillFileTest, ThousandsOfSpoolsShareOneDescriptor) {
  const std::size_t before = OpenFiles().size();
  SpillFile file(OptionsFor(0));
  std::vector<std::unique_ptr<Spool>> spools;
  for (int i = 0; i < 3000; ++i)
    spools.push_back(std::make_unique<Spool>(file, Spool::Limit::kCounts));
  // Turn by turn, as the publisher streams the largest; 60 MB in all.
  for (int turn = 0; turn < 4; ++turn) {
    for (std::size_t i = 0; i < spools.size(); ++i) {
      const std::string message =
          absl::StrCat("I", i, " ", turn, " ", std::string(5000, 'x'));
      ASSERT_OK(spools[i]->Append({1, 1, true, false, message}));
    }
  }
  EXPECT_EQ(OpenFiles().size(), before + 1);
  EXPECT_GT(UnlinkedBytesOnDisk(), 0);
  for (std::size_t i = 0; i < spools.size(); i += 7) {
    int turn = 0;
    ASSERT_OK(spools[i]->ForEach([&](const StagedRecord& record) {
      const std::string start = absl::StrCat("I", i, " ", turn++, " x");
      EXPECT_EQ(record.message.substr(0, start.size()), start);
      return absl::OkStatus();
    }));
    EXPECT_EQ(turn, 4);
  }
}

// One after the other, so that each fills its own memory before the next does.
TEST(SpillFileTest, ASpoolKeepsNoMemoryThatItHasWritten) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  };
  SpillFile file(OptionsFor(0));
  std::vector<std::unique_ptr<Spool>> spools;
  const std::int64_t before = allocated();
  for (int i = 0; i < 1000; ++i) {
    spools.push_back(std::make_unique<Spool>(file, Spool::Limit::kCounts));
    for (int j = 0; j < 40; ++j) ASSERT_OK(Put(*spools.back(), 1000 - 17));
  }
  // 40 kB each, of which 8 kB are not in the file yet, or memory_max in all.
  EXPECT_LE(allocated() - before, 2 * (4 << 20) + 1000 * 2 * 4096);
}

TEST(SpillFileTest, MemoryOfAllSpoolsTogetherIsBounded) {
  SpillOptions options = OptionsFor(0);
  options.memory_max = 100000;
  SpillFile file(options);
  std::vector<std::unique_ptr<Spool>> spools;
  for (int i = 0; i < 100; ++i) {
    spools.push_back(std::make_unique<Spool>(file, Spool::Limit::kCounts));
    ASSERT_OK(Put(*spools.back(), 20000));
  }
  // 2 MB are staged. All but memory_max, and a page for each, are in the file.
  EXPECT_GE(UnlinkedBytesOnDisk(), 2000000 - 100000 - 20000 - 100 * 4096);
}

TEST(SpillFileTest, SpaceGoesBackWhenATransactionIsDecided) {
  SpillFile file(OptionsFor(0));
  std::vector<std::unique_ptr<Spool>> spools;
  for (int i = 0; i < 10; ++i)
    spools.push_back(std::make_unique<Spool>(file, Spool::Limit::kCounts));
  for (int i = 0; i < 100; ++i) {
    for (const auto& spool : spools) ASSERT_OK(Put(*spool, 20000));
  }
  const std::int64_t all = UnlinkedBytesOnDisk();
  EXPECT_GE(all, 10 * 100 * 20000 - 10 * 40000);
  spools.resize(5);
  const std::int64_t half = UnlinkedBytesOnDisk();
  if (half == all) GTEST_SKIP() << "the file system has no holes";
  EXPECT_LE(half, all / 2 + 10 * 2 * SpillFile::kExtentBytes);
  // And is used again.
  Spool more(file, Spool::Limit::kCounts);
  for (int i = 0; i < 500; ++i) ASSERT_OK(Put(more, 20000));
  EXPECT_LE(UnlinkedBytesOnDisk(), all + 2 * SpillFile::kExtentBytes);
  int records = 0;
  ASSERT_OK(more.ForEach([&](const StagedRecord& record) {
    EXPECT_EQ(record.message, std::string(20000, 'I'));
    ++records;
    return absl::OkStatus();
  }));
  EXPECT_EQ(records, 500);
}

TEST(SpillFileTest, NothingIsKeptWhenAllAreDecided) {
  SpillFile file(OptionsFor(0));
  for (int round = 0; round < 3; ++round) {
    Spool a(file, Spool::Limit::kCounts);
    Spool b(file, Spool::Limit::kCounts);
    for (int i = 0; i < 10; ++i) {
      ASSERT_OK(Put(a, 50000));
      ASSERT_OK(Put(b, 50000));
    }
    EXPECT_GE(UnlinkedBytesOnDisk(), 1000000 - 2 * 40000);
    EXPECT_LE(UnlinkedBytesOnDisk(), 1000000 + 4 * SpillFile::kExtentBytes);
  }
  EXPECT_EQ(UnlinkedBytesOnDisk(), 0);
}

TEST(SpillFileTest, TheLastFreeSpaceIsLeftToOthers) {
  for (const FileSystemSpace least :
       {FileSystemSpace{1 << 30, 1 << 20}, FileSystemSpace{160000, 10000}}) {
    FileSystemSpace space = least;
    SpillOptions options = OptionsFor(0);
    options.free_min = 1 << 20;
    options.space = [&space](int file) {
      EXPECT_GE(file, 0);
      return space;
    };
    SpillFile file(options);
    Spool spool(file, Spool::Limit::kCounts);
    for (int i = 0; i < 100; ++i) ASSERT_OK(Put(spool, 50000));
    --space.free;
    const std::int64_t before = spool.bytes();
    absl::Status status;
    for (int i = 0; i < 100 && status.ok(); ++i) status = Put(spool, 50000);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr(absl::StrCat(
                             "only ", least.free - 1,
                             " bytes are free, and the last ", least.free))));
    // At once it is not noticed, but within a few extents.
    EXPECT_LE(spool.bytes() - before, 20 * SpillFile::kExtentBytes);
    // A file system that does not tell.
    space = FileSystemSpace();
    Spool another(file, Spool::Limit::kCounts);
    for (int i = 0; i < 100; ++i) ASSERT_OK(Put(another, 50000));
  }
}

// As on a file system with small files, and as ENOSPC.
TEST(SpillFileTest, AFileThatCannotGrowIsFull) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  SpillFile file(OptionsFor(0));
  Spool spool(file, Spool::Limit::kCounts);
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = Put(spool, 50000);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("cannot write it")));
  EXPECT_GE(spool.bytes(), 1 << 20);
}

TEST(SpillFileTest, AFolderThatCannotBeWrittenIsNotFull) {
  SpillOptions options = OptionsFor(0);
  options.directory = "/nonexistent";
  SpillFile file(options);
  Spool spool(file, Spool::Limit::kCounts);
  ASSERT_OK(Put(spool, 20000));
  EXPECT_THAT(Put(spool, 20000), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("cannot make it")));
}

}  // namespace
}  // namespace sublite::testing
