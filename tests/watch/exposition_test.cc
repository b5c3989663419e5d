// Metrics in Prometheus's text format: names, values, and that counting is by
// commit.

#include "applier/io/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "applier/metrics.h"
#include "tests/watch/exposition_reader.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const BuildInfo& Build() {
  static const auto& build = *new BuildInfo{"0.1.0", "15.8", "3.40.1"};
  return build;
}

Exposition Read(const Metrics& metrics, absl::Time now = absl::Now()) {
  return ReadExposition(WriteExposition(metrics, Build(), now));
}

double Rows(const Exposition& seen, const std::string& table,
            const std::string& kind) {
  return seen.Value("sublite_rows_total",
                    {{"schema", "public"}, {"table", table}, {"kind", kind}});
}

TEST(ExpositionTest, IsValidFromTheStart) {
  const Exposition seen = Read(Metrics());
  EXPECT_THAT(seen.complaints, IsEmpty());
  EXPECT_EQ(seen.Value("sublite_connected"), 0);
  EXPECT_EQ(seen.Value("sublite_state", {{"state", "starting"}}), 1);
  EXPECT_EQ(seen.Sum("sublite_state"), 1);
  EXPECT_EQ(seen.Value("sublite_build_info", {{"version", "0.1.0"},
                                              {"libpq", "15.8"},
                                              {"sqlite", "3.40.1"}}),
            1);
  // What is not known yet has no sample.
  for (const char* name :
       {"sublite_lag_seconds", "sublite_contact_timestamp_seconds",
        "sublite_slot_safe_bytes", "sublite_slot_offline_seconds",
        "sublite_prepared_oldest_seconds"}) {
    ASSERT_TRUE(seen.Has(name)) << name;
    EXPECT_THAT(seen.families.at(name).samples, IsEmpty()) << name;
  }
}

TEST(ExpositionTest, CountsWhatWasCommitted) {
  Metrics metrics;
  TableMetrics* item = nullptr;
  TableMetrics* other = nullptr;
  metrics.CountRow(&item, RowKind::kInsert, "public", "item");
  metrics.CountRow(&item, RowKind::kInsert, "public", "item");
  metrics.CountRow(&item, RowKind::kDelete, "public", "item");
  metrics.CountTransaction();
  EXPECT_TRUE(std::isnan(Rows(Read(metrics), "item", "insert")));
  metrics.Committed();
  metrics.CountRow(&item, RowKind::kUpdate, "public", "item");
  metrics.CountRow(&other, RowKind::kTruncate, "public", "other");
  metrics.CountTransaction();
  metrics.CountConflict(true);
  metrics.RolledBack();
  metrics.CountRow(&item, RowKind::kInsert, "public", "item");
  metrics.CountConflict(false);
  metrics.Committed();

  const Exposition seen = Read(metrics);
  EXPECT_THAT(seen.complaints, IsEmpty());
  EXPECT_EQ(Rows(seen, "item", "insert"), 3);
  EXPECT_EQ(Rows(seen, "item", "delete"), 1);
  EXPECT_TRUE(std::isnan(Rows(seen, "item", "update")));
  EXPECT_TRUE(std::isnan(Rows(seen, "other", "truncate")));
  EXPECT_EQ(seen.Value("sublite_transactions_total"), 1);
  EXPECT_EQ(seen.Value("sublite_commits_total"), 2);
  EXPECT_EQ(seen.Value("sublite_conflicts_total", {{"kind", "missing"}}), 0);
  EXPECT_EQ(seen.Value("sublite_conflicts_total", {{"kind", "replaced"}}), 1);
}

// The counters outlive what the replica knows of the table.
TEST(ExpositionTest, FindsATableAgain) {
  Metrics metrics;
  for (int i = 0; i < 2; ++i) {
    TableMetrics* table = nullptr;
    metrics.CountRow(&table, RowKind::kInsert, "public", "item");
    metrics.Committed();
  }
  // Names that would be the same when put together.
  TableMetrics* first = nullptr;
  TableMetrics* second = nullptr;
  metrics.CountRow(&first, RowKind::kInsert, "a.b", "c");
  metrics.CountRow(&second, RowKind::kInsert, "a", "b.c");
  metrics.Committed();
  EXPECT_NE(first, second);
  EXPECT_EQ(Rows(Read(metrics), "item", "insert"), 2);
}

TEST(ExpositionTest, HostileNamesStayInTheirLabels) {
  const std::string name = "a\"} 1\nsublite_evil_total 7\\\n{x=\"y";
  Metrics metrics;
  TableMetrics* table = nullptr;
  metrics.CountRow(&table, RowKind::kInsert, "public", name);
  metrics.Committed();
  const Exposition seen = Read(metrics);
  EXPECT_THAT(seen.complaints, IsEmpty());
  EXPECT_FALSE(seen.Has("sublite_evil_total"));
  EXPECT_EQ(Rows(seen, name, "insert"), 1);
}

TEST(ExpositionTest, TenThousandTablesAreABoundedNumberOfSeries) {
  Metrics metrics;
  std::vector<TableMetrics*> tables(10000);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < tables.size(); ++i)
      metrics.CountRow(&tables[i], RowKind::kInsert, "public",
                       absl::StrCat("table_", i));
    metrics.Committed();
  }
  const Exposition seen = Read(metrics);
  EXPECT_THAT(seen.complaints, IsEmpty());
  EXPECT_EQ(seen.families.at("sublite_rows_total").samples.size(), 1001u);
  EXPECT_EQ(seen.Sum("sublite_rows_total"), 20000);
  EXPECT_EQ(Rows(seen, "table_999", "insert"), 2);
  EXPECT_EQ(seen.Value("sublite_rows_total",
                       {{"schema", ""}, {"table", ""}, {"kind", "insert"}}),
            18000);
}

TEST(ExpositionTest, PositionsAndAges) {
  const absl::Time now = absl::FromUnixSeconds(1700000000);
  Metrics metrics;
  metrics.received_lsn.Set(0x500000000);
  metrics.publisher_lsn.Set(0x500000400);
  metrics.applied_lsn.Set(0x500000100);
  metrics.as_of.Set(absl::ToUnixMicros(now - absl::Milliseconds(2500)));
  metrics.contact_at.Set(absl::ToUnixMicros(now - absl::Seconds(1)));
  metrics.slot_safe_bytes.Set(0);
  metrics.SetPhase(Phase::kStreaming);
  const Exposition seen = Read(metrics, now);
  EXPECT_EQ(seen.Value("sublite_received_lsn"), 21474836480.0);
  EXPECT_EQ(seen.Value("sublite_lag_bytes"), 0x300);
  EXPECT_DOUBLE_EQ(seen.Value("sublite_lag_seconds"), 2.5);
  EXPECT_EQ(seen.Value("sublite_contact_timestamp_seconds"), 1699999999);
  EXPECT_EQ(seen.Value("sublite_slot_safe_bytes"), 0);
  EXPECT_EQ(seen.Value("sublite_state", {{"state", "streaming"}}), 1);
  // Clocks are set back.
  EXPECT_EQ(Read(metrics, now - absl::Hours(1)).Value("sublite_lag_seconds"),
            0);
}

TEST(ExpositionTest, PromtoolAgrees) {
  if (std::system("command -v promtool >/dev/null") != 0)
    GTEST_SKIP() << "promtool is not installed (package prometheus)";
  Metrics metrics;
  TableMetrics* table = nullptr;
  metrics.CountRow(&table, RowKind::kInsert, "public", "a\"\\\n{b");
  metrics.Committed();
  metrics.as_of.Set(0);
  const std::string path = ::testing::TempDir() + "/metrics.txt";
  std::ofstream(path) << WriteExposition(metrics, Build(), absl::Now());
  EXPECT_EQ(std::system(
                absl::StrCat("promtool check metrics < '", path, "'").c_str()),
            0);
}

// The reader itself.
TEST(ExpositionReaderTest, RefusesWhatIsNotValid) {
  const std::string head =
      "# HELP sublite_a_total x\n# TYPE sublite_a_total counter\n";
  const auto complaints = [](const std::string& text) {
    return ReadExposition(text).complaints;
  };
  EXPECT_THAT(complaints(head + "sublite_a_total 1\n"), IsEmpty());
  EXPECT_THAT(complaints(head + "sublite_a_total 1"),
              ElementsAre(HasSubstr("does not end")));
  EXPECT_THAT(complaints(head + "sublite_a_total 1\nsublite_a_total 2\n"),
              ElementsAre(HasSubstr("there already")));
  EXPECT_THAT(complaints(head + "sublite_b_total 1\n"),
              ElementsAre(HasSubstr("outside of its family")));
  EXPECT_THAT(complaints(head + "sublite_a_total{a=\"\\x\"} 1\n"),
              ElementsAre(HasSubstr("labels that are none")));
  EXPECT_THAT(complaints(head + "sublite_a_total{a=\"b\" 1\n"),
              ElementsAre(HasSubstr("labels that are none")));
  EXPECT_THAT(complaints(head + "sublite_a_total one\n"),
              ElementsAre(HasSubstr("no number")));
  EXPECT_THAT(complaints(head + "sublite_a_total{a=\"b\"} 1\n"
                                "sublite_a_total{c=\"b\"} 1\n"),
              ElementsAre(HasSubstr("different labels")));
  EXPECT_THAT(complaints("# HELP sublite_a x\n# TYPE sublite_a counter\n"),
              ElementsAre(HasSubstr("_total")));
  EXPECT_THAT(complaints("# HELP sublite_a_ms x\n# TYPE sublite_a_ms gauge\n"),
              ElementsAre(HasSubstr("base unit")));
  EXPECT_THAT(complaints("# HELP a x\n# TYPE a gauge\n"),
              ElementsAre(HasSubstr("prefix")));
}

}  // namespace
}  // namespace sublite::testing
