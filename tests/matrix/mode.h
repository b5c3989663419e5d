// The ways in which a stream can be asked for, and what a server of some
// version makes of them.
#ifndef SUBLITE_TESTS_MATRIX_MODE_H_
#define SUBLITE_TESTS_MATRIX_MODE_H_

#include <ostream>
#include <string>
#include <vector>

namespace sublite::testing {

enum class StreamingMode { kOff, kOn, kParallel };

// What sublite's settings ask for.
struct Mode {
  StreamingMode streaming = StreamingMode::kOff;
  bool two_phase = false;
  bool binary = false;

  // "parallel_twophase_binary", "off_text": for names of tests, databases and
  // slots.
  std::string Name() const;
};

// For messages of gtest.
inline void PrintTo(const Mode& mode, std::ostream* out) {
  *out << mode.Name();
}

// All twelve.
std::vector<Mode> AllModes();

// The value of publisher.streaming.
std::string SettingOf(StreamingMode streaming);

// What a server of that major version is asked for (CONTRACT.md section 1:
// the most it has), as the options of START_REPLICATION, except
// publication_names: "proto_version '4', streaming 'parallel', binary 'true'".
std::string ExpectedOptions(const Mode& mode, int major_version);

bool ExpectStreams(const Mode& mode, int major_version);
bool ExpectTwoPhase(const Mode& mode, int major_version);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_MATRIX_MODE_H_
