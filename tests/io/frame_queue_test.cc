#include "applier/io/frame_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::StatusIs;

void PushOne(FrameQueue& queue, const std::string& bytes) {
  std::vector<Frame> frames;
  frames.push_back(Frame::Copy(bytes));
  queue.Push(&frames, FrameQueue::Cost(bytes.size()));
}

TEST(FrameQueueTest, DeliversBeforeTheError) {
  EventFd wake;
  FrameQueue queue(1000, &wake);
  PushOne(queue, "a");
  PushOne(queue, "b");
  queue.Finish(absl::UnavailableError("gone"));
  EXPECT_TRUE(queue.HasFrames());
  std::vector<Frame> frames;
  ASSERT_OK(queue.Receive(absl::Seconds(1), nullptr, &frames));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].bytes(), "b");
  EXPECT_FALSE(queue.HasFrames());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(queue.Receive(absl::Seconds(1), nullptr, &frames),
                StatusIs(absl::StatusCode::kUnavailable));
  }
}

TEST(FrameQueueTest, TimesOutWithNothing) {
  EventFd wake;
  FrameQueue queue(1000, &wake);
  std::vector<Frame> frames;
  EXPECT_OK(queue.Receive(absl::ZeroDuration(), nullptr, &frames));
  EXPECT_OK(queue.Receive(absl::Milliseconds(20), nullptr, &frames));
  EXPECT_TRUE(frames.empty());
}

TEST(FrameQueueTest, TellsThatMoreIsExpectedAndWakesWhenItIsNot) {
  EventFd wake;
  FrameQueue queue(1000, &wake);
  queue.SetExpecting(true);
  EXPECT_TRUE(queue.HasMore());
  EXPECT_FALSE(queue.HasFrames());
  std::vector<Frame> frames;
  std::thread producer([&] { queue.SetExpecting(false); });
  EXPECT_OK(queue.Receive(absl::InfiniteDuration(), nullptr, &frames));
  producer.join();
  EXPECT_TRUE(frames.empty());
  EXPECT_FALSE(queue.HasMore());
  // The wake-up was for that once.
  EXPECT_OK(queue.Receive(absl::Milliseconds(1), nullptr, &frames));
  queue.SetExpecting(false);
  PushOne(queue, "a");
  EXPECT_OK(queue.Receive(absl::Seconds(9), nullptr, &frames));
  EXPECT_EQ(frames.size(), 1u);
}

TEST(FrameQueueTest, NothingIsExpectedAfterTheEnd) {
  EventFd wake;
  FrameQueue queue(1000, &wake);
  queue.SetExpecting(true);
  queue.Finish(absl::UnavailableError("gone"));
  EXPECT_FALSE(queue.HasMore());
}

TEST(FrameQueueTest, StopGoesBeforeFrames) {
  EventFd wake;
  StopSignal stop;
  FrameQueue queue(1000, &wake);
  PushOne(queue, "a");
  stop.Request();
  std::vector<Frame> frames;
  EXPECT_THAT(queue.Receive(absl::Seconds(9), &stop, &frames),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(frames.empty());
}

TEST(FrameQueueTest, OneFrameAlwaysFitsAndFullWakesLater) {
  EventFd wake;
  FrameQueue queue(100, &wake);
  EXPECT_GT(queue.Room(), 0u);
  PushOne(queue, std::string(100000, 'x'));
  EXPECT_EQ(queue.Room(), 0u);
  EXPECT_EQ(WaitFor(wake.fd(), 1, SteadyNow(), nullptr), Waited::kTimedOut);
  std::vector<Frame> frames;
  ASSERT_OK(queue.Receive(absl::Seconds(1), nullptr, &frames));
  EXPECT_EQ(frames[0].bytes().size(), 100000u);
  EXPECT_EQ(WaitFor(wake.fd(), 1, SteadyNow(), nullptr), Waited::kReady);
  EXPECT_GT(queue.Room(), 0u);
}

TEST(FrameQueueTest, AppendsToWhatTheCallerHas) {
  EventFd wake;
  FrameQueue queue(1000, &wake);
  std::vector<Frame> frames;
  frames.push_back(Frame::Copy("old"));
  PushOne(queue, "new");
  ASSERT_OK(queue.Receive(absl::Seconds(1), nullptr, &frames));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].bytes(), "old");
  EXPECT_EQ(frames[1].bytes(), "new");
}

TEST(FrameQueueTest, OrderHoldsBetweenThreads) {
  constexpr int kFrames = 20000;
  EventFd wake;
  FrameQueue queue(10 * FrameQueue::Cost(5), &wake);
  std::thread producer([&] {
    for (int i = 0; i < kFrames; ++i) {
      while (queue.Room() == 0) {
        WaitFor(wake.fd(), 1, SteadyIn(absl::Seconds(10)), nullptr);
        wake.Clear();
      }
      PushOne(queue, absl::StrCat(i));
    }
    queue.Finish(absl::UnavailableError("end"));
  });
  int next = 0;
  std::vector<Frame> frames;
  while (true) {
    frames.clear();
    if (!queue.Receive(absl::Seconds(10), nullptr, &frames).ok()) break;
    for (const Frame& frame : frames) {
      int number = -1;
      const std::string text(frame.bytes());
      ASSERT_TRUE(absl::SimpleAtoi(text, &number));
      ASSERT_EQ(number, next++);
    }
  }
  EXPECT_EQ(next, kFrames);
  producer.join();
}

}  // namespace
}  // namespace sublite
