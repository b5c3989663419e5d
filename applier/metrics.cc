#include "applier/metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "schema/status.h"

namespace sublite {

Metrics::Metrics() : started_(absl::Now()) {}

TableMetrics* Metrics::Table(std::string_view pg_schema,
                             std::string_view pg_table) {
  std::string name =
      absl::StrCat(pg_schema.size(), ":", View(pg_schema), View(pg_table));
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  const std::lock_guard<std::mutex> lock(mutex_);
  TableMetrics* table = &all_.emplace_back(pg_schema, pg_table);
  by_name_.emplace(std::move(name), table);
  return table;
}

void Metrics::Committed() {
  for (TableMetrics* table : changed_) {
    for (std::size_t kind = 0; kind < table->pending_.size(); ++kind) {
      if (table->pending_[kind] == 0) continue;
      table->rows_[kind].Add(table->pending_[kind]);
      table->pending_[kind] = 0;
    }
    table->changed_ = false;
  }
  changed_.clear();
  transactions.Add(pending_transactions_);
  missing_rows.Add(pending_missing_);
  replaced_rows.Add(pending_replaced_);
  pending_transactions_ = pending_missing_ = pending_replaced_ = 0;
  commits.Add(1);
}

void Metrics::RolledBack() {
  for (TableMetrics* table : changed_) {
    table->pending_.fill(0);
    table->changed_ = false;
  }
  changed_.clear();
  pending_transactions_ = pending_missing_ = pending_replaced_ = 0;
}

void Metrics::SetNote(std::string_view note) {
  const std::lock_guard<std::mutex> lock(mutex_);
  note_ = std::string(note);
}

std::string Metrics::note() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return note_;
}

std::vector<Metrics::Rows> Metrics::TableRows() const {
  std::vector<Rows> shown;
  Rows others;
  bool any_other = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  shown.reserve(std::min(all_.size(), kTablesShown + 1));
  for (const TableMetrics& table : all_) {
    const bool other = shown.size() == kTablesShown;
    if (!other) shown.push_back({table.schema, table.table, {}});
    any_other = any_other || other;
    for (std::size_t kind = 0; kind < others.rows.size(); ++kind)
      (other ? others : shown.back()).rows[kind] += table.rows_[kind].get();
  }
  if (any_other) shown.push_back(others);
  return shown;
}

}  // namespace sublite
