// A publisher that answers the questions of `check` and `teardown` from fields
// that the test sets, and notes whether its slot was dropped. It streams
// nothing and copies nothing.
#ifndef SUBLITE_TESTS_CLI_SCRIPTED_PUBLISHER_H_
#define SUBLITE_TESTS_CLI_SCRIPTED_PUBLISHER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "applier/publisher.h"

namespace sublite::testing {

class ScriptedPublisher : public Publisher {
 public:
  using Rows = std::vector<std::vector<std::string>>;

  ScriptedPublisher() {
    identity.system_identifier = "7000";
    identity.database = "app";
    identity.server_version = 150008;
    identity.server_version_text = "15.8";
    identity.timeline = 1;
    identity.wal_end = Lsn(1 << 20);
  }

  void Introduce(const std::string&) override {}
  absl::StatusOr<PublisherIdentity> Connect() override {
    if (!connect.ok()) return connect;
    return identity;
  }
  absl::StatusOr<SlotState> ReadSlot(const std::string&) override {
    return slot;
  }
  absl::Status DropSlot(const std::string& name) override {
    if (drop.ok()) dropped = name;
    return drop;
  }
  absl::StatusOr<Publications> ReadPublications(
      const std::vector<std::string>&) override {
    return publications;
  }
  // The first answer is the server's facts, the second the tables'.
  absl::StatusOr<Rows> Query(std::string_view sql) override {
    return sql.find("wal_level") != std::string_view::npos ? server : tables;
  }
  absl::Status CopySlot(const std::string&, const std::string&) override {
    return absl::UnimplementedError("not scripted");
  }
  absl::Status EnableFailover(const std::string&) override {
    return absl::UnimplementedError("not scripted");
  }
  absl::StatusOr<CreatedSlot> CreateSlot(
      const SlotOptions&,
      const std::function<void(std::string_view)>&) override {
    return absl::UnimplementedError("not scripted");
  }
  absl::StatusOr<std::vector<std::string>> ReadWriters(std::uint32_t) override {
    return absl::UnimplementedError("not scripted");
  }
  absl::StatusOr<std::unique_ptr<TableReader>> ReadTable(
      const std::string&, const std::string&, const std::vector<std::string>&,
      const CopyRequest&) override {
    return absl::UnimplementedError("not scripted");
  }
  absl::StatusOr<std::unique_ptr<ReplicationStream>> StartReplication(
      const StreamOptions&) override {
    return absl::UnimplementedError("not scripted");
  }

  PublisherIdentity identity;
  absl::Status connect;
  SlotState slot;
  absl::Status drop;
  std::string dropped;
  Publications publications;
  Rows server = {
      {"postgres", "logical", "10", "1", "0", "UTF8", "", "t", "on"}};
  Rows tables;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_CLI_SCRIPTED_PUBLISHER_H_
