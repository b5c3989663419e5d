// `sublite decode [FILE]`: prints a captured replication stream, one JSON
// object a line (decode_json.h), in the order of the capture (wire/capture.h).
//
// A frame that cannot be decoded is reported on `err` with its record number,
// file offset, message, offset and LSN, and the next one is tried: a capture is
// looked at because something in it is wrong. Whether the stream is inside a
// stream block follows from the first bytes of the frames, bad ones too, so one
// bad frame does not make the rest unreadable.
//
// Returns the exit code: 0; 1 if a frame was bad or the capture is cut off; 64
// if the file cannot be read or is no capture.
// Memory: the whole file is read into memory.
// Errors: all are reported on `err`. Threads: one.
#ifndef SUBLITE_APPLIER_CLI_DECODE_COMMAND_H_
#define SUBLITE_APPLIER_CLI_DECODE_COMMAND_H_

#include <istream>
#include <ostream>
#include <string>

namespace sublite {

// `path` is a file, or "-" for `in`.
int DecodeCommand(const std::string& path, std::istream& in, std::ostream& out,
                  std::ostream& err);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_DECODE_COMMAND_H_
