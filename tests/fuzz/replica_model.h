// What a replica holds after a sequence of messages, in the plainest form: the
// reference that the apply target holds the file against.
//
// A table is a list of rows, a prepared transaction a list of messages. Written
// from CONTRACT.md and DESIGN.md: the publisher wins (an insert whose key is
// there replaces; an update or delete whose row is missing does nothing, or
// puts the row in if it carries all of it); whole transactions are passed over
// by their position; a change that does not fit its table makes it be copied
// before the transaction ends; what a copy's snapshot sees is not applied
// again. It shares decoding, values, shapes and snapshots with the product
// (each has tests of its own), nothing else.
//
// Three states: `working` has what a transaction did so far, `whole` all whole
// transactions, `written` those that were committed to the file.
#ifndef SUBLITE_TESTS_FUZZ_REPLICA_MODEL_H_
#define SUBLITE_TESTS_FUZZ_REPLICA_MODEL_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "applier/snapshot.h"
#include "applier/wire/decode.h"
#include "applier/wire/message.h"
#include "schema/table.h"
#include "tests/fuzz/sequence.h"
#include "tests/fuzz/stream_model.h"

namespace sublite::testing {

// The snapshot that a copy has.
Snapshot SnapshotOf(const CatalogAnswer& answer);

// A stored value as the reader of the file prints it: null, i:5, t:text.
using ModelRow = std::vector<std::string>;

struct ModelTable {
  TableShape shape;
  std::vector<ModelRow> rows;
  bool follows = true;
  bool stale = false;
  std::string copied_for;
  Lsn copy_pos;
  Snapshot snapshot;
};

struct ModelPrepared {
  Xid xid = 0;
  std::string gid;
  Lsn lsn;
  std::vector<ModelMessage> work;
};

struct ModelState {
  std::vector<ModelTable> tables;
  std::vector<ModelPrepared> prepared;          // oldest first
  std::map<std::string, std::string> messages;  // by LSN
};

class ReplicaModel {
 public:
  ReplicaModel();

  const StreamModel& stream() const { return stream_; }
  const ModelState& written() const { return written_; }
  // Grows whenever that changes.
  int writes() const { return writes_; }
  // Everything up to here has been dealt with.
  Lsn reached() const { return reached_; }
  // What the file has to hold cannot be told from here on (a lying replica
  // identity named several rows).
  bool unsure() const { return unsure_; }

  // What copies find from now on.
  void SetCatalog(const CatalogAnswer& answer) {
    catalog_[static_cast<std::size_t>(answer.table)] = answer;
  }

  // `applied`: the replica's position. The status has the code that the
  // product's has to have; after an error only Connect makes sense.
  absl::Status OnMessage(std::string_view bytes, DecodeContext context,
                         bool keep_messages, Lsn applied);
  void OnKeepalive(Lsn wal_end);
  // The SQLite transaction was committed.
  void Written();
  // A new connection after what was not written has been rolled back.
  void Connect(Lsn applied);

 private:
  absl::Status OnDue(const StreamModel::Due& due, const Message& message);
  void Start(Xid xid, Lsn commit_lsn);
  absl::Status End(Lsn end_lsn);
  absl::Status ApplyAll(const std::vector<ModelMessage>& work);
  absl::Status Apply(const ModelMessage& message);
  absl::Status CommitPrepared(const CommitPreparedMessage& m);
  void Keep(const LogicalMessage& m);
  std::vector<ModelPrepared>::iterator FindPrepared(Xid xid,
                                                    std::string_view gid);

  // Null where the change is to be dropped.
  absl::StatusOr<ModelTable*> Target(const Definition& definition);
  absl::Status MarkStale(ModelTable& table, const std::string& definition);
  absl::Status CopyStale();
  absl::Status Copy(ModelTable& table);
  bool SeesAllEnded(const Snapshot& snapshot) const;

  // False where the change does not fit the table.
  bool Insert(ModelTable& table, Tuple row);
  bool Update(ModelTable& table, const UpdateMessage& m);
  bool Delete(ModelTable& table, const DeleteMessage& m);

  DecodeContext context_;
  bool keep_messages_ = false;
  Lsn applied_;
  StreamModel stream_;
  std::vector<CatalogAnswer> catalog_;
  ModelState working_, whole_, written_;
  bool whole_is_written_ = true;
  int writes_ = 0;
  std::vector<std::size_t> stale_;
  std::set<Xid> ended_;
  Lsn reached_;
  Xid xid_ = 0;
  Lsn commit_lsn_;
  bool skip_ = false;
  bool unsure_ = false;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_REPLICA_MODEL_H_
