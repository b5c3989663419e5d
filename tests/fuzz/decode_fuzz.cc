#include "tests/fuzz/decode_fuzz.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <variant>

#include "applier/cli/decode_command.h"
#include "applier/wire/copy_binary.h"
#include "applier/wire/copy_text.h"
#include "applier/wire/decode.h"
#include "applier/wire/frame.h"
#include "tests/wire/rewrite.h"
#include "tests/wire/touch.h"

namespace sublite::testing {
namespace {

void CheckError(const absl::Status& status) {
  Require(status.code() == absl::StatusCode::kDataLoss ||
              status.code() == absl::StatusCode::kUnimplemented,
          "an error has another code");
  Require(status.message().find("offset ") != absl::string_view::npos,
          "an error names no offset");
}

void FuzzMessage(std::string_view payload, std::uint8_t selector) {
  DecodeContext context;
  context.protocol_version = (selector >> 2 & 3) + 1;
  context.in_stream_block = (selector >> 4 & 1) != 0;
  context.parallel_streaming = (selector >> 5 & 1) != 0;
  static auto& scratch = *new DecodeScratch;
  const absl::StatusOr<Message> message = Decode(payload, context, scratch);
  if (!message.ok()) {
    CheckError(message.status());
    return;
  }
  Touch(*message);
  Require(Rewrite(*message, payload) == payload,
          "a message changes when it is written again");
}

void FuzzFrame(std::string_view bytes, std::uint8_t selector) {
  const absl::StatusOr<ServerFrame> frame = ParseFrame(bytes);
  if (!frame.ok()) {
    CheckError(frame.status());
    return;
  }
  Require(Rewrite(*frame) == bytes, "a frame changes when it is written again");
  if (const auto* data = std::get_if<XLogData>(&*frame)) {
    FuzzMessage(data->payload, selector);
  }
}

// As COPY TO writes it.
std::string WriteCopyRow(Tuple tuple) {
  static constexpr std::string_view kSpecial = "\b\f\n\r\t\v\\";
  static constexpr std::string_view kEscapes = "bfnrtv\\";
  std::string row;
  for (const Datum& datum : tuple) {
    if (&datum != tuple.data()) row += '\t';
    if (datum.is_null()) row += "\\N";
    for (const char c : datum.bytes) {
      const std::size_t at = kSpecial.find(c);
      if (at != std::string_view::npos) row += '\\';
      row += at == std::string_view::npos ? c : kEscapes[at];
    }
  }
  return row + "\n";
}

void FuzzCopyRow(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t columns = static_cast<unsigned char>(bytes.front());
  static auto& scratch = *new CopyScratch;
  static auto& second_scratch = *new CopyScratch;
  const absl::StatusOr<Tuple> tuple =
      ParseCopyRow(bytes.substr(1), columns, scratch);
  if (!tuple.ok()) {
    CheckError(tuple.status());
    return;
  }
  Require(tuple->size() == columns, "a row has other columns");
  const std::string row = WriteCopyRow(*tuple);
  const absl::StatusOr<Tuple> again =
      ParseCopyRow(row, columns, second_scratch);
  Require(again.ok(), "a row that was written again is refused");
  for (std::size_t i = 0; i < columns; ++i) {
    Require((*tuple)[i].kind == (*again)[i].kind &&
                (*tuple)[i].bytes == (*again)[i].bytes,
            "a row changes when it is written again");
  }
}

// The first byte says how many columns; the messages are what stands between
// bytes 0xa5, since the stream's own cuts are not in it.
void FuzzCopyBinary(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t columns = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  BinaryCopy copy(columns);
  while (!bytes.empty()) {
    const std::string_view message = bytes.substr(0, bytes.find('\xa5'));
    bytes.remove_prefix(std::min(message.size() + 1, bytes.size()));
    Tuple row;
    const absl::StatusOr<bool> has_row = copy.Parse(message, &row);
    if (!has_row.ok()) {
      CheckError(has_row.status());
      return;
    }
    if (!*has_row) continue;
    Require(row.size() == columns, "a row has other columns");
    std::size_t size = 2;
    for (const Datum& datum : row) {
      Require(datum.is_null() || datum.kind == Datum::Kind::kBinary,
              "a value of another kind");
      size += 4 + datum.bytes.size();
    }
    Require(size <= message.size(), "values larger than their message");
  }
}

void FuzzCapture(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  std::ostringstream out;
  std::ostringstream err;
  const int code = DecodeCommand("-", in, out, err);
  Require((code == 0) == err.str().empty(), "code and errors disagree");
}

}  // namespace

std::uint8_t Selector(FuzzKind kind, int protocol_version, bool in_stream_block,
                      bool parallel) {
  return static_cast<std::uint8_t>(
      static_cast<int>(kind) | (protocol_version - 1) << 2 |
      (in_stream_block ? 1 : 0) << 4 | (parallel ? 1 : 0) << 5);
}

}  // namespace sublite::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using sublite::testing::FuzzKind;
  if (size == 0) return 0;
  const std::uint8_t selector = data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  switch (static_cast<FuzzKind>(selector & 3)) {
    case FuzzKind::kMessage:
      sublite::testing::FuzzMessage(bytes, selector);
      break;
    case FuzzKind::kFrame:
      sublite::testing::FuzzFrame(bytes, selector);
      break;
    case FuzzKind::kCopyRow:
      if ((selector >> 4 & 1) != 0) {
        sublite::testing::FuzzCopyBinary(bytes);
      } else {
        sublite::testing::FuzzCopyRow(bytes);
      }
      break;
    case FuzzKind::kCapture:
      sublite::testing::FuzzCapture(bytes);
      break;
  }
  return 0;
}
