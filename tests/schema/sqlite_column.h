// A column of a real SQLite table, to see what its affinity does to a value.
#ifndef SUBLITE_TESTS_SCHEMA_SQLITE_COLUMN_H_
#define SUBLITE_TESTS_SCHEMA_SQLITE_COLUMN_H_

#include <sqlite3.h>

#include <string>

#include "schema/value.h"

namespace sublite::testing {

// An in-memory table with one column declared as given. Any error of SQLite
// stops the test. One thread.
class SqliteColumn {
 public:
  explicit SqliteColumn(const std::string& declaration);
  ~SqliteColumn();
  SqliteColumn(const SqliteColumn&) = delete;
  SqliteColumn& operator=(const SqliteColumn&) = delete;

  // Stores `value` and reads it back. Its bytes live until the next call.
  SqlValue RoundTrip(const SqlValue& value);

  // SQLite's json_valid.
  bool IsJson(const std::string& text);

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* select_ = nullptr;
  sqlite3_stmt* valid_ = nullptr;
  std::string bytes_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SCHEMA_SQLITE_COLUMN_H_
