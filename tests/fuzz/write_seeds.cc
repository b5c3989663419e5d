// Writes the fuzz target's seeds into the folder given as its argument, one
// file each: where libFuzzer begins.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/fuzz/decode_fuzz.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_seeds FOLDER" << std::endl;
    return 64;
  }
  const std::filesystem::path folder(argv[1]);
  std::filesystem::create_directories(folder);
  int count = 0;
  for (const std::string& seed : sublite::testing::DecodeFuzzSeeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(count++)),
                       std::ios::binary);
    file << seed;
    if (!file.flush()) return 1;
  }
  std::cout << count << " seeds" << std::endl;
  return 0;
}
