// Changes whose transaction is not due yet, kept as the very messages that
// arrived, to be replayed through the one decode -> apply path.
//
// One format for both places where such work lives: streamed in-progress
// transactions in a Spool (memory, then an unlinked file beside the database;
// lost with the process, since the publisher sends them again), and prepared
// transactions in sublite_staged (in the replica file, durable before PREPARE
// is confirmed). A record, integers in native order since neither leaves the
// device:
//
//     u32 size of the message | u32 subxid | u64 serial | u8 flags | the
//     pgoutput message
//
// `serial` counts the messages of a connection: of two definitions of one
// relation the one with the higher serial is newer. Flag 1: the message came
// inside a stream block and carries its xid. Flag 2: a Relation put in by
// sublite, so that the work can be replayed without the connection that it came
// from.
//
// Errors: ResourceExhausted when the disk is full, Unavailable for other I/O
// errors, DataLoss for a damaged record.
#ifndef SUBLITE_APPLIER_STAGING_H_
#define SUBLITE_APPLIER_STAGING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/wire/message.h"

namespace sublite {

struct StagedRecord {
  Xid subxid = 0;
  std::uint64_t serial = 0;
  bool in_stream_block = false;
  bool injected = false;
  std::string_view message;

  // 'R' or 'Y': says what rows mean. These hold for the whole transaction even
  // if the subtransaction that they came in is rolled back: the publisher sends
  // them once per transaction, and again when something about the relation
  // changed.
  bool describes() const {
    return !message.empty() && (message[0] == 'R' || message[0] == 'Y');
  }
};

void AppendRecord(const StagedRecord& record, std::string* out);
// Takes the first record off `*bytes`. DataLoss if it is cut off.
absl::StatusOr<StagedRecord> TakeRecord(std::string_view* bytes);

// The changes of one transaction in the order of their arrival.
class Spool {
 public:
  // `directory`: where a file is made once the spool outgrows its memory.
  explicit Spool(std::string directory) : directory_(std::move(directory)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // DataLoss for a message of a subtransaction that was rolled back: its id is
  // never used again.
  absl::Status Append(const StagedRecord& record);

  // Everything of this subtransaction is void. Other subtransactions have
  // aborts of their own.
  void AbortSubtransaction(Xid subxid);

  // Calls `visit` for each record that is not void, and for those that
  // describe, in order. The record is valid during the call. Ends with the
  // first error.
  absl::Status ForEach(
      const std::function<absl::Status(const StagedRecord&)>& visit);

  // The newest serial with which this spool holds a definition of `relation`,
  // or 0.
  std::uint64_t SerialOf(Oid relation) const;
  void SetSerialOf(Oid relation, std::uint64_t serial) {
    relations_[relation] = serial;
  }

  std::int64_t bytes() const { return bytes_; }

 private:
  absl::Status Flush();
  absl::Status Write(std::string_view bytes);
  absl::Status Visit(
      std::string_view* bytes,
      const std::function<absl::Status(const StagedRecord&)>& visit);

  std::string directory_;
  std::string buffer_;
  int file_ = -1;
  std::int64_t bytes_ = 0;
  std::int64_t flushed_ = 0;
  absl::flat_hash_map<Oid, std::uint64_t> relations_;
  absl::flat_hash_set<Xid> subxids_;
  absl::flat_hash_set<Xid> aborted_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_STAGING_H_
