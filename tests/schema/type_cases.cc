#include "tests/schema/type_cases.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace sublite::testing {
namespace {

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

const ScalarCase kScalars[] = {
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
    {"xid8", "TEXT", "abs(whole() / 2)::text::xid8", "",
     "'18446744073709551615'"},
    {"cidr", "TEXT", "ip()::cidr", "", "'::/0', '10/8'"},
    {"macaddr", "TEXT", "substr(md5(random()::text), 1, 12)::macaddr"},
    {"line", "TEXT", "line(corner(), corner())"},
    {"lseg", "TEXT", "lseg(corner(), corner())"},
    {"path", "TEXT", "('[' || corners(4) || ']')::path", "", "'((1,2))'"},
    {"polygon", "TEXT", "('(' || corners(5) || ')')::polygon"},
    {"circle", "TEXT", "circle(corner(), abs(double(-9, 9)::float8))"},
    {"tsquery", "TEXT", "question(3)", "", "''"},
    {"jsonpath", "TEXT", "'$.a[' || abs(whole() / 2) % 99 || ' to last]'", "",
     "'lax $', 'strict $.\"é\"'"},
    {"pg_snapshot", "TEXT", "snapshot()"},
    {"numrange", "TEXT",
     "numrange(-abs(long_numeric()), long_numeric() ^ 2, bounds())"},
    {"tstzrange", "TEXT", "tstzrange(moment(), null, bounds())"},
    {"textrange", "TEXT", "textrange(null, words(3), bounds())", "",
     "'[\"\",z)'"},
    {"int4multirange", "TEXT",
     "int4multirange(int4range(null, -100), int4range(0, (whole() % 99)::int "
     "+ 100))",
     "", "'{}', '{[1,2),[4,5)}'"},
    {"trio", "TEXT",
     "row(row(whole() % 9, words(3))::duo, array[long_numeric(), null], "
     "moment(), '01')::trio",
     "", "'(,,,)'"},
    {"regtype", "TEXT", "'int4'::regtype"},
};

}  // namespace

const char* ExpectedValuesSql() { return kExpected; }

const std::vector<ScalarCase>& ScalarCases() {
  static const auto& cases =
      *new std::vector<ScalarCase>(std::begin(kScalars), std::end(kScalars));
  return cases;
}

const std::vector<ElementCase>& ElementCases() {
  static const auto& cases = *new std::vector<ElementCase>{
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
  return cases;
}

std::string ExpectedSql(const ScalarCase& scalar) {
  // The type's output function, also where a cast to text would trim.
  return scalar.expected[0] == '\0' ? "'text ' || (format('%s', v))"
                                    : scalar.expected;
}

std::string ExpectedSql(const ElementCase& element) {
  return absl::StrCat(
      "'text ' || case when v::text like '[%' then v::text else "
      "array_to_json(",
      element.expected, ")::text end");
}

std::string RandomArraySql(const ElementCase& element, const std::string& from,
                           const std::string& to) {
  // The references to i make the subquery run for every row.
  return absl::StrCat("(select array_agg(case when random() < 0.2 then ",
                      "null else ", element.random, " end)", element.through,
                      "::", element.type, "[] from generate_series(", from,
                      ", ", to, ") g where i = i)");
}

}  // namespace sublite::testing
