#include "applier/staging.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Kept {
  Xid subxid;
  std::uint64_t serial;
  bool in_stream_block;
  bool injected;
  std::string message;

  friend bool operator==(const Kept& a, const Kept& b) {
    return a.subxid == b.subxid && a.serial == b.serial &&
           a.in_stream_block == b.in_stream_block && a.injected == b.injected &&
           a.message == b.message;
  }
};

StagedRecord View(const Kept& kept) {
  return {kept.subxid, kept.serial, kept.in_stream_block, kept.injected,
          kept.message};
}

std::vector<Kept> All(Spool& spool) {
  std::vector<Kept> all;
  EXPECT_OK(spool.ForEach([&](const StagedRecord& record) {
    all.push_back({record.subxid, record.serial, record.in_stream_block,
                   record.injected, std::string(record.message)});
    return absl::OkStatus();
  }));
  return all;
}

std::vector<std::string> Messages(Spool& spool) {
  std::vector<std::string> messages;
  for (const Kept& kept : All(spool)) messages.push_back(kept.message);
  return messages;
}

std::string NewDirectory() {
  std::string name = ::testing::TempDir() + "/spool-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  DIR* open = opendir(directory.c_str());
  for (const dirent* entry = readdir(open); entry != nullptr;
       entry = readdir(open)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    if (std::string(entry->d_name).rfind(".sublite", 0) == 0) {
      names.emplace_back(entry->d_name);
    }
  }
  closedir(open);
  return names;
}

// A spool with a file of its own.
class LoneSpool {
 public:
  explicit LoneSpool(const std::string& directory)
      : file_(Options(directory)), spool_(file_, Spool::Limit::kCounts) {}
  operator Spool&() { return spool_; }  // NOLINT: it stands for it
  Spool* operator->() { return &spool_; }

 private:
  static SpillOptions Options(const std::string& directory) {
    SpillOptions options;
    options.directory = directory;
    options.free_min = 0;
    return options;
  }
  SpillFile file_;
  Spool spool_;
};

TEST(SpoolTest, AnEmptyOneVisitsNothing) {
  LoneSpool spool("/nonexistent");
  EXPECT_THAT(Messages(spool), IsEmpty());
  EXPECT_EQ(spool->bytes(), 0);
}

TEST(SpoolTest, KeepsOrderAndAllFieldsOfARecord) {
  LoneSpool spool("/nonexistent");
  const std::vector<Kept> kept = {
      {1, 2, true, false, "Iabc"},
      {4294967295u, 18446744073709551615u, false, true, "R"},
      {7, 0, true, true, std::string("U\0\n", 3)},
  };
  for (const Kept& record : kept) ASSERT_OK(spool->Append(View(record)));
  EXPECT_EQ(All(spool), kept);
  // As often as one likes.
  EXPECT_EQ(All(spool), kept);
}

TEST(SpoolTest, ASmallTransactionNeedsNoFile) {
  LoneSpool spool("/nonexistent");
  ASSERT_OK(spool->Append({1, 1, true, false, std::string(20000, 'I')}));
  EXPECT_THAT(Messages(spool), ElementsAre(std::string(20000, 'I')));
}

TEST(SpoolTest, AFileThatCannotBeMadeIsAnError) {
  LoneSpool spool("/nonexistent");
  EXPECT_FALSE(
      spool->Append({1, 1, true, false, std::string(1 << 20, 'I')}).ok());
}

TEST(SpoolTest, ALargeOneLeavesNothingInTheDirectory) {
  const std::string directory = NewDirectory();
  {
    LoneSpool spool(directory);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_OK(spool->Append({1, 1, true, false, std::string(1000, 'I')}));
    }
    EXPECT_THAT(FilesIn(directory), IsEmpty());
    EXPECT_EQ(Messages(spool).size(), 1000u);
  }
  EXPECT_THAT(FilesIn(directory), IsEmpty());
}

// Sizes around what is kept in memory and what is read at once.
TEST(SpoolTest, RecordsOfEverySizeComeBack) {
  constexpr std::size_t kHeader = 17;
  for (const std::size_t edge :
       {std::size_t{32} * 1024, std::size_t{256} * 1024,
        std::size_t{512} * 1024}) {
    for (int around = -3; around <= 3; ++around) {
      LoneSpool spool(NewDirectory());
      const std::size_t size = edge - kHeader + around;
      const std::vector<std::string> messages = {
          "Isomething",        std::string(size, 'I'),     "U",
          std::string(1, 'D'), std::string(size / 2, 'U'), "Iend"};
      for (const std::string& message : messages) {
        ASSERT_OK(spool->Append({1, 1, false, false, message}));
      }
      EXPECT_EQ(Messages(spool), messages) << size;
    }
  }
}

TEST(SpoolTest, ARecordLargerThanAChunkComesBack) {
  LoneSpool spool(NewDirectory());
  const std::string huge(5 << 20, 'I');
  ASSERT_OK(spool->Append({1, 1, true, false, "Ia"}));
  ASSERT_OK(spool->Append({1, 2, true, false, huge}));
  ASSERT_OK(spool->Append({1, 3, true, false, huge + "!"}));
  ASSERT_OK(spool->Append({1, 4, true, false, "Ib"}));
  EXPECT_THAT(Messages(spool), ElementsAre("Ia", huge, huge + "!", "Ib"));
}

TEST(SpoolTest, AnAbortedSubtransactionIsVoidAndItsDefinitionsStay) {
  LoneSpool spool("/nonexistent");
  ASSERT_OK(spool->Append({10, 1, true, false, "I1"}));
  ASSERT_OK(spool->Append({11, 2, true, false, "R2"}));
  ASSERT_OK(spool->Append({11, 3, true, false, "Y3"}));
  ASSERT_OK(spool->Append({11, 4, true, false, "I4"}));
  ASSERT_OK(spool->Append({12, 5, true, false, "U5"}));
  ASSERT_OK(spool->Append({11, 6, true, false, "M6"}));
  spool->AbortSubtransaction(11);
  spool->AbortSubtransaction(99);
  ASSERT_OK(spool->Append({13, 7, true, false, "D7"}));
  EXPECT_THAT(Messages(spool), ElementsAre("I1", "R2", "Y3", "U5", "D7"));
}

TEST(SpoolTest, ForEachEndsWithTheFirstError) {
  LoneSpool spool("/nonexistent");
  for (int i = 0; i < 5; ++i)
    ASSERT_OK(spool->Append({1, 1, true, false, "I"}));
  int seen = 0;
  EXPECT_THAT(spool->ForEach([&](const StagedRecord&) {
    return ++seen == 3 ? absl::OutOfRangeError("enough") : absl::OkStatus();
  }),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(seen, 3);
}

TEST(SpoolTest, RemembersTheNewestDefinition) {
  LoneSpool spool("/nonexistent");
  EXPECT_EQ(spool->SerialOf(16384), 0u);
  spool->SetSerialOf(16384, 5);
  spool->SetSerialOf(16385, 6);
  spool->SetSerialOf(16384, 9);
  EXPECT_EQ(spool->SerialOf(16384), 9u);
  EXPECT_EQ(spool->SerialOf(16385), 6u);
}

TEST(SpoolTest, AgreesWithAPlainVector) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    LoneSpool spool(::testing::TempDir());
    std::vector<Kept> plain;
    std::set<Xid> seen;
    std::set<Xid> aborted;
    const std::size_t scale = std::size_t{1} << (random() % 17);
    std::int64_t bytes = 0;
    for (int i = 0; i < 200; ++i) {
      const auto subxid = static_cast<Xid>(100 + random() % 12);
      if (random() % 10 == 0 && seen.count(subxid) > 0) {
        spool->AbortSubtransaction(subxid);
        aborted.insert(subxid);
      }
      Kept kept{subxid, random(), random() % 2 == 0, random() % 2 == 0,
                std::string(1 + random() % scale, 'x')};
      kept.message[0] = "IUDTMRY"[random() % 7];
      ASSERT_OK(spool->Append(View(kept)));
      bytes += 17 + static_cast<std::int64_t>(kept.message.size());
      seen.insert(subxid);
      plain.push_back(std::move(kept));
    }
    std::vector<Kept> expected;
    for (const Kept& kept : plain) {
      const bool describes = kept.message[0] == 'R' || kept.message[0] == 'Y';
      if (aborted.count(kept.subxid) == 0 || describes) {
        expected.push_back(kept);
      }
    }
    ASSERT_EQ(All(spool), expected) << "seed " << seed;
    EXPECT_EQ(spool->bytes(), bytes);
  }
}

TEST(StagedRecordTest, EveryPrefixIsAnError) {
  std::string bytes;
  AppendRecord({1, 2, true, false, "Imessage"}, &bytes);
  AppendRecord({3, 4, false, true, ""}, &bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view cut(bytes.data(), size);
    absl::Status status;
    while (!cut.empty() && status.ok()) status = TakeRecord(&cut).status();
    // Whole records may stand at the beginning.
    if (size == 0 || size == 25) {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss)) << size;
    }
  }
}

}  // namespace
}  // namespace sublite::testing
