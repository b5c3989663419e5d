// The codec against a real server: PostgreSQL makes random values of every
// type, prints them, and says in SQL what must be stored for each. SQLite then
// keeps them under the declared type.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/codec.h"
#include "tests/schema/random_values.h"
#include "tests/schema/sqlite_column.h"
#include "tests/schema/type_cases.h"
#include "tests/support/pg_server.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

constexpr int kRows = 2000;

// Amounts beyond 15 digits: a real whose two decimals are the amount, or else
// PostgreSQL's own text.
void ExpectLargeMoney(const std::string& text, const SqlValue& value) {
  if (value.kind == SqlValue::Kind::kText) {
    EXPECT_EQ(value.bytes, text);
    return;
  }
  ASSERT_EQ(value.kind, SqlValue::Kind::kReal) << text;
  std::string amount;
  for (char c : text) {
    if (c != '$' && c != ',') amount += c;
  }
  char rebuilt[64];
  std::snprintf(rebuilt, sizeof(rebuilt), "%.2f", value.real);
  EXPECT_EQ(amount, rebuilt);
}

class ValueDifferential : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_OK_AND_ASSIGN(server_, PgServer::Start());
    ASSERT_OK(server_->Exec(SessionSettingsSql()));
    ASSERT_OK(server_->Exec(RandomValuesSql()));
    ASSERT_OK(server_->Exec(ExpectedValuesSql()));
    ASSERT_OK(server_->Exec("select setseed(0.42)"));
  }
  static void TearDownTestSuite() { server_.reset(); }

  void SetUp() override { ASSERT_NE(server_, nullptr); }

  // What the catalog says of all types.
  static PgTypes Types() {
    absl::StatusOr<PgRows> rows = server_->Exec(
        "select t.oid, typname, nspname = 'pg_catalog', coalesce(extname, ''),"
        " exists (select from pg_type s where s.typarray = t.oid), typelem,"
        " typdelim, typbasetype, typtypmod"
        " from pg_type t join pg_namespace n on n.oid = typnamespace"
        " left join pg_depend d on d.classid = 'pg_type'::regclass"
        "   and d.objid = t.oid and d.deptype = 'e'"
        " left join pg_extension e on e.oid = d.refobjid");
    EXPECT_OK(rows);
    PgTypes types;
    if (!rows.ok()) return types;
    for (const auto& row : *rows) {
      PgType type;
      type.oid = static_cast<std::uint32_t>(std::stoul(*row[0]));
      type.name = *row[1];
      type.builtin = *row[2] == "t";
      type.extension = *row[3];
      type.is_array = *row[4] == "t";
      type.element = static_cast<std::uint32_t>(std::stoul(*row[5]));
      type.delimiter = (*row[6])[0];
      type.base = static_cast<std::uint32_t>(std::stoul(*row[7]));
      type.base_modifier = std::stoi(*row[8]);
      types[type.oid] = type;
    }
    return types;
  }

  // Fills table d with a column v, and checks every value of it.
  void Check(const std::string& type, const std::string& declaration,
             const std::string& insert, const std::string& expected) {
    SCOPED_TRACE(type);
    ASSERT_OK(server_->Exec("drop table if exists d; create table d (v " +
                            type + ")"));
    ASSERT_OK(server_->Exec(insert));
    ASSERT_OK_AND_ASSIGN(
        const PgRows column,
        server_->Exec("select atttypid, atttypmod from pg_attribute"
                      " where attrelid = 'd'::regclass and attnum = 1"));
    const ColumnType column_type =
        ColumnTypeFor(static_cast<std::uint32_t>(std::stoul(*column[0][0])),
                      std::stoi(*column[0][1]), Types(), NumericMode::kAuto);
    EXPECT_EQ(column_type.Declaration(), declaration);
    ASSERT_OK_AND_ASSIGN(const PgRows rows,
                         server_->Exec("select v, " + expected + " from d"));
    EXPECT_GT(rows.size(), 1u);
    SqliteColumn sqlite(column_type.Declaration());
    std::string scratch;
    for (const auto& row : rows) {
      Datum datum;
      datum.kind = row[0] ? Datum::Kind::kText : Datum::Kind::kNull;
      if (row[0]) datum.bytes = *row[0];
      SqlValue value;
      ASSERT_OK(ToSqlValue(datum, column_type, &scratch, &value))
          << row[0].value_or("NULL");
      const std::string shown = ShowBits(value);
      if (!row[0]) {
        ASSERT_EQ(shown, "null");
      } else if (row[1]) {
        ASSERT_EQ(shown, *row[1]);
      } else {
        ExpectLargeMoney(*row[0], value);
      }
      ASSERT_EQ(ShowBits(sqlite.RoundTrip(value)), shown);
    }
  }

  static std::unique_ptr<PgServer> server_;
};

std::unique_ptr<PgServer> ValueDifferential::server_;

std::string Series() {
  return " from generate_series(1, " + std::to_string(kRows) + ") i";
}

TEST_F(ValueDifferential, EveryScalarType) {
  for (const ScalarCase& scalar : ScalarCases()) {
    const std::string type = scalar.type;
    const std::string insert = absl::StrCat(
        "insert into d select (", scalar.random, ")::", type, Series(),
        "; insert into d select s::", type, " from unnest(array[",
        scalar.special, ", null]::text[]) s");
    Check(type, scalar.declaration, insert, ExpectedSql(scalar));
    if (HasFatalFailure()) return;
  }
}

TEST_F(ValueDifferential, EveryArrayType) {
  for (const ElementCase& element : ElementCases()) {
    const std::string type = std::string(element.type) + "[]";
    const auto some = [&](const std::string& from, const std::string& to) {
      return RandomArraySql(element, from, to);
    };
    std::string insert = "insert into d select coalesce(" +
                         some("1", "floor(random() * 6)::int + i * 0") +
                         ", '{}')" + Series() +
                         "; insert into d values (null);";
    // Bounds other than 1.
    insert += "insert into d select ('[0:1]=' || (" + some("1", "2") +
              ")::text)::" + type + " from generate_series(1, 50) i;";
    if (!element.one_dimension) {
      insert += "insert into d select array[" + some("1", "3") + ", " +
                some("1", "3") + "]" + Series() + ";";
      insert += "insert into d select array[[" + some("1", "1") + "], [" +
                some("1", "1") + "]] from generate_series(1, 100) i;";
    }
    Check(type, "TEXT", insert, ExpectedSql(element));
    if (HasFatalFailure()) return;
  }
}

TEST_F(ValueDifferential, NumericAsReal) {
  ASSERT_OK_AND_ASSIGN(
      const PgRows rows,
      server_->Exec("select v, as_real(v::float8), v = trunc(v) and abs(v) <= "
                    "9223372036854775807 from (select case i % 3 when 0 then "
                    "long_numeric() when 1 then fixed(15, 4) else whole() end "
                    "as v" +
                    Series() + ") x"));
  ColumnType type;
  type.kind = ValueKind::kNumericReal;
  SqliteColumn sqlite(type.Declaration());
  std::string scratch;
  for (const auto& row : rows) {
    Datum datum;
    datum.kind = Datum::Kind::kText;
    datum.bytes = *row[0];
    SqlValue value;
    ASSERT_OK(ToSqlValue(datum, type, &scratch, &value)) << *row[0];
    ASSERT_EQ(ShowBits(sqlite.RoundTrip(value)), ShowBits(value));
    if (*row[2] == "t") {
      ASSERT_EQ(value.kind, SqlValue::Kind::kInteger) << *row[0];
      ASSERT_EQ(std::to_string(value.integer),
                row[0]->substr(0, row[0]->find('.')));
      continue;
    }
    SqlValue real;
    real.kind = SqlValue::Kind::kReal;
    real.real = value.kind == SqlValue::Kind::kReal
                    ? value.real
                    : static_cast<double>(value.integer);
    ASSERT_EQ(ShowBits(real), *row[1]) << *row[0];
  }
}

}  // namespace
}  // namespace sublite::testing
