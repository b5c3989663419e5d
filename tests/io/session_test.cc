// Long waits on a session: the probe tells a busy server from one that is gone.
#include "absl/strings/str_cat.h"
#include "applier/io/libpq_session.h"
#include "applier/io/libpq_sessions.h"
#include "tests/io/proxy.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kRetry = absl::StatusCode::kUnavailable;

class SessionTest : public PublisherTest {
 protected:
  void SetUp() override {
    PublisherTest::SetUp();
    proxy_ = std::make_unique<Proxy>(server().port());
    absl::StatusOr<sublite::Conninfo> conninfo = sublite::Conninfo::Resolve(
        Secret(absl::StrCat(
            "host=127.0.0.1 port=", proxy_->port(),
            " user=postgres connect_timeout=2 dbname=", database_)),
        Secret());
    ASSERT_OK(conninfo);
    auto shared = std::make_shared<const sublite::Conninfo>(*conninfo);
    ConnectTarget target;
    ASSERT_OK_AND_ASSIGN(
        auto replication,
        OpenAnySession(shared, ConnectionKind::kReplication, &stop_, &target));
    ASSERT_OK_AND_ASSIGN(identity_, Identify(*replication));
    sessions_ =
        std::make_unique<OrdinarySessions>(shared, target, identity_, &stop_);
  }
  WaitLimits Probing(int pid) const {
    WaitLimits limits;
    limits.timeout = absl::InfiniteDuration();
    limits.probe_after = absl::Milliseconds(200);
    limits.probe = [this, pid] { return sessions_->Probe(pid); };
    return limits;
  }

  std::unique_ptr<Proxy> proxy_;
  PublisherIdentity identity_;
  std::unique_ptr<OrdinarySessions> sessions_;
};

TEST_F(SessionTest, ABusyServerIsWaitedFor) {
  ASSERT_OK_AND_ASSIGN(auto session, sessions_->Take());
  const int before = proxy_->connections();
  EXPECT_OK(session->Query("SELECT pg_sleep(1)", "sleeping",
                           Probing(session->backend_pid())));
  EXPECT_GT(proxy_->connections(), before);  // it was asked
}

TEST_F(SessionTest, AServerThatIsGoneIsNot) {
  ASSERT_OK_AND_ASSIGN(auto session, sessions_->Take());
  proxy_->SetPaused(true);
  absl::Status status;
  EXPECT_LT(Measure([&] {
              status = session
                           ->Query("SELECT pg_sleep(100)", "sleeping",
                                   Probing(session->backend_pid()))
                           .status();
            }),
            absl::Seconds(10));
  EXPECT_THAT(status, StatusIs(kRetry, HasSubstr("sleeping: no answer")));
  EXPECT_FALSE(session->usable());
  proxy_->SetPaused(false);
}

TEST_F(SessionTest, ASessionThatIsGoneIsNoticed) {
  EXPECT_THAT(sessions_->Probe(1), StatusIs(kRetry, HasSubstr("has ended")));
}

TEST_F(SessionTest, TimeOut) {
  ASSERT_OK_AND_ASSIGN(auto session, sessions_->Take());
  WaitLimits limits;
  limits.timeout = absl::Milliseconds(100);
  EXPECT_THAT(session->Query("SELECT pg_sleep(100)", "sleeping", limits),
              StatusIs(kRetry, HasSubstr("no answer within 100ms")));
  EXPECT_FALSE(session->usable());
}

TEST_F(SessionTest, WhatIsGivenBackInATransactionIsClosed) {
  ASSERT_OK_AND_ASSIGN(auto session, sessions_->Take());
  ASSERT_OK(session->Query("BEGIN", "beginning"));
  sessions_->Give(std::move(session));
  bool kept = true;
  ASSERT_OK_AND_ASSIGN(session, sessions_->Take(&kept));
  EXPECT_FALSE(kept);
  sessions_->Give(std::move(session));
  ASSERT_OK_AND_ASSIGN(session, sessions_->Take(&kept));
  EXPECT_TRUE(kept);
}

TEST_F(SessionTest, AnotherServerIsNoticed) {
  ASSERT_OK_AND_ASSIGN(auto session, sessions_->Take());
  EXPECT_OK(CheckSameServer(*session, identity_));
  PublisherIdentity other = identity_;
  other.system_identifier = "1";
  EXPECT_THAT(CheckSameServer(*session, other),
              StatusIs(kRetry, HasSubstr("two different servers")));
}

}  // namespace
}  // namespace sublite::testing
