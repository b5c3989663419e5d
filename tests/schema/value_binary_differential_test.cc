// Binary against text: a real server makes random values of every type and
// sends each twice, as text and in binary form. Both must be stored alike, bit
// for bit.
//
// Values come from SQL, for what PostgreSQL makes of them, and, where a form is
// a few numbers, from random bytes that the server takes in through COPY, for
// the whole range. SUBLITE_VALUES_PER_TYPE says how many of each.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/binary_values.h"
#include "tests/schema/codec.h"
#include "tests/schema/random_values.h"
#include "tests/support/pg_server.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

constexpr int kValuesDefault = 2000;
// Rows of one query: bounds the memory of long runs.
constexpr int kRowsMax = 10000;

int ValuesPerType() {
  const char* const set = std::getenv("SUBLITE_VALUES_PER_TYPE");
  return set == nullptr ? kValuesDefault : std::atoi(set);
}

struct Case {
  const char* type;
  const char* random;            // SQL
  const char* special = "null";  // SQL: values to have besides, comma-separated
};

const Case kCases[] = {
    {"smallint", "whole() % 32768", "-32768"},
    {"integer", "whole() % 2147483648", "-2147483648"},
    {"bigint", "whole()", "-9223372036854775808, 9223372036854775807"},
    {"oid", "abs(whole() / 2) % 4294967296", "4294967295"},
    {"xid", "(abs(whole() / 2) % 4294967296)::text", "4294967295"},
    {"cid", "(abs(whole() / 2) % 4294967296)::text", "4294967295"},
    {"xid8", "abs(whole() / 2)::text", "18446744073709551615"},
    {"boolean", "random() < 0.5"},
    {"real", "double(-44, 37)",
     "'NaN', 'Infinity', '-Infinity', '-0', '1e-45', '3.4028235e38', 16777217"},
    {"double precision", "double(-322, 307)",
     "'NaN', 'Infinity', '-Infinity', '-0', '5e-324', '1e15', '1e-5', '1e22'"},
    {"numeric(15,5)", "fixed(15, 5)", "'NaN', -0.0"},
    {"numeric(15,0)", "fixed(15, 0)"},
    {"numeric(10,2)", "fixed(10, 2)"},
    {"numeric(15,15)", "fixed(15, 15)"},
    {"numeric(16,2)", "fixed(15, 1)"},
    {"numeric", "long_numeric()", "'NaN', 1e1000, 1e-1000, 0.00, 1e131071"},
    {"narrower", "fixed(9, 3)"},
    {"free", "fixed(12, 3)"},
    {"small", "whole() % 1000"},
    {"money", "(whole()::numeric / 100)::money",
     "'-92233720368547758.08', '92233720368547758.07', '0.01', '-0.01'"},
    {"text", "words(12)", "'', '01', '1e5', ' 1', 'NaN', 'NULL'"},
    {"varchar(20)", "words(5)"},
    {"name", "words(8)", "''"},
    {"\"char\"", "(whole() % 128)::int::\"char\"", "'', 'é', '\\377', ' '"},
    {"char(5)", "substr(words(3), 1, 5)"},
    {"padded", "substr(words(2), 1, 3)"},
    {"citext", "words(9)"},
    {"refcursor", "words(3)"},
    {"mood", "(enum_range(null::mood))[1 + floor(random() * 5)]"},
    {"other.int4", "whole()::text", "'01'"},
    {"other.money", "'01'", "'$1.00'"},
    {"json", "object()", "'1.0', ' 1', '1e400', 'null'"},
    {"jsonb", "object()::text::jsonb", "'1.0', '\"x\"', 'null', '7.50'"},
    {"jsonpath", "'$.a[' || abs(whole() / 2) % 99 || ' to last] ? (@ > 1)'",
     "'lax $', 'strict $.\"é\"'"},
    {"hstore", "pair()", "''"},
    {"bytea", "bytes(32)", "'', '0'"},
    {"uuid", "md5(random()::text)::uuid"},
    {"date", "moment()::date",
     "'infinity', '-infinity', '5874897-12-31', '4714-11-24 BC',"
     " '0001-12-31 BC', '0001-01-01', '2000-02-29', '1900-02-28'"},
    {"timestamp", "moment()::timestamp",
     "'infinity', '-infinity', '294276-12-31 23:59:59.999999',"
     " '4714-11-24 00:00:00 BC'"},
    {"timestamptz", "moment()",
     "'infinity', '-infinity', '0001-12-31 23:59:59.9+00 BC'"},
    {"time", "moment()::time", "'24:00', '00:00'"},
    {"timetz", "odd_zoned()",
     "'24:00-15:59:59', '00:00+15:59:59', '12:00-00:00:30'"},
    {"interval", "span()",
     "'0', '-1 mons +1 days -00:00:00.000001', '-0.1 s', '-1 s', '1 y -1 mon'"},
    {"bit(8)", "(whole() % 256)::int::bit(8)"},
    {"varbit", "bits(128)", "b''"},
    {"inet", "ip()",
     "'::', '::1', '::ffff:1.2.3.4', '::1.2.3.4', '::/0',"
     "'1::', '0:0:1::', '::2:0:0:1', '0.0.0.0/0'"},
    {"cidr", "ip()::cidr", "'::/0', '10/8'"},
    {"macaddr", "substr(md5(random()::text), 1, 12)::macaddr"},
    {"macaddr8", "substr(md5(random()::text), 1, 16)::macaddr8"},
    {"point", "corner()", "'(NaN,-0)', '(Infinity,1e15)'"},
    {"line", "line(corner(), corner())"},
    {"lseg", "lseg(corner(), corner())"},
    {"box", "box(corner(), corner())"},
    {"path", "('[' || corners(4) || ']')::path", "'((1,2))'"},
    {"polygon", "('(' || corners(5) || ')')::polygon"},
    {"circle", "circle(corner(), abs(double(-9, 9)::float8))"},
    {"tsvector", "lexemes()", "''"},
    {"tsquery", "question(4)", "''"},
    {"pg_lsn", "'0/0'::pg_lsn + abs(whole() / 2)", "'FFFFFFFF/FFFFFFFF'"},
    {"tid",
     "('(' || abs(whole() / 2) % 4294967296 || ','"
     " || abs(whole() / 2) % 65536 || ')')::tid"},
    {"pg_snapshot", "snapshot()"},
    {"txid_snapshot", "snapshot()::text"},
    {"int2vector", "whole() % 100 || ' ' || whole() % 32768", "''"},
    {"oidvector", "'1 4294967295 ' || abs(whole() / 2) % 100", "''"},
    {"duo", "row(whole() % 100, words(5))::duo", "'(,)', '(1,\"\")'"},
    {"trio",
     "row(row(whole() % 9, words(3))::duo, array[long_numeric(), null],"
     " moment(), '01')::trio",
     "'(,,,)'"},
    {"gappy", "row(whole() % 100, words(5))::gappy"},
    {"empty_row", "row()::empty_row"},
    {"owner", "row(whole() % 100, words(2), array[words(2), null])::owner"},
    {"int4range",
     "int4range(least(a, b), greatest(a, b), bounds())"
     " from (select (whole() % 99)::int a, (whole() % 99)::int b) x",
     "'empty', '(,)', '[1,]'"},
    {"int8range", "int8range(null, whole())"},
    {"numrange", "numrange(-abs(long_numeric()), long_numeric() ^ 2,bounds())"},
    {"daterange", "daterange(moment()::date, null)", "'[infinity,infinity]'"},
    {"tsrange", "tsrange(null, moment()::timestamp, bounds())"},
    {"tstzrange", "tstzrange(moment(), null, bounds())"},
    {"textrange", "textrange(null, words(3), bounds())", "'[\"\",z)'"},
    {"floatrange", "floatrange(double(-9, 9)::float8, null)"},
    {"duorange", "duorange(row(1, words(3))::duo, null)"},
    {"int4multirange",
     "int4multirange(int4range(null, -100), int4range(0, (whole() % 99)::int +"
     " 100, bounds()))",
     "'{}', '{[1,2),[4,5)}'"},
    {"textmultirange", "textmultirange(textrange(words(3), null, bounds()))",
     "'{}'"},
    {"tstzmultirange", "tstzmultirange(tstzrange(moment(), null))"},
    {"pairs", "(array[whole() % 10, null, 7])::text", "'{}', '[0:0]={1}'"},
    {"words", "(array[words(6), null, words(3)])::text"},
};

// Where the server was built with it.
const Case kXml = {
    "xml", "'<a b=\"' || to_hex(whole()) || '\">é</a>'",
    "'', 'x', '<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>',"
    " '<?xml version=\"1.1\"?><a/>', E'<?xml version=\"1.0\"?>\\n<a/>',"
    " '<?xml version=\"1.0\" standalone=\"yes\"?><a/>'"};

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

class BinaryDifferential : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_OK_AND_ASSIGN(server_, PgServer::Start());
    connection_ = PQconnectdb(server_->Conninfo().c_str());
    ASSERT_EQ(PQstatus(connection_), CONNECTION_OK);
    Exec(SessionSettingsSql());
    Exec("set client_min_messages = error; set synchronize_seqscans = off");
    Exec(RandomValuesSql());
    Exec("select setseed(0.42)");
    ReadTypes();
  }
  static void TearDownTestSuite() {
    PQfinish(connection_);
    server_.reset();
  }

  void SetUp() override { ASSERT_NE(server_, nullptr); }

  static void Exec(const std::string& sql) {
    const Result result(PQexec(connection_, sql.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    ASSERT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << PQresultErrorMessage(result.get()) << sql.substr(0, 500);
  }

  static Result Select(const std::string& sql, bool binary) {
    Result result(PQexecParams(connection_, sql.c_str(), 0, nullptr, nullptr,
                               nullptr, nullptr, binary ? 1 : 0),
                  PQclear);
    EXPECT_EQ(PQresultStatus(result.get()), PGRES_TUPLES_OK)
        << PQresultErrorMessage(result.get()) << sql;
    return result;
  }

  static void ReadTypes();
  static ColumnType TypeOfColumn();

  static void MakeTable(const std::string& type) {
    Exec("drop table if exists d");
    Exec("create unlogged table d (v " + type + ")");
  }

  // Compares what table d holds, then empties it.
  static void CompareTable(const ColumnType& type);
  static void CompareRow(const PGresult* text, const PGresult* binary, int row,
                         const ColumnType& type);
  static void CheckFromSql(const std::string& type, const std::string& random,
                           const std::string& special, int count);
  static void CheckFromBytes(const BinaryMaker& maker, int count);

  static std::unique_ptr<PgServer> server_;
  static PGconn* connection_;
  static PgTypes types_;
};

std::unique_ptr<PgServer> BinaryDifferential::server_;
PGconn* BinaryDifferential::connection_ = nullptr;
PgTypes BinaryDifferential::types_;

std::uint32_t ToOid(const char* text) {
  return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

void BinaryDifferential::ReadTypes() {
  const Result rows = Select(
      "select t.oid, typname, nspname = 'pg_catalog', coalesce(extname, ''),"
      " exists (select from pg_type s where s.typarray = t.oid), typelem,"
      " typdelim, typbasetype, typtypmod, typtype, typsend <> 0,"
      " coalesce((select rngsubtype from pg_range where rngtypid = t.oid),"
      "   (select rngtypid from pg_range where rngmultitypid = t.oid), 0),"
      " (select string_agg(atttypid::text, ' ' order by attnum)"
      "   from pg_attribute where attrelid = typrelid and attnum > 0"
      "   and not attisdropped)"
      " from pg_type t join pg_namespace n on n.oid = typnamespace"
      " left join pg_depend d on d.classid = 'pg_type'::regclass"
      "   and d.objid = t.oid and d.deptype = 'e'"
      " left join pg_extension e on e.oid = d.refobjid",
      false);
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    const auto get = [&](int column) {
      return PQgetvalue(rows.get(), row, column);
    };
    PgType type;
    type.oid = ToOid(get(0));
    type.name = get(1);
    type.builtin = get(2)[0] == 't';
    type.extension = get(3);
    type.is_array = get(4)[0] == 't';
    type.element = ToOid(get(5));
    type.delimiter = get(6)[0];
    type.base = ToOid(get(7));
    type.base_modifier = std::atoi(get(8));
    type.kind = get(9)[0];
    type.sends = get(10)[0] == 't';
    type.subtype = ToOid(get(11));
    for (char* at = get(12); *at != '\0';) {
      type.fields.push_back(
          static_cast<std::uint32_t>(std::strtoul(at, &at, 10)));
    }
    type.server_version = PQserverVersion(connection_);
    types_[type.oid] = std::move(type);
  }
}

ColumnType BinaryDifferential::TypeOfColumn() {
  const Result column = Select(
      "select atttypid, atttypmod from pg_attribute"
      " where attrelid = 'd'::regclass and attnum = 1",
      false);
  return ColumnTypeFor(ToOid(PQgetvalue(column.get(), 0, 0)),
                       std::atoi(PQgetvalue(column.get(), 0, 1)), types_,
                       NumericMode::kAuto);
}

Datum ToDatum(const PGresult* result, int row, Datum::Kind kind) {
  if (PQgetisnull(result, row, 0) != 0) return Datum{};
  return Datum{
      kind,
      std::string_view(PQgetvalue(result, row, 0),
                       static_cast<std::size_t>(PQgetlength(result, row, 0)))};
}

void BinaryDifferential::CompareRow(const PGresult* text,
                                    const PGresult* binary, int row,
                                    const ColumnType& type) {
  const Datum from_text = ToDatum(text, row, Datum::Kind::kText);
  const Datum from_binary = ToDatum(binary, row, Datum::Kind::kBinary);
  std::string text_scratch;
  std::string binary_scratch;
  SqlValue text_value;
  SqlValue binary_value;
  ASSERT_OK(ToSqlValue(from_text, type, &text_scratch, &text_value))
      << from_text.bytes;
  ASSERT_OK(ToSqlValue(from_binary, type, &binary_scratch, &binary_value))
      << from_text.bytes;
  ASSERT_EQ(ShowBits(binary_value), ShowBits(text_value)) << from_text.bytes;
}

void BinaryDifferential::CompareTable(const ColumnType& type) {
  const Result text = Select("select v from d", false);
  const Result binary = Select("select v from d", true);
  ASSERT_EQ(PQntuples(text.get()), PQntuples(binary.get()));
  ASSERT_GT(PQntuples(text.get()), 0);
  for (int row = 0; row < PQntuples(text.get()); ++row) {
    CompareRow(text.get(), binary.get(), row, type);
    if (HasFatalFailure()) return;
  }
  Exec("truncate d");
}

void BinaryDifferential::CheckFromSql(const std::string& type,
                                      const std::string& random,
                                      const std::string& special, int count) {
  SCOPED_TRACE(type);
  MakeTable(type);
  const ColumnType column = TypeOfColumn();
  ASSERT_TRUE(HasBinaryDecoder(column)) << column.Encode();
  // What the file keeps must decode too.
  ASSERT_OK_AND_ASSIGN(const ColumnType kept,
                       ColumnType::Parse(column.Encode()));
  Exec(absl::StrCat("insert into d select s::", type, " from unnest(array[",
                    special, ", null]::text[]) s"));
  for (int made = 0; made < count; made += kRowsMax) {
    const int rows = std::min(count - made, kRowsMax);
    // The reference to i makes the subquery run for every row.
    Exec(absl::StrCat("insert into d select (select y from (select ", random,
                      ") z(y) where i = i)::", type,
                      " from generate_series(1, ", rows, ") i"));
    CompareTable(kept);
    if (HasFatalFailure()) return;
  }
}

void BinaryDifferential::CheckFromBytes(const BinaryMaker& maker, int count) {
  SCOPED_TRACE(maker.type);
  MakeTable(maker.type);
  const ColumnType column = TypeOfColumn();
  std::mt19937_64 random(20240229);
  for (int made = 0; made < count; made += kRowsMax) {
    const int rows = std::min(count - made, kRowsMax);
    std::string copy("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    for (int row = 0; row < rows; ++row) {
      AppendBigEndian<std::uint16_t>(1, &copy);
      const std::string value =
          maker.make(random, PQserverVersion(connection_));
      AppendBigEndian(static_cast<std::uint32_t>(value.size()), &copy);
      copy += value;
    }
    AppendBigEndian<std::uint16_t>(0xFFFF, &copy);
    const Result started(
        PQexec(connection_, "copy d from stdin (format binary)"), PQclear);
    ASSERT_EQ(PQresultStatus(started.get()), PGRES_COPY_IN);
    ASSERT_EQ(
        PQputCopyData(connection_, copy.data(), static_cast<int>(copy.size())),
        1);
    ASSERT_EQ(PQputCopyEnd(connection_, nullptr), 1);
    const Result ended(PQgetResult(connection_), PQclear);
    ASSERT_EQ(PQresultStatus(ended.get()), PGRES_COMMAND_OK)
        << PQresultErrorMessage(ended.get());
    while (PGresult* rest = PQgetResult(connection_)) PQclear(rest);
    CompareTable(column);
    if (HasFatalFailure()) return;
  }
}

TEST_F(BinaryDifferential, EveryType) {
  for (const Case& c : kCases) {
    CheckFromSql(c.type, c.random, c.special, ValuesPerType());
    if (HasFatalFailure()) return;
  }
  if (PQresultStatus(
          Result(PQexec(connection_, "select '<a/>'::xml"), PQclear).get()) ==
      PGRES_TUPLES_OK) {
    CheckFromSql(kXml.type, kXml.random, kXml.special, ValuesPerType());
  }
}

TEST_F(BinaryDifferential, ArraysOfEveryType) {
  for (const Case& c : kCases) {
    const std::string type = absl::StrCat(c.type, "[]");
    // Of what is an array itself, array_agg would make other arrays.
    const std::string_view base = c.type;
    const bool nested = base == "pairs" || base == "words" ||
                        base == "int2vector" || base == "oidvector";
    const auto some = [&](const std::string& to) {
      return absl::StrCat(
          "(select array_agg(case when random() < 0.2 then null else (select y"
          " from (select ",
          c.random, ") z(y) where g = g)::", c.type, nested ? "::text" : "",
          " end)", nested ? absl::StrCat("::text::", type) : "",
          " from generate_series(1, ", to, ") g)");
    };
    // Of one dimension, of none, of two, and with other bounds.
    const std::string random = absl::StrCat(
        "case floor(random() * 6)::int when 0 then '{}'::", type,
        " when 1 then array[", some("2"), ", ", some("2"), "]::text::", type,
        " when 2 then ('[-2:0]=' || ", some("3"), "::text)::", type, " else ",
        some("(1 + random() * 5)::int"), "::", type, " end");
    CheckFromSql(type, random, "'{}'", std::max(ValuesPerType() / 10, 50));
    if (HasFatalFailure()) return;
  }
}

TEST_F(BinaryDifferential, WholeRanges) {
  for (const BinaryMaker& maker : BinaryMakers()) {
    CheckFromBytes(maker, ValuesPerType());
    if (HasFatalFailure()) return;
  }
}

TEST_F(BinaryDifferential, WhatHasNoDecoder) {
  Exec("create type registered as (a int, b regclass)");
  for (const char* type : {"regclass", "regtype", "regprocedure", "regclass[]",
                           "registered", "registered[]"}) {
    SCOPED_TRACE(type);
    MakeTable(type);
    EXPECT_FALSE(HasBinaryDecoder(TypeOfColumn())) << TypeOfColumn().Encode();
  }
  // Without a send function the stream has text in any case; an array of it
  // would be an error of the publisher.
  MakeTable("aclitem");
  EXPECT_EQ(TypeOfColumn().Encode(), "text@text-only");
  MakeTable("aclitem[]");
  EXPECT_FALSE(HasBinaryDecoder(TypeOfColumn()));
}

}  // namespace
}  // namespace sublite::testing
