// Logical decoding of a PgModel's WAL: the messages that pgoutput would send.
//
// Follows reorderbuffer.c, decode.c and pgoutput.c in what a subscriber sees:
// transactions come at their commit record, in commit order; those whose
// deciding record is before the start position do not come; a transaction that
// was prepared before `two_phase_at` comes whole just before its Commit
// Prepared; large ones are streamed in blocks, and then every subtransaction
// that is rolled back is told; Relation comes before the first use, again after
// an invalidation, and inside a stream belongs to that transaction.
#ifndef SUBLITE_TESTS_SUPPORT_PG_DECODER_H_
#define SUBLITE_TESTS_SUPPORT_PG_DECODER_H_

#include <cstddef>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "applier/publisher.h"
#include "tests/support/pg_model.h"

namespace sublite::testing {

struct DecoderOptions {
  std::size_t restart = 0;  // first record to read, as restart_lsn
  Lsn start;                // what is decided before it is not sent
  bool two_phase = false;
  Lsn two_phase_at;
  Streaming streaming = Streaming::kOff;
  bool messages = false;
  bool empty_transactions = false;  // sent, as before server 15
  // Of a prepared transaction without any change: all (15), only what decides
  // it (16, 17), or Prepare without Begin Prepare (18).
  enum class EmptyPrepared { kWhole, kDecision, kPrepare };
  EmptyPrepared empty_prepared = EmptyPrepared::kWhole;
  // Of 1000 changes so many make the largest transaction be streamed.
  int stream_per_mille = 0;
};

class PgDecoder {
 public:
  struct Output {
    Lsn at;
    std::string payload;
  };

  PgDecoder(const PgModel& model, const DecoderOptions& options,
            std::mt19937_64* random);

  // Decodes the next record, and appends what it makes to output(). False if
  // there is none.
  bool Step();
  bool at_end() const { return next_ >= model_.wal().size(); }
  std::deque<Output>& output() { return output_; }
  // The end of the last record that was decoded.
  Lsn sent() const { return sent_; }

  // Streams what there is of a transaction now.
  void StreamNow(FullXid xid);

 private:
  struct Transaction {
    std::vector<std::size_t> pending;  // records
    std::set<FullXid> subs;            // met so far
    std::set<FullXid> streamed_subs;
    bool streamed = false;
  };
  struct Entry {  // of pgoutput's cache of relations
    TableVersionPtr shape;
    bool sent = false;
    std::set<FullXid> streamed_in;
  };

  void Emit(std::string payload) {
    output_.push_back({at_, std::move(payload)});
  }
  void OnChange(std::size_t index, const WalRecord& record);
  void OnAbort(const WalRecord& record);
  void OnCommit(const WalRecord& record);
  void OnPrepare(const WalRecord& record);
  void OnCommitPrepared(const WalRecord& record);
  void EmitPlain(FullXid xid, const std::vector<std::size_t>& records,
                 Lsn commit_lsn, Lsn end_lsn, std::int64_t time);
  void EmitPrepared(FullXid xid);
  bool EmitChange(const WalRecord& record, bool in_stream);
  void Describe(int table, const TableVersionPtr& shape,
                const WalRecord& record, bool in_stream);
  bool Sends(const WalRecord& record) const;
  bool NeedsSkip(const WalRecord& record) const {
    return record.start < options_.start;
  }
  bool streaming() const { return options_.streaming != Streaming::kOff; }

  const PgModel& model_;
  DecoderOptions options_;
  std::mt19937_64* random_;
  std::size_t next_;
  Lsn sent_;
  Lsn at_;
  std::map<FullXid, Transaction> transactions_;
  std::map<int, Entry> relations_;
  std::deque<Output> output_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_PG_DECODER_H_
