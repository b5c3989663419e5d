#include "tests/fuzz/fuzz_target.h"

#include <cstdlib>
#include <iostream>

namespace sublite::testing {

std::string ScratchFolder() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return folder == nullptr ? "/dev/shm" : folder;
}

void Require(bool holds, std::string_view what, std::string_view detail) {
  if (holds) return;
  std::cerr << "fuzz target: " << what;
  if (!detail.empty()) std::cerr << ": " << detail;
  std::cerr << std::endl;
  std::abort();
}

}  // namespace sublite::testing
