#include "applier/io/wait.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "applier/io/resolve_host.h"
#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::StatusIs;

TEST(WaitTest, DeadlinesSaturate) {
  EXPECT_EQ(SteadyIn(absl::InfiniteDuration()), SteadyTime::max());
  EXPECT_EQ(PollTimeout(SteadyTime::max()), -1);
  EXPECT_EQ(PollTimeout(SteadyNow()), 0);
  EXPECT_EQ(PollTimeout(SteadyIn(-absl::Seconds(5))), 0);
  const int timeout = PollTimeout(SteadyIn(absl::Milliseconds(1500)));
  EXPECT_GT(timeout, 1000);
  EXPECT_LE(timeout, 1500);
}

TEST(WaitTest, ReadyTimedOutStopped) {
  EventFd event;
  StopSignal stop;
  EXPECT_EQ(WaitFor(event.fd(), POLLIN, SteadyIn(absl::Milliseconds(5)), &stop),
            Waited::kTimedOut);
  event.Set();
  EXPECT_EQ(WaitFor(event.fd(), POLLIN, SteadyTime::max(), &stop),
            Waited::kReady);
  event.Clear();
  EXPECT_EQ(WaitFor(event.fd(), POLLIN, SteadyNow(), &stop), Waited::kTimedOut);
  std::thread other([&] { stop.Request(); });
  EXPECT_EQ(WaitFor(event.fd(), POLLIN, SteadyTime::max(), &stop),
            Waited::kStopped);
  other.join();
  event.Set();
  EXPECT_EQ(WaitFor(event.fd(), POLLIN, SteadyTime::max(), &stop),
            Waited::kStopped);
}

TEST(ResolveHostTest, NumericAndUnknown) {
  const auto numeric =
      ResolveHost("127.0.0.1", SteadyIn(absl::Seconds(30)), nullptr);
  ASSERT_OK(numeric);
  EXPECT_EQ(numeric->at(0), "127.0.0.1");
  EXPECT_THAT(
      ResolveHost("no.such.host.invalid", SteadyIn(absl::Seconds(30)), nullptr),
      StatusIs(absl::StatusCode::kUnavailable));
}

TEST(ResolveHostTest, CanBeLeft) {
  StopSignal stop;
  stop.Request();
  EXPECT_THAT(ResolveHost("no.such.host.invalid", SteadyTime::max(), &stop),
              StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace sublite
