// Ordinary sessions on the publisher that the replication connection reached:
// one is kept for the next use, more are opened while it is lent out (a table
// copy keeps one for as long as it runs).
//
// Lifetime: shared with what borrowed a session. Errors: as libpq_session.h.
// Threads: one at a time.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_SESSIONS_H_
#define SUBLITE_APPLIER_IO_LIBPQ_SESSIONS_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/io/conninfo.h"
#include "applier/io/libpq_connection.h"
#include "applier/io/libpq_error.h"
#include "applier/publisher.h"
#include "applier/stop_signal.h"

namespace sublite {

class OrdinarySessions {
 public:
  // `target` has its address, so that every session goes to the same server.
  OrdinarySessions(std::shared_ptr<const Conninfo> conninfo,
                   ConnectTarget target, PublisherIdentity identity,
                   const StopSignal* stop)
      : conninfo_(std::move(conninfo)),
        target_(std::move(target)),
        identity_(std::move(identity)),
        stop_(stop) {}

  // An idle session. `*kept`, if given, tells whether it was open before.
  absl::StatusOr<std::unique_ptr<Connection>> Take(bool* kept = nullptr);

  // Takes a session back. One that is in a transaction or not usable is closed.
  void Give(std::unique_ptr<Connection> session);

  // Runs `use(Connection&)`, which gives a Status or a StatusOr and may be run
  // twice: a kept session may have been lost while nobody looked.
  template <typename Use>
  auto With(Use use) -> decltype(use(std::declval<Connection&>())) {
    while (true) {
      bool kept = false;
      absl::StatusOr<std::unique_ptr<Connection>> session = Take(&kept);
      if (!session.ok()) return session.status();
      auto result = use(**session);
      if (kept && IsConnectionLost(StatusOf(result))) continue;
      Give(*std::move(session));
      return result;
    }
  }

  // Whether the server can be reached and its session `pid` still exists.
  absl::Status Probe(int pid);

 private:
  static const absl::Status& StatusOf(const absl::Status& status) {
    return status;
  }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }
  absl::StatusOr<std::unique_ptr<Connection>> Open();

  const std::shared_ptr<const Conninfo> conninfo_;
  const ConnectTarget target_;
  const PublisherIdentity identity_;
  const StopSignal* const stop_;
  std::unique_ptr<Connection> idle_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_SESSIONS_H_
