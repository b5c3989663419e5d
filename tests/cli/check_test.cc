// `check` and `teardown` against a publisher that answers from a script.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "applier/cli/check_command.h"
#include "applier/cli/check_findings.h"
#include "applier/cli/check_settings.h"
#include "applier/cli/publisher_bugs.h"
#include "applier/cli/teardown_command.h"
#include "tests/cli/replica_fixture.h"
#include "tests/cli/scripted_publisher.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PublishedTable Table(std::uint32_t oid, const std::string& schema,
                     const std::string& name) {
  PublishedTable table;
  table.oid = oid;
  table.pg_schema = schema;
  table.pg_table = name;
  PublishedColumn id;
  id.name = "id";
  table.columns = {id};
  table.primary_key = {"id"};
  return table;
}

class CheckTest : public ReplicaFixture {
 protected:
  CheckTest() {
    config_.publisher.slot = "sublite_plant";
    config_.publisher.publications = {"pub"};
    config_.replica.database = path_;
    Publish(Table(1, "public", "item"));
  }

  void Publish(const PublishedTable& table) {
    publisher_.publications.tables.push_back(table);
    publisher_.tables.push_back({std::to_string(table.oid), "t", "f", "8192"});
  }

  // The findings; `code_` is the exit code.
  std::string Check() {
    std::ostringstream out;
    code_ = CheckCommand(config_, &publisher_, out);
    return out.str();
  }

  void HaveSlot(std::uint64_t confirmed) {
    publisher_.slot.exists = true;
    publisher_.slot.plugin = "pgoutput";
    publisher_.slot.database = "app";
    publisher_.slot.confirmed_flush = Lsn(confirmed);
  }

  Config config_;
  ScriptedPublisher publisher_;
  int code_ = -1;
};

TEST_F(CheckTest, AllIsWell) {
  const std::string out = Check();
  EXPECT_EQ(code_, 0) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("ok    wal_level is logical\n"),
                         HasSubstr("ok    publication \"pub\" exists\n"),
                         HasSubstr("ok    slot sublite_plant can be made"),
                         HasSubstr("ok    1 published table(s)"),
                         Not(HasSubstr("fail"))));
  // It changed nothing.
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(CheckTest, BrokenConfig) {
  std::ostringstream out;
  EXPECT_EQ(
      CheckBrokenConfig(absl::FailedPreconditionError("a:1: x\na:2: y"), out),
      1);
  EXPECT_EQ(out.str(), "fail  a:1: x\nfail  a:2: y\n");
}

TEST_F(CheckTest, NoConnection) {
  publisher_.connect = absl::UnavailableError("refused\nby the server");
  EXPECT_THAT(Check(), HasSubstr("fail  connection: refused by the server\n"));
  EXPECT_EQ(code_, 1);
}

TEST_F(CheckTest, WalLevelAndFreeSlots) {
  publisher_.server[0][1] = "replica";
  publisher_.server[0][3] = "10";
  EXPECT_THAT(Check(), AllOf(HasSubstr("fail  wal_level is replica"),
                             HasSubstr("fail  all 10 replication slots")));
  EXPECT_EQ(code_, 1);
}

TEST_F(CheckTest, SettingsThatLoseTheSlotOrFillTheDisk) {
  EXPECT_THAT(Check(), Not(ContainsRegex("warn  [a-z]")));
  publisher_.settings = {{"application_name", "sublite", ""},
                         {"idle_replication_slot_timeout", "86400", "s"},
                         {"max_slot_wal_keep_size", "-1", "MB"},
                         {"synchronous_standby_names", "FIRST 1 (*)", ""},
                         {"wal_sender_timeout", "0", "ms"}};
  EXPECT_THAT(
      Check(),
      AllOf(ContainsRegex("warn  idle_replication_slot_timeout is 24h.*ALTER "
                          "SYSTEM SET idle_replication_slot_timeout = 0"),
            ContainsRegex("warn  max_slot_wal_keep_size is -1.*ALTER SYSTEM"),
            ContainsRegex("warn  synchronous_standby_names \\(FIRST 1"),
            ContainsRegex("warn  wal_sender_timeout is 0.*'60s'")));
  EXPECT_EQ(code_, 0);
  publisher_.settings = {
      {"application_name", "sublite", ""},
      {"max_slot_wal_keep_size", "64", "MB"},
      {"synchronous_standby_names", "other, \"Sublite\"", ""},
      {"wal_sender_timeout", "1000", "ms"}};
  EXPECT_THAT(Check(), AllOf(HasSubstr("warn  max_slot_wal_keep_size is 64 MB"),
                             HasSubstr("application_name sublite"),
                             HasSubstr("warn  wal_sender_timeout is 1s")));
  // A server that has no such limit yet.
  publisher_.settings = {{"application_name", "sublite", ""},
                         {"synchronous_standby_names", "2 (a, sublite2)", ""},
                         {"wal_sender_timeout", "60000", "ms"}};
  EXPECT_THAT(Check(), AllOf(HasSubstr("warn  servers before 13 keep WAL"),
                             Not(HasSubstr("synchronous_standby_names"))));
}

TEST_F(CheckTest, TheSettingsDidNotComeAsAsked) {
  publisher_.settings = {{"wal_sender_timeout", "a minute", ""}};
  EXPECT_THAT(Check(), HasSubstr("fail  the setting wal_sender_timeout is no "
                                 "number: a minute"));
  publisher_.settings = {{"wal_sender_timeout"}};
  EXPECT_THAT(Check(), HasSubstr("fail  the catalog did not answer as asked"));
}

TEST_F(CheckTest, AReleaseWithAKnownMistake) {
  publisher_.identity.server_version = 150013;
  EXPECT_THAT(Check(), ContainsRegex("warn  PostgreSQL 15.13: .*memory.*update "
                                     "the server to 15.16 or later"));
  EXPECT_EQ(code_, 0);
}

TEST_F(CheckTest, TablesThatArePutAside) {
  Make(100);
  HaveSlot(100);
  AddTable(1, "public", "item", "failed", "permission denied");
  EXPECT_THAT(Check(),
              HasSubstr("warn  public.item is put aside: permission denied: "
                        "mend that, then `sublite resync item`\n"));
}

TEST_F(CheckTest, Encryption) {
  publisher_.server[0][7] = "f";
  EXPECT_THAT(Check(), HasSubstr("warn  the connection is not encrypted"));
  publisher_.server[0][6] = "TLSv1.3";
  EXPECT_THAT(Check(),
              AllOf(HasSubstr("TLSv1.3"), Not(HasSubstr("not encrypted"))));
}

TEST_F(CheckTest, MissingPublication) {
  config_.publisher.publications = {"pub", "not here"};
  publisher_.publications.missing = {"not here"};
  EXPECT_THAT(Check(), HasSubstr("fail  publication \"not here\" does not "
                                 "exist in this database: CREATE PUBLICATION "
                                 "\"not here\""));
}

TEST_F(CheckTest, VersionsOfSettings) {
  config_.publisher.origin_none = true;
  config_.publisher.failover = true;
  config_.publisher.streaming = StreamingSetting::kParallel;
  EXPECT_THAT(Check(), AllOf(HasSubstr("fail  publisher.origin"),
                             HasSubstr("warn  publisher.failover"),
                             HasSubstr("warn  publisher.streaming")));
  publisher_.identity.server_version = 170004;
  EXPECT_THAT(Check(), AllOf(Not(HasSubstr("publisher.origin")),
                             Not(HasSubstr("publisher.failover")),
                             Not(HasSubstr("publisher.streaming"))));
}

TEST_F(CheckTest, TablesThatCannotBeCopied) {
  PublishedTable broken = Table(2, "public", "broken");
  broken.problem = "two column lists";
  Publish(broken);
  publisher_.tables[0][1] = "f";
  publisher_.tables[1][2] = "t";
  const std::string out = Check();
  EXPECT_THAT(out, AllOf(HasSubstr("GRANT SELECT ON \"public\".\"item\" TO "
                                   "\"postgres\""),
                         HasSubstr("fail  public.broken: two column lists"),
                         HasSubstr("BYPASSRLS")));
  EXPECT_EQ(code_, 1);
}

TEST_F(CheckTest, ReplicaIdentity) {
  PublishedTable none = Table(2, "s", "none");
  none.primary_key.clear();
  Publish(none);
  PublishedTable inserts = none;
  inserts.pg_table = "inserts";
  inserts.publishes_update_or_delete = false;
  Publish(inserts);
  PublishedTable full = none;
  full.pg_table = "full";
  full.replica_identity = 'f';
  Publish(full);
  const std::string out = Check();
  EXPECT_THAT(out, AllOf(HasSubstr("warn  s.none has no usable"),
                         HasSubstr("ALTER TABLE \"s\".\"none\" REPLICA"),
                         Not(HasSubstr("s.inserts has")),
                         Not(HasSubstr("s.full has"))));
  EXPECT_EQ(code_, 0);
}

TEST_F(CheckTest, NamesThatDifferOnlyInCase) {
  Publish(Table(2, "public", "Item"));
  EXPECT_THAT(Check(),
              AllOf(HasSubstr("fail  SQLite compares names without case: "
                              "public.item and public.Item"),
                    HasSubstr("tables.\"public.Item\".name")));
  config_.tables["public.Item"].name = "item_upper";
  EXPECT_THAT(Check(), Not(HasSubstr("without case")));
}

TEST_F(CheckTest, ColumnsThatDifferOnlyInCase) {
  PublishedTable table = Table(2, "public", "other");
  table.columns.push_back(table.columns[0]);
  table.columns[1].name = "ID";
  Publish(table);
  EXPECT_THAT(Check(), ContainsRegex("warn  public.other: column \"ID\".*"
                                     "called \"ID_2\""));
}

TEST_F(CheckTest, UselessTableSection) {
  config_.tables["public.gone"].name = "x";
  EXPECT_THAT(Check(), HasSubstr("warn  the section [tables.\"public.gone\"]"));
}

TEST_F(CheckTest, LocalObjectInTheWay) {
  Make(100);
  HaveSlot(100);
  Run("create table ITEM (x)");
  EXPECT_THAT(Check(), HasSubstr("fail  the SQLite file has \"ITEM\" of its "
                                 "own"));
  AddTable(1, "public", "ITEM");
  EXPECT_THAT(Check(), Not(HasSubstr("of its own")));
}

TEST_F(CheckTest, SlotStates) {
  Make(100);
  HaveSlot(100);
  EXPECT_THAT(Check(), HasSubstr("ok    slot sublite_plant continues from "
                                 "0/64"));
  publisher_.slot.confirmed_flush = Lsn(101);
  EXPECT_THAT(Check(), HasSubstr("warn  gap: slot sublite_plant has moved to "
                                 "0/65, past this replica's 0/64"));
  publisher_.slot.active = true;
  EXPECT_THAT(Check(), HasSubstr("ok    slot sublite_plant is in use"));
  publisher_.slot.active = false;
  publisher_.slot.lost = true;
  publisher_.slot.lost_reason = "wal_removed";
  EXPECT_THAT(Check(), HasSubstr("warn  gap: slot sublite_plant was "
                                 "invalidated: wal_removed"));
  publisher_.slot.plugin = "test_decoding";
  EXPECT_THAT(Check(), HasSubstr("fail  slot sublite_plant is somebody else"));
  publisher_.slot = SlotState();
  EXPECT_THAT(Check(), HasSubstr("warn  gap: slot sublite_plant is gone"));
}

TEST_F(CheckTest, GapsFailWhereAPersonIsToDecide) {
  Make(100);
  config_.replica.on_gap = OnGap::kStop;
  EXPECT_THAT(Check(), AllOf(HasSubstr("fail  gap: slot sublite_plant is gone"),
                             HasSubstr("sublite resync")));
  EXPECT_EQ(code_, 1);
}

TEST_F(CheckTest, AnotherCluster) {
  Make(100);
  HaveSlot(100);
  publisher_.identity.system_identifier = "8000";
  EXPECT_THAT(Check(), HasSubstr("warn  gap: the publisher is another one "
                                 "(system identifier 8000, was 7000)"));
}

TEST_F(CheckTest, SlotWithoutAFile) {
  HaveSlot(100);
  EXPECT_THAT(Check(), HasSubstr("is there, but the replica is new"));
}

TEST_F(CheckTest, FolderThatIsNotThere) {
  config_.replica.database = folder_ + "/none/plant.db";
  EXPECT_THAT(Check(), ContainsRegex("fail  .*/none/plant.db: its folder"));
}

TEST(WalResetRaceTest, Versions) {
  for (const char* version :
       {"3.40.1", "3.7.0", "3.44.5", "3.50.6", "3.51.2", "3.45.0", "3.51"}) {
    EXPECT_TRUE(HasWalResetRace(version)) << version;
  }
  for (const char* version :
       {"3.6.23", "3.44.6", "3.50.7", "3.51.3", "3.52.0", "4.0.0", "", "x"}) {
    EXPECT_FALSE(HasWalResetRace(version)) << version;
  }
}

TEST(SynchronousNamesTest, EveryForm) {
  EXPECT_THAT(SynchronousNames(""), IsEmpty());
  EXPECT_THAT(SynchronousNames("a"), ElementsAre("a"));
  EXPECT_THAT(SynchronousNames("a, b"), ElementsAre("a", "b"));
  EXPECT_THAT(SynchronousNames("*"), ElementsAre("*"));
  EXPECT_THAT(SynchronousNames("FIRST 2 (a, b)"), ElementsAre("a", "b"));
  EXPECT_THAT(SynchronousNames("any 1(a,\"b, (\"\"c)\")"),
              ElementsAre("a", "b, (\"c)"));
  EXPECT_THAT(SynchronousNames("2 (\"*\", s1)"), ElementsAre("*", "s1"));
  EXPECT_THAT(SynchronousNames("\"never closed"), ElementsAre("never closed"));
}

// The dates and numbers of PostgreSQL's release notes.
TEST(KnownBugsTest, ByRelease) {
  // 12 February 2026.
  for (const int good : {180002, 170008, 160012, 150016, 140021, 150018, 180004,
                         190000, 90600, 0}) {
    EXPECT_EQ(KnownBugs(good), "") << good;
  }
  EXPECT_THAT(KnownBugs(180001),
              AllOf(HasSubstr("PostgreSQL 18.1: "), HasSubstr("checkpoint"),
                    HasSubstr("18.2 or later")));
  // 8 May 2025 mended one thing and brought another, until 14 August.
  EXPECT_THAT(KnownBugs(170004),
              AllOf(HasSubstr("ALTER PUBLICATION"), Not(HasSubstr("memory")),
                    HasSubstr("17.8 or later")));
  EXPECT_THAT(KnownBugs(170005),
              AllOf(Not(HasSubstr("ALTER PUBLICATION")), HasSubstr("memory")));
  EXPECT_THAT(KnownBugs(170006), AllOf(Not(HasSubstr("ALTER PUBLICATION")),
                                       Not(HasSubstr("memory"))));
  // 8 August 2024.
  EXPECT_THAT(KnownBugs(160003), HasSubstr("inside a transaction"));
  EXPECT_THAT(KnownBugs(160004), Not(HasSubstr("inside a transaction")));
  EXPECT_THAT(KnownBugs(150007), HasSubstr("inside a transaction"));
  EXPECT_THAT(KnownBugs(150008), Not(HasSubstr("inside a transaction")));
  // November 2022.
  EXPECT_THAT(KnownBugs(140005), HasSubstr("old catalog"));
  EXPECT_THAT(KnownBugs(140006), Not(HasSubstr("old catalog")));
  EXPECT_THAT(KnownBugs(150000), Not(HasSubstr("old catalog")));
  EXPECT_THAT(KnownBugs(100023), AllOf(HasSubstr("PostgreSQL 10.23"),
                                       HasSubstr("a later major than 10")));
}

// ---- teardown ----

class TeardownTest : public CheckTest {
 protected:
  int Teardown() {
    out_.str("");
    err_.str("");
    return TeardownCommand(config_, &publisher_, out_, err_);
  }
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(TeardownTest, DropsTheSlotAndKeepsTheFile) {
  Make(100);
  Run("create table item (id); insert into item values (1)");
  HaveSlot(100);
  EXPECT_EQ(Teardown(), 0) << err_.str();
  EXPECT_EQ(publisher_.dropped, "sublite_plant");
  EXPECT_EQ(Number("select count(*) from item"), 1);
  EXPECT_EQ(Text("select state from sublite_status"), "disconnected");
  EXPECT_THAT(Text("select detail from sublite_events where kind = 'teardown'"),
              HasSubstr("sublite_plant was dropped"));
}

TEST_F(TeardownTest, WithoutAFile) {
  HaveSlot(100);
  EXPECT_EQ(Teardown(), 0);
  EXPECT_EQ(publisher_.dropped, "sublite_plant");
  EXPECT_THAT(out_.str(), Not(HasSubstr("is kept")));
}

TEST_F(TeardownTest, SlotThatIsGoneIsNoError) {
  EXPECT_EQ(Teardown(), 0);
  EXPECT_THAT(out_.str(), HasSubstr("has no slot sublite_plant"));
  HaveSlot(100);
  publisher_.drop = absl::NotFoundError("no slot");
  EXPECT_EQ(Teardown(), 0);
}

TEST_F(TeardownTest, LeavesOthersSlotsAlone) {
  HaveSlot(100);
  publisher_.slot.active = true;
  publisher_.slot.active_pid = 77;
  EXPECT_EQ(Teardown(), 78);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("process 77"), HasSubstr("stop sublite first")));
  publisher_.slot.active = false;
  publisher_.slot.plugin = "wal2json";
  EXPECT_EQ(Teardown(), 78);
  publisher_.slot.plugin = "pgoutput";
  publisher_.slot.database = "other";
  EXPECT_EQ(Teardown(), 78);
  EXPECT_EQ(publisher_.dropped, "");
}

TEST_F(TeardownTest, PublisherThatCannotBeReached) {
  publisher_.connect = absl::UnavailableError("refused");
  EXPECT_EQ(Teardown(), 75);
  publisher_.connect = absl::FailedPreconditionError("wrong password");
  EXPECT_EQ(Teardown(), 78);
}

}  // namespace
}  // namespace sublite::testing
