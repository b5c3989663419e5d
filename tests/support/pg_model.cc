#include "tests/support/pg_model.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sublite::testing {
namespace {

PgType Builtin(std::uint32_t oid, const char* name) {
  PgType type;
  type.oid = oid;
  type.name = name;
  type.builtin = true;
  return type;
}

bool SameIn(const PublishedTable& def, const std::vector<std::string>& names,
            const ModelRow& a, const ModelRow& b) {
  for (const std::string& name : names) {
    for (std::size_t i = 0; i < def.columns.size(); ++i) {
      // NULLs are never equal to anything.
      if (def.columns[i].name == name && (!a[i].has_value() || a[i] != b[i])) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

const PgTypes& ModelTypes() {
  static const auto* const kTypes = new PgTypes{
      {kBool, Builtin(kBool, "bool")}, {kInt8, Builtin(kInt8, "int8")},
      {kInt4, Builtin(kInt4, "int4")}, {kText, Builtin(kText, "text")},
      {kDate, Builtin(kDate, "date")}, {kUuid, Builtin(kUuid, "uuid")},
  };
  return *kTypes;
}

PgModel::PgModel(FullXid first_xid)
    : next_xid_(first_xid), latest_ended_(first_xid - 1) {}

int PgModel::AddTable(PublishedTable def, std::vector<bool> external) {
  def.oid = next_oid_++;
  def.published_as = "1";
  def.attributes = "1";
  def.storage = std::to_string(++storage_);
  external.resize(def.columns.size());
  ModelTable table;
  table.shapes.push_back({0, 0,
                          std::make_shared<const TableVersion>(TableVersion{
                              std::move(def), std::move(external)})});
  tables_.push_back(std::move(table));
  return static_cast<int>(tables_.size()) - 1;
}

int PgModel::FindTable(const std::string& schema,
                       const std::string& name) const {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const PublishedTable& def = tables_[i].shape()->def;
    if (def.pg_schema == schema && def.pg_table == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// ------------------------------------------------------------- transactions

FullXid PgModel::NewXid() {
  // 0, 1 and 2 of each epoch are no transaction's.
  while ((next_xid_ & 0xffffffff) < 3) ++next_xid_;
  return next_xid_++;
}

FullXid PgModel::Begin() {
  ModelTransaction transaction;
  transaction.xid = NewXid();
  transactions_[transaction.xid] = transaction;
  return transaction.xid;
}

FullXid PgModel::Savepoint(FullXid xid) {
  ModelTransaction& transaction = transactions_.at(xid);
  const FullXid sub = NewXid();
  transaction.savepoints.push_back(sub);
  transaction.subs.push_back(sub);
  return sub;
}

void PgModel::Release(FullXid xid) {
  transactions_.at(xid).savepoints.pop_back();
}

FullXid PgModel::Current(const ModelTransaction& transaction) const {
  return transaction.savepoints.empty() ? transaction.xid
                                        : transaction.savepoints.back();
}

WalRecord& PgModel::Log(WalRecord::Kind kind,
                        const ModelTransaction& transaction) {
  WalRecord record;
  record.kind = kind;
  // Now and then a page header stands between two records.
  record.start = Lsn(end_.value() + (wal_.size() % 7 == 0 ? 24 : 0));
  record.end = Lsn(record.start.value() + 40 + 8 * (wal_.size() % 5));
  end_ = record.end;
  record.time = now_;
  now_ += 1000;
  record.xid = transaction.xid;
  record.sub = Current(transaction);
  const auto logged = transactions_.find(transaction.xid);
  if (logged != transactions_.end() &&
      (kind == WalRecord::Kind::kChange || kind == WalRecord::Kind::kMessage)) {
    logged->second.has_changes = true;
  }
  wal_.push_back(std::move(record));
  return wal_.back();
}

void PgModel::RollbackTo(FullXid xid, FullXid savepoint) {
  ModelTransaction& transaction = transactions_.at(xid);
  // Subtransactions are numbered in the order in which they began, and what
  // began after the savepoint and was released went into it or into one above.
  std::set<FullXid> undone;
  for (FullXid sub : transaction.subs) {
    if (sub >= savepoint) undone.insert(sub);
  }
  auto& subs = transaction.subs;
  subs.erase(std::remove_if(subs.begin(), subs.end(),
                            [&](FullXid s) { return s >= savepoint; }),
             subs.end());
  auto& open = transaction.savepoints;
  open.erase(std::remove_if(open.begin(), open.end(),
                            [&](FullXid s) { return s >= savepoint; }),
             open.end());
  WalRecord& record = Log(WalRecord::Kind::kAbortSubs, transaction);
  // PostgreSQL names the children first.
  record.subs.assign(undone.rbegin(), undone.rend());
  Undo(undone);
  for (FullXid sub : undone) latest_ended_ = std::max(latest_ended_, sub);
}

void PgModel::Undo(const std::set<FullXid>& subs) {
  for (ModelTable& table : tables_) {
    for (RowVersion& row : table.rows) {
      if (subs.count(row.made_by_sub) > 0) row.undone = true;
      if (subs.count(row.removed_by_sub) > 0) {
        row.removed_by = row.removed_by_sub = 0;
      }
    }
    auto& shapes = table.shapes;
    shapes.erase(std::remove_if(shapes.begin(), shapes.end(),
                                [&](const ShapeChange& change) {
                                  return subs.count(change.by_sub) > 0;
                                }),
                 shapes.end());
  }
}

void PgModel::Finish(ModelTransaction& transaction, bool committed,
                     bool visible) {
  // Becoming visible is no record.
  if (!transaction.decided.valid()) {
    transaction.decided = end_;
    transaction.time = wal_.back().time;
  }
  transaction.savepoints.clear();
  if (!committed) {
    std::set<FullXid> all(transaction.subs.begin(), transaction.subs.end());
    all.insert(transaction.xid);
    Undo(all);
    transaction.state = ModelTransaction::State::kAborted;
  } else if (!visible) {
    transaction.state = ModelTransaction::State::kInvisible;
    return;
  } else {
    transaction.state = ModelTransaction::State::kCommitted;
  }
  latest_ended_ = std::max(latest_ended_, transaction.xid);
  for (FullXid sub : transaction.subs) {
    latest_ended_ = std::max(latest_ended_, sub);
  }
  Unlock(transaction.xid);
}

void PgModel::Unlock(FullXid xid) {
  for (ModelTable& table : tables_) {
    table.writers.erase(xid);
    if (table.exclusive == xid) table.exclusive = 0;
  }
}

void PgModel::Commit(FullXid xid, bool visible) {
  ModelTransaction& transaction = transactions_.at(xid);
  Log(WalRecord::Kind::kCommit, transaction);
  Finish(transaction, true, visible);
}

void PgModel::MakeVisible(FullXid xid) {
  Finish(transactions_.at(xid), true, true);
}

void PgModel::Abort(FullXid xid) {
  ModelTransaction& transaction = transactions_.at(xid);
  WalRecord& record = Log(WalRecord::Kind::kAbort, transaction);
  record.subs = transaction.subs;
  Finish(transaction, false, true);
}

void PgModel::Prepare(FullXid xid, const std::string& gid) {
  ModelTransaction& transaction = transactions_.at(xid);
  transaction.savepoints.clear();
  WalRecord& record = Log(WalRecord::Kind::kPrepare, transaction);
  record.gid = gid;
  transaction.gid = gid;
  transaction.prepare_lsn = record.start;
  transaction.prepare_end = record.end;
  transaction.state = ModelTransaction::State::kPrepared;
}

void PgModel::CommitPrepared(FullXid xid, bool visible) {
  ModelTransaction& transaction = transactions_.at(xid);
  Log(WalRecord::Kind::kCommitPrepared, transaction).gid = transaction.gid;
  Finish(transaction, true, visible);
}

void PgModel::RollbackPrepared(FullXid xid) {
  ModelTransaction& transaction = transactions_.at(xid);
  WalRecord& record = Log(WalRecord::Kind::kRollbackPrepared, transaction);
  record.gid = transaction.gid;
  record.subs = transaction.subs;
  Finish(transaction, false, true);
}

// ------------------------------------------------------------------ changes

bool PgModel::LockForWrite(ModelTransaction& transaction, int table) {
  ModelTable& at = tables_[table];
  if (at.exclusive != 0 && at.exclusive != transaction.xid) return false;
  at.writers.insert(transaction.xid);
  return true;
}

bool PgModel::LockExclusive(ModelTransaction& transaction, int table) {
  ModelTable& at = tables_[table];
  for (FullXid writer : at.writers) {
    if (writer != transaction.xid) return false;
  }
  at.writers.insert(transaction.xid);
  at.exclusive = transaction.xid;
  return true;
}

bool PgModel::UniqueFree(FullXid xid, int table, const ModelRow& values,
                         int except) const {
  const ModelTable& at = tables_[table];
  const PublishedTable& def = at.shape()->def;
  for (const auto* names : {&def.primary_key, &def.identity_index}) {
    if (names->empty()) continue;
    for (std::size_t i = 0; i < at.rows.size(); ++i) {
      const RowVersion& row = at.rows[i];
      if (static_cast<int>(i) == except || row.undone) continue;
      if (row.removed_by != 0 &&
          (row.removed_by == xid || Visible(row.removed_by))) {
        continue;
      }
      if (row.values.size() == values.size() &&
          SameIn(def, *names, row.values, values)) {
        return false;
      }
    }
  }
  return true;
}

bool PgModel::Insert(FullXid xid, int table, const ModelRow& row) {
  ModelTransaction& transaction = transactions_.at(xid);
  if (!UniqueFree(xid, table, row, -1)) return false;
  if (!LockForWrite(transaction, table)) return false;
  ModelTable& at = tables_[table];
  const FullXid sub = Current(transaction);
  at.rows.push_back({at.shape(), row, xid, sub, 0, 0, false});
  WalRecord& record = Log(WalRecord::Kind::kChange, transaction);
  record.operation = 'I';
  record.tables = {table};
  record.published = {at.published};
  record.shape = at.shape();
  record.new_row = row;
  return true;
}

bool PgModel::Update(FullXid xid, int table, int row, const ModelRow& values) {
  ModelTransaction& transaction = transactions_.at(xid);
  if (!CanTouch(xid, table, row)) return false;
  if (!UniqueFree(xid, table, values, row)) return false;
  if (!LockForWrite(transaction, table)) return false;
  ModelTable& at = tables_[table];
  const FullXid sub = Current(transaction);
  const ModelRow old_row = at.rows[row].values;
  at.rows[row].removed_by = xid;
  at.rows[row].removed_by_sub = sub;
  at.rows.push_back({at.shape(), values, xid, sub, 0, 0, false});
  WalRecord& record = Log(WalRecord::Kind::kChange, transaction);
  record.operation = 'U';
  record.tables = {table};
  record.published = {at.published};
  record.shape = at.shape();
  record.old_row = old_row;
  record.new_row = values;
  return true;
}

bool PgModel::Delete(FullXid xid, int table, int row) {
  ModelTransaction& transaction = transactions_.at(xid);
  if (!CanTouch(xid, table, row)) return false;
  if (!LockForWrite(transaction, table)) return false;
  ModelTable& at = tables_[table];
  at.rows[row].removed_by = xid;
  at.rows[row].removed_by_sub = Current(transaction);
  WalRecord& record = Log(WalRecord::Kind::kChange, transaction);
  record.operation = 'D';
  record.tables = {table};
  record.published = {at.published};
  record.shape = at.shape();
  record.old_row = at.rows[row].values;
  return true;
}

bool PgModel::Truncate(FullXid xid, const std::vector<int>& tables) {
  ModelTransaction& transaction = transactions_.at(xid);
  for (int table : tables) {
    if (!LockExclusive(transaction, table)) return false;
  }
  WalRecord& record = Log(WalRecord::Kind::kChange, transaction);
  record.operation = 'T';
  record.tables = tables;
  const FullXid sub = Current(transaction);
  for (int table : tables) {
    ModelTable& at = tables_[table];
    // The emptied table has a new file.
    TableVersion emptied = *at.shape();
    emptied.def.storage = std::to_string(++storage_);
    record.shapes.push_back(at.shape());
    record.published.push_back(at.published);
    for (RowVersion& row : at.rows) {
      if (row.undone || row.removed_by != 0) continue;
      row.removed_by = xid;
      row.removed_by_sub = sub;
    }
    at.shapes.push_back(
        {xid, sub, std::make_shared<const TableVersion>(std::move(emptied))});
  }
  return true;
}

bool PgModel::Alter(FullXid xid, int table, PublishedTable def,
                    std::vector<bool> external,
                    const std::function<ModelRow(const ModelRow&)>& map) {
  ModelTransaction& transaction = transactions_.at(xid);
  if (!LockExclusive(transaction, table)) return false;
  ModelTable& at = tables_[table];
  def.oid = at.shape()->def.oid;
  external.resize(def.columns.size());
  const FullXid sub = Current(transaction);
  const bool rewrites =
      std::any_of(at.rows.begin(), at.rows.end(), [&](const RowVersion& row) {
        return !row.undone && row.removed_by == 0 &&
               map(row.values) != row.values;
      });
  if (rewrites) {
    def.storage = std::to_string(++storage_);
    def.attributes = def.storage;
  }
  at.shapes.push_back({xid, sub,
                       std::make_shared<const TableVersion>(
                           TableVersion{std::move(def), std::move(external)})});
  const std::size_t rows = at.rows.size();
  for (std::size_t i = 0; i < rows; ++i) {
    if (at.rows[i].undone || at.rows[i].removed_by != 0) continue;
    at.rows[i].removed_by = xid;
    at.rows[i].removed_by_sub = sub;
    at.rows.push_back(
        {at.shape(), map(at.rows[i].values), xid, sub, 0, 0, false});
  }
  Noise(200);
  return true;
}

void PgModel::Message(FullXid xid, const std::string& prefix,
                      const std::string& content) {
  static const ModelTransaction kNone;
  WalRecord& record =
      Log(WalRecord::Kind::kMessage, xid == 0 ? kNone : transactions_.at(xid));
  record.transactional = xid != 0;
  record.prefix = prefix;
  record.content = content;
}

bool PgModel::Publish(int table, bool published) {
  ModelTable& at = tables_[table];
  if (at.exclusive != 0 || at.published == published) return false;
  at.published = published;
  TableVersion version = *at.shape();
  version.def.published_as = std::to_string(++storage_);
  at.shapes.push_back(
      {0, 0, std::make_shared<const TableVersion>(std::move(version))});
  Noise(200);
  return true;
}

void PgModel::Invalidate(int table) {
  static const ModelTransaction kNone;
  Log(WalRecord::Kind::kInvalidation, kNone).tables = {table};
}

std::string PgModel::DescribeWal() const {
  constexpr const char* kNames[] = {
      "change",      "message", "abort of savepoints", "abort",
      "commit",      "prepare", "commit prepared",     "rollback prepared",
      "invalidation"};
  std::string text;
  for (const WalRecord& record : wal_) {
    text += record.start.ToString() + " xid " +
            std::to_string(record.xid & 0xffffffff) + "/" +
            std::to_string(record.sub & 0xffffffff) + " " +
            kNames[static_cast<int>(record.kind)];
    if (record.operation != 0) text += std::string(" ") + record.operation;
    for (std::size_t i = 0; i < record.tables.size(); ++i) {
      text += " " + tables_[record.tables[i]].shape()->def.pg_table;
      const bool sent = i >= record.published.size() || record.published[i];
      if (!sent) text += " (not published)";
    }
    for (const ModelRow* row : {&record.old_row, &record.new_row}) {
      for (const ModelValue& value : *row) {
        text += "|" + value.value_or("null").substr(0, 20);
      }
    }
    text += " " + record.gid + "\n";
  }
  return text;
}

// ------------------------------------------------------- what others see

bool PgModel::Visible(FullXid xid) const {
  const auto found = transactions_.find(xid);
  return found != transactions_.end() &&
         found->second.state == ModelTransaction::State::kCommitted;
}

bool PgModel::CommittedBy(FullXid xid, Lsn lsn) const {
  const auto found = transactions_.find(xid);
  if (found == transactions_.end()) return false;
  const ModelTransaction& transaction = found->second;
  return (transaction.state == ModelTransaction::State::kCommitted ||
          transaction.state == ModelTransaction::State::kInvisible) &&
         transaction.decided <= lsn;
}

bool PgModel::SeesRow(FullXid xid, const RowVersion& row) const {
  if (row.undone) return false;
  if (row.made_by != xid && !Visible(row.made_by)) return false;
  return row.removed_by == 0 ||
         (row.removed_by != xid && !Visible(row.removed_by));
}

bool PgModel::CanTouch(FullXid xid, int table, int row) const {
  const RowVersion& version = tables_[table].rows[row];
  return SeesRow(xid, version) && version.removed_by == 0;
}

std::vector<const RowVersion*> PgModel::Rows(
    int table, const std::function<bool(FullXid)>& in) const {
  std::vector<const RowVersion*> rows;
  for (const RowVersion& row : tables_[table].rows) {
    if (row.undone || !in(row.made_by)) continue;
    if (row.removed_by != 0 && in(row.removed_by)) continue;
    rows.push_back(&row);
  }
  return rows;
}

TableVersionPtr PgModel::ShapeAt(int table,
                                 const std::function<bool(FullXid)>& in) const {
  TableVersionPtr shape;
  for (const ShapeChange& change : tables_[table].shapes) {
    if (change.by == 0 || in(change.by)) shape = change.shape;
  }
  return shape;
}

Snapshot PgModel::CurrentSnapshot() const {
  const FullXid xmax = latest_ended_ + 1;
  FullXid xmin = xmax;
  std::string list;
  for (const auto& [xid, transaction] : transactions_) {
    const bool ended =
        transaction.state == ModelTransaction::State::kCommitted ||
        transaction.state == ModelTransaction::State::kAborted;
    if (ended || xid >= xmax) continue;
    xmin = std::min(xmin, xid);
    list += (list.empty() ? "" : ",") + std::to_string(xid);
  }
  const auto snapshot = Snapshot::Parse(std::to_string(xmin) + ":" +
                                        std::to_string(xmax) + ":" + list);
  if (!snapshot.ok()) std::abort();
  return *snapshot;
}

Snapshot PgModel::SlotSnapshot() const {
  // It knows commits only: what has not committed counts as in progress.
  std::set<FullXid> committed;
  FullXid xmax = 0;
  FullXid xmin = next_xid_;
  for (const auto& [xid, transaction] : transactions_) {
    if (CommittedBy(xid, end_)) {
      committed.insert(xid);
      committed.insert(transaction.subs.begin(), transaction.subs.end());
    } else if (transaction.state != ModelTransaction::State::kAborted) {
      xmin = std::min(xmin, xid);
    }
  }
  if (!committed.empty()) xmax = *committed.rbegin() + 1;
  xmax = std::max(xmax, latest_ended_ + 1);
  xmin = std::min(xmin, xmax);
  std::string list;
  for (FullXid xid = xmin; xid < xmax; ++xid) {
    if ((xid & 0xffffffff) < 3 || committed.count(xid) > 0) continue;
    list += (list.empty() ? "" : ",") + std::to_string(xid);
  }
  const auto snapshot = Snapshot::Parse(std::to_string(xmin) + ":" +
                                        std::to_string(xmax) + ":" + list);
  if (!snapshot.ok()) std::abort();
  return *snapshot;
}

}  // namespace sublite::testing
