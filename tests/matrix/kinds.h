// A table with a column of every type (tests/schema/type_cases.h), and of
// arrays of them, but those that have no binary form: one such column would
// turn a whole stream into text.
#ifndef SUBLITE_TESTS_MATRIX_KINDS_H_
#define SUBLITE_TESTS_MATRIX_KINDS_H_

#include <string>
#include <vector>

namespace sublite::testing {

struct Kind {
  std::string column;
  std::string type;
  std::string random;    // SQL, in a row that has a column i
  std::string expected;  // SQL over v: what must be stored for it
  std::string special;   // SQL: values to have besides, comma-separated
};

const std::vector<Kind>& Kinds();

// SQL: makes the table `kinds`, with a key `id`.
std::string CreateKindsSql();

// SQL: rows from `id` + 1 on: `count` random ones, then those with the special
// values.
std::string InsertKindsSql(int id, int count);

// SQL: gives each row from `id` + 1 to `id` + `count` all values of the row
// behind it.
std::string ShiftKindsSql(int id, int count);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_MATRIX_KINDS_H_
