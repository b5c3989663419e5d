#include "applier/wire/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/encode.h"
#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::IsOkAndHolds;
using ::sublite::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kHeader[] = "sublite-capture 1 proto_version=4 streaming=";

TEST(CaptureTest, ReadsHeaderAndFrames) {
  const std::string bytes = std::string(kHeader) + "parallel server=18.4\n" +
                            encode::Int32(3) + "abc" + encode::Int32(0) +
                            encode::Int32(2) + "\n\n";
  ASSERT_OK_AND_ASSIGN(CaptureReader reader, CaptureReader::Open(bytes));
  EXPECT_EQ(reader.header().protocol_version, 4);
  EXPECT_TRUE(reader.header().parallel_streaming);
  EXPECT_EQ(reader.header().text,
            std::string(kHeader) + "parallel server=18.4");
  std::string_view frame;
  EXPECT_THAT(reader.Next(&frame), IsOkAndHolds(true));
  EXPECT_EQ(frame, "abc");
  EXPECT_EQ(reader.record(), 1u);
  EXPECT_EQ(reader.record_offset(), bytes.find('\n') + 1);
  EXPECT_THAT(reader.Next(&frame), IsOkAndHolds(true));
  EXPECT_EQ(frame, "");
  EXPECT_THAT(reader.Next(&frame), IsOkAndHolds(true));
  EXPECT_EQ(frame, "\n\n");
  EXPECT_EQ(reader.record(), 3u);
  EXPECT_EQ(reader.record_offset(), bytes.size() - 6);
  EXPECT_THAT(reader.Next(&frame), IsOkAndHolds(false));
  EXPECT_THAT(reader.Next(&frame), IsOkAndHolds(false));
}

TEST(CaptureTest, StreamingOffAndOnAreReadAlike) {
  for (const char* streaming : {"off", "on"}) {
    ASSERT_OK_AND_ASSIGN(
        const CaptureReader reader,
        CaptureReader::Open(std::string(kHeader) + streaming + "\n"));
    EXPECT_FALSE(reader.header().parallel_streaming);
  }
}

TEST(CaptureTest, RefusesOtherFiles) {
  for (const char* text :
       {"", "sublite-capture 1 proto_version=4 streaming=on", "\n",
        "sublite-capture\n", "sublite-capture 2 proto_version=4 streaming=on\n",
        "pgcapture 1 proto_version=4 streaming=on\n",
        "sublite-capture 1 proto_version=4\n",
        "sublite-capture 1 streaming=on\n",
        "sublite-capture 1 proto_version=0 streaming=on\n",
        "sublite-capture 1 proto_version=5 streaming=on\n",
        "sublite-capture 1 proto_version=44 streaming=on\n",
        "sublite-capture 1 proto_version= streaming=on\n",
        "sublite-capture 1 proto_version=4 streaming=maybe\n",
        "sublite-capture 1 proto_version=4 streaming=on word\n",
        "sublite-capture 1 proto_version=4 streaming=on =x\n",
        "sublite-capture 1  proto_version=4 streaming=on\n"}) {
    EXPECT_THAT(CaptureReader::Open(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("not a sublite capture")))
        << text;
  }
  // A first line that never ends is not searched through.
  EXPECT_THAT(CaptureReader::Open(std::string(1 << 20, 'x') + "\n").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("it has no first line")));
}

TEST(CaptureTest, ARecordThatIsCutOffIsAnErrorThatSaysWhere) {
  const std::string header = std::string(kHeader) + "on\n";
  const std::string bytes =
      header + encode::Int32(1) + "a" + encode::Int32(5) + "bcde";
  const std::string place =
      "record 2 at file offset " + std::to_string(header.size() + 5) + ": ";
  for (std::size_t size = header.size() + 6; size <= bytes.size(); ++size) {
    ASSERT_OK_AND_ASSIGN(
        CaptureReader reader,
        CaptureReader::Open(std::string_view(bytes).substr(0, size)));
    std::string_view frame;
    EXPECT_THAT(reader.Next(&frame), IsOkAndHolds(true));
    EXPECT_THAT(reader.Next(&frame),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(place)));
    EXPECT_THAT(reader.Next(&frame), IsOkAndHolds(false));
  }
}

TEST(CaptureTest, ANegativeLengthIsAnError) {
  const std::string bytes =
      std::string(kHeader) + "on\n" + encode::Int32(0xffffffff) + "abc";
  ASSERT_OK_AND_ASSIGN(CaptureReader reader, CaptureReader::Open(bytes));
  std::string_view frame;
  EXPECT_THAT(reader.Next(&frame), StatusIs(absl::StatusCode::kDataLoss,
                                            HasSubstr("negative length")));
}

}  // namespace
}  // namespace sublite
