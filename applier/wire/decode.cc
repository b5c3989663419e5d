#include "applier/wire/decode.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "applier/wire/cursor.h"
#include "applier/wire/decode_change.h"
#include "applier/wire/decode_transaction.h"
#include "schema/status.h"

namespace sublite {
namespace {

// The protocol version from which a publisher may send the message.
int FirstVersion(char first_byte) {
  switch (first_byte) {
    case 'S':
    case 'E':
    case 'c':
      return 2;
    case 'b':
    case 'P':
    case 'K':
    case 'r':
    case 'p':
      return 3;
    default:
      // Stream Abort among them, though it came with version 2: a server of
      // major 18 was seen to send it on connections that never asked for
      // streaming, and an abort of nothing does no harm.
      return 1;
  }
}

Message DecodeBody(char first_byte, const DecodeContext& context,
                   Cursor& cursor, DecodeScratch& scratch) {
  switch (first_byte) {
    case 'B':
      return DecodeBegin(cursor);
    case 'M':
      return DecodeLogicalMessage(cursor, context);
    case 'C':
      return DecodeCommit(cursor);
    case 'O':
      return DecodeOrigin(cursor);
    case 'R':
      return DecodeRelation(cursor, context, scratch);
    case 'Y':
      return DecodeType(cursor, context);
    case 'I':
      return DecodeInsert(cursor, context, scratch);
    case 'U':
      return DecodeUpdate(cursor, context, scratch);
    case 'D':
      return DecodeDelete(cursor, context, scratch);
    case 'T':
      return DecodeTruncate(cursor, context, scratch);
    case 'S':
      return DecodeStreamStart(cursor);
    case 'E':
      return StreamStopMessage{};
    case 'c':
      return DecodeStreamCommit(cursor);
    case 'A':
      return DecodeStreamAbort(cursor, context);
    case 'b':
      return DecodeBeginPrepare(cursor);
    case 'P':
      return DecodePrepare(cursor);
    case 'K':
      return DecodeCommitPrepared(cursor);
    case 'r':
      return DecodeRollbackPrepared(cursor);
    case 'p':
      return DecodeStreamPrepare(cursor);
    default:
      cursor.Fail(absl::StatusCode::kUnimplemented,
                  "no message begins with this byte up to protocol version 4");
      return StreamStopMessage{};
  }
}

// "Insert at 0/1A2B3C", or what is known of it.
std::string Place(std::string_view payload, Lsn lsn) {
  std::string place;
  if (payload.empty()) {
    place = "message";
  } else if (const std::string_view name = MessageName(payload.front());
             !name.empty()) {
    place = std::string(name);
  } else {
    place = absl::StrFormat("message 0x%02x",
                            static_cast<unsigned char>(payload.front()));
  }
  if (lsn.valid()) absl::StrAppend(&place, " at ", lsn.ToString());
  return place;
}

}  // namespace

absl::StatusOr<Message> Decode(std::string_view payload,
                               const DecodeContext& context,
                               DecodeScratch& scratch) {
  Cursor cursor(payload);
  const char first_byte = cursor.Char("message kind");
  if (const int first_version = FirstVersion(first_byte);
      context.protocol_version < first_version) {
    cursor.Fail(
        absl::StatusCode::kDataLoss,
        absl::StrCat("this message needs protocol version ", first_version,
                     ", the connection has ", context.protocol_version));
  }
  Message message = DecodeBody(first_byte, context, cursor, scratch);
  if (absl::Status status = cursor.Finish(); !status.ok()) {
    return Annotate(status, Place(payload, context.lsn));
  }
  return message;
}

}  // namespace sublite
