// A replica file for the apply target, and the publisher that its copies read.
//
// Reset gives the state in which every sequence begins: FuzzTables with their
// rows, a position, a slot. It restores rows and bookkeeping by SQL, which is
// quick, unless the file's schema changed. One per process; the folder that it
// makes goes with it.
#ifndef SUBLITE_TESTS_FUZZ_FUZZ_REPLICA_H_
#define SUBLITE_TESTS_FUZZ_FUZZ_REPLICA_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "applier/config.h"
#include "applier/publisher.h"
#include "applier/replica.h"
#include "applier/table_copy.h"
#include "tests/fuzz/sequence.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sublite::testing {

// Only copies ask it anything.
class FuzzPublisher : public Publisher {
 public:
  std::vector<CatalogAnswer> catalog;

  absl::StatusOr<std::unique_ptr<TableReader>> ReadTable(
      const std::string& pg_schema, const std::string& pg_table,
      const std::vector<std::string>& publications,
      const CopyRequest& range) override;

  void Introduce(const std::string&) override {}
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
  absl::StatusOr<std::vector<std::vector<std::string>>> Query(
      std::string_view sql) override;
  absl::StatusOr<std::unique_ptr<ReplicationStream>> StartReplication(
      const StreamOptions& options) override;
};

class FuzzReplica {
 public:
  // The position that it has after Reset.
  static constexpr Lsn kStart{0x10000};

  FuzzReplica();
  ~FuzzReplica();
  FuzzReplica(const FuzzReplica&) = delete;
  FuzzReplica& operator=(const FuzzReplica&) = delete;

  // The replica has to be reloaded afterwards, as for each connection.
  void Reset();

  Replica& replica() { return *replica_; }
  FuzzPublisher& publisher() { return publisher_; }
  EndedTransactions& ended() { return ended_; }
  // For one connection of an Applier. Copies do not wait: they are Cancelled.
  std::unique_ptr<TableCopy> MakeCopy();
  const std::string& folder() const { return folder_; }

  // Rows as another program sees them, values as in ModelRow joined by `|`,
  // sorted.
  std::vector<std::string> Query(const std::string& sql);
  // Another number once any other connection wrote to the file.
  std::string Version() { return Query("pragma data_version").front(); }

 private:
  void Open();
  void Make();
  void PrepareRestore();
  void OpenReader();
  void CloseReader();

  std::string folder_;
  std::string path_;
  std::string base_;  // the bytes of the file
  std::int64_t base_schema_ = 0;
  Config config_;
  EndedTransactions ended_;
  FuzzPublisher publisher_;
  std::unique_ptr<Replica> replica_;
  std::vector<Statement> restore_;
  sqlite3* reader_ = nullptr;
  std::map<std::string, sqlite3_stmt*> statements_;  // of the reader
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_FUZZ_REPLICA_H_
