#include "applier/relation_map.h"

#include <utility>

namespace sublite {
namespace {

// A Relation message inside a stream block is `R`, Int32 xid, and then the same
// as outside.
std::string WithoutXid(std::string_view raw, bool has_xid) {
  if (!has_xid || raw.size() < 5) return std::string(raw);
  std::string message(1, raw[0]);
  message.append(raw.substr(5));
  return message;
}

}  // namespace

RelationDefinition& RelationMap::Put(const RelationMessage& message,
                                     std::string_view raw, std::uint64_t serial,
                                     bool from_stream) {
  auto definition = std::make_unique<RelationDefinition>();
  definition->oid = message.relation;
  definition->pg_schema = std::string(message.pg_namespace);
  definition->pg_table = std::string(message.name);
  definition->identity = message.identity;
  for (const RelationColumn& column : message.columns) {
    definition->columns.push_back({std::string(column.name), column.key,
                                   column.type, column.type_modifier});
  }
  definition->serial = serial;
  definition->from_stream = from_stream;
  definition->message = WithoutXid(raw, message.xid.has_value());
  std::unique_ptr<RelationDefinition>& mine = relations_[message.relation];
  mine = std::move(definition);
  last_ = mine.get();
  return *last_;
}

RelationDefinition* RelationMap::Find(Oid oid) {
  if (last_ != nullptr && last_->oid == oid) return last_;
  const auto found = relations_.find(oid);
  if (found == relations_.end()) return nullptr;
  last_ = found->second.get();
  return last_;
}

void RelationMap::Promote(RelationMap& replayed) {
  for (auto& [oid, definition] : replayed.relations_) {
    if (!definition->from_stream) continue;
    std::unique_ptr<RelationDefinition>& mine = relations_[oid];
    if (mine != nullptr && mine->serial >= definition->serial) continue;
    definition->fits = false;
    definition->checked = false;
    mine = std::move(definition);
  }
  last_ = nullptr;
  replayed.Clear();
}

void RelationMap::Clear() {
  last_ = nullptr;
  relations_.clear();
}

}  // namespace sublite
