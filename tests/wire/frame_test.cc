#include "applier/wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/support/encode.h"
#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::StatusIs;
using ::testing::HasSubstr;

constexpr Lsn kStart(0x1111111122222222);
constexpr Lsn kEnd(0x3333333344444444);
constexpr PgTime kTime{0x0102030405060708};

TEST(FrameTest, ParsesXLogData) {
  const std::string bytes = encode::XLogData(kStart, kEnd, kTime, "payload");
  ASSERT_OK_AND_ASSIGN(const ServerFrame frame, ParseFrame(bytes));
  const auto& data = std::get<XLogData>(frame);
  EXPECT_EQ(data.data_start, kStart);
  EXPECT_EQ(data.wal_end, kEnd);
  EXPECT_EQ(data.server_time.micros, kTime.micros);
  EXPECT_EQ(data.payload, "payload");
  EXPECT_EQ(data.payload.data(), bytes.data() + 25);
}

TEST(FrameTest, ParsesKeepalive) {
  for (const bool reply : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const ServerFrame frame,
                         ParseFrame(encode::Keepalive(kEnd, kTime, reply)));
    const auto& keepalive = std::get<Keepalive>(frame);
    EXPECT_EQ(keepalive.wal_end, kEnd);
    EXPECT_EQ(keepalive.server_time.micros, kTime.micros);
    EXPECT_EQ(keepalive.reply_requested, reply);
  }
}

TEST(FrameTest, EncodesStatusUpdatesByteForByte) {
  StatusUpdate update;
  update.written = Lsn(0x0000000100000002);
  update.flushed = Lsn(0x0000000300000004);
  update.applied = Lsn(0xFFFFFFFF00000006);
  update.client_time = PgTime{-2};
  update.reply_requested = true;
  EXPECT_EQ(EncodeStatusUpdate(update),
            std::string("r\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\xff\xff\xff\xff\0\0"
                        "\0\6\xff\xff\xff\xff\xff\xff\xff\xfe\1",
                        34));
  EXPECT_EQ(EncodeStatusUpdate(StatusUpdate{}), "r" + std::string(33, '\0'));
}

TEST(FrameTest, EveryCutIsAnErrorThatNamesTheFrame) {
  const std::string data = encode::XLogData(kStart, kEnd, kTime, "");
  for (std::size_t size = 1; size < data.size(); ++size) {
    EXPECT_THAT(
        ParseFrame(data.substr(0, size)),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("XLogData: offset ")));
  }
  const std::string keepalive = encode::Keepalive(kEnd, kTime, true);
  for (std::size_t size = 1; size < keepalive.size(); ++size) {
    EXPECT_THAT(
        ParseFrame(keepalive.substr(0, size)),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("keepalive: offset ")));
  }
  EXPECT_THAT(ParseFrame(""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 0")));
}

TEST(FrameTest, RefusesWhatNoServerSends) {
  EXPECT_THAT(
      ParseFrame("zabc"),
      StatusIs(absl::StatusCode::kUnimplemented,
               "replication frame: offset 0: frame kind 'w' or 'k' expected, "
               "not 0x7a"));
  EXPECT_THAT(ParseFrame(encode::Keepalive(kEnd, kTime, true) + "x"),
              StatusIs(absl::StatusCode::kDataLoss,
                       "keepalive: offset 18: 1 bytes follow the end of the "
                       "message"));
  std::string keepalive = encode::Keepalive(kEnd, kTime, true);
  keepalive.back() = 2;
  EXPECT_THAT(ParseFrame(keepalive),
              StatusIs(absl::StatusCode::kDataLoss,
                       "keepalive: offset 17: reply flag 0 or 1 expected, "
                       "not 2"));
}

}  // namespace
}  // namespace sublite
