#include <set>

#include "tests/fuzz/decode_fuzz.h"
#include "tests/wire/golden.h"

namespace sublite::testing {

// One input for each golden message, frame and capture, and some COPY rows.
std::vector<std::string> FuzzSeeds() {
  std::set<std::string> seeds;
  const auto add = [&](std::uint8_t selector, const std::string& bytes) {
    seeds.insert(static_cast<char>(selector) + bytes);
  };
  for (const GoldenCapture& capture : GoldenCaptures()) {
    add(Selector(FuzzKind::kCapture), capture.bytes);
    for (const GoldenFrame& frame : capture.frames) {
      const DecodeContext& context = frame.context;
      const auto selector = [&](FuzzKind kind) {
        return Selector(kind, context.protocol_version, context.in_stream_block,
                        context.parallel_streaming);
      };
      add(selector(FuzzKind::kFrame), frame.bytes);
      if (!frame.payload.empty()) {
        add(selector(FuzzKind::kMessage), frame.payload);
      }
    }
  }
  for (const char* row :
       {"\3"
        "1\tone\t\\N\n",
        "\1\\\\x00ff\n", "\2\\b\\f\\n\\r\\t\\v\\\\\t\\101\\x41",
        "\2a\\\tb\t\\N"}) {
    add(Selector(FuzzKind::kCopyRow), row);
  }
  // A header and a row of three columns, the same row, the trailer.
  const std::string row("\0\3\0\0\0\4\0\0\0\7\xff\xff\xff\xff\0\0\0\0", 18);
  std::string copy("\3PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", 20);
  absl::StrAppend(&copy, row, "\xa5", row, "\xa5\xff\xff");
  add(Selector(FuzzKind::kCopyRow, 1, /*in_stream_block=*/true), copy);
  return {seeds.begin(), seeds.end()};
}

}  // namespace sublite::testing
