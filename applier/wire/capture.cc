#include "applier/wire/capture.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "applier/wire/cursor.h"
#include "schema/status.h"

namespace sublite {
namespace {

// The header is for people too; a longer first line is some other file's.
constexpr std::size_t kHeaderBytesMax = 1000;

absl::Status NotACapture(absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(
      "not a sublite capture: ", reason,
      "; its first line must be like `sublite-capture 1 proto_version=4 "
      "streaming=parallel`"));
}

absl::Status ReadWord(absl::string_view word, CaptureHeader& header,
                      bool& has_version, bool& has_streaming) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(word, absl::MaxSplits('=', 1));
  if (parts.size() != 2 || parts[0].empty()) {
    return NotACapture(absl::StrCat("`", word, "` is not name=value"));
  }
  const absl::string_view value = parts[1];
  if (parts[0] == "proto_version") {
    has_version = true;
    if (value.size() != 1 || value[0] < '1' || value[0] > '4') {
      return NotACapture("proto_version is not 1 to 4");
    }
    header.protocol_version = value[0] - '0';
  } else if (parts[0] == "streaming") {
    has_streaming = true;
    if (value != "off" && value != "on" && value != "parallel") {
      return NotACapture("streaming is not off, on or parallel");
    }
    header.parallel_streaming = value == "parallel";
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CaptureReader> CaptureReader::Open(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kHeaderBytesMax).find('\n');
  if (end == std::string_view::npos) return NotACapture("it has no first line");
  CaptureHeader header;
  header.text = bytes.substr(0, end);
  const std::vector<absl::string_view> words = absl::StrSplit(
      absl::string_view(header.text.data(), header.text.size()), ' ');
  if (words.size() < 2 || words[0] != "sublite-capture" || words[1] != "1") {
    return NotACapture("it does not begin with `sublite-capture 1`");
  }
  bool has_version = false;
  bool has_streaming = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    RETURN_IF_ERROR(ReadWord(words[i], header, has_version, has_streaming));
  }
  if (!has_version || !has_streaming) {
    return NotACapture("proto_version or streaming is missing");
  }
  return CaptureReader(header, bytes, end + 1);
}

absl::StatusOr<bool> CaptureReader::Next(std::string_view* frame) {
  if (offset_ == bytes_.size()) return false;
  ++record_;
  record_offset_ = offset_;
  Cursor cursor(bytes_.substr(offset_));
  *frame = cursor.Counted("frame");
  if (cursor.ok()) {
    offset_ += cursor.offset();
    return true;
  }
  offset_ = bytes_.size();
  return Annotate(
      cursor.Finish(),
      absl::StrCat("record ", record_, " at file offset ", record_offset_));
}

}  // namespace sublite
