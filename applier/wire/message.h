// One struct for each message of PostgreSQL's "Logical Replication Message
// Formats", protocol versions 1 to 4.
//
// Every string_view points into the frame that the message was decoded from;
// every span into the DecodeScratch that was handed to Decode. Both must
// outlive the message. `xid` of a message that can stand inside a stream block
// is the (sub)transaction that made it and is present there only (protocol 2
// and later).
//
// Plain data: no errors, no threads. Facts beside the documentation's are from
// the captures in tests/golden (servers 14 to 18).
#ifndef SUBLITE_APPLIER_WIRE_MESSAGE_H_
#define SUBLITE_APPLIER_WIRE_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "absl/types/span.h"
#include "applier/wire/lsn.h"
#include "schema/datum.h"

namespace sublite {

using Xid = std::uint32_t;
using Oid = std::uint32_t;

struct BeginMessage {  // 'B'
  Lsn final_lsn;       // LSN of the commit record that will follow
  PgTime commit_time;  // the origin's, where the transaction came from one
  Xid xid = 0;
};

struct LogicalMessage {  // 'M'
  std::optional<Xid> xid;
  bool transactional = false;
  Lsn lsn;
  std::string_view prefix;
  std::string_view content;
};

struct CommitMessage {  // 'C'
  Lsn commit_lsn;
  Lsn end_lsn;
  PgTime commit_time;
};

// Behind Begin, or behind the Stream Start of a first segment.
struct OriginMessage {  // 'O'
  Lsn origin_lsn;  // zero in a stream block: the origin's commit is not known
  std::string_view name;
};

// A column of a Relation message.
struct RelationColumn {
  bool key = false;  // flag 1: part of the replica identity
  std::string_view name;
  Oid type = 0;
  std::int32_t type_modifier = -1;
};

enum class ReplicaIdentity : char {
  kDefault = 'd',
  kIndex = 'i',
  kFull = 'f',
  kNothing = 'n'
};

struct RelationMessage {  // 'R'
  std::optional<Xid> xid;
  Oid relation = 0;
  std::string_view
      pg_namespace;  // "pg_catalog" where the wire has the empty string
  std::string_view name;
  ReplicaIdentity identity = ReplicaIdentity::kDefault;
  absl::Span<const RelationColumn> columns;
};

struct TypeMessage {  // 'Y'
  std::optional<Xid> xid;
  Oid type = 0;
  std::string_view pg_namespace;
  std::string_view name;
};

struct InsertMessage {  // 'I'
  std::optional<Xid> xid;
  Oid relation = 0;
  Tuple new_tuple;
};

// Which old tuple an Update or Delete carries.
enum class OldTuple : std::uint8_t {
  kNone,
  kKey,   // 'K': values of the replica identity's columns; the others are NULL
          // and mean nothing
  kFull,  // 'O': the whole old row, as REPLICA IDENTITY FULL logged it
};

struct UpdateMessage {  // 'U'
  std::optional<Xid> xid;
  Oid relation = 0;
  OldTuple old_kind = OldTuple::kNone;
  Tuple old_tuple;
  Tuple new_tuple;
};

struct DeleteMessage {  // 'D'
  std::optional<Xid> xid;
  Oid relation = 0;
  OldTuple old_kind = OldTuple::kKey;  // never kNone
  Tuple old_tuple;
};

struct TruncateMessage {  // 'T'
  std::optional<Xid> xid;
  bool cascade = false;
  bool restart_identity = false;
  absl::Span<const Oid> relations;
};

struct StreamStartMessage {  // 'S'
  Xid xid = 0;
  bool first_segment = false;
};

struct StreamStopMessage {};  // 'E'

struct StreamCommitMessage {  // 'c'
  Xid xid = 0;
  Lsn commit_lsn;
  Lsn end_lsn;
  PgTime commit_time;
};

struct StreamAbortMessage {  // 'A'
  Xid xid = 0;
  Xid subxid = 0;  // equal to xid where the whole transaction is aborted
  // These two only with streaming 'parallel' (protocol 4). The LSN is the end
  // of the abort record; zero where a crash left none.
  std::optional<Lsn> abort_lsn;
  std::optional<PgTime> abort_time;
};

struct BeginPrepareMessage {  // 'b'
  Lsn prepare_lsn;
  Lsn end_lsn;
  PgTime prepare_time;
  Xid xid = 0;
  std::string_view gid;
};

struct PrepareMessage {  // 'P'
  Lsn prepare_lsn;
  Lsn end_lsn;
  PgTime prepare_time;
  Xid xid = 0;
  std::string_view gid;
};

struct CommitPreparedMessage {  // 'K'
  Lsn commit_lsn;
  Lsn end_lsn;
  PgTime commit_time;
  Xid xid = 0;
  std::string_view gid;
};

struct RollbackPreparedMessage {  // 'r'
  Lsn prepare_end_lsn;            // end LSN of the prepared transaction
  Lsn rollback_end_lsn;
  PgTime prepare_time;
  PgTime rollback_time;
  Xid xid = 0;
  std::string_view gid;
};

struct StreamPrepareMessage {  // 'p'
  Lsn prepare_lsn;
  Lsn end_lsn;
  PgTime prepare_time;
  Xid xid = 0;
  std::string_view gid;
};

using Message =
    std::variant<BeginMessage, LogicalMessage, CommitMessage, OriginMessage,
                 RelationMessage, TypeMessage, InsertMessage, UpdateMessage,
                 DeleteMessage, TruncateMessage, StreamStartMessage,
                 StreamStopMessage, StreamCommitMessage, StreamAbortMessage,
                 BeginPrepareMessage, PrepareMessage, CommitPreparedMessage,
                 RollbackPreparedMessage, StreamPrepareMessage>;

// "Insert", "Stream Abort", …: the message's name in PostgreSQL's
// documentation.
std::string_view MessageName(const Message& message);
// The same for the message's first byte; "" for a byte that begins no message.
std::string_view MessageName(char first_byte);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_MESSAGE_H_
