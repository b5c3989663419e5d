// Prints docs/servers.md, from the source tree that the argument names.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/matrix/servers_table.h"

int main(int argc, char** argv) {
  using namespace sublite::testing;
  const absl::StatusOr<std::string> table =
      ServersTable(ReadEvidence(argc > 1 ? argv[1] : "."));
  if (!table.ok()) {
    std::fprintf(stderr, "%s\n", table.status().ToString().c_str());
    return EXIT_FAILURE;
  }
  std::fputs(table->c_str(), stdout);
  return EXIT_SUCCESS;
}
