#include "tests/schema/sqlite_column.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace sublite::testing {
namespace {

void Check(bool good, sqlite3* database) {
  if (good) return;
  std::fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(database));
  std::abort();
}

sqlite3_stmt* Prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  Check(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK,
        database);
  return statement;
}

int Bind(sqlite3_stmt* statement, const SqlValue& value) {
  const int size = static_cast<int>(value.bytes.size());
  switch (value.kind) {
    case SqlValue::Kind::kNull:
      return sqlite3_bind_null(statement, 1);
    case SqlValue::Kind::kInteger:
      return sqlite3_bind_int64(statement, 1, value.integer);
    case SqlValue::Kind::kReal:
      return sqlite3_bind_double(statement, 1, value.real);
    case SqlValue::Kind::kText:
      return sqlite3_bind_text(statement, 1, value.bytes.data(), size,
                               SQLITE_STATIC);
    case SqlValue::Kind::kBlob:
      return sqlite3_bind_blob(statement, 1, value.bytes.data(), size,
                               SQLITE_STATIC);
  }
  return SQLITE_MISUSE;
}

}  // namespace

SqliteColumn::SqliteColumn(const std::string& declaration) {
  Check(sqlite3_open(":memory:", &database_) == SQLITE_OK, database_);
  const std::string create = "CREATE TABLE t (v " + declaration + ")";
  Check(sqlite3_exec(database_, create.c_str(), nullptr, nullptr, nullptr) ==
            SQLITE_OK,
        database_);
  insert_ =
      Prepare(database_, "INSERT OR REPLACE INTO t(rowid, v) VALUES(1,?)");
  select_ = Prepare(database_, "SELECT v FROM t");
  valid_ = Prepare(database_, "SELECT json_valid(?)");
}

SqliteColumn::~SqliteColumn() {
  sqlite3_finalize(insert_);
  sqlite3_finalize(select_);
  sqlite3_finalize(valid_);
  sqlite3_close(database_);
}

SqlValue SqliteColumn::RoundTrip(const SqlValue& value) {
  Check(Bind(insert_, value) == SQLITE_OK, database_);
  Check(sqlite3_step(insert_) == SQLITE_DONE, database_);
  sqlite3_reset(insert_);
  Check(sqlite3_step(select_) == SQLITE_ROW, database_);
  SqlValue read;
  switch (sqlite3_column_type(select_, 0)) {
    case SQLITE_INTEGER:
      read.kind = SqlValue::Kind::kInteger;
      read.integer = sqlite3_column_int64(select_, 0);
      break;
    case SQLITE_FLOAT:
      read.kind = SqlValue::Kind::kReal;
      read.real = sqlite3_column_double(select_, 0);
      break;
    case SQLITE_TEXT:
      read.kind = SqlValue::Kind::kText;
      break;
    case SQLITE_BLOB:
      read.kind = SqlValue::Kind::kBlob;
      break;
    default:
      break;
  }
  if (read.kind == SqlValue::Kind::kText ||
      read.kind == SqlValue::Kind::kBlob) {
    const auto* bytes =
        static_cast<const char*>(sqlite3_column_blob(select_, 0));
    bytes_.assign(bytes == nullptr ? "" : bytes,
                  static_cast<std::size_t>(sqlite3_column_bytes(select_, 0)));
    read.bytes = bytes_;
  }
  sqlite3_reset(select_);
  return read;
}

bool SqliteColumn::IsJson(const std::string& text) {
  Check(sqlite3_bind_text(valid_, 1, text.data(), static_cast<int>(text.size()),
                          SQLITE_STATIC) == SQLITE_OK,
        database_);
  Check(sqlite3_step(valid_) == SQLITE_ROW, database_);
  const bool is_json = sqlite3_column_int(valid_, 0) == 1;
  sqlite3_reset(valid_);
  return is_json;
}

}  // namespace sublite::testing
