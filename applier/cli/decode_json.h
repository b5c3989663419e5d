// One JSON object for each message of a replication stream: what `sublite
// decode` prints.
//
// The keys are part of what users see: they are added to, not renamed. LSNs are
// `X/Y`, times are written as FormatPgTime writes them. "xid" is there where
// the message carries one. A column is null, a string (text), {"binary": hex}
// or {"unchanged": true}. Text that is not UTF-8 is {"text_hex": hex} as a
// column or a logical message's content; in names each bad byte becomes U+FFFD.
//
// Ownership: the result owns its bytes; nothing is kept.
// Errors: none. Threads: pure functions.
#ifndef SUBLITE_APPLIER_CLI_DECODE_JSON_H_
#define SUBLITE_APPLIER_CLI_DECODE_JSON_H_

#include <string>

#include "applier/wire/frame.h"
#include "applier/wire/message.h"

namespace sublite {

// {"message":"Insert","xid":…,…}
std::string MessageToJson(const Message& message);

// The same with the envelope in front: {"lsn":"0/1A2B3C","wal_end":…,
// "sent_at":…,"message":"Insert",…}. "lsn" is left out where the server gave
// none.
std::string MessageToJson(const XLogData& envelope, const Message& message);

// {"wal_end":…,"sent_at":…,"message":"Keepalive","reply_requested":…}
std::string KeepaliveToJson(const Keepalive& keepalive);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_DECODE_JSON_H_
