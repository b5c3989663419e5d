// A running START_REPLICATION: a thread that owns the connection, so that
// keepalives are answered and positions reported whatever the applier is busy
// with (DESIGN.md decision 3).
//
// The thread takes whole frames from libpq into a bounded queue and looks into
// them no further than it must: at a keepalive's flag, to answer it, and at
// positions, for the `written` of status updates. While the queue is full it
// stops reading, which holds the publisher back through TCP, but goes on
// sending status. The server's silence is noticed: at half of the limit it is
// asked for an answer, after the whole of it the connection is given up.
//
// Destruction ends the thread, says goodbye for at most 200 ms and closes the
// connection. Stop makes Receive return Cancelled; the thread lives on until
// destruction, so that a last Confirm still reaches the publisher.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_STREAM_H_
#define SUBLITE_APPLIER_IO_LIBPQ_STREAM_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "applier/io/libpq_connection.h"
#include "applier/publisher.h"

namespace sublite {

struct StreamLimits {
  // At most this long between two status updates.
  absl::Duration status_interval = absl::Seconds(10);
  std::size_t queue_bytes_max = 8 << 20;
  // The silence that ends a connection is wal_sender_timeout, but not less than
  // this: a publisher that decodes a large transaction of which nothing is
  // published may be silent for long, and giving up would start it over.
  absl::Duration silence_min = absl::Seconds(60);
};

// Streams that ended by silence in a row without any data. Each doubles the
// next one's patience.
using SilentEndings = std::atomic<int>;

// Takes the replication session over. Errors as Publisher::StartReplication.
absl::StatusOr<std::unique_ptr<ReplicationStream>> StartStream(
    std::unique_ptr<Connection> replication, const StreamOptions& options,
    const StreamLimits& limits, std::shared_ptr<SilentEndings> endings);

// The command's text.
std::string StartReplicationSql(const StreamOptions& options);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_STREAM_H_
