#include "tests/fuzz/fuzz_target.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace sublite::testing {

std::string ScratchFolder() {
  constexpr char kMemory[] = "/dev/shm";
  if (const char* wanted = std::getenv("SUBLITE_FUZZ_SCRATCH")) return wanted;
  if (access(kMemory, W_OK | X_OK) == 0) return kMemory;
  const char* given = std::getenv("TEST_TMPDIR");
  return given == nullptr ? "/tmp" : given;
}

void Require(bool holds, std::string_view what, std::string_view detail) {
  if (holds) return;
  std::cerr << "fuzz target: " << what;
  if (!detail.empty()) std::cerr << ": " << detail;
  std::cerr << std::endl;
  std::abort();
}

}  // namespace sublite::testing
