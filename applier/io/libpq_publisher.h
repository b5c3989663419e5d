// The real publisher: applier/publisher.h over libpq.
//
// Holds two connections, a replication one and an ordinary one, and a third
// while a table is being copied and something is asked meanwhile. All go to the
// server that the replication connection found, with the settings of
// CONTRACT.md section 3. A stream takes the replication connection over; the
// next call that needs one opens another.
//
// libpq's environment, service and password files are read at each Connect.
// Lifetime: the stop signal outlives the publisher and all that it returned.
// Threads: as publisher.h.
#ifndef SUBLITE_APPLIER_IO_LIBPQ_PUBLISHER_H_
#define SUBLITE_APPLIER_IO_LIBPQ_PUBLISHER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/config.h"
#include "applier/io/conninfo.h"
#include "applier/io/libpq_connection.h"
#include "applier/io/libpq_sessions.h"
#include "applier/io/libpq_stream.h"
#include "applier/publisher.h"
#include "applier/stop_signal.h"

namespace sublite {

struct LibpqPublisherOptions {
  Secret conninfo;
  Secret password;  // from a file or a credential; goes before any other
  StreamLimits stream;
};

// `host=… port=… dbname=… user=… sslmode=…` for logs and `check`, without
// connecting. Errors as Conninfo::Resolve.
absl::StatusOr<std::string> RedactedConninfo(const Secret& conninfo);

// Of the library at run time: "15.20".
std::string LibpqVersion();

class LibpqPublisher final : public Publisher {
 public:
  LibpqPublisher(LibpqPublisherOptions options, const StopSignal* stop);
  ~LibpqPublisher() override;

  void Introduce(const std::string& name) override { name_ = name; }
  absl::StatusOr<PublisherIdentity> Connect() override;
  absl::StatusOr<SlotState> ReadSlot(const std::string& name) override;
  absl::StatusOr<CreatedSlot> CreateSlot(
      const SlotOptions& options,
      const std::function<void(std::string_view)>& on_wait) override;
  absl::Status CopySlot(const std::string& from,
                        const std::string& to) override;
  absl::Status EnableFailover(const std::string& name) override;
  absl::Status DropSlot(const std::string& name) override;
  absl::StatusOr<Publications> ReadPublications(
      const std::vector<std::string>& publications) override;
  absl::StatusOr<std::vector<std::string>> ReadWriters(
      std::uint32_t relation) override;
  absl::StatusOr<std::unique_ptr<TableReader>> ReadTable(
      const std::string& pg_schema, const std::string& pg_table,
      const std::vector<std::string>& publications,
      const CopyRequest& request) override;
  absl::StatusOr<std::vector<std::vector<std::string>>> Query(
      std::string_view sql) override;
  absl::StatusOr<std::unique_ptr<ReplicationStream>> StartReplication(
      const StreamOptions& options) override;

 private:
  absl::Status NeedConnected() const;
  absl::Status NeedReplication();

  const LibpqPublisherOptions options_;
  const StopSignal* const stop_;
  const std::shared_ptr<SilentEndings> silent_endings_;

  std::string name_;
  std::shared_ptr<const Conninfo> conninfo_;
  ConnectTarget target_;
  PublisherIdentity identity_;
  std::unique_ptr<Connection> replication_;
  std::shared_ptr<OrdinarySessions> sessions_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_LIBPQ_PUBLISHER_H_
