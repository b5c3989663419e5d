// The status page: what it says, and that nothing in it can be more than text.

#include "applier/cli/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "applier/cli/watch_pages.h"
#include "tests/watch/html_reader.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kHostile[] =
    "</bdi></td><script>alert('x')</script>&amp;\"' onload=\"y";

absl::Time Now() {
  absl::Time now;
  EXPECT_TRUE(ParseTimeText("2024-02-29 12:00:10.5+00:00", &now));
  return now;
}

ReplicaStatus Streaming() {
  ReplicaStatus status;
  status.started = true;
  status.state = "streaming";
  status.consistent = true;
  status.applied_lsn = "1/2";
  status.applied_commit_time = "2024-02-29 12:00:00+00:00";
  status.contact_at = "2024-02-29 12:00:08+00:00";
  status.server_version = "15.8";
  status.publications = "pub";
  status.slot = "slot";
  return status;
}

TableRow Table(const std::string& name, const std::string& state = "ready") {
  TableRow table;
  table.pg_schema = "public";
  table.pg_table = name;
  table.sqlite_table = name;
  table.state = state;
  return table;
}

Html Page(const ReplicaStatus& status, const std::string& doing = "streaming") {
  return ReadHtml(StatusPage("/var/lib/plant.db", status, doing, Now()));
}

TEST(StatusPageTest, SaysHowItIs) {
  ReplicaStatus status = Streaming();
  status.tables = {Table("item")};
  status.prepared = 1;
  status.prepared_rows = {
      {"transfer-7", 733, "0/1", "2024-02-29 11:00:10.5+00:00", 3, 2048}};
  status.events = {{"2024-02-29 12:00:00+00:00", "conflict", "item", "1/1",
                    "a row was not there"}};
  status.last_error = "the disk was full";
  status.last_error_at = "2024-02-29 11:59:10.5+00:00";
  const Html html = Page(status);
  EXPECT_THAT(html.complaints, IsEmpty());
  EXPECT_THAT(html.texts, Contains("streaming"));
  EXPECT_THAT(html.texts, Contains(HasSubstr("as of 2 seconds ago (2.5 s)")));
  EXPECT_THAT(html.texts, Contains("transfer-7"));
  EXPECT_THAT(html.texts, Contains("2.0 kB"));
  EXPECT_THAT(html.texts,
              Contains("2024-02-29 11:00:10.5+00:00 (60 minutes ago)"));
  EXPECT_THAT(html.texts, Contains("the disk was full"));
  EXPECT_THAT(html.texts, Contains("a row was not there"));
  EXPECT_THAT(html.texts, Contains("item"));
}

// Each text that comes from elsewhere arrives as it is, and as text.
TEST(StatusPageTest, EscapesEverything) {
  ReplicaStatus status = Streaming();
  status.state = status.activity = status.publications = status.slot =
      status.server_version = status.last_error = status.last_error_at =
          kHostile;
  status.tables = {Table(kHostile, "failed")};
  status.tables[0].pg_schema = status.tables[0].error = kHostile;
  status.prepared = 1;
  status.prepared_rows = {{kHostile, 1, kHostile, kHostile, 1, 1}};
  status.events = {{kHostile, kHostile, kHostile, kHostile, kHostile}};
  const Html html = ReadHtml(StatusPage(kHostile, status, kHostile, Now()));
  EXPECT_THAT(html.complaints, IsEmpty());
  int exact = 0;
  for (const std::string& text : html.texts) exact += text == kHostile ? 1 : 0;
  // State in two places, activity, doing, replica, table, GID, time of PREPARE,
  // five of the event, the error.
  EXPECT_GE(exact, 12);

  const Html trouble = ReadHtml(TroublePage(kHostile, kHostile, kHostile));
  EXPECT_THAT(trouble.complaints, IsEmpty());
  EXPECT_THAT(trouble.texts, Contains(kHostile).Times(3));
}

TEST(StatusPageTest, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(EscapeHtml("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(EscapeHtml("a\x01z"), "a" + bad + "z");
  EXPECT_EQ(EscapeHtml(std::string("a\0z", 3)), "a" + bad + "z");
  EXPECT_EQ(EscapeHtml("\xff"), bad);
  EXPECT_EQ(EscapeHtml("\xe2\x82"), bad + bad);            // cut off
  EXPECT_EQ(EscapeHtml("\xc0\xbc"), bad + bad);            // an overlong <
  EXPECT_EQ(EscapeHtml("\xed\xa0\x80"), bad + bad + bad);  // a surrogate
  EXPECT_EQ(EscapeHtml("\xc2\x85"), bad);                  // a C1 control
  EXPECT_EQ(EscapeHtml("<\xe2<"), "&lt;" + bad + "&lt;");
}

TEST(StatusPageTest, ManyTablesShowThoseThatNeedAttention) {
  ReplicaStatus status = Streaming();
  for (int i = 0; i < 10000; ++i)
    status.tables.push_back(Table(absl::StrCat("t", i)));
  status.tables[9000].state = "failed";
  status.tables[9000].error = "it does not fit";
  const std::string page = StatusPage("/x", status, "", Now());
  const Html html = ReadHtml(page);
  EXPECT_THAT(html.complaints, IsEmpty());
  EXPECT_THAT(html.texts, Contains("failed: it does not fit"));
  EXPECT_THAT(html.texts, Contains(HasSubstr("9800 more")));
  EXPECT_LT(page.size(), 100000u);
}

TEST(StatusPageTest, ANewReplica) {
  const Html html = Page(ReplicaStatus());
  EXPECT_THAT(html.complaints, IsEmpty());
  EXPECT_THAT(html.texts, Contains(StartsWith("new")));
}

TEST(HealthTest, OnlyWhileItFollowsOrCopies) {
  const absl::Time now = Now();
  Metrics metrics;
  metrics.SetNote("waiting for the publisher: no route to host");
  const auto answer = [&](Phase phase, absl::Time alive) {
    metrics.SetPhase(phase);
    return HealthAnswer(metrics, alive, now);
  };
  EXPECT_EQ(answer(Phase::kStreaming, now).status, 200);
  EXPECT_EQ(answer(Phase::kCopying, now).status, 200);
  for (Phase phase : {Phase::kStarting, Phase::kConnecting, Phase::kWaiting}) {
    EXPECT_EQ(answer(phase, now).status, 503);
    EXPECT_THAT(answer(phase, now).body, HasSubstr("no route to host"));
  }
  const HttpAnswer stuck = answer(Phase::kStreaming, now - absl::Minutes(5));
  EXPECT_EQ(stuck.status, 503);
  EXPECT_THAT(stuck.body, HasSubstr("no sign of life for 300 s"));
}

// The reader itself.
TEST(HtmlReaderTest, RefusesWhatIsNotValid) {
  const auto complaints = [](const std::string& body) {
    return ReadHtml("<!DOCTYPE html>\n" + body).complaints;
  };
  EXPECT_THAT(complaints("<p>a &amp; b</p>"), IsEmpty());
  EXPECT_THAT(complaints("<p>a & b</p>"), SizeIs(1));
  EXPECT_THAT(complaints("<p><b>a</p></b>"), Not(IsEmpty()));
  EXPECT_THAT(complaints("<p>a"), ElementsAre(HasSubstr("not closed")));
  EXPECT_THAT(complaints("<p>1 < 2</p>"), Not(IsEmpty()));
  EXPECT_THAT(complaints("<script></script>"), SizeIs(1));
  EXPECT_THAT(complaints("<p onclick=\"x\"></p>"), SizeIs(1));
  EXPECT_THAT(complaints("<p class=x></p>"), Not(IsEmpty()));
  EXPECT_THAT(complaints("<p>\x01</p>"), SizeIs(1));
}

}  // namespace
}  // namespace sublite::testing
