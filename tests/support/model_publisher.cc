#include "tests/support/model_publisher.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace sublite::testing {
namespace {

using State = ModelTransaction::State;

// Few values, so that keys meet again and equal rows come up.
constexpr int kKeys = 40;

constexpr std::array<const char*, 6> kUuids = {
    "00000000-0000-0000-0000-000000000000",
    "0a000000-0000-0000-0000-000000000001",
    "a0000000-0000-0000-0000-000000000001",
    "a0000000-0000-0000-0000-000000000010",
    "a0000000-000f-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff"};

}  // namespace

PublishedTable MakeTable(const std::string& schema, const std::string& name,
                         char identity, const std::vector<std::string>& columns,
                         std::vector<bool>* external) {
  PublishedTable table;
  table.pg_schema = schema;
  table.pg_table = name;
  table.replica_identity = identity;
  external->clear();
  for (const std::string& text : columns) {
    std::istringstream words(text);
    PublishedColumn column;
    std::string type;
    std::string flags;
    words >> column.name >> type >> flags;
    column.type = type == "int4"   ? kInt4
                  : type == "int8" ? kInt8
                  : type == "bool" ? kBool
                  : type == "date" ? kDate
                  : type == "uuid" ? kUuid
                                   : kText;
    column.type_text = type == "int4"   ? "integer"
                       : type == "int8" ? "bigint"
                       : type == "bool" ? "boolean"
                       : type == "text" ? "text"
                                        : type;
    column.attnum = static_cast<int>(table.columns.size()) + 1;
    column.not_null = flags.find_first_of("kKi!") != std::string::npos;
    if (flags.find('k') != std::string::npos) {
      table.primary_key.push_back(column.name);
    }
    if (flags.find('K') != std::string::npos) {
      table.primary_key.insert(table.primary_key.begin(), column.name);
    }
    if (flags.find('i') != std::string::npos) {
      table.identity_index.push_back(column.name);
    }
    external->push_back(flags.find('x') != std::string::npos);
    table.columns.push_back(std::move(column));
  }
  return table;
}

std::vector<int> AddTables(PgModel& model) {
  std::vector<int> tables;
  const auto add = [&](const char* schema, const char* name, char identity,
                       const std::vector<std::string>& columns) {
    std::vector<bool> external;
    PublishedTable table =
        MakeTable(schema, name, identity, columns, &external);
    tables.push_back(model.AddTable(std::move(table), external));
  };
  add("public", "pk", 'd', {"id int4 k", "n int4", "big text x"});
  add("public", "pk2", 'd', {"a text kx", "v text x", "b int4 K", "ok bool"});
  add("public", "full_nokey", 'f', {"a int4", "b text x", "c bool"});
  add("sales", "full_pk", 'f', {"id int8 k", "v text x", "w text"});
  add("public", "idx", 'i', {"v text", "k text ix", "n int4"});
  add("public", "idx_pk", 'i', {"id int4 k", "u int8 i", "big text x"});
  add("public", "log", 'n', {"at int8", "line text"});
  add("public", "days", 'd', {"id uuid k", "on date k", "n int4", "v text x"});
  add("public", "hidden", 'f', {"rowid int4", "_rowid_ text", "oid bool"});
  return tables;
}

ModelPublisher::ModelPublisher(PgModel& model, std::uint64_t seed,
                               const WorkloadOptions& options)
    : model_(model), random_(seed), options_(options) {}

// ------------------------------------------------------------------- values

ModelValue ModelPublisher::Value(const PublishedColumn& column, bool external) {
  if (!column.not_null && Chance(15)) return std::nullopt;
  switch (column.type) {
    case kInt4:
      return std::to_string(Draw(kKeys));
    case kInt8:
      return std::to_string(Chance(10) ? 9007199254740993 + Draw(8)
                                       : Draw(kKeys));
    case kBool:
      return Chance(50) ? "t" : "f";
    case kDate:
      return kDates[Draw(kDates.size())];
    case kUuid:
      return kUuids[Draw(kUuids.size())];
    default:
      break;
  }
  const std::string word = "v" + std::to_string(Draw(kKeys));
  if (external && Chance(40)) {
    return word + std::string(kExternalBytes + Draw(200), 'x');
  }
  if (Chance(5)) return "tab\tnew\nline\\back'quote\"" + word;
  return Chance(5) ? std::string() : word;
}

ModelRow ModelPublisher::NewRow(int table) {
  const TableVersion& shape = *model_.tables()[table].shape();
  ModelRow row;
  for (std::size_t i = 0; i < shape.def.columns.size(); ++i) {
    row.push_back(Value(shape.def.columns[i], shape.external[i]));
  }
  return row;
}

ModelRow ModelPublisher::ChangedRow(int table, const ModelRow& row) {
  const TableVersion& shape = *model_.tables()[table].shape();
  ModelRow changed = row;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (Chance(40)) {
      changed[i] = Value(shape.def.columns[i], shape.external[i]);
    }
  }
  return changed;
}

int ModelPublisher::PickRow(FullXid xid, int table) {
  const auto& rows = model_.tables()[table].rows;
  std::vector<int> candidates;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int row = static_cast<int>(i);
    if (model_.CanTouch(xid, table, row)) candidates.push_back(row);
  }
  return candidates.empty() ? -1 : candidates[Draw(candidates.size())];
}

// ------------------------------------------------------------------ workload

void ModelPublisher::Preload(int rows_each) {
  const FullXid xid = model_.Begin();
  for (std::size_t t = 0; t < model_.tables().size(); ++t) {
    for (int i = 0; i < rows_each; ++i) {
      model_.Insert(xid, static_cast<int>(t), NewRow(static_cast<int>(t)));
    }
  }
  model_.Commit(xid);
}

std::vector<FullXid> ModelPublisher::InState(State state) const {
  std::vector<FullXid> found;
  for (const auto& [xid, transaction] : model_.transactions()) {
    if (transaction.state == state) found.push_back(xid);
  }
  return found;
}

void ModelPublisher::Steps(int count) {
  for (int i = 0; i < count; ++i) Step();
}

void ModelPublisher::Step() {
  const std::vector<FullXid> open = InState(State::kOpen);
  const auto sessions = static_cast<std::size_t>(options_.sessions);
  if (open.empty() || (open.size() < sessions && Chance(15))) {
    Change(model_.Begin());
    return;
  }
  const FullXid xid = open[Draw(open.size())];
  ModelTransaction& transaction = model_.transaction(xid);
  const auto what = Draw(100);
  if (what < 62) {
    Change(xid);
  } else if (what < 68) {
    model_.Savepoint(xid);
  } else if (what < 72) {
    if (!transaction.savepoints.empty()) {
      model_.RollbackTo(
          xid, transaction.savepoints[Draw(transaction.savepoints.size())]);
    }
  } else if (what < 74) {
    if (!transaction.savepoints.empty()) model_.Release(xid);
  } else if (what < 76) {
    if (options_.messages) {
      model_.Message(Chance(50) ? xid : 0, "p" + std::to_string(Draw(3)),
                     std::string(Draw(20), '\x01'));
    }
  } else if (what < 78) {
    model_.Noise(static_cast<int>(Draw(5)) * 1000);
    model_.Invalidate(static_cast<int>(Draw(model_.tables().size())));
  } else if (what < 80) {
    const int table = static_cast<int>(Draw(model_.tables().size()));
    if (options_.publications && Chance(50)) {
      model_.Publish(table, !model_.tables()[table].published);
    } else if (options_.alters) {
      Alter(xid);
    }
  } else if (what < 84) {
    Decide();
  } else {
    End(xid);
  }
}

void ModelPublisher::Change(FullXid xid) {
  const int table = static_cast<int>(Draw(model_.tables().size()));
  const bool named =
      model_.tables()[table].shape()->def.replica_identity != 'n';
  const auto what = Draw(100);
  if (what < 45 || !named) {
    if (what >= 97) {
      model_.Truncate(xid, {table});
    } else {
      model_.Insert(xid, table, NewRow(table));
    }
    return;
  }
  if (what >= 98) {
    std::vector<int> both = {table};
    const int other = static_cast<int>(Draw(model_.tables().size()));
    if (other != table) both.push_back(other);
    model_.Truncate(xid, both);
    return;
  }
  const int row = PickRow(xid, table);
  if (row < 0) return;
  if (what < 80) {
    // A copy: the rows move when one is added.
    const ModelRow values = model_.tables()[table].rows[row].values;
    model_.Update(xid, table, row, ChangedRow(table, values));
  } else {
    model_.Delete(xid, table, row);
  }
}

void ModelPublisher::End(FullXid xid) {
  const auto what = Draw(100);
  if (what < 12) {
    model_.Abort(xid);
  } else if (what < 32 && options_.two_phase) {
    // Few GIDs, so that they are used again; two at once cannot have the same.
    const std::string gid = "gid" + std::to_string(Draw(4));
    for (FullXid other : InState(State::kPrepared)) {
      if (model_.transaction(other).gid == gid) return;
    }
    for (FullXid other : InState(State::kInvisible)) {
      if (model_.transaction(other).gid == gid) return;
    }
    model_.Prepare(xid, gid);
  } else {
    model_.Commit(xid, !options_.late_visibility || !Chance(10));
  }
}

void ModelPublisher::Decide() {
  const std::vector<FullXid> prepared = InState(State::kPrepared);
  if (!prepared.empty() && Chance(70)) {
    const FullXid xid = prepared[Draw(prepared.size())];
    if (Chance(30)) {
      model_.RollbackPrepared(xid);
    } else {
      model_.CommitPrepared(xid, !options_.late_visibility || !Chance(10));
    }
    return;
  }
  const std::vector<FullXid> invisible = InState(State::kInvisible);
  if (!invisible.empty()) model_.MakeVisible(invisible[Draw(invisible.size())]);
}

void ModelPublisher::Alter(FullXid xid) {
  const int table = static_cast<int>(Draw(model_.tables().size()));
  const TableVersion shape = *model_.tables()[table].shape();
  PublishedTable def = shape.def;
  std::vector<bool> external = shape.external;
  const std::size_t last = def.columns.size() - 1;
  const bool key_last = def.columns[last].not_null;
  std::function<ModelRow(const ModelRow&)> map;
  if (!key_last && def.columns.size() > 2 && Chance(40)) {
    def.columns.pop_back();
    external.pop_back();
    map = [](const ModelRow& row) {
      return ModelRow(row.begin(), row.end() - 1);
    };
  } else if (!key_last && def.columns[last].type == kText && Chance(50)) {
    // ALTER COLUMN … TYPE text USING …: the same definition, other values.
    map = [](const ModelRow& row) {
      ModelRow changed = row;
      if (changed.back().has_value()) changed.back() = *changed.back() + "'";
      return changed;
    };
  } else if (def.columns.size() < 6) {
    PublishedColumn column;
    column.name = "added" + std::to_string(Draw(1000));
    column.type = kInt4;
    column.type_text = "integer";
    column.attnum = 100;
    def.columns.push_back(column);
    external.push_back(false);
    const ModelValue fill =
        Chance(50) ? ModelValue("7") : ModelValue(std::nullopt);
    map = [fill](const ModelRow& row) {
      ModelRow longer = row;
      longer.push_back(fill);
      return longer;
    };
  }
  if (!map || !model_.Alter(xid, table, def, external, map)) return;
  if (Chance(70)) model_.Insert(xid, table, NewRow(table));
}

void ModelPublisher::Settle(bool all) {
  for (FullXid xid : InState(State::kOpen)) model_.Commit(xid);
  for (FullXid xid : InState(State::kInvisible)) model_.MakeVisible(xid);
  if (all) {
    for (FullXid xid : InState(State::kPrepared)) {
      if (Chance(30)) {
        model_.RollbackPrepared(xid);
      } else {
        model_.CommitPrepared(xid);
      }
    }
  }
  // The stream tells of a change of definition with the next row.
  const FullXid xid = model_.Begin();
  for (std::size_t i = 0; i < model_.tables().size(); ++i) {
    const int table = static_cast<int>(i);
    model_.Publish(table, true);
    for (int tries = 0; tries < 100; ++tries) {
      if (model_.Insert(xid, table, NewRow(table))) break;
    }
  }
  model_.Commit(xid);
}

}  // namespace sublite::testing
