// What the messages of one replication connection mean, as plain lists: the
// reference that fuzz targets hold assembling and staging against.
//
// Written from PostgreSQL's "Logical Replication Message Formats" and
// "Streaming Protocol": a transaction is a list of messages; rolling back a
// subtransaction takes its messages off the list; a relation means what was
// said of it last, in the connection or in the transaction's own stream.
// Nothing is bounded or fast. It shares the decoder with the product (that has
// a target of its own), nothing else.
#ifndef SUBLITE_TESTS_FUZZ_STREAM_MODEL_H_
#define SUBLITE_TESTS_FUZZ_STREAM_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "applier/wire/message.h"

namespace sublite::testing {

// A Relation message, by value.
struct Definition {
  struct Column {
    std::string name;
    bool key = false;
    Oid type = 0;
    std::int32_t modifier = -1;
  };
  Oid oid = 0;
  std::string pg_schema;
  std::string pg_table;
  char identity = 'd';
  std::vector<Column> columns;
  // The message as it is outside of stream blocks.
  std::string message;
  // Counts messages: the newer of two has the higher one.
  std::uint64_t number = 0;
};
using Definitions = std::map<Oid, std::shared_ptr<const Definition>>;

// A message of a transaction, with what its relations mean.
struct ModelMessage {
  std::shared_ptr<const std::string> bytes;
  Xid subxid = 0;
  bool in_stream = false;
  bool describes = false;  // a Relation: stays when its subtransaction goes
  Definitions relations;
  bool unknown_relation = false;
};

class StreamModel {
 public:
  enum class State { kIdle, kTransaction, kPrepare, kStream };

  struct Due {
    enum class Kind {
      kNothing,
      kBegin,
      kApply,  // `message` belongs to the transaction that is being applied
      kStaged,
      kCommit,
      kReplay,    // `work` is applied and committed
      kPrepared,  // `work` is kept under a GID
      kCommitPrepared,
      kRollbackPrepared,
      kNote,
    };
    Kind kind = Kind::kNothing;
    Xid xid = 0;
    ModelMessage message;
    std::vector<ModelMessage> work;
  };

  // A new connection.
  void Connect();

  // `bytes`: what `message` was decoded from. False if it cannot come here;
  // after that only Connect makes sense.
  bool Take(const Message& message, std::string_view bytes, Due* due);

  State state() const { return state_; }
  Xid xid() const { return xid_; }
  Lsn lsn() const { return lsn_; }
  const std::string& gid() const { return gid_; }
  // Transactions that are being streamed.
  std::vector<Xid> open() const;
  // What the relation means to a change that would come now; none: nothing.
  std::shared_ptr<const Definition> Find(Oid oid) const;

 private:
  struct Transaction {
    std::vector<ModelMessage> messages;
    Definitions own;  // told in its stream
    std::set<Xid> rolled_back;
  };

  bool On(const BeginMessage& m, Due* due);
  bool On(const CommitMessage& m, Due* due);
  bool On(const LogicalMessage& m, Due* due);
  bool On(const OriginMessage& m, Due* due);
  bool On(const RelationMessage& m, Due* due);
  bool On(const TypeMessage& m, Due* due);
  bool On(const InsertMessage& m, Due* due);
  bool On(const UpdateMessage& m, Due* due);
  bool On(const DeleteMessage& m, Due* due);
  bool On(const TruncateMessage& m, Due* due);
  bool On(const StreamStartMessage& m, Due* due);
  bool On(const StreamStopMessage& m, Due* due);
  bool On(const StreamCommitMessage& m, Due* due);
  bool On(const StreamAbortMessage& m, Due* due);
  bool On(const BeginPrepareMessage& m, Due* due);
  bool On(const PrepareMessage& m, Due* due);
  bool On(const CommitPreparedMessage& m, Due* due);
  bool On(const RollbackPreparedMessage& m, Due* due);
  bool On(const StreamPrepareMessage& m, Due* due);

  bool Change(const std::optional<Xid>& subxid, const std::vector<Oid>& oids,
              Due* due);
  bool Keep(ModelMessage message, Due* due);
  // Takes the transaction out of those that are open.
  Transaction Close(Xid xid);

  State state_ = State::kIdle;
  Xid xid_ = 0;
  Lsn lsn_;
  std::string gid_;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  std::map<Xid, Transaction> open_;
  std::set<Xid> streamed_;
  Definitions known_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_STREAM_MODEL_H_
