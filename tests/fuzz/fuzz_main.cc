// What a fuzzer does before libFuzzer's main() takes over: with
// --write_seeds=FOLDER it writes the target's seeds there, one file each, and
// ends. (libFuzzer's own flags have one dash.)
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"

namespace {

bool WriteSeeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int count = 0;
  for (const std::string& seed : sublite::testing::FuzzSeeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(count++)),
                       std::ios::binary);
    file << seed;
    if (!file.flush()) return false;
  }
  std::cout << count << " seeds" << std::endl;
  return true;
}

}  // namespace

// The signature is libFuzzer's.
extern "C" int LLVMFuzzerInitialize(int* argc,  // NOLINT
                                    char*** argv) {
  constexpr std::string_view kFlag = "--write_seeds=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument((*argv)[i]);
    if (argument.substr(0, kFlag.size()) != kFlag) continue;
    std::exit(WriteSeeds(argument.substr(kFlag.size())) ? 0 : 1);
  }
  return 0;
}
