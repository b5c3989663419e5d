// Fields that several decoders read; private to the decoder.
//
// Each reads from the cursor and leaves its error there. PostgreSQL's readers
// (proto.c, worker.c) refuse a zero LSN or transaction id in some messages and
// pass over it in others, though its writers never send one in any of these;
// here it is refused in all of them, since positions are confirmed and work is
// filed by these values.
// Errors, ownership, threads: the cursor's.
#ifndef SUBLITE_APPLIER_WIRE_DECODE_FIELDS_H_
#define SUBLITE_APPLIER_WIRE_DECODE_FIELDS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "applier/wire/cursor.h"
#include "applier/wire/decode.h"
#include "applier/wire/lsn.h"
#include "applier/wire/message.h"

namespace sublite {

inline Lsn ReadLsn(Cursor& cursor, absl::string_view field) {
  return Lsn(cursor.U64(field));
}

// An LSN that is never zero.
inline Lsn ReadValidLsn(Cursor& cursor, absl::string_view field) {
  const Lsn lsn = ReadLsn(cursor, field);
  if (!lsn.valid()) {
    cursor.Fail(absl::StatusCode::kDataLoss, absl::StrCat(field, " is zero"));
  }
  return lsn;
}

// The end of something that begins at `start`: a position that is not behind it
// would not cover what it ends.
inline Lsn ReadEndLsn(Cursor& cursor, Lsn start, absl::string_view field) {
  const Lsn lsn = ReadValidLsn(cursor, field);
  if (lsn <= start) {
    cursor.Fail(absl::StatusCode::kDataLoss,
                absl::StrCat(field, " ", lsn.ToString(), " is not behind ",
                             start.ToString()));
  }
  return lsn;
}

inline PgTime ReadTime(Cursor& cursor, absl::string_view field) {
  return PgTime{cursor.I64(field)};
}

// A transaction id that is never zero.
inline Xid ReadXid(Cursor& cursor, absl::string_view field) {
  const Xid xid = cursor.U32(field);
  if (xid == 0) {
    cursor.Fail(absl::StatusCode::kDataLoss, absl::StrCat(field, " is zero"));
  }
  return xid;
}

// The transaction id that leads a message inside a stream block, and only
// there.
inline std::optional<Xid> ReadStreamXid(Cursor& cursor,
                                        const DecodeContext& context) {
  if (!context.in_stream_block) return std::nullopt;
  return ReadXid(cursor, "streamed transaction id");
}

// A byte whose set bits must all be in `known`: others are of a newer version.
inline std::uint8_t ReadFlags(Cursor& cursor, std::uint8_t known,
                              absl::string_view field) {
  const std::uint8_t flags = cursor.U8(field);
  if ((flags & ~known) != 0) {
    cursor.Fail(absl::StatusCode::kUnimplemented,
                absl::StrCat("unknown ", field, " 0x", absl::Hex(flags)));
  }
  return flags;
}

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_DECODE_FIELDS_H_
