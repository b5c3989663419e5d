// Every prefix of every golden frame, and every byte of it changed: the decoder
// gives a message or an error that names message, offset and LSN, and reads no
// byte outside (run under asan for that).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "applier/wire/decode.h"
#include "applier/wire/frame.h"
#include "tests/wire/golden.h"
#include "tests/wire/touch.h"

namespace sublite {
namespace {

// Up to this size each byte takes all of its 255 other values.
constexpr std::size_t kExhaustiveBytesMax = 200;

// Bytes that end exactly where their memory ends, so that asan sees a read past
// them.
class ExactBytes {
 public:
  explicit ExactBytes(std::string_view bytes)
      : data_(new char[bytes.size()]), size_(bytes.size()) {
    bytes.copy(data_.get(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }
  char& operator[](std::size_t i) { return data_[i]; }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_;
};

class MutationTest : public ::testing::TestWithParam<testing::GoldenCapture> {
 protected:
  // Decodes; a result is read whole, an error is looked at. False for an error.
  bool Try(std::string_view payload, const DecodeContext& context) {
    const absl::StatusOr<Message> message = Decode(payload, context, scratch_);
    if (message.ok()) {
      touched_ += testing::Touch(*message);
      return true;
    }
    CheckError(message.status(), payload, context);
    return false;
  }

  void TryFrame(std::string_view bytes) {
    const absl::StatusOr<ServerFrame> frame = ParseFrame(bytes);
    if (frame.ok()) return;
    EXPECT_TRUE(absl::StrContains(frame.status().message(), "offset "))
        << frame.status();
    EXPECT_TRUE(absl::StrContains(frame.status().message(), "XLogData: ") ||
                absl::StrContains(frame.status().message(), "keepalive: ") ||
                absl::StrContains(frame.status().message(), "frame: "))
        << frame.status();
  }

  static std::vector<char> OtherValues(char byte, bool exhaustive) {
    std::set<char> values;
    for (int value = 0; value < 256; ++value) {
      if (exhaustive) values.insert(static_cast<char>(value));
    }
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff, byte + 1, byte - 1}) {
      values.insert(static_cast<char>(value));
    }
    for (int bit = 0; bit < 8; ++bit) {
      values.insert(static_cast<char>(byte ^ 1 << bit));
    }
    values.erase(byte);
    return {values.begin(), values.end()};
  }

  std::uint64_t touched_ = 0;

 private:
  void CheckError(const absl::Status& status, std::string_view payload,
                  const DecodeContext& context) {
    ASSERT_TRUE(status.code() == absl::StatusCode::kDataLoss ||
                status.code() == absl::StatusCode::kUnimplemented)
        << status;
    std::string place = "message";
    if (!payload.empty()) {
      const std::string_view name = MessageName(payload.front());
      if (!name.empty()) place = std::string(name);
    }
    ASSERT_TRUE(absl::StartsWith(status.message(), place)) << status;
    ASSERT_TRUE(absl::StrContains(status.message(), ": offset ")) << status;
    if (context.lsn.valid()) {
      ASSERT_TRUE(absl::StrContains(status.message(),
                                    " at " + context.lsn.ToString() + ": "))
          << status;
    }
  }

  DecodeScratch scratch_;
};

TEST_P(MutationTest, EveryPrefixOfAMessageIsAnError) {
  for (const testing::GoldenFrame& frame : GetParam().frames) {
    for (std::size_t size = 0; size < frame.payload.size(); ++size) {
      const ExactBytes prefix(std::string_view(frame.payload).substr(0, size));
      EXPECT_FALSE(Try(prefix.view(), frame.context))
          << "record " << frame.record << ", " << size << " bytes";
    }
  }
}

TEST_P(MutationTest, EveryPrefixOfAFrameIsAnErrorOrAShorterFrame) {
  for (const testing::GoldenFrame& frame : GetParam().frames) {
    for (std::size_t size = 0; size < frame.bytes.size(); ++size) {
      const ExactBytes prefix(std::string_view(frame.bytes).substr(0, size));
      TryFrame(prefix.view());
    }
  }
}

TEST_P(MutationTest, EveryChangedByteOfAMessage) {
  for (const testing::GoldenFrame& frame : GetParam().frames) {
    const bool exhaustive = frame.payload.size() < kExhaustiveBytesMax;
    ExactBytes changed(frame.payload);
    for (std::size_t i = 0; i < changed.size(); ++i) {
      for (const char value : OtherValues(frame.payload[i], exhaustive)) {
        changed[i] = value;
        Try(changed.view(), frame.context);
      }
      changed[i] = frame.payload[i];
    }
  }
}

TEST_P(MutationTest, EveryChangedByteOfTheEnvelope) {
  constexpr std::size_t kEnvelopeBytes = 25;
  for (const testing::GoldenFrame& frame : GetParam().frames) {
    ExactBytes changed(frame.bytes);
    for (std::size_t i = 0; i < std::min(kEnvelopeBytes, changed.size()); ++i) {
      for (const char value : OtherValues(frame.bytes[i], i == 0)) {
        changed[i] = value;
        TryFrame(changed.view());
      }
      changed[i] = frame.bytes[i];
    }
  }
}

// The same bytes read as another connection would: another version, inside or
// outside of a stream block, with the other form of Stream Abort.
TEST_P(MutationTest, EveryMessageInEveryContext) {
  for (const testing::GoldenFrame& frame : GetParam().frames) {
    const ExactBytes payload(frame.payload);
    for (int version = 1; version <= 4; ++version) {
      for (const bool in_stream_block : {false, true}) {
        for (const bool parallel : {false, true}) {
          DecodeContext context = frame.context;
          context.protocol_version = version;
          context.in_stream_block = in_stream_block;
          context.parallel_streaming = parallel;
          Try(payload.view(), context);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MutationTest,
                         ::testing::ValuesIn(testing::GoldenCaptures()),
                         [](const auto& info) {
                           return testing::TestNameOf(info.param);
                         });

}  // namespace
}  // namespace sublite
