// The tests' own writers (tests/support/encode) against real bytes: each golden
// message, decoded and written again, is the same bytes. It shows that decoding
// loses nothing, too.
#include "tests/support/encode.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>

#include "applier/wire/decode.h"
#include "applier/wire/frame.h"
#include "tests/wire/golden.h"
#include "tests/wire/rewrite.h"

namespace sublite {
namespace {

TEST(EncodeTest, WritesEveryGoldenMessageByteForByte) {
  std::set<std::size_t> kinds;
  DecodeScratch scratch;
  for (const testing::GoldenCapture& capture : testing::GoldenCaptures()) {
    for (const testing::GoldenFrame& golden : capture.frames) {
      const absl::StatusOr<ServerFrame> frame = ParseFrame(golden.bytes);
      ASSERT_TRUE(frame.ok());
      EXPECT_EQ(testing::Rewrite(*frame), golden.bytes);
      if (golden.payload.empty()) continue;
      const absl::StatusOr<Message> message =
          Decode(golden.payload, golden.context, scratch);
      ASSERT_TRUE(message.ok()) << message.status();
      EXPECT_EQ(testing::Rewrite(*message, golden.payload), golden.payload)
          << capture.Name() << " record " << golden.record;
      kinds.insert(message->index());
    }
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
}

}  // namespace
}  // namespace sublite
