// A replica file made without sublite: the bookkeeping tables of
// schema/bookkeeping.h and rows that say what a test needs.
//
// The file is in write-ahead mode, as `run` leaves it. Lifetime: the folder is
// the test's own and is left to Bazel.
#ifndef SUBLITE_TESTS_CLI_REPLICA_FIXTURE_H_
#define SUBLITE_TESTS_CLI_REPLICA_FIXTURE_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "applier/io/sqlite.h"
#include "schema/bookkeeping.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {

class ReplicaFixture : public ::testing::Test {
 protected:
  ReplicaFixture() {
    std::string name = ::testing::TempDir() + "/replica-XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/plant.db";
  }

  // The file, with a state row at `applied_pos`.
  void Make(std::int64_t applied_pos, const std::string& state = "streaming") {
    auto database =
        Database::Open(path_, Database::Mode::kCreate, absl::Seconds(5));
    ASSERT_OK(database);
    database_ = *std::move(database);
    Run("pragma journal_mode = wal");
    Run(kBookkeepingSql);
    Run(absl::StrCat(
        "insert into sublite_state (one, format, state, applied_pos, "
        "applied_commit_time, contact_at, publications, slot, "
        "system_identifier, server_version, sublite_version) values (1, ",
        kFileFormat, ", '", state, "', ", applied_pos,
        ", '2024-02-29 12:00:00+00:00', '2024-02-29 12:00:01+00:00', 'pub', "
        "'sublite_plant', '7000', '15.8', '0.1.0')"));
  }

  // Its SQLite name is as by the naming rules.
  void AddTable(int id, const std::string& schema, const std::string& table,
                const std::string& state = "ready",
                const std::string& error = "") {
    Run(absl::StrCat(
        "insert into sublite_tables (id, pg_schema, pg_table, sqlite_table, "
        "state, rows_copied, rows_estimated, error, oid, replica_identity) "
        "values (",
        id, ", '", schema, "', '", table, "', '",
        schema == "public" ? table : absl::StrCat(schema, ".", table), "', '",
        state, "', 250, 1000, nullif('", error, "', ''), ", 1000 + id,
        ", 'd')"));
  }

  void Run(const std::string& sql) { ASSERT_OK(database_->Execute(sql)); }

  std::int64_t Number(const std::string& sql) {
    const auto number = database_->QueryInt(sql);
    EXPECT_OK(number);
    return number.ok() ? *number : -1;
  }

  std::string Text(const std::string& sql) {
    auto statement = database_->Prepare(sql);
    EXPECT_OK(statement);
    if (!statement.ok()) return "";
    const auto row = statement->Step();
    EXPECT_OK(row);
    return row.ok() && *row ? std::string(statement->Text(0)) : "";
  }

  std::string folder_;
  std::string path_;
  std::unique_ptr<Database> database_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_CLI_REPLICA_FIXTURE_H_
