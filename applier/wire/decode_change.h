// Decoders of the messages that can stand inside a stream block: what describes
// or changes rows. Private to the decoder.
//
// Each is called with the cursor behind the message's first byte, reads the
// message's fields in the order of "Logical Replication Message Formats" and
// leaves its error in the cursor; the message it returns then means nothing.
// Ownership: views point into the cursor's bytes, spans into `scratch`.
// Errors: as decode.h says. Threads: one scratch belongs to one thread.
#ifndef SUBLITE_APPLIER_WIRE_DECODE_CHANGE_H_
#define SUBLITE_APPLIER_WIRE_DECODE_CHANGE_H_

#include "applier/wire/cursor.h"
#include "applier/wire/decode.h"
#include "applier/wire/message.h"

namespace sublite {

LogicalMessage DecodeLogicalMessage(Cursor& cursor,
                                    const DecodeContext& context);
RelationMessage DecodeRelation(Cursor& cursor, const DecodeContext& context,
                               DecodeScratch& scratch);
TypeMessage DecodeType(Cursor& cursor, const DecodeContext& context);
InsertMessage DecodeInsert(Cursor& cursor, const DecodeContext& context,
                           DecodeScratch& scratch);
UpdateMessage DecodeUpdate(Cursor& cursor, const DecodeContext& context,
                           DecodeScratch& scratch);
DeleteMessage DecodeDelete(Cursor& cursor, const DecodeContext& context,
                           DecodeScratch& scratch);
TruncateMessage DecodeTruncate(Cursor& cursor, const DecodeContext& context,
                               DecodeScratch& scratch);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_DECODE_CHANGE_H_
