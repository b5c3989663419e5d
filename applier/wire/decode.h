// One pgoutput message from its bytes.
//
// Decoding is a function of the bytes and three explicit facts (DecodeContext):
// no cache, clock, I/O or log. Row data is not copied or allocated for: the
// message's views point into `payload`, its spans into `scratch`.
//
// Errors: DataLoss for a message that is short, overlong or contradictory (a
// zero transaction id or position where there must be one), or that the
// negotiated protocol version does not have; Unimplemented for a first byte,
// flag, column kind or replica identity that no version up to 4 has. The text
// names the message, the offset within it and, if given, the LSN: "Insert at
// 0/1A2B3C: offset 9: ...". Every length and count is checked against the bytes
// that are left before anything is sized by it, and no tuple has more than
// PostgreSQL's 1600 columns.
//
// What a message means in the state of the connection (a Commit without a
// Begin) is not this part's question. Stream Abort is taken in every protocol
// version: PostgreSQL 18 was seen to send it unasked.
//
// Threads: none of its own; one scratch belongs to one thread.
#ifndef SUBLITE_APPLIER_WIRE_DECODE_H_
#define SUBLITE_APPLIER_WIRE_DECODE_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/wire/lsn.h"
#include "applier/wire/message.h"

namespace sublite {

struct DecodeContext {
  int protocol_version = 1;  // 1 to 4, as negotiated
  bool in_stream_block =
      false;  // between Stream Start and Stream Stop: messages carry their xid
  bool parallel_streaming =
      false;  // streaming 'parallel': Stream Abort carries its LSN and time
  Lsn lsn;    // where the frame came from, for error texts only
};

// Reused from call to call so that decoding a row allocates nothing once warm.
struct DecodeScratch {
  std::vector<Datum> old_tuple;
  std::vector<Datum> new_tuple;
  std::vector<RelationColumn> columns;
  std::vector<Oid> relations;
};

absl::StatusOr<Message> Decode(std::string_view payload,
                               const DecodeContext& context,
                               DecodeScratch& scratch);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_DECODE_H_
