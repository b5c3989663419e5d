// Slots: whom making one waits for, what its snapshot sees, and that none is
// left behind (C065, C077, C115).
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kRetry = absl::StatusCode::kUnavailable;

class SlotTest : public PublisherTest {
 protected:
  void TearDown() override {
    for (int i = 0; i < 50; ++i) {
      if (Scalar("SELECT count(*) FROM pg_replication_slots") == "0") break;
      session_
          ->Exec(
              "SELECT pg_drop_replication_slot(slot_name) FROM "
              "pg_replication_slots WHERE NOT active")
          .status()
          .IgnoreError();
      absl::SleepFor(absl::Milliseconds(50));
    }
    PublisherTest::TearDown();
  }
  std::uint64_t CurrentXid(PgSession& session) {
    absl::StatusOr<std::string> text =
        session.Scalar("SELECT txid_current()::text");
    EXPECT_OK(text);
    std::uint64_t xid = 0;
    EXPECT_TRUE(absl::SimpleAtoi(text.value_or(""), &xid));
    return xid;
  }
};

TEST_F(SlotTest, ReadCreateDrop) {
  auto publisher = Connected();
  ASSERT_OK_AND_ASSIGN(SlotState state, publisher->ReadSlot("s"));
  EXPECT_FALSE(state.exists);
  EXPECT_THAT(publisher->DropSlot("s"), StatusIs(absl::StatusCode::kNotFound));

  ASSERT_OK_AND_ASSIGN(
      const CreatedSlot slot,
      publisher->CreateSlot({"s", Since(15), Since(17)}, nullptr));
  ASSERT_OK_AND_ASSIGN(state, publisher->ReadSlot("s"));
  EXPECT_TRUE(state.exists);
  EXPECT_EQ(state.plugin, "pgoutput");
  EXPECT_EQ(state.database, database_);
  EXPECT_FALSE(state.active);
  EXPECT_EQ(state.confirmed_flush, slot.consistent_point);
  EXPECT_TRUE(state.restart.valid());
  EXPECT_EQ(state.two_phase, Since(15));
  EXPECT_FALSE(state.lost);
  if (Since(17)) {
    EXPECT_EQ(Scalar("SELECT failover FROM pg_replication_slots"), "t");
  }
  EXPECT_THAT(publisher->CreateSlot({"s", false, false}, nullptr),
              StatusIs(kPerson, HasSubstr("already exists")));
  EXPECT_OK(publisher->DropSlot("s"));
}

TEST_F(SlotTest, OddNames) {
  auto publisher = Connected();
  ASSERT_OK(publisher->CreateSlot({"1slot", false, false}, nullptr));
  EXPECT_OK(publisher->DropSlot("1slot"));
  for (const char* name : {"a\"b'; DROP TABLE x; --", "", "Upper", "a b"}) {
    EXPECT_THAT(publisher->CreateSlot({name, false, false}, nullptr),
                StatusIs(kPerson, HasSubstr("publisher.slot")));
  }
  ASSERT_OK_AND_ASSIGN(const SlotState state, publisher->ReadSlot("a\"b'; --"));
  EXPECT_FALSE(state.exists);
}

// Exactly what committed before is seen; a transaction that runs is waited for
// and named.
TEST_F(SlotTest, WaitsAndSnapshotIsExact) {
  Sql("CREATE TABLE t (id int)");
  const std::uint64_t before = CurrentXid(*session_);
  ASSERT_OK_AND_ASSIGN(auto running, server().Connect(database_));
  ASSERT_OK(
      running->Exec("SET application_name = 'the culprit'; BEGIN;"
                    "INSERT INTO t VALUES (1)"));
  const std::uint64_t during = CurrentXid(*running);
  auto publisher = Connected();
  std::vector<std::string> waits;
  const auto created =
      publisher->CreateSlot({"s", false, false}, [&](std::string_view whom) {
        waits.emplace_back(whom);
        if (waits.size() > 1) return;
        EXPECT_OK(running->Exec("COMMIT"));
      });
  ASSERT_OK(created);
  ASSERT_FALSE(waits.empty());
  EXPECT_THAT(waits[0],
              AllOf(HasSubstr(absl::StrCat("transaction ", during)),
                    HasSubstr("of pid "), HasSubstr("the culprit"),
                    HasSubstr("idle in transaction"), HasSubstr(" since 2")));
  const std::uint64_t after = CurrentXid(*session_);
  EXPECT_TRUE(created->snapshot.SeesFull(before));
  EXPECT_TRUE(created->snapshot.SeesFull(during));
  EXPECT_FALSE(created->snapshot.SeesFull(after));
  EXPECT_TRUE(created->consistent_point.valid());
}

TEST_F(SlotTest, NamesAPreparedTransaction) {
  Sql("CREATE TABLE t (id int); BEGIN; INSERT INTO t VALUES (1);"
      " PREPARE TRANSACTION 'left ''behind'");
  auto publisher = Connected();
  std::vector<std::string> waits;
  ASSERT_OK(
      publisher->CreateSlot({"s", false, false}, [&](std::string_view whom) {
        waits.emplace_back(whom);
        if (waits.size() == 1) Sql("COMMIT PREPARED 'left ''behind'");
      }));
  ASSERT_FALSE(waits.empty());
  EXPECT_THAT(waits[0], AllOf(HasSubstr("prepared transaction 'left ''behind'"),
                              HasSubstr(" since 2")));
}

TEST_F(SlotTest, StopLeavesNoSlot) {
  Sql("CREATE TABLE t (id int)");
  ASSERT_OK_AND_ASSIGN(auto running, server().Connect(database_));
  ASSERT_OK(running->Exec("BEGIN; INSERT INTO t VALUES (1)"));
  auto publisher = Connected();
  absl::Status status;
  {
    const StopLater later(&stop_, absl::Milliseconds(500));
    EXPECT_LT(
        Measure([&] {
          status = publisher->CreateSlot({"s", false, false}, nullptr).status();
        }),
        kStopBound);
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  // The transaction still runs; nobody waits for it any more.
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_replication_slots"), "0");
  ASSERT_OK(running->Exec("COMMIT"));
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_replication_slots"), "0");
}

// The callback's own connection is gone: the slot must not stay either.
TEST_F(SlotTest, ErrorWhileWaitingLeavesNoSlot) {
  Sql("CREATE TABLE t (id int)");
  ASSERT_OK_AND_ASSIGN(auto running, server().Connect(database_));
  ASSERT_OK(running->Exec("BEGIN; INSERT INTO t VALUES (1)"));
  auto publisher = Connected();
  int waits = 0;
  EXPECT_THAT(
      publisher->CreateSlot({"s", false, false},
                            [&](std::string_view) {
                              if (++waits > 1) return;
                              Sql("SELECT pg_terminate_backend(pid) FROM "
                                  "pg_stat_replication");
                            }),
      StatusIs(kRetry));
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_replication_slots"), "0");
}

// Nor when it is the other connection that is lost.
TEST_F(SlotTest, LosingTheOtherSessionLeavesNoSlot) {
  Sql("CREATE TABLE t (id int)");
  ASSERT_OK_AND_ASSIGN(auto running, server().Connect(database_));
  ASSERT_OK(running->Exec("BEGIN; INSERT INTO t VALUES (1)"));
  auto publisher = Connected();
  int waits = 0;
  EXPECT_THAT(publisher->CreateSlot(
                  {"s", false, false},
                  [&](std::string_view) {
                    if (++waits > 1) return;
                    Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name = 'sublite' AND backend_type ="
                        " 'client backend'");
                  }),
              StatusIs(kRetry));
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_replication_slots"), "0");
  ASSERT_OK(running->Exec("COMMIT"));
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_replication_slots"), "0");
}

// A stop that is noticed while it is being looked up who is waited for.
TEST_F(SlotTest, StopInTheCallbackLeavesNoSlot) {
  Sql("CREATE TABLE t (id int)");
  ASSERT_OK_AND_ASSIGN(auto running, server().Connect(database_));
  ASSERT_OK(running->Exec("BEGIN; INSERT INTO t VALUES (1)"));
  auto publisher = Connected();
  EXPECT_THAT(publisher->CreateSlot({"s", false, false},
                                    [&](std::string_view) { stop_.Request(); }),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(Scalar("SELECT count(*) FROM pg_replication_slots"), "0");
}

TEST_F(SlotTest, ActiveSlotIsNotDropped) {
  Sql("CREATE PUBLICATION pub FOR ALL TABLES");
  auto publisher = Connected();
  ASSERT_OK(publisher->CreateSlot({"s", false, false}, nullptr));
  StreamOptions options;
  options.slot = "s";
  options.publications = {"pub"};
  ASSERT_OK_AND_ASSIGN(auto stream, publisher->StartReplication(options));
  ASSERT_OK_AND_ASSIGN(const SlotState state, publisher->ReadSlot("s"));
  EXPECT_TRUE(state.active);
  EXPECT_GT(state.active_pid, 0);
  EXPECT_THAT(publisher->DropSlot("s"), StatusIs(kRetry, HasSubstr("active")));
  EXPECT_THAT(publisher->StartReplication(options),
              StatusIs(kRetry, HasSubstr("active")));
  stream.reset();
  // The server has freed it by now: goodbye was said.
  EXPECT_OK(publisher->DropSlot("s"));
}

// A role with no more rights than sublite asks for sees who uses a slot, and
// may copy it.
TEST_F(SlotTest, TheUserOfASlotAndItsCopy) {
  if (!Since(12)) GTEST_SKIP() << "slots cannot be copied before 12";
  Sql("CREATE PUBLICATION pub FOR ALL TABLES;"
      "CREATE ROLE device LOGIN REPLICATION;"
      "CREATE ROLE stranger LOGIN REPLICATION");
  auto first = MakePublisher(Conninfo() + " user=device");
  first->Introduce("sublite 0123456789abcdef");
  ASSERT_OK(first->Connect());
  ASSERT_OK(first->CreateSlot({"s", Since(15), false}, nullptr));
  StreamOptions options;
  options.slot = "s";
  options.publications = {"pub"};
  ASSERT_OK_AND_ASSIGN(auto stream, first->StartReplication(options));
  auto second = Connected(Conninfo() + " user=stranger");
  ASSERT_OK_AND_ASSIGN(const SlotState used, second->ReadSlot("s"));
  EXPECT_TRUE(used.active);
  EXPECT_EQ(used.active_name, "sublite 0123456789abcdef");

  EXPECT_OK(second->CopySlot("s", "copy"));
  ASSERT_OK_AND_ASSIGN(const SlotState copy, second->ReadSlot("copy"));
  EXPECT_TRUE(copy.exists);
  EXPECT_FALSE(copy.active);
  EXPECT_EQ(copy.active_name, "");
  EXPECT_EQ(copy.plugin, "pgoutput");
  EXPECT_EQ(copy.confirmed_flush, used.confirmed_flush);
  EXPECT_FALSE(copy.two_phase);
  EXPECT_FALSE(second->CopySlot("s", "copy").ok());
  EXPECT_FALSE(second->CopySlot("none", "other").ok());
  EXPECT_THAT(second->CopySlot("s", "No'Name"), StatusIs(kPerson));
  stream.reset();
  EXPECT_OK(first->DropSlot("s"));
  EXPECT_OK(first->DropSlot("copy"));
  first.reset();
  second.reset();
  Sql("DROP ROLE device; DROP ROLE stranger");
}

TEST_F(SlotTest, RoleWithoutReplication) {
  Sql("CREATE ROLE slotless LOGIN");
  EXPECT_THAT(MakePublisher(Conninfo() + " user=slotless")->Connect(),
              StatusIs(kPerson, HasSubstr("REPLICATION")));
  Sql("DROP ROLE slotless");
}

class OtherServerTest : public ::testing::Test {
 protected:
  StopSignal stop_;
};

TEST_F(OtherServerTest, WalLevelReplica) {
  PgServerOptions options;
  options.settings = {{"wal_level", "replica"}};
  ASSERT_OK_AND_ASSIGN(auto server, PgServer::Start(options));
  LibpqPublisherOptions publisher_options;
  publisher_options.conninfo = Secret(server->Conninfo());
  LibpqPublisher publisher(publisher_options, &stop_);
  ASSERT_OK(publisher.Connect());
  EXPECT_THAT(
      publisher.CreateSlot({"s", false, false}, nullptr),
      StatusIs(kPerson, AllOf(HasSubstr("wal_level"), HasSubstr("restart"))));
}

// C079: a promoted server tells where it left the timeline before.
TEST_F(OtherServerTest, TimelineHistory) {
  ASSERT_OK_AND_ASSIGN(auto server, PgServer::Start());
  if (server->major_version() < 12) GTEST_SKIP() << "no pg_promote() before 12";
  LibpqPublisherOptions publisher_options;
  publisher_options.conninfo = Secret(server->Conninfo());
  LibpqPublisher publisher(publisher_options, &stop_);
  ASSERT_OK_AND_ASSIGN(const PublisherIdentity before, publisher.Connect());
  EXPECT_EQ(before.timeline, 1u);
  EXPECT_TRUE(before.history.empty());
  ASSERT_OK_AND_ASSIGN(const std::string data,
                       server->Scalar("SHOW data_directory"));
  ASSERT_OK(server->Stop());
  std::ofstream(data + "/standby.signal") << "\n";
  ASSERT_OK(server->StartAgain());
  ASSERT_OK(server->Exec("SELECT pg_promote()"));
  ASSERT_OK_AND_ASSIGN(const PublisherIdentity after, publisher.Connect());
  EXPECT_EQ(after.system_identifier, before.system_identifier);
  EXPECT_EQ(after.timeline, 2u);
  ASSERT_EQ(after.history.size(), 1u);
  EXPECT_EQ(after.history[0].timeline, 1u);
  EXPECT_GE(after.history[0].left_at, before.wal_end);
  EXPECT_LE(after.history[0].left_at, after.wal_end);
}

// C077.
TEST_F(OtherServerTest, LostSlot) {
  PgServerOptions options;
  options.settings = {{"max_slot_wal_keep_size", "1MB"},
                      {"max_replication_slots", "1"},
                      {"min_wal_size", "32MB"},
                      {"max_wal_size", "32MB"}};
  ASSERT_OK_AND_ASSIGN(auto server, PgServer::Start(options));
  if (server->major_version() < 13) GTEST_SKIP() << "no limit before 13";
  LibpqPublisherOptions publisher_options;
  publisher_options.conninfo = Secret(server->Conninfo());
  LibpqPublisher publisher(publisher_options, &stop_);
  ASSERT_OK(publisher.Connect());
  ASSERT_OK(publisher.CreateSlot({"s", false, false}, nullptr));
  EXPECT_THAT(publisher.CreateSlot({"s2", false, false}, nullptr),
              StatusIs(kPerson, HasSubstr("max_replication_slots")));
  ASSERT_OK(server->Exec("CREATE TABLE t (id int)"));
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(server->Exec("INSERT INTO t VALUES (1)"));
    ASSERT_OK(server->Exec("SELECT pg_switch_wal()"));
    ASSERT_OK(server->Exec("CHECKPOINT"));
  }
  ASSERT_OK_AND_ASSIGN(const SlotState state, publisher.ReadSlot("s"));
  EXPECT_TRUE(state.exists);
  EXPECT_TRUE(state.lost);
  EXPECT_NE(state.lost_reason, "");
  ASSERT_OK(server->Exec("CREATE PUBLICATION pub FOR TABLE t"));
  StreamOptions stream;
  stream.slot = "s";
  stream.publications = {"pub"};
  EXPECT_THAT(publisher.StartReplication(stream), StatusIs(kPerson));
  EXPECT_OK(publisher.DropSlot("s"));
}

}  // namespace
}  // namespace sublite::testing
