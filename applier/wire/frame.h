// The walsender envelope: what CopyData messages hold in both directions
// ("Streaming Replication Protocol").
//
// Pure functions over bytes. Views point into the given frame. Errors name the
// frame and the offset: DataLoss where it is short, overlong or holds a value
// it cannot, Unimplemented for a first byte that is neither 'w' nor 'k'.
#ifndef SUBLITE_APPLIER_WIRE_FRAME_H_
#define SUBLITE_APPLIER_WIRE_FRAME_H_

#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "applier/wire/lsn.h"

namespace sublite {

struct XLogData {  // 'w'
  // WAL position of the message. Zero, as wal_end is then too, for messages
  // without one: Relation, Type, and a Begin or Stream Start before an Origin.
  Lsn data_start;
  // The same position again, in logical replication. Not the end of the
  // server's WAL, and not a position up to which everything has been sent.
  Lsn wal_end;
  PgTime server_time;
  std::string_view payload;  // one pgoutput message
};

struct Keepalive {  // 'k'
  // How far the server has decoded. What committed before it has been sent;
  // transactions that are open there have not, or in parts.
  Lsn wal_end;
  PgTime server_time;
  bool reply_requested = false;
};

using ServerFrame = std::variant<XLogData, Keepalive>;

absl::StatusOr<ServerFrame> ParseFrame(std::string_view frame);

// 'r', Standby status update. Each position is the last byte + 1, as the
// protocol asks; an end LSN is that already.
struct StatusUpdate {
  Lsn written;
  Lsn flushed;
  Lsn applied;
  PgTime client_time;
  bool reply_requested = false;
};

std::string EncodeStatusUpdate(const StatusUpdate& update);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_FRAME_H_
