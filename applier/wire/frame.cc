#include "applier/wire/frame.h"

#include <cstdint>

#include "absl/strings/str_format.h"
#include "applier/wire/cursor.h"
#include "schema/status.h"

namespace sublite {
namespace {

void AppendBigEndian(std::uint64_t value, std::string& bytes) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

XLogData ReadXLogData(Cursor& cursor) {
  XLogData data;
  data.data_start = Lsn(cursor.U64("start of the data"));
  data.wal_end = Lsn(cursor.U64("end of WAL"));
  data.server_time = PgTime{cursor.I64("server time")};
  data.payload = cursor.Rest();
  return data;
}

Keepalive ReadKeepalive(Cursor& cursor) {
  Keepalive keepalive;
  keepalive.wal_end = Lsn(cursor.U64("end of WAL"));
  keepalive.server_time = PgTime{cursor.I64("server time")};
  const std::uint8_t reply = cursor.U8("reply flag");
  if (reply > 1) {
    cursor.Fail(absl::StatusCode::kDataLoss,
                absl::StrFormat("reply flag 0 or 1 expected, not %d", reply));
  }
  keepalive.reply_requested = reply == 1;
  return keepalive;
}

}  // namespace

absl::StatusOr<ServerFrame> ParseFrame(std::string_view frame) {
  Cursor cursor(frame);
  ServerFrame parsed;
  absl::string_view name = "replication frame";
  switch (const char kind = cursor.Char("frame kind")) {
    case 'w':
      name = "XLogData";
      parsed = ReadXLogData(cursor);
      break;
    case 'k':
      name = "keepalive";
      parsed = ReadKeepalive(cursor);
      break;
    default:
      cursor.Fail(absl::StatusCode::kUnimplemented,
                  absl::StrFormat("frame kind 'w' or 'k' expected, not 0x%02x",
                                  static_cast<unsigned char>(kind)));
  }
  if (absl::Status status = cursor.Finish(); !status.ok()) {
    return Annotate(status, name);
  }
  return parsed;
}

std::string EncodeStatusUpdate(const StatusUpdate& update) {
  std::string bytes;
  bytes.reserve(1 + 4 * 8 + 1);
  bytes.push_back('r');
  AppendBigEndian(update.written.value(), bytes);
  AppendBigEndian(update.flushed.value(), bytes);
  AppendBigEndian(update.applied.value(), bytes);
  AppendBigEndian(static_cast<std::uint64_t>(update.client_time.micros), bytes);
  bytes.push_back(update.reply_requested ? '\1' : '\0');
  return bytes;
}

}  // namespace sublite
