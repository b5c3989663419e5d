// What rows mean on one connection, or in one replayed transaction: the newest
// Relation message of each OID.
//
// A connection's map is emptied when the connection ends, since the publisher
// tells everything again. A staged transaction is replayed with a map of its
// own, filled only by what was staged with it; afterwards Promote takes into
// the connection's map what the publisher will not repeat.
//
// Ownership: a RelationDefinition owns all that it holds and stays where it is
// until it is replaced or the map is cleared.
#ifndef SUBLITE_APPLIER_RELATION_MAP_H_
#define SUBLITE_APPLIER_RELATION_MAP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "applier/wire/message.h"

namespace sublite {

struct ReplicaTable;

struct RelationDefinition {
  struct Column {
    std::string name;
    bool key = false;
    Oid type = 0;
    std::int32_t type_modifier = -1;
  };

  Oid oid = 0;
  std::string pg_schema;
  std::string pg_table;
  ReplicaIdentity identity = ReplicaIdentity::kDefault;
  std::vector<Column> columns;

  std::uint64_t serial = 0;
  bool from_stream =
      false;  // arrived inside a stream block, not put in by sublite
  std::string
      message;  // the Relation message without the xid of a stream block

  // The table whose rows these are, as Replica found it; looked up again when
  // `generation` is not the replica's.
  ReplicaTable* table = nullptr;
  std::uint64_t generation = 0;
  bool fits = false;     // its rows fit `table`
  bool checked = false;  // held against the publisher's catalog

  std::string FullName() const { return pg_schema + "." + pg_table; }
};

class RelationMap {
 public:
  // `raw`: the message's bytes.
  RelationDefinition& Put(const RelationMessage& message, std::string_view raw,
                          std::uint64_t serial, bool from_stream);

  // nullptr if the OID has not been described.
  RelationDefinition* Find(Oid oid);

  // Takes over from a replayed transaction's map what arrived in its stream and
  // is newer than what this map holds.
  void Promote(RelationMap& replayed);

  void Clear();

 private:
  absl::flat_hash_map<Oid, std::unique_ptr<RelationDefinition>> relations_;
  RelationDefinition* last_ = nullptr;  // rows come in runs of one relation
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_RELATION_MAP_H_
