// `status`: what a person and a program read, in each state.

#include "applier/cli/status_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/replica_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class StatusCommandTest : public ReplicaFixture {
 protected:
  // The text at ten seconds after the last change.
  std::string Show() {
    auto file = OpenReplicaForReading(path_);
    EXPECT_OK(file);
    auto status = ReadReplicaStatus(file->get());
    EXPECT_OK(status);
    return StatusText(path_, *status, Now());
  }

  std::string ShowJsonText() {
    auto file = OpenReplicaForReading(path_);
    EXPECT_OK(file);
    auto status = ReadReplicaStatus(file->get());
    EXPECT_OK(status);
    return StatusJson(path_, *status, Now());
  }

  nlohmann::json ShowJson() { return nlohmann::json::parse(ShowJsonText()); }

  static absl::Time Now() {
    absl::Time now;
    EXPECT_TRUE(ParseTimeText("2024-02-29 12:00:10.5+00:00", &now));
    return now;
  }
};

TEST_F(StatusCommandTest, Streaming) {
  Make(0x100000002);
  AddTable(1, "public", "item");
  AddTable(2, "sales", "orders");
  EXPECT_THAT(Show(),
              AllOf(HasSubstr("streaming"), HasSubstr("1/2"),
                    HasSubstr("(10 seconds ago)"), HasSubstr("yes: all rows"),
                    HasSubstr("sales.orders"), HasSubstr("sublite_plant"),
                    HasSubstr("nothing to do"), Not(HasSubstr("last error"))));
}

TEST_F(StatusCommandTest, Copying) {
  Make(16, "copying");
  AddTable(1, "public", "item", "copying");
  AddTable(2, "public", "other", "pending");
  EXPECT_THAT(Show(), AllOf(HasSubstr("no: 1 table pending, 1 table copying"),
                            HasSubstr("250 of about 1000 (25 %)")));
}

TEST_F(StatusCommandTest, FailedNamesErrorAndNextStep) {
  Make(16, "failed");
  AddTable(1, "public", "item", "failed", "value too big");
  Run("update sublite_state set last_error = 'table item: refused here', "
      "last_error_at = '2024-02-29 12:00:05+00:00'");
  Run("insert into sublite_events (at, kind, lsn, detail) values "
      "('x', 'error', '0/ABC', 'refused here')");
  EXPECT_THAT(
      Show(),
      AllOf(HasSubstr("refused here"), HasSubstr("value too big"),
            HasSubstr("sublite skip --lsn=0/ABC"),
            HasSubstr("sublite resync item"), HasSubstr("(5 seconds ago)")));
}

TEST_F(StatusCommandTest, ATableThatIsTriedAgainByItself) {
  Make(16);
  AddTable(1, "public", "item", "failed", "permission denied");
  Run("update sublite_tables set retry_at = '2024-02-29 12:00:20+00:00'");
  EXPECT_THAT(Show(), AllOf(HasSubstr("permission denied"),
                            HasSubstr("tried again by itself (2024-02-29 "
                                      "12:00:20+00:00), or at once by "
                                      "`sublite resync item`")));
  EXPECT_EQ(ShowJson()["tables"][0]["retry_at"], "2024-02-29 12:00:20+00:00");
}

TEST_F(StatusCommandTest, DisconnectedAndPrepared) {
  Make(16, "disconnected");
  Run("insert into sublite_prepared values "
      "(1, 'g', 5, '0/1', 'x', 1, 1, 20, 0)");
  EXPECT_THAT(Show(), AllOf(HasSubstr("the last state can be read"),
                            HasSubstr("1 transaction waits"),
                            HasSubstr("tries again by itself")));
}

TEST_F(StatusCommandTest, SilentStreamingAsksWhetherSubliteRuns) {
  Make(16);
  Run("update sublite_state set contact_at = '2024-02-29 10:00:00+00:00'");
  EXPECT_THAT(Show(), HasSubstr("look whether sublite still runs"));
}

TEST_F(StatusCommandTest, NewFile) {
  Make(0);
  Run("delete from sublite_state");
  EXPECT_THAT(Show(), HasSubstr("has not begun yet"));
  EXPECT_EQ(ShowJson()["state"], "new");
  EXPECT_TRUE(ShowJson()["applied_lsn"].is_null());
}

TEST_F(StatusCommandTest, NoSlotYet) {
  Make(0, "copying");
  Run("update sublite_state set applied_pos = null, contact_at = null");
  EXPECT_THAT(Show(), HasSubstr("0/0"));
  EXPECT_EQ(ShowJson()["consistent"], false);
  EXPECT_TRUE(ShowJson()["contact_age_seconds"].is_null());
}

TEST_F(StatusCommandTest, ATableThatLeftAndASlotThatWasLeft) {
  Make(16);
  AddTable(1, "public", "item", "unpublished", "not published any more");
  Run("update sublite_tables set unpublished_since = "
      "'2024-02-28 01:02:03+00:00'");
  Run("update sublite_state set file_id = '0123456789abcdef', slot_note = "
      "'slot s is left to another replica'");
  EXPECT_THAT(Show(), HasSubstr("    not published since 2024-02-28 "
                                "01:02:03+00:00; its rows stay"));
  EXPECT_THAT(Show(),
              HasSubstr("other slot   slot s is left to another replica\n"));
  const nlohmann::json json = ShowJson();
  EXPECT_EQ(json["tables"][0]["unpublished_since"],
            "2024-02-28 01:02:03+00:00");
  EXPECT_EQ(json["file_id"], "0123456789abcdef");
  EXPECT_EQ(json["slot_note"], "slot s is left to another replica");
}

// `status` of a newer sublite before the first `run` of it.
TEST_F(StatusCommandTest, AFileOfAnEarlierSublite) {
  Make(16);
  AddTable(1, "public", "item");
  Run("drop view sublite_status");
  Run("alter table sublite_tables drop column unpublished_since");
  Run("alter table sublite_state drop column file_id");
  Run("alter table sublite_state drop column slot_note");
  Run("create view sublite_status as select state, 1 as consistent, "
      "'0/10' as applied_lsn, applied_commit_time, contact_at, publications, "
      "slot, system_identifier, server_version, 0 as prepared, last_error, "
      "last_error_at, sublite_version, activity, 0 as missing_rows, "
      "0 as replaced_rows from sublite_state");
  EXPECT_THAT(Show(), HasSubstr("item"));
  EXPECT_TRUE(ShowJson()["file_id"].is_null());
  EXPECT_TRUE(ShowJson()["tables"][0]["unpublished_since"].is_null());
}

TEST_F(StatusCommandTest, Json) {
  Make(0x100000002);
  AddTable(1, "public", "item");
  AddTable(2, "sales", "orders", "failed", "too \"big\"");
  const nlohmann::json json = ShowJson();
  EXPECT_EQ(json["state"], "streaming");
  EXPECT_EQ(json["consistent"], false);
  EXPECT_EQ(json["applied_lsn"], "1/2");
  EXPECT_EQ(json["applied_age_seconds"], 10.5);
  EXPECT_EQ(json["contact_at"], "2024-02-29 12:00:01+00:00");
  EXPECT_EQ(json["prepared"], 0);
  EXPECT_TRUE(json["last_error"].is_null());
  ASSERT_EQ(json["tables"].size(), 2u);
  EXPECT_EQ(json["tables"][0]["rows_copied"], 250);
  EXPECT_TRUE(json["tables"][0]["error"].is_null());
  EXPECT_EQ(json["tables"][1]["sqlite_table"], "sales.orders");
  EXPECT_EQ(json["tables"][1]["error"], "too \"big\"");
}

TEST_F(StatusCommandTest, JsonIsIndentedInAFixedOrderAndUtf8) {
  Make(16);
  AddTable(1, "public", "item", "failed", "bad \xff byte");
  const std::string text = ShowJsonText();
  EXPECT_THAT(text, StartsWith("{\n  \"database\": \""));
  EXPECT_THAT(text, EndsWith("      \"error\": \"bad \xef\xbf\xbd byte\"\n"
                             "    }\n  ]\n}\n"));
  std::vector<std::string> keys;
  const auto json = nlohmann::ordered_json::parse(text);
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_THAT(
      keys,
      ElementsAre("database", "state", "consistent", "applied_lsn",
                  "applied_commit_time", "applied_age_seconds", "contact_at",
                  "contact_age_seconds", "publications", "slot",
                  "system_identifier", "server_version", "prepared",
                  "last_error", "last_error_at", "sublite_version", "activity",
                  "missing_rows", "replaced_rows", "file_id", "slot_note",
                  "requests", "behind_bytes", "retention",
                  "prepared_transactions", "tables"));
}

TEST_F(StatusCommandTest, FreshnessInWordsAndSeconds) {
  Make(0x1000);
  EXPECT_THAT(Show(),
              HasSubstr("fresh        as of 9 seconds ago (9.5 s), when "
                        "the publisher was last heard\n"));
  Run("insert into sublite_slot (one, observed_at, wal_pos, wal_rate) values "
      "(1, '2024-02-29 12:00:00+00:00', 0x1000 + 3 * 1024 * 1024, 0)");
  EXPECT_THAT(Show(), HasSubstr("; 3.0 MB of its WAL were not applied then\n"));
  EXPECT_EQ(ShowJson()["behind_bytes"], 3 << 20);
}

TEST_F(StatusCommandTest, PreparedTransactionsWithTheirAge) {
  Make(16);
  Run("insert into sublite_prepared (gid, xid, prepare_lsn, prepared_at, "
      "changes, bytes, end_pos, source) values ('transfer 7', 733, '0/10', "
      "'2024-02-29 10:30:10.5+00:00', 1, 1536, 16, 0)");
  EXPECT_THAT(Show(),
              HasSubstr("transfer 7 (xid 733), prepared 90 minutes ago, 1 "
                        "change, 1.5 kB\n"));
  EXPECT_EQ(ShowJson()["prepared_transactions"][0]["gid"], "transfer 7");
}

// 10 GB at 1 MB a second last 10240 seconds.
TEST_F(StatusCommandTest, HowLongTheDeviceMayBeAway) {
  Make(0x100000000);
  Run("insert into sublite_slot values (1, '2024-02-29 12:00:00.5+00:00', "
      "0x100000000, 0xf0000000, 'reserved', 10737418240, 21474836480, null, "
      "1048576)");
  EXPECT_THAT(
      Show(),
      AllOf(HasSubstr("WAL kept     256.0 MB at the publisher for this "
                      "replica, as of 10 seconds ago\n"),
            HasSubstr("may be away  about 2 hours: 10.0 GB of WAL are "
                      "left of max_slot_wal_keep_size, at 1.0 MB/s\n")));
  auto json = ShowJson()["retention"];
  EXPECT_EQ(json["offline_seconds"], 10240);
  EXPECT_EQ(json["retained_bytes"], 256 << 20);
  EXPECT_TRUE(json["idle_timeout_seconds"].is_null());
  // Disconnected, the time runs.
  Run("update sublite_state set state = 'disconnected'");
  EXPECT_THAT(Show(), HasSubstr("may be away  about 2 hours more: "));
  Run("update sublite_slot set observed_at = '2024-02-29 09:00:00+00:00'");
  EXPECT_THAT(Show(), HasSubstr("that time is over"));
  // The shorter one counts.
  Run("update sublite_slot set idle_timeout_seconds = 600, observed_at = "
      "'2024-02-29 12:00:00.5+00:00'");
  EXPECT_THAT(Show(),
              HasSubstr("about 9 minutes more: idle_replication_slot_timeout"));
  Run("update sublite_slot set safe_bytes = null, keep_bytes = null, "
      "idle_timeout_seconds = null");
  EXPECT_THAT(Show(), HasSubstr("without a limit"));
  Run("update sublite_slot set wal_status = 'lost'");
  EXPECT_THAT(Show(), HasSubstr("the slot was lost 10 seconds ago"));
}

TEST_F(StatusCommandTest, AFileWithoutWhatTheSlotKeeps) {
  Make(16);
  Run("drop table sublite_slot");
  EXPECT_THAT(Show(), Not(HasSubstr("may be away")));
  EXPECT_TRUE(ShowJson()["retention"].is_null());
}

TEST_F(StatusCommandTest, WorksBesideAnOpenWriteTransaction) {
  Make(16);
  Run("begin immediate");
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(StatusCommand(path_, false, out, err), 0) << err.str();
  Run("rollback");
}

TEST_F(StatusCommandTest, FilesThatAreNoReplica) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(StatusCommand(path_, false, out, err), 78);
  EXPECT_THAT(err.str(), HasSubstr("there is no replica at"));
  EXPECT_EQ(StatusCommand(folder_, false, out, err), 78);
  std::ofstream(path_) << "this is a text, not a database, and long enough";
  EXPECT_EQ(StatusCommand(path_, false, out, err), 78);
  EXPECT_EQ(out.str(), "");
}

TEST_F(StatusCommandTest, FileOfAnotherProgramOrANewerSublite) {
  std::ostringstream out;
  std::ostringstream err;
  Make(16);
  Run("update sublite_state set format = 99");
  EXPECT_EQ(StatusCommand(path_, true, out, err), 78);
  EXPECT_THAT(err.str(), HasSubstr("newer sublite"));
  Run("drop view sublite_status; drop table sublite_state");
  EXPECT_EQ(StatusCommand(path_, true, out, err), 78);
  EXPECT_THAT(err.str(), HasSubstr("no replica"));
}

TEST(TimeTextTest, RoundTrip) {
  absl::Time time;
  EXPECT_TRUE(ParseTimeText(ClockText(), &time));
  EXPECT_FALSE(ParseTimeText("", &time));
  EXPECT_FALSE(ParseTimeText("yesterday", &time));
}

}  // namespace
}  // namespace sublite::testing
