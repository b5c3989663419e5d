// What a replica file holds, in a form that tests compare: as an ordinary
// reader of the file sees it, on a connection of its own.
//
// A value is written with its SQLite type in front: `i:5`, `r:0.5`, `t:text`,
// `b:00ff`, `null`. A row joins them with `|`; rows are sorted, since they are
// a multiset. Errors of SQLite fail the test and give what was read so far.
#ifndef SUBLITE_TESTS_SUPPORT_REPLICA_DUMP_H_
#define SUBLITE_TESTS_SUPPORT_REPLICA_DUMP_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "applier/wire/lsn.h"
#include "tests/support/pg_model.h"

struct sqlite3;

namespace sublite::testing {

class ReplicaReader {
 public:
  explicit ReplicaReader(const std::string& path);
  ~ReplicaReader();
  ReplicaReader(const ReplicaReader&) = delete;
  ReplicaReader& operator=(const ReplicaReader&) = delete;

  // All rows of a query, sorted only by the query itself.
  std::vector<std::string> Query(const std::string& sql);
  // The first value of the first row without its type; "" if there is none.
  std::string Scalar(const std::string& sql);
  std::int64_t Int(const std::string& sql);
  std::vector<std::string> Rows(const std::string& table);
  bool Exists(const std::string& table);

  // Zero while the replica has no position.
  Lsn AppliedPos();

  // One read transaction around several questions.
  void Begin() { Query("begin"); }
  void End() { Query("commit"); }

 private:
  sqlite3* db_ = nullptr;
};

// As ReplicaReader::Rows gives them, for rows of the model.
std::string StoredRow(const TableVersion& shape, const ModelRow& row);

// What differs between the file and the model, one line a difference; empty if
// nothing does. Looked at are all ready tables, at the position that the file
// itself gives (and for a table newer than that, its copy's snapshot), the
// prepared transactions, and the file's own counts of conflicts.
struct CompareOptions {
  std::vector<std::string> not_these;  // tables known to be behind
  bool two_phase = true;  // prepared transactions come when they are prepared
  // Tables too whose definition changed, or which left the publication or came
  // back, without a row since that would have told it.
  bool strict = false;
};
std::vector<std::string> CompareWithModel(ReplicaReader& reader,
                                          const PgModel& model,
                                          const CompareOptions& options = {});

// PRAGMA integrity_check, and no left-over of a copy.
std::vector<std::string> CheckSound(ReplicaReader& reader);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_REPLICA_DUMP_H_
