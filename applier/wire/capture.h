// A captured replication stream, for `sublite decode` and the golden tests.
//
// The file, format 1:
//
//   sublite-capture 1 proto_version=4 streaming=parallel server=18.4\n
//   Int32 length, frame        } any number of times
//
// The header is one line of text: the two words, then name=value words parted
// by single spaces. proto_version (1 to 4) and streaming (off, on, parallel)
// must be there, since the bytes cannot be read without them; all others are
// notes to the reader. Each record is the body of one CopyData message from the
// server, as "Streaming Replication Protocol" has it (XLogData or keepalive),
// behind its length in network byte order, which does not count itself.
//
// Ownership: frames are views into the bytes given to Open.
// Errors: InvalidArgument for a file that is no capture of this format,
// DataLoss for a record that is cut off or longer than a CopyData message can
// be; the text names the record, counted from 1, and its offset in the file.
// Threads: one object belongs to one thread.
#ifndef SUBLITE_APPLIER_WIRE_CAPTURE_H_
#define SUBLITE_APPLIER_WIRE_CAPTURE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace sublite {

struct CaptureHeader {
  int protocol_version = 1;
  // streaming=parallel; off and on do not change how a message is read.
  bool parallel_streaming = false;
  // The whole line, without its newline.
  std::string_view text;
};

class CaptureReader {
 public:
  // Reads the header of `bytes`, a whole file.
  static absl::StatusOr<CaptureReader> Open(std::string_view bytes);

  const CaptureHeader& header() const { return header_; }

  // Sets `*frame` to the next record's frame; false at the end of the file.
  // After an error there is no next record.
  absl::StatusOr<bool> Next(std::string_view* frame);

  // Of the frame that Next gave last: its number, from 1, and where its length
  // stands in the file.
  std::size_t record() const { return record_; }
  std::size_t record_offset() const { return record_offset_; }

 private:
  CaptureReader(const CaptureHeader& header, std::string_view bytes,
                std::size_t offset)
      : header_(header), bytes_(bytes), offset_(offset) {}

  CaptureHeader header_;
  std::string_view bytes_;
  std::size_t offset_;  // of the next record
  std::size_t record_ = 0;
  std::size_t record_offset_ = 0;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_WIRE_CAPTURE_H_
