// Decoders of the messages that begin, end or name transactions. Private to the
// decoder.
//
// Each is called with the cursor behind the message's first byte, reads the
// message's fields in the order of "Logical Replication Message Formats" and
// leaves its error in the cursor; the message it returns then means nothing.
// Ownership: views point into the cursor's bytes.
// Errors: as decode.h says. Threads: pure functions.
#ifndef SUBLITE_APPLIER_WIRE_DECODE_TRANSACTION_H_
#define SUBLITE_APPLIER_WIRE_DECODE_TRANSACTION_H_

#include "applier/wire/cursor.h"
#include "applier/wire/decode.h"
#include "applier/wire/message.h"

namespace sublite {

BeginMessage DecodeBegin(Cursor& cursor);
CommitMessage DecodeCommit(Cursor& cursor);
OriginMessage DecodeOrigin(Cursor& cursor);
StreamStartMessage DecodeStreamStart(Cursor& cursor);
StreamCommitMessage DecodeStreamCommit(Cursor& cursor);
StreamAbortMessage DecodeStreamAbort(Cursor& cursor,
                                     const DecodeContext& context);
BeginPrepareMessage DecodeBeginPrepare(Cursor& cursor);
PrepareMessage DecodePrepare(Cursor& cursor);
CommitPreparedMessage DecodeCommitPrepared(Cursor& cursor);
RollbackPreparedMessage DecodeRollbackPrepared(Cursor& cursor);
StreamPrepareMessage DecodeStreamPrepare(Cursor& cursor);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_DECODE_TRANSACTION_H_
