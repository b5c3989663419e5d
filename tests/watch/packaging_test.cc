// The dashboard and the alert rules name only metrics that there are, with
// labels that they have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "applier/io/exposition.h"
#include "applier/metrics.h"
#include "tests/watch/exposition_reader.h"

namespace sublite::testing {
namespace {

constexpr char kRules[] = "packaging/prometheus/sublite.rules.yml";
constexpr char kDashboard[] = "packaging/grafana/sublite.json";

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

// Every family, each with a sample that has its labels.
Exposition Everything() {
  Metrics metrics;
  TableMetrics* table = nullptr;
  metrics.CountRow(&table, RowKind::kInsert, "public", "item");
  metrics.Committed();
  return ReadExposition(WriteExposition(metrics, {"1", "2", "3"}, absl::Now()));
}

std::set<std::string> Names(const std::string& text) {
  static const auto& name = *new std::regex("sublite_[a-z_]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), name),
          std::sregex_token_iterator()};
}

std::string Expressions() {
  const auto dashboard = nlohmann::json::parse(ReadFile(kDashboard));
  std::string all;
  for (const auto& panel : dashboard.at("panels")) {
    EXPECT_FALSE(panel.at("targets").empty()) << panel.at("title");
    for (const auto& target : panel.at("targets"))
      all += target.at("expr").get<std::string>() + "\n";
  }
  for (const auto& variable : dashboard.at("templating").at("list"))
    all += variable.at("query").get<std::string>() + "\n";
  return all;
}

std::string RuleExpressions() {
  std::ifstream stream(kRules);
  std::string all;
  for (std::string line; std::getline(stream, line);)
    if (absl::StrContains(line, " expr: ")) all += line + "\n";
  return all;
}

TEST(PackagingTest, EveryMetricIsThere) {
  const Exposition everything = Everything();
  for (const std::string& text : {Expressions(), RuleExpressions()}) {
    const std::set<std::string> names = Names(text);
    EXPECT_GE(names.size(), 8u);
    for (const std::string& name : names)
      EXPECT_TRUE(everything.Has(name)) << name;
  }
}

// label="…" and {label} of a name that has it; `instance` and `job` are
// Prometheus's own.
TEST(PackagingTest, LabelsAreThere) {
  const Exposition everything = Everything();
  static const auto& selector =
      *new std::regex("(sublite_[a-z_]+)\\{([^}]*)\\}");
  static const auto& label = *new std::regex("([a-z_]+)(=|!=|=~|!~)\"");
  int seen = 0;
  const std::string text = Expressions() + RuleExpressions();
  for (std::sregex_iterator i(text.begin(), text.end(), selector), end;
       i != end; ++i) {
    const std::string name = (*i)[1];
    const std::string labels = (*i)[2];
    for (std::sregex_iterator j(labels.begin(), labels.end(), label);
         j != std::sregex_iterator(); ++j) {
      const std::string used = (*j)[1];
      if (used == "instance" || used == "job") continue;
      const Family& family = everything.families.at(name);
      ASSERT_FALSE(family.samples.empty()) << name;
      EXPECT_EQ(family.samples.begin()->first.count(used), 1u)
          << name << " has no label " << used;
      ++seen;
    }
  }
  EXPECT_GE(seen, 3);
}

TEST(PackagingTest, AlertsCoverWhatAPersonHasToKnow) {
  const std::string rules = ReadFile(kRules);
  for (const char* alert :
       {"SubliteStale", "SubliteDisconnected", "SubliteSlotAtRisk",
        "SubliteRetainsWal", "SubliteConflicts", "SubliteTableFailed",
        "SubliteErrors"}) {
    EXPECT_TRUE(absl::StrContains(rules, std::string("alert: ") + alert))
        << alert;
  }
}

TEST(PackagingTest, PromtoolAgrees) {
  if (std::system("command -v promtool >/dev/null") != 0)
    GTEST_SKIP() << "promtool is not installed (package prometheus)";
  EXPECT_EQ(
      std::system((std::string("promtool check rules ") + kRules).c_str()), 0);
}

}  // namespace
}  // namespace sublite::testing
