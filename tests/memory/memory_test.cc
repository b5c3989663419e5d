// The promise that memory is bounded, against a real server: the peak resident
// size of `sublite run` while transactions of every bad kind go through it.
//
// The short form is as large as it must be for an unbounded part to show: each
// workload stages more than the bound. SUBLITE_LONG=1 is the promise itself
// (HACKING.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/memory/run_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr std::int64_t kPeakBytesMax = 64 << 20;

class MemoryTest : public RunFixture {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is not sublite's";
    RunFixture::SetUp();
    Exec(*session_,
         "create table t (id bigint primary key, owner integer, v text);"
         "create publication p for table t");
  }

  void ExpectSame() {
    const char* sql =
        "select count(*) || ' ' || coalesce(sum(id), 0) || ' ' || "
        "coalesce(sum(length(v)), 0) from t";
    EXPECT_EQ(Replica(sql), Publisher(sql));
    EXPECT_EQ(Replica("select count(*) from sublite_events where kind not in "
                      "('copied', 'gap')"),
              "0");
  }

  void ExpectBounded(const char* what) {
    const std::int64_t peak = PeakBytes();
    std::cerr << what << ": peak " << peak / 1024 << " kB\n";
    EXPECT_LT(peak, kPeakBytesMax);
  }
};

// Open at the same time and interleaved, a tenth with a savepoint that is
// rolled back after each part; committed in any order.
TEST_F(MemoryTest, InterleavedStreamedTransactions) {
  const int transactions = Size(40, 200);
  const int rows = Size(5000, 100000);
  const int part = Size(500, 2000);
  Run();
  std::vector<std::unique_ptr<PgSession>> sessions;
  for (int i = 0; i < transactions; ++i) {
    sessions.push_back(Connect());
    Exec(*sessions.back(), "begin");
  }
  for (int row = 0; row < rows; row += part) {
    for (int i = 0; i < transactions; ++i) {
      const std::string insert = absl::StrCat(
          "insert into t select (", i, "::bigint << 32) + n, ", i,
          ", repeat(chr(65 + n % 26), ", Size(500, 60),
          ") from generate_series(", row + 1, ", ", row + part, ") n;");
      Exec(*sessions[i], i % 10 == 0 ? absl::StrCat("savepoint a;", insert,
                                                    "rollback to a;", insert)
                                     : insert);
    }
  }
  std::mt19937 random(1);
  std::shuffle(sessions.begin(), sessions.end(), random);
  for (const auto& session : sessions) Exec(*session, "commit");
  CatchUp();
  EXPECT_EQ(Replica("select count(*) from t"),
            absl::StrCat(std::int64_t{transactions} * rows));
  ExpectSame();
  ExpectBounded("interleaved transactions");
  Stop();
}

// Every second of very many subtransactions is rolled back.
TEST_F(MemoryTest, ManySubtransactions) {
  const int savepoints = Size(10000, 100000);
  Run();
  Exec(*session_,
       absl::StrCat("do $$ begin for i in 1..", savepoints,
                    " loop begin"
                    " insert into t values (i, i, repeat('v', 500));"
                    " if i % 2 = 0 then raise exception 'undone'; end if;"
                    " exception when raise_exception then null; end;"
                    " end loop; end $$"));
  CatchUp();
  EXPECT_EQ(Replica("select count(*) from t"), absl::StrCat(savepoints / 2));
  ExpectSame();
  ExpectBounded("many subtransactions");
  Stop();
}

// One after the other: what the first took is used again.
TEST_F(MemoryTest, OneLargeTransactionAfterAnother) {
  Run();
  for (int i = 0; i < Size(5, 10); ++i) {
    Exec(*session_,
         absl::StrCat("insert into t select (", i,
                      "::bigint << 32) + n, n, repeat('v', 400) from "
                      "generate_series(1, ",
                      Size(40000, 1000000), ") n"));
    Exec(*session_,
         absl::StrCat("update t set owner = -owner where id >> 32 = ", i));
  }
  CatchUp();
  ExpectSame();
  ExpectBounded("large transactions");
  Stop();
}

// A value in its text form T is held three times while it is applied: in
// libpq's buffer, in the message, and as SQLite's record with what is converted
// for it (a bytea's text is twice its bytes). Nothing of it stays but libpq's
// buffer.
class HugeValueTest : public MemoryTest,
                      public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    MemoryTest::SetUp();
    if (IsSkipped()) return;
    Exec(*session_, "alter table t add column b bytea");
    Exec(*session_, "insert into t values (0, 0, '', '')");
  }

  std::string Update(int id) const {
    const std::string value =
        absl::StrCat("repeat('0123456789abcdef', ", kMegabytes << 16, ")");
    return std::string(GetParam()) == "bytea"
               ? absl::StrCat("update t set b = ", value,
                              "::bytea where id = ", id)
               : absl::StrCat("update t set v = ", value, " where id = ", id);
  }
  std::int64_t TextBytes() const {
    return (std::int64_t{kMegabytes} << 20) *
           (std::string(GetParam()) == "bytea" ? 2 : 1);
  }
  void ExpectPeak(const std::string& what, std::int64_t before) {
    const std::int64_t more = PeakBytes() - before;
    std::cerr << what << " of " << kMegabytes << " MB " << GetParam()
              << ": peak " << more / 1024 << " kB more than before, "
              << static_cast<double>(more) / TextBytes() << " times its text\n";
    // An eighth for what is rounded up; SQLite's cache and the queue.
    EXPECT_LT(more, 3 * TextBytes() + TextBytes() / 8 + (20 << 20));
  }

  void ExpectSameSizes() {
    EXPECT_EQ(Replica("select length(v) || ' ' || length(b) from t"),
              Publisher("select length(v) || ' ' || length(b) from t"));
  }

  const int kMegabytes = Size(16, 100);
};

TEST_P(HugeValueTest, Copied) {
  Exec(*session_, Update(0));
  Run();
  ExpectPeak("copy", 15 << 20);
  ExpectSameSizes();
  Stop();
}

TEST_P(HugeValueTest, Streamed) {
  Run();
  const std::int64_t before = PeakBytes();
  Exec(*session_, Update(0));
  CatchUp();
  ExpectPeak("stream", before);
  ResetPeak();
  EXPECT_LT(PeakBytes() - before, TextBytes() + TextBytes() / 8 + (20 << 20));
  ExpectSameSizes();
  Stop();
}

TEST_P(HugeValueTest, NotStreamed) {
  Run({"--streaming=off"});
  const std::int64_t before = PeakBytes();
  Exec(*session_, Update(0));
  CatchUp();
  ExpectPeak("whole", before);
  ExpectSameSizes();
  Stop();
}

TEST_P(HugeValueTest, Prepared) {
  Run();
  const std::int64_t before = PeakBytes();
  Exec(*session_,
       absl::StrCat("begin; ", Update(0), "; prepare transaction 'g'"));
  Until("select count(*) from sublite_prepared", "1");
  ExpectPeak("prepare", before);
  Exec(*session_, "commit prepared 'g'");
  CatchUp();
  ExpectPeak("commit prepared", before);
  ExpectSameSizes();
  Stop();
}

INSTANTIATE_TEST_SUITE_P(, HugeValueTest, ::testing::Values("text", "bytea"));

// The quota on a real server: the transaction comes when it is committed.
TEST_F(MemoryTest, OverTheSpillLimit) {
  Run({"--spill_limit=1MB"});
  auto large = Connect();
  Exec(*large,
       "begin; insert into t select n, n, repeat('v', 400) from "
       "generate_series(1, 20000) n");
  Until("select count(*) from sublite_events where kind = 'spill_limit'", "1");
  Until(
      "select state || ' ' || (activity like '%replica.spill_limit%') from "
      "sublite_status",
      "streaming 1");
  Exec(*session_, "insert into t values (-1, 0, 'meanwhile')");
  Until("select count(*) from t", "1");
  Exec(*large, "insert into t values (-2, 0, 'at the end'); commit");
  CatchUp();
  EXPECT_EQ(Replica("select count(*) from t"), "20002");
  EXPECT_EQ(Replica("select count(*) from sublite_events where kind = "
                    "'spill_limit'"),
            "1");
  Stop();
}

}  // namespace
}  // namespace sublite::testing
