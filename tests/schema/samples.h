// Texts that each kind of column gets from PostgreSQL, and texts that look
// like something else than they are.
#ifndef SUBLITE_TESTS_SCHEMA_SAMPLES_H_
#define SUBLITE_TESTS_SCHEMA_SAMPLES_H_

#include <string>
#include <vector>

namespace sublite::testing {

struct Sample {
  const char* type;  // by ColumnType::Encode
  std::vector<std::string> texts;
};

// At least one entry for each ValueKind; every text is one that PostgreSQL
// prints for the type.
const std::vector<Sample>& Samples();

// '01', '1e5', ' 1', …: what affinity would like to rewrite.
const std::vector<std::string>& TextsThatLookLikeNumbers();

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SCHEMA_SAMPLES_H_
