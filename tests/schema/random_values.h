// SQL with which PostgreSQL makes random values of its types, for tests that
// compare what is made of them.
#ifndef SUBLITE_TESTS_SCHEMA_RANDOM_VALUES_H_
#define SUBLITE_TESTS_SCHEMA_RANDOM_VALUES_H_

namespace sublite::testing {

// Settings of a session: those of CONTRACT.md section 3.
const char* SessionSettingsSql();

// Types, and functions that give a random value: words(most), whole(),
// double(low, high), fixed(p, s), moment(), …. Once a database.
const char* RandomValuesSql();

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SCHEMA_RANDOM_VALUES_H_
