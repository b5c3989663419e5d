// Every type of PostgreSQL that sublite knows: how SQL makes random values of
// it, and what SQL says must be stored for one.
//
// The expected values are worked out by other means than the codec's: bits of
// a double by float8send, JSON by array_to_json, times by to_char and extract.
// The SQL needs RandomValuesSql() and ExpectedValuesSql() in the database, and
// SessionSettingsSql() in the session.
#ifndef SUBLITE_TESTS_SCHEMA_TYPE_CASES_H_
#define SUBLITE_TESTS_SCHEMA_TYPE_CASES_H_

#include <string>
#include <vector>

namespace sublite::testing {

// Functions that the expressions use.
const char* ExpectedValuesSql();

struct ScalarCase {
  const char* type;
  const char* declaration;  // SQLite's
  // SQL: a random value.
  const char* random;
  // SQL over v: "integer 5", "real <bits>", "text x", "blob <hex>". NULL: an
  // amount of money of more than 15 digits. "": the text as printed.
  const char* expected = "";
  // SQL: values to have besides, comma-separated.
  const char* special = "null";
};

const std::vector<ScalarCase>& ScalarCases();

// Elements of arrays. `expected`: SQL over v, an array whose array_to_json is
// what must be stored; `one_dimension`: it holds for no more than one.
struct ElementCase {
  const char* type;
  const char* random;
  const char* expected = "v::text::text[]";
  bool one_dimension = false;
  // SQL: between array_agg and the cast to the array's type.
  const char* through = "";
};

const std::vector<ElementCase>& ElementCases();

// SQL over v for the stored form, for a column of the scalar type, and of the
// array type.
std::string ExpectedSql(const ScalarCase& scalar);
std::string ExpectedSql(const ElementCase& element);

// SQL: an array with the elements `from` to `to` (SQL as well), some of them
// NULL; NULL where there are none. The row it stands in has a column i, so that
// each row gets another.
std::string RandomArraySql(const ElementCase& element, const std::string& from,
                           const std::string& to);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SCHEMA_TYPE_CASES_H_
