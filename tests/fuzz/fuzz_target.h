// What every fuzz target has: an entry point, seeds, and a way to say that a
// promise was broken.
//
// A target is one library that defines the two functions below. Three programs
// are made of it (fuzz_target.bzl): with libFuzzer's main() the fuzzer, whose
// flag --write_seeds=FOLDER writes the seeds as files; with replay_test.cc an
// ordinary test, which runs the seeds, each of them changed a little, and the
// files of tests/fuzz/regressions, so that the target itself stays right and
// what was once found stays mended.
//
// A target checks more than that nothing crashes: what it requires stands at
// its top. A breach ends the process, as a crash does.
#ifndef SUBLITE_TESTS_FUZZ_FUZZ_TARGET_H_
#define SUBLITE_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// One input. Leaves nothing behind that could change what the next one does.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace sublite::testing {

// Inputs to begin with, without duplicates.
std::vector<std::string> FuzzSeeds();

// Where a target may make files: $SUBLITE_FUZZ_SCRATCH; without it in memory,
// or where Bazel lets a test make them.
std::string ScratchFolder();

// Unless `holds`, prints `what` (and `detail`) and ends the process.
void Require(bool holds, std::string_view what, std::string_view detail = {});

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_FUZZ_TARGET_H_
