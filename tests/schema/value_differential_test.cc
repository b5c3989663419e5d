// The codec against a real server: PostgreSQL makes random values of every
// type, prints them, and says in SQL what must be stored for each. SQLite then
// keeps them under the declared type.
//
// The expected values are worked out by other means than the codec's: bits of
// a double by float8send, JSON by array_to_json, times by to_char and extract.
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
#include "tests/support/pg_server.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

constexpr int kRows = 2000;

// What the expressions below use.
constexpr char kExpected[] = R"sql(
  create function as_real(v float8) returns text language sql as $$
    select case when v = 'NaN' then 'text NaN'
      else 'real ' || encode(float8send(v + 0.0::float8), 'hex') end $$;
  create function as_number(v numeric) returns text language sql as $$
    select case when v = 'NaN' then 'text NaN'
      when v = trunc(v) then 'integer ' || trunc(v)::text
      else as_real(v::float8) end $$;
  -- A double has the cents if two decimals of it are the amount.
  create function as_money(v numeric) returns text language sql as $$
    select case when v = trunc(v) then 'integer ' || trunc(v)::text
      when abs(v) < 1e13 then as_real(v::float8) end $$;
  create function zone_of(v timetz) returns text language sql as $$
    select case when z < 0 then '-' else '+' end
      || lpad(trunc(abs(z) / 3600)::text, 2, '0') || ':'
      || lpad((trunc(abs(z) / 60)::int % 60)::text, 2, '0')
      || case when z::int % 60 = 0 then ''
         else ':' || lpad((abs(z)::int % 60)::text, 2, '0') end
    from (select extract(timezone from v) as z) x $$;
  create function as_timetz(v timetz) returns text language sql as $$
    select v::time::text || zone_of(v) $$;
  create function as_timestamptz(v timestamptz) returns text language sql as $$
    select case when v = 'infinity' then 'infinity'
      when v = '-infinity' then '-infinity'
      else rtrim(rtrim(to_char(v, 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.')
        || '+00:00' || case when v < '0001-01-01' then ' BC' else '' end end $$;
  create function as_object(h hstore) returns text language sql as $$
    select '{' || coalesce(string_agg(to_json(key)::text || ':'
      || coalesce(to_json(value)::text, 'null'), ',' order by n), '') || '}'
    from each(h) with ordinality e(key, value, n) $$;
)sql";

struct Column {
  const char* type;
  const char* declaration;
  // SQL: a random value.
  const char* random;
  // SQL over v: "integer 5", "real <bits>", "text x", "blob <hex>". NULL: see
  // ExpectMoney. "": the text as printed.
  const char* expected = "";
  // SQL: values to have besides, comma-separated.
  const char* special = "null";
};

const Column kScalars[] = {
    {"smallint", "INTEGER", "whole() % 32768", "'integer ' || v", "-32768"},
    {"integer", "INTEGER", "whole() % 2147483648", "'integer ' || v",
     "-2147483648"},
    {"bigint", "INTEGER", "whole()", "'integer ' || v",
     "-9223372036854775808, 9223372036854775807"},
    {"oid", "INTEGER", "(abs(whole() / 2) % 4294967296)::oid",
     "'integer ' || v", "4294967295"},
    {"small", "INTEGER", "whole() % 1000", "'integer ' || v"},
    {"boolean", "BOOLEAN", "random() < 0.5", "'integer ' || v::int"},
    {"double precision", "REAL", "double(-322, 307)::float8", "as_real(v)",
     "'NaN', 'Infinity', '-Infinity', '-0', '5e-324', "
     "'2.2250738585072014e-308',"
     "'1.7976931348623157e308', 9007199254740993"},
    {"real", "REAL", "double(-44, 37)::float4", "as_real(v::text::float8)",
     "'NaN', 'Infinity', '-Infinity', '-0', '1e-45', '3.4028235e38',"
     "'1.17549435e-38', 16777217"},
    {"numeric(15,5)", "NUMERIC(15,5)", "fixed(15, 5)", "as_number(v)",
     "'NaN', 9999999999.99999, -9999999999.99999, 0.00001, -0.0"},
    {"numeric(15,0)", "NUMERIC(15,0)", "fixed(15, 0)", "as_number(v)"},
    {"numeric(10,2)", "NUMERIC(10,2)", "fixed(10, 2)", "as_number(v)"},
    {"numeric(1,1)", "NUMERIC(1,1)", "fixed(1, 1)", "as_number(v)"},
    {"numeric(15,15)", "NUMERIC(15,15)", "fixed(15, 15)", "as_number(v)"},
    {"numeric(5)", "NUMERIC(5,0)", "fixed(5, 0)", "as_number(v)"},
    {"narrow", "NUMERIC(9,3)", "fixed(9, 3)", "as_number(v)"},
    {"narrower", "NUMERIC(9,3)", "fixed(9, 3)", "as_number(v)"},
    {"numeric(16,2)", "TEXT", "fixed(15, 1)"},
    {"numeric", "TEXT", "long_numeric()", "", "'NaN', 1e1000, 1e-1000, 0.00"},
    {"free", "TEXT", "fixed(12, 3)"},
    {"money", "NUMERIC", "(whole()::numeric / 100)::money",
     "as_money(v::numeric)",
     "'-92233720368547758.08', '92233720368547758.07', '0.01', '-0.01'"},
    {"text", "TEXT", "words(12)", "", "'', '01', '1e5', '0x10', ' 1', 'NaN'"},
    {"varchar(20)", "TEXT", "words(5)"},
    {"name", "TEXT", "words(8)"},
    {"\"char\"", "TEXT", "substr(md5(random()::text), 1, 1)", "", "''"},
    {"char(5)", "TEXT COLLATE RTRIM", "substr(words(3), 1, 5)"},
    {"padded", "TEXT COLLATE RTRIM", "substr(words(2), 1, 3)"},
    {"citext", "TEXT COLLATE NOCASE", "words(9)"},
    {"caseless", "TEXT COLLATE NOCASE", "words(9)"},
    {"json", "TEXT", "object()", "", "'1.0', ' 1', '1e400', 'null'"},
    {"jsonb", "TEXT", "to_jsonb(words(9))", "",
     "'1.0', '\"x\"', 'null', '7.50'"},
    {"hstore", "TEXT", "pair()", "'text ' || as_object(v)", "''"},
    {"bytea", "BLOB",
     "substr(decode(md5(random()::text), 'hex'), 1,"
     " (random() * 17)::int)",
     "'blob ' || encode(v, 'hex')", "'', '0'"},
    {"uuid", "TEXT", "md5(random()::text)::uuid"},
    {"date", "TEXT", "moment()::date", "", "'infinity', '-infinity'"},
    {"timestamp", "TEXT", "moment()::timestamp", "", "'infinity', '-infinity'"},
    {"timestamp(3)", "TEXT", "moment()::timestamp"},
    {"timestamptz", "TEXT", "moment()", "'text ' || as_timestamptz(v)",
     "'infinity', '-infinity', '4713-01-01 00:00:00+00 BC',"
     "'294276-12-31 23:59:59.999999+00', '0001-12-31 23:59:59.9+00 BC',"
     "'9999-12-31 23:59:59.999999+00', '10000-01-01 00:00:00+00'"},
    {"time", "TEXT", "moment()::time", "", "'24:00'"},
    {"timetz", "TEXT", "zoned()", "'text ' || as_timetz(v)",
     "'24:00-15:59:59', '00:00+15:59:59', '12:00-00:00:30'"},
    {"timetz(2)", "TEXT", "odd_zoned()", "'text ' || as_timetz(v)"},
    {"interval", "TEXT",
     "make_interval(months => floor(random() * 99)::int - 50,"
     " days => floor(random() * 99)::int - 50, secs => random() * 1e6)",
     "", "'0', '-1 mons +1 days -00:00:00.000001'"},
    {"mood", "TEXT", "(enum_range(null::mood))[1 + floor(random() * 5)]"},
    {"other.int4", "TEXT", "(whole())::text", "", "'01', '1e5'"},
    {"other.money", "TEXT", "'01'", "", "'$1.00'"},
    {"other.account_int", "TEXT", "'007'", "", "'1.0'"},
    {"duo", "TEXT", "row(whole() % 100, words(5))::duo"},
    {"point", "TEXT", "point(double(-9, 9)::float8, 1)"},
    {"box", "TEXT", "box(point(random(), 1), point(0, random()))"},
    {"inet", "TEXT", "'0.0.0.0'::inet + abs(whole() / 2) % 4294967296"},
    {"macaddr8", "TEXT", "substr(md5(random()::text), 1, 16)::macaddr8"},
    {"bit(8)", "TEXT", "(whole() % 256)::int::bit(8)", "", "b'00000101'"},
    {"varbit", "TEXT", "(whole() % 256)::int::bit(8)::varbit", "", "b'1', b''"},
    {"int4range", "TEXT", "int4range(null, (whole() % 1000)::int)", "",
     "'empty'"},
    {"tsvector", "TEXT", "to_tsvector('simple', md5(random()::text))"},
    {"pg_lsn", "TEXT", "'0/0'::pg_lsn + abs(whole() / 2)"},
    {"xid", "TEXT", "(abs(whole() / 2) % 4294967296)::text::xid"},
    {"int2vector", "TEXT", "(whole() % 100)::text::int2vector", "",
     "'1 2', ''"},
    {"oidvector", "TEXT", "'1 2'::oidvector"},
    {"regtype", "TEXT", "'int4'::regtype"},
};

// Elements of arrays. `expected`: SQL over v, an array whose array_to_json is
// what must be stored; `one_dimension`: it holds for no more than one.
struct Element {
  const char* type;
  const char* random;
  const char* expected = "v::text::text[]";
  bool one_dimension = false;
  // SQL: between array_agg and the cast to the array's type.
  const char* through = "";
};

const Element kElements[] = {
    {"integer", "whole() % 100", "v"},
    {"bigint", "whole()", "v"},
    {"oid", "(abs(whole() / 2) % 4294967296)::oid", "v::text::int8[]"},
    {"small", "whole() % 1000", "v"},
    {"real",
     "case when random() < 0.1 then 'NaN'::float4 else"
     " double(-44, 37)::float4 end",
     "v"},
    {"double precision",
     "case when random() < 0.1 then '-Infinity'::float8"
     " else double(-322, 307)::float8 end",
     "v"},
    {"numeric", "case when random() < 0.1 then 'NaN' else long_numeric() end",
     "v"},
    {"numeric(10,2)", "fixed(10, 2)", "v"},
    {"boolean", "random() < 0.5", "v"},
    {"money", "(whole()::numeric / 100)::money", "v::numeric[]"},
    {"text", "words(6)"},
    {"varchar(9)", "words(2)"},
    {"char(6)", "substr(words(3), 1, 6)"},
    {"citext", "words(6)"},
    {"json", "object()", "v"},
    {"jsonb", "object()::jsonb", "v"},
    {"hstore", "pair()"},
    {"bytea", "decode(md5(random()::text), 'hex')"},
    {"uuid", "md5(random()::text)::uuid"},
    {"date", "moment()::date"},
    {"timestamp", "moment()::timestamp"},
    {"timestamptz", "moment()",
     "array(select as_timestamptz(e) from unnest(v) e)", true},
    {"timetz", "odd_zoned()", "array(select as_timetz(e) from unnest(v) e)",
     true},
    {"interval", "make_interval(secs => random() * 1e6)"},
    {"mood", "(enum_range(null::mood))[1 + floor(random() * 5)]"},
    {"duo", "row(whole() % 100, words(5))::duo"},
    {"pairs", "(array[whole() % 10, null, 7])::text", "v", true, "::text"},
    {"words", "(array[words(6), null, words(3)])::text", "v", true, "::text"},
    {"box", "box(point(random(), 1), point(0, random()))",
     "array(select e::text from unnest(v) e)", true},
    {"int4range", "int4range(null, (whole() % 1000)::int)"},
    {"narrower", "fixed(9, 3)", "v"},
};

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
    ASSERT_OK(server_->Exec(kExpected));
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
  for (const Column& column : kScalars) {
    const std::string type = column.type;
    const std::string insert = absl::StrCat(
        "insert into d select (", column.random, ")::", type, Series(),
        "; insert into d select s::", type, " from unnest(array[",
        column.special, ", null]::text[]) s");
    const std::string expected =
        column.expected[0] == '\0'
            // The type's output function, also where a cast to text would trim.
            ? "'text ' || (format('%s', v))"
            : column.expected;
    Check(type, column.declaration, insert, expected);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ValueDifferential, EveryArrayType) {
  for (const Element& element : kElements) {
    const std::string type = std::string(element.type) + "[]";
    // The references to i make the subquery run for every row.
    const auto some = [&](const std::string& from, const std::string& to) {
      return absl::StrCat("(select array_agg(case when random() < 0.2 then ",
                          "null else ", element.random, " end)",
                          element.through, "::", type, " from generate_series(",
                          from, ", ", to, ") g where i = i)");
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
    Check(type, "TEXT", insert,
          "'text ' || case when v::text like '[%' then v::text else "
          "array_to_json(" +
              std::string(element.expected) + ")::text end");
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
