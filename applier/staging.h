// Changes whose transaction is not due yet, kept as the very messages that
// arrived, to be replayed through the one decode -> apply path.
//
// One format for both places where such work lives: streamed in-progress
// transactions in a Spool (memory, then a SpillFile beside the database; lost
// with the process, since the publisher sends them again), and prepared
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
// Errors: those of SpillFile, DataLoss for a damaged record.
#ifndef SUBLITE_APPLIER_STAGING_H_
#define SUBLITE_APPLIER_STAGING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/spill_file.h"
#include "applier/wire/message.h"
#include "applier/xid_set.h"

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
// All of it but the message.
void AppendRecordHeader(const StagedRecord& record, std::string* out);
// The size of the record that `bytes` begin with, whole or not; of its header
// where they say no more.
std::size_t RecordSize(std::string_view bytes);
// Takes the first record off `*bytes`. DataLoss if it is cut off.
absl::StatusOr<StagedRecord> TakeRecord(std::string_view* bytes);

// The changes of one transaction in the order of their arrival.
class Spool {
 public:
  // Whether its bytes count against SpillFile's limit. A transaction that is
  // staged only on its way into the replica file does not: there is no other
  // way for it.
  enum class Limit { kCounts, kNone };

  // `file` outlives the spool.
  Spool(SpillFile& file, Limit limit) : file_(file), limit_(limit) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // After an error the spool is not whole: throw it away.
  absl::Status Append(const StagedRecord& record);

  // Everything of this subtransaction is void. Other subtransactions have
  // aborts of their own.
  void AbortSubtransaction(Xid subxid) { aborted_.Insert(subxid); }

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
  // Appends up to `wanted` bytes from `offset` on to `*chunk`.
  absl::Status ReadMore(std::int64_t offset, std::size_t wanted,
                        std::string* chunk);
  absl::Status Visit(
      std::string_view* bytes,
      const std::function<absl::Status(const StagedRecord&)>& visit);

  SpillFile& file_;
  const Limit limit_;
  std::string buffer_;  // what follows what is in the file
  std::vector<SpillFile::Extent> extents_;
  std::int64_t bytes_ = 0;
  std::int64_t flushed_ = 0;
  absl::flat_hash_map<Oid, std::uint64_t> relations_;
  XidSet aborted_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_STAGING_H_
