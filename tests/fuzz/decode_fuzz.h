// The fuzz target of everything that takes bytes from a publisher: messages,
// frames, COPY rows and capture files.
//
// The first byte of an input chooses what the rest is (Selector). A message or
// frame that decodes is written again and must be the same bytes; a row that
// parses must parse the same after it was written again; an error has the right
// code and names an offset.
#ifndef SUBLITE_TESTS_FUZZ_DECODE_FUZZ_H_
#define SUBLITE_TESTS_FUZZ_DECODE_FUZZ_H_

#include <cstdint>

#include "tests/fuzz/fuzz_target.h"

namespace sublite::testing {

// What an input is. Bits 0 and 1: message, frame, COPY row (the next byte is
// its number of columns; in binary form with bit 4), capture file. For a
// message, bits 2 and 3 are the protocol version less 1, bit 4 says inside a
// stream block, bit 5 streaming parallel.
enum class FuzzKind { kMessage = 0, kFrame = 1, kCopyRow = 2, kCapture = 3 };
std::uint8_t Selector(FuzzKind kind, int protocol_version = 1,
                      bool in_stream_block = false, bool parallel = false);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_DECODE_FUZZ_H_
