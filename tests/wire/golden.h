// The captures of tests/golden, as the tests of wire/ take them.
//
// Read from the path "tests/golden" below the working directory: the runfiles
// of a Bazel test, or the root of the source tree. A file that is missing or
// unreadable ends the test program: nothing could be tested.
#ifndef SUBLITE_TESTS_WIRE_GOLDEN_H_
#define SUBLITE_TESTS_WIRE_GOLDEN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "applier/wire/decode.h"

namespace sublite::testing {

// One CopyData message as a server sent it.
struct GoldenFrame {
  std::size_t record = 0;  // from 1, in its capture
  std::string bytes;
  // Bytes of a pgoutput message; empty for a keepalive.
  std::string payload;
  // What the decoder has to be told for `payload`. `lsn` is the envelope's.
  DecodeContext context;
};

struct GoldenCapture {
  std::string major;     // "18"
  std::string scenario;  // "stream": made by stream.sql
  std::string variant;   // "parallel"
  std::string bytes;     // the whole file
  std::string header;    // its first line
  bool streaming = false;
  std::vector<GoldenFrame> frames;

  // "18/stream.parallel"
  std::string Name() const;
  // tests/golden/18/stream.parallel + `ending`
  std::string Path(const std::string& ending) const;
};

// All of them, ordered by name. Loaded once.
const std::vector<GoldenCapture>& GoldenCaptures();

// The whole text of a file.
std::string ReadFile(const std::string& path);

// For INSTANTIATE_TEST_SUITE_P: an identifier made of the capture's name.
std::string TestNameOf(const GoldenCapture& capture);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_WIRE_GOLDEN_H_
