// A table in a SQLite file of its own, and rows for it in a few characters.
//
// Only for tests of TableWriter. Columns are written "name codec flags": the
// codec as ColumnType::Encode writes it, flags k (primary key), i (replica
// identity index), ! (NOT NULL).
#ifndef SUBLITE_TESTS_PIPELINE_TABLE_FIXTURE_H_
#define SUBLITE_TESTS_PIPELINE_TABLE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "applier/io/sqlite.h"
#include "applier/table_writer.h"
#include "schema/datum.h"
#include "schema/table.h"

namespace sublite::testing {

inline Datum T(std::string_view text) { return {Datum::Kind::kText, text}; }
inline Datum N() { return {Datum::Kind::kNull, {}}; }
inline Datum U() { return {Datum::Kind::kUnchanged, {}}; }
using Data = std::vector<Datum>;

TableShape MakeShape(char identity, const std::vector<std::string>& columns);

class TableFixture : public ::testing::Test {
 protected:
  void SetUp() override;

  // Makes the table t with the indexes that sublite makes, and a writer.
  void Make(char identity, const std::vector<std::string>& columns);
  void Execute(const std::string& sql);
  // The rows as ReplicaReader prints them, sorted.
  std::vector<std::string> Rows();
  std::vector<std::string> Plan(const std::string& sql);

  absl::StatusOr<Outcome> Insert(const Data& row) {
    return writer_->Insert(row);
  }
  absl::StatusOr<Outcome> Update(const Data& row) {
    return writer_->Update(OldTuple::kNone, {}, row);
  }
  absl::StatusOr<Outcome> UpdateK(const Data& key, const Data& row) {
    return writer_->Update(OldTuple::kKey, key, row);
  }
  absl::StatusOr<Outcome> UpdateO(const Data& old_row, const Data& row) {
    return writer_->Update(OldTuple::kFull, old_row, row);
  }
  absl::StatusOr<Outcome> DeleteK(const Data& key) {
    return writer_->Delete(OldTuple::kKey, key);
  }
  absl::StatusOr<Outcome> DeleteO(const Data& old_row) {
    return writer_->Delete(OldTuple::kFull, old_row);
  }

  std::string path_;
  std::unique_ptr<Database> database_;
  TableShape shape_;
  std::unique_ptr<TableWriter> writer_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_PIPELINE_TABLE_FIXTURE_H_
