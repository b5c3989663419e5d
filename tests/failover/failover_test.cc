// A primary, its standby, and a promotion: nothing is applied blindly (C079).
//
// For all servers from 12 on; what only newer ones can is in standby_test and
// failover_slot_test.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/io/libpq_session.h"
#include "tests/failover/failover_fixture.h"
#include "tests/support/subprocess.h"

namespace sublite::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kReadWrite[] = " target_session_attrs=read-write";
constexpr char kSublites[] =
    "SELECT count(*) FROM pg_stat_activity WHERE application_name ~ "
    "'^sublite( [0-9a-f]{16})?$'";

class PromotionTest : public FailoverTest {
 protected:
  void StartBoth() {
    if (!StartPrimary(12)) GTEST_SKIP() << "standbys of servers before 12";
    auto standby = PgServer::StartStandby(*primary_);
    ASSERT_OK(standby);
    standby_ = *std::move(standby);
  }
  std::string Both() const {
    return Hosts({primary_.get(), standby_.get()}) + kReadWrite;
  }
  // Writes on `server` until it is past where sublite is.
  void WritePast(PgServer& server, const std::string& applied) {
    AwaitTrue("the server's WAL passes " + applied, [&] {
      Sql(server,
          "SELECT pg_logical_emit_message(false, 'x', repeat('x', 100000))");
      return Scalar(server, absl::StrCat("SELECT pg_current_wal_lsn() > '",
                                         applied, "'")) == "t";
    });
  }

  std::unique_ptr<PgServer> standby_;
};

// Slots are not part of physical replication.
TEST_F(PromotionTest, WithoutTheSlotAllIsCopiedAnew) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(Both());
  AwaitSame(*primary_);
  Sql("INSERT INTO t VALUES (1000, 'before')");
  AwaitSame(*primary_);
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->Promote());
  Sql(*standby_,
      "INSERT INTO t VALUES (1001, 'after'); DELETE FROM t"
      " WHERE id = 5");
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("slot s is gone")));
  Sql(*standby_, "UPDATE t SET v = 'followed' WHERE id = 6");
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), SizeIs(1));
  EXPECT_EQ(Read("SELECT consistent FROM sublite_status"), "1");
}

// The standby never got what sublite has: the server is on another timeline,
// with a slot and a position that would both do.
TEST_F(PromotionTest, WithALoss) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(Both());
  AwaitSame(*primary_);
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(standby_->Stop());
  for (int i = 0; i < 20; ++i) {
    Sql(absl::StrCat("INSERT INTO t VALUES (", 1000 + i,
                     ", repeat('lost', 10000))"));
  }
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  const std::string applied = Read("SELECT applied_lsn FROM sublite_status");
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->StartAgain());
  ASSERT_OK(standby_->Promote());
  // As some tools make it after a failover.
  Sql(*standby_, "SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
  ASSERT_EQ(
      Scalar(*standby_, absl::StrCat("SELECT confirmed_flush_lsn < '", applied,
                                     "' FROM pg_replication_slots")),
      "t");
  Sql(*standby_, "INSERT INTO t VALUES (1000, 'another past')");
  WritePast(*standby_, applied);
  StartSublite(Both());
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"),
              ElementsAre(HasSubstr("failed over to timeline 2 at")));
}

// The same, but the server has not written as much yet.
TEST_F(PromotionTest, WithALossAndBehind) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(Both());
  AwaitSame(*primary_);
  ASSERT_OK(standby_->Stop());
  Sql("INSERT INTO t SELECT 1000 + i, repeat('lost', 1000)"
      " FROM generate_series(1, 1000) i");
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->StartAgain());
  ASSERT_OK(standby_->Promote());
  Sql(*standby_, "SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
  StartSublite(Both());
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("failed over with a loss")));
}

// Nothing is lost, but the slot that was made by hand begins later.
TEST_F(PromotionTest, ASlotThatWasMadeLater) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(Both());
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->Promote());
  Sql(*standby_, "INSERT INTO t VALUES (1000, 'in no slot')");
  Sql(*standby_, "SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
  StartSublite(Both());
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("has moved to")));
}

// Two standbys that were promoted apart both call their timeline 2.
TEST_F(PromotionTest, TwoServersWithOneTimelineNumber) {
  StartBoth();
  if (IsSkipped()) return;
  ASSERT_OK_AND_ASSIGN(const auto other, PgServer::StartStandby(*primary_));
  ASSERT_OK(other->CatchUp(*primary_));
  ASSERT_OK(other->Stop());
  Sql("INSERT INTO t VALUES (1000, 'not on the other')");
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(primary_->Crash());
  ASSERT_OK(standby_->Promote());
  StartSublite(standby_->Conninfo());
  AwaitSame(*standby_);
  Sql(*standby_,
      "INSERT INTO t SELECT 2000 + i, repeat('here', 1000)"
      " FROM generate_series(1, 100) i");
  AwaitSame(*standby_);
  ASSERT_OK(StopSublite());
  const std::string applied = Read("SELECT applied_lsn FROM sublite_status");
  EXPECT_THAT(Events("gap"), IsEmpty());
  ASSERT_OK(standby_->Crash());
  ASSERT_OK(other->StartAgain());
  ASSERT_OK(other->Promote());
  Sql(*other, "SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
  Sql(*other, "INSERT INTO t VALUES (3000, 'there')");
  WritePast(*other, applied);
  StartSublite(other->Conninfo());
  AwaitSame(*other);
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("two servers were")));
}

// The files of a backup are put in the place of the server's, its slot
// included. (It is the same timeline still; were it past the replica when it is
// seen again, nothing would tell.)
TEST_F(PromotionTest, RestoredToAnEarlierTime) {
  StartBoth();
  if (IsSkipped()) return;
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  ASSERT_OK(primary_->Stop());
  const std::string data = primary_->host() + "/data";
  const auto run = [](const std::vector<std::string>& command) {
    ASSERT_OK_AND_ASSIGN(const auto process, Subprocess::Start(command));
    ASSERT_EQ(process->Wait(absl::Seconds(60)), 0);
  };
  run({"cp", "-a", data, data + "-backup"});
  ASSERT_OK(primary_->StartAgain());
  Sql("INSERT INTO t SELECT 1000 + i, repeat('after', 1000)"
      " FROM generate_series(1, 1000) i");
  AwaitSame(*primary_);
  ASSERT_OK(StopSublite());
  ASSERT_OK(primary_->Crash());
  run({"rm", "-r", data});
  run({"mv", data + "-backup", data});
  ASSERT_OK(primary_->StartAgain());
  Sql("INSERT INTO t VALUES (1000, 'another future')");
  StartSublite(primary_->Conninfo());
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"),
              ElementsAre(HasSubstr("restored to an earlier time")));
}

// ---- several hosts

TEST_F(PromotionTest, TheFirstHostIsDown) {
  StartBoth();
  if (IsSkipped()) return;
  ASSERT_OK(standby_->Stop());
  StartSublite(Hosts({standby_.get(), primary_.get()}));
  AwaitSame(*primary_);
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// Both connections go where the first went.
TEST_F(PromotionTest, TheFirstHostIsAStandby) {
  StartBoth();
  if (IsSkipped()) return;
  for (const char* attrs : {"read-write", "primary"}) {
    StartSublite(Hosts({standby_.get(), primary_.get()}) +
                 " target_session_attrs=" + attrs);
    AwaitSame(*primary_);
    AwaitTrue("both sessions are on the primary",
              [&] { return Scalar(*primary_, kSublites) == "2"; });
    EXPECT_EQ(Scalar(*standby_, kSublites), "0");
    ASSERT_OK(StopSublite());
  }
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// A standby has the system identifier of its primary, and is another server.
TEST_F(PromotionTest, AStandbyIsAnotherServer) {
  StartBoth();
  if (IsSkipped()) return;
  StopSignal stop;
  const auto open = [&](const PgServer& server, ConnectionKind kind) {
    auto conninfo =
        sublite::Conninfo::Resolve(Secret(server.Conninfo()), Secret());
    EXPECT_OK(conninfo);
    ConnectTarget target;
    auto connection =
        OpenAnySession(std::make_shared<const sublite::Conninfo>(*conninfo),
                       kind, &stop, &target);
    EXPECT_OK(connection);
    return *std::move(connection);
  };
  auto replication = open(*primary_, ConnectionKind::kReplication);
  ASSERT_OK_AND_ASSIGN(const PublisherIdentity primary, Identify(*replication));
  replication = open(*standby_, ConnectionKind::kReplication);
  ASSERT_OK_AND_ASSIGN(const PublisherIdentity standby, Identify(*replication));
  EXPECT_EQ(primary.system_identifier, standby.system_identifier);
  EXPECT_FALSE(primary.in_recovery);
  EXPECT_TRUE(standby.in_recovery);
  for (const ConnectionKind kind :
       {ConnectionKind::kReplication, ConnectionKind::kOrdinary}) {
    auto session = open(*standby_, kind);
    EXPECT_OK(CheckSameServer(*session, standby));
    EXPECT_THAT(CheckSameServer(*session, primary),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("two different servers")));
  }
}

// It cannot be followed before 16. That is nothing that only a person can mend:
// it may be promoted at any moment.
TEST_F(PromotionTest, AnOldStandbyIsWaitedFor) {
  StartBoth();
  if (IsSkipped()) return;
  if (primary_->major_version() >= 16) GTEST_SKIP() << "it can be followed";
  StartSublite(standby_->Conninfo());
  AwaitTrue("it is said", [] {
    for (const std::string& line : LogLines()) {
      if (line.find("waiting until it is promoted") != std::string::npos) {
        return true;
      }
    }
    return false;
  });
  ASSERT_OK(standby_->CatchUp(*primary_));
  ASSERT_OK(standby_->Promote());
  AwaitSame(*standby_);
  EXPECT_THAT(Events("gap"), IsEmpty());
}

}  // namespace
}  // namespace sublite::testing
