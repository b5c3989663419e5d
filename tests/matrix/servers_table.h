// docs/servers.md: which message, option and type was seen from which server.
//
// Made of the golden captures (tests/golden) and of what the matrix saw
// (seen.h), and of nothing else. A test compares the committed file;
// scripts/servers_table writes it. Pure. Errors: a capture that cannot be
// decoded, named.
#ifndef SUBLITE_TESTS_MATRIX_SERVERS_TABLE_H_
#define SUBLITE_TESTS_MATRIX_SERVERS_TABLE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "tests/matrix/seen.h"

namespace sublite::testing {

struct ServerEvidence {
  std::map<std::string, std::string> captures;  // bytes, by name
  SeenSections seen;
};

// By major version.
using Evidence = std::map<int, ServerEvidence>;

// What lies in the source tree at `root`.
Evidence ReadEvidence(const std::string& root);

absl::StatusOr<std::string> ServersTable(const Evidence& evidence);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_MATRIX_SERVERS_TABLE_H_
