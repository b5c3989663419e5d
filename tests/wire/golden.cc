#include "tests/wire/golden.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>
#include <variant>

#include "absl/strings/match.h"
#include "applier/wire/capture.h"
#include "applier/wire/frame.h"

namespace sublite::testing {
namespace {

constexpr char kFolder[] = "tests/golden";

[[noreturn]] void Die(const std::string& what) {
  std::cerr << "golden captures: " << what << std::endl;
  std::abort();
}

GoldenFrame ReadFrame(std::string_view bytes, DecodeContext& context) {
  GoldenFrame golden;
  golden.bytes = bytes;
  const absl::StatusOr<ServerFrame> frame = ParseFrame(bytes);
  if (!frame.ok()) Die(std::string(frame.status().message()));
  if (const auto* data = std::get_if<XLogData>(&*frame)) {
    golden.payload = data->payload;
    context.lsn = data->data_start;
    golden.context = context;
    if (data->payload.front() == 'S') context.in_stream_block = true;
    if (data->payload.front() == 'E') context.in_stream_block = false;
  }
  return golden;
}

GoldenCapture Load(const std::filesystem::path& path) {
  GoldenCapture capture;
  capture.major = path.parent_path().filename();
  capture.scenario = path.stem().stem();
  capture.variant = path.stem().extension().string().substr(1);
  capture.bytes = ReadFile(path);
  absl::StatusOr<CaptureReader> reader = CaptureReader::Open(capture.bytes);
  if (!reader.ok()) Die(std::string(reader.status().message()));
  capture.header = reader->header().text;
  capture.streaming = !absl::StrContains(capture.header, "streaming=off");
  DecodeContext context;
  context.protocol_version = reader->header().protocol_version;
  context.parallel_streaming = reader->header().parallel_streaming;
  std::string_view bytes;
  while (true) {
    const absl::StatusOr<bool> more = reader->Next(&bytes);
    if (!more.ok()) Die(std::string(more.status().message()));
    if (!*more) break;
    capture.frames.push_back(ReadFrame(bytes, context));
    capture.frames.back().record = reader->record();
  }
  return capture;
}

std::vector<GoldenCapture> LoadAll() {
  std::vector<GoldenCapture> captures;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(kFolder, error)) {
    if (entry.path().extension() == ".capture") {
      captures.push_back(Load(entry.path()));
    }
  }
  if (captures.empty()) Die("none found below tests/golden");
  std::sort(captures.begin(), captures.end(),
            [](const auto& a, const auto& b) { return a.Name() < b.Name(); });
  return captures;
}

}  // namespace

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) Die("cannot read " + path);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

std::string GoldenCapture::Name() const {
  return major + "/" + scenario + "." + variant;
}

std::string GoldenCapture::Path(const std::string& ending) const {
  return std::string(kFolder) + "/" + Name() + ending;
}

const std::vector<GoldenCapture>& GoldenCaptures() {
  static const auto& captures = *new std::vector<GoldenCapture>(LoadAll());
  return captures;
}

std::string TestNameOf(const GoldenCapture& capture) {
  std::string name = capture.Name();
  for (char& c : name) {
    const bool alphanumeric = (c >= '0' && c <= '9') ||
                              (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!alphanumeric) c = '_';
  }
  return "v" + name;
}

}  // namespace sublite::testing
