#include "applier/cli/decode_command.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/cli/decode_json.h"
#include "applier/cli/exit_code.h"
#include "applier/wire/capture.h"
#include "applier/wire/decode.h"
#include "applier/wire/frame.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Decodes the frames of one capture in their order.
class FramePrinter {
 public:
  explicit FramePrinter(const CaptureHeader& header) {
    context_.protocol_version = header.protocol_version;
    context_.parallel_streaming = header.parallel_streaming;
  }

  absl::Status Print(std::string_view bytes, std::ostream& out) {
    ASSIGN_OR_RETURN(const ServerFrame frame, ParseFrame(bytes));
    if (const auto* keepalive = std::get_if<Keepalive>(&frame)) {
      out << KeepaliveToJson(*keepalive) << '\n';
      return absl::OkStatus();
    }
    const auto& data = std::get<XLogData>(frame);
    context_.lsn = data.data_start;
    const absl::StatusOr<Message> message =
        Decode(data.payload, context_, scratch_);
    if (!data.payload.empty()) FollowStreamBlock(data.payload.front());
    RETURN_IF_ERROR(message.status());
    out << MessageToJson(data, *message) << '\n';
    return absl::OkStatus();
  }

 private:
  void FollowStreamBlock(char first_byte) {
    if (first_byte == 'S') context_.in_stream_block = true;
    if (first_byte == 'E') context_.in_stream_block = false;
  }

  DecodeContext context_;
  DecodeScratch scratch_;
};

// Appends what is left of `in`. False, with errno set, if it cannot be read.
bool ReadAll(std::istream& in, std::string& bytes) {
  char block[1 << 16];
  while (in.read(block, sizeof(block)) || in.gcount() > 0) {
    bytes.append(block, static_cast<std::size_t>(in.gcount()));
  }
  return !in.bad();
}

int PrintCapture(std::string_view bytes, const std::string& name,
                 std::ostream& out, std::ostream& err) {
  absl::StatusOr<CaptureReader> reader = CaptureReader::Open(bytes);
  if (!reader.ok()) {
    err << "sublite: " << name << ": " << reader.status().message() << '\n';
    return kExitUsage;
  }
  int code = kExitDone;
  FramePrinter printer(reader->header());
  std::string_view frame;
  while (true) {
    const absl::StatusOr<bool> more = reader->Next(&frame);
    if (!more.ok()) {
      err << "sublite: " << name << ": " << more.status().message() << '\n';
      return kExitFinding;
    }
    if (!*more) return code;
    if (const absl::Status status = printer.Print(frame, out); !status.ok()) {
      err << "sublite: " << name << ": record " << reader->record()
          << " at file offset " << reader->record_offset() << ": "
          << status.message() << '\n';
      code = kExitFinding;
    }
  }
}

}  // namespace

int DecodeCommand(const std::string& path, std::istream& in, std::ostream& out,
                  std::ostream& err) {
  std::string bytes;
  if (path == "-") {
    ReadAll(in, bytes);
    return PrintCapture(bytes, "standard input", out, err);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open() || !ReadAll(file, bytes)) {
    err << "sublite: " << path << ": " << std::strerror(errno) << '\n';
    return kExitUsage;
  }
  return PrintCapture(bytes, path, out, err);
}

}  // namespace sublite
