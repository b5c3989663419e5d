// A seeded workload on a PgModel: several sessions at once, with savepoints,
// prepared transactions under few GIDs, truncation, changes of definition and
// logical messages, on tables with every kind of replica identity.
//
// Every step is drawn from the seed, and nothing else, so a run can be
// repeated. Operations that a real server would make wait are left out.
#ifndef SUBLITE_TESTS_SUPPORT_MODEL_PUBLISHER_H_
#define SUBLITE_TESTS_SUPPORT_MODEL_PUBLISHER_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/pg_model.h"

namespace sublite::testing {

struct WorkloadOptions {
  bool two_phase = true;
  bool alters = true;
  bool messages = true;
  bool late_visibility = true;
  bool publications = false;  // tables leave the publication and come back
  int sessions = 4;
};

class ModelPublisher {
 public:
  ModelPublisher(PgModel& model, std::uint64_t seed,
                 const WorkloadOptions& options);

  // Rows that are there before any slot.
  void Preload(int rows_each);
  // One small thing in one session.
  void Step();
  void Steps(int count);
  // Ends what is open; prepared transactions stay, unless `all`.
  void Settle(bool all);

 private:
  std::uint64_t Draw(std::uint64_t below) { return random_() % below; }
  bool Chance(int percent) {
    return Draw(100) < static_cast<unsigned>(percent);
  }
  ModelValue Value(const PublishedColumn& column, bool external);
  ModelRow NewRow(int table);
  ModelRow ChangedRow(int table, const ModelRow& row);
  int PickRow(FullXid xid, int table);
  void Change(FullXid xid);
  void End(FullXid xid);
  void Alter(FullXid xid);
  void Decide();
  std::vector<FullXid> InState(ModelTransaction::State state) const;

  PgModel& model_;
  std::mt19937_64 random_;
  WorkloadOptions options_;
};

// A table's definition in few words: columns as "name type flags", where flags
// are k (primary key, in this order), K (likewise, as the key's first column),
// i (replica identity index), x (external), ! (NOT NULL without being a key).
// Types: int4, int8, bool, text.
PublishedTable MakeTable(const std::string& schema, const std::string& name,
                         char identity, const std::vector<std::string>& columns,
                         std::vector<bool>* external);

// One table for every way in which a row can be named.
std::vector<int> AddTables(PgModel& model);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SUPPORT_MODEL_PUBLISHER_H_
