// A Publisher without a server: a PgModel behind sublite's own seam.
//
// What the model holds is read, copied and streamed as from PostgreSQL: the
// slot remembers what was confirmed, a stream starts at the later of that and
// what was asked for, and sends only what is decided from there on. Everything
// is on the calling thread; nothing waits. A test steers it:
//   - on_receive runs at the beginning of each Receive: the place to change the
//     model, to look at the replica, to stop, to call stream.Cut, or to throw
//     Killed, which unwinds through the code under test as a kill -9 would end
//     it (nothing is committed or said any more)
//   - the other hooks likewise
//   - Receive delivers `batch` frames at most; `lookahead` frames are decoded
//     ahead, and HasMore tells of them
#ifndef SUBLITE_TESTS_SUPPORT_FAKE_PUBLISHER_H_
#define SUBLITE_TESTS_SUPPORT_FAKE_PUBLISHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "applier/publisher.h"
#include "tests/support/pg_decoder.h"
#include "tests/support/pg_model.h"

namespace sublite::testing {

struct Killed {};

struct FakeSlot {
  SlotState state;
  std::size_t restart = 0;  // of the WAL: records that it still holds
  Lsn two_phase_at;
};

class FakePublisher;

class FakeStream : public ReplicationStream {
 public:
  FakeStream(FakePublisher& publisher, const StreamOptions& options, Lsn start);
  ~FakeStream() override;

  absl::Status Receive(absl::Duration timeout,
                       std::vector<Frame>* frames) override;
  void Confirm(const Positions& positions, bool now) override;
  bool HasMore() const override { return more_; }
  absl::Time LastHeard() const override { return absl::Now(); }

  // After `frames` more frames the connection is gone.
  void Cut(int frames) { cut_in_ = frames; }
  // A frame of the test's own, after those that wait already.
  void Push(std::string frame) { queue_.push_back(std::move(frame)); }
  void PushKeepalive(bool reply);
  // All of the WAL has been delivered.
  bool idle() const { return queue_.empty() && decoder_.at_end(); }
  PgDecoder& decoder() { return decoder_; }
  const StreamOptions& options() const { return options_; }
  // The payload's first byte of the frame that was delivered last.
  char last_kind() const { return last_kind_; }
  int delivered() const { return delivered_; }

 private:
  void Fill();

  FakePublisher& publisher_;
  StreamOptions options_;
  PgDecoder decoder_;
  std::deque<std::string> queue_;
  Lsn told_;  // by a keepalive
  Positions confirmed_;
  bool more_ = false;
  int cut_in_ = -1;
  int delivered_ = 0;
  int idle_rounds_ = 0;
  char last_kind_ = 0;
};

class FakePublisher : public Publisher {
 public:
  explicit FakePublisher(PgModel& model, std::uint64_t seed = 1);

  // ---- what it is
  PublisherIdentity identity;
  FakeSlot slot;
  // The slot that was made or used last has this name.
  std::string slot_name = "s";
  std::map<std::string, FakeSlot> other_slots;
  // What the replica calls itself.
  std::string introduced_as;
  std::vector<std::string> missing_publications;
  std::string synchronous_standby_names;
  std::string server_encoding = "UTF8";

  // ---- how it behaves
  int batch = 1;
  int lookahead = 1;
  int stream_per_mille = 0;
  int keepalive_per_mille = 0;  // before each frame
  int gap_per_mille = 0;        // frames wait, but HasMore says no
  bool invisible_ends = true;   // a commit that waits for a standby, with reads
  bool idle_keepalives = true;  // one when all has been sent
  std::function<void(FakeStream&)> on_receive;
  std::function<void(FakeStream&, const Positions&, bool now)> on_confirm;
  std::function<void()> during_create_slot;
  std::function<void()> on_copy_slot;  // before it, with the source in `slot`
  std::function<void()> on_start;      // when a stream has begun
  std::function<absl::Status(const std::string& table)> on_read_table;
  std::function<absl::Status(const std::string& table, int row)> on_read_row;
  absl::Status connect_error;
  // Told of everything, a line each: to follow a seed that fails.
  std::function<void(const std::string&)> trace;

  // ---- what was asked of it
  int connects = 0;
  int table_reads = 0;
  std::vector<CopyRequest> requests;  // of each of them
  std::vector<StreamOptions> streams;
  std::vector<FakeSlot> dropped_slots;

  // ---- Publisher
  void Introduce(const std::string& name) override { introduced_as = name; }
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
      const CopyRequest& range) override;
  absl::StatusOr<std::vector<std::vector<std::string>>> Query(
      std::string_view sql) override;
  absl::StatusOr<std::unique_ptr<ReplicationStream>> StartReplication(
      const StreamOptions& options) override;

  // Makes `name` the one that is in `slot`.
  void SelectSlot(const std::string& name);

  PgModel& model() { return model_; }
  std::mt19937_64& random() { return random_; }
  // Ends a transaction somehow, as a session that sublite waits for would.
  void EndSomehow(FullXid xid);

 private:
  friend class FakeStream;
  void Trace(const std::string& line) {
    if (trace) trace(line);
  }

  PgModel& model_;
  std::mt19937_64 random_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_FAKE_PUBLISHER_H_
