#include "applier/staging.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr std::size_t kMemory =
    32 * 1024;  // a spool up to this size needs no file
constexpr std::size_t kReadChunk = 256 * 1024;
constexpr std::size_t kHeader = 4 + 4 + 8 + 1;
constexpr unsigned char kInStreamBlock = 1;
constexpr unsigned char kInjected = 2;

absl::Status IoError(const std::string& directory, const char* doing) {
  const int error = errno;
  const std::string text =
      absl::StrCat("spill file in ", directory, ": cannot ", doing, ": ",
                   std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? absl::ResourceExhaustedError(text)
                                            : absl::UnavailableError(text);
}

void AppendHeader(const StagedRecord& record, std::string* out) {
  const auto size = static_cast<std::uint32_t>(record.message.size());
  const unsigned char flags = (record.in_stream_block ? kInStreamBlock : 0) |
                              (record.injected ? kInjected : 0);
  out->append(reinterpret_cast<const char*>(&size), sizeof size);
  out->append(reinterpret_cast<const char*>(&record.subxid),
              sizeof record.subxid);
  out->append(reinterpret_cast<const char*>(&record.serial),
              sizeof record.serial);
  out->push_back(static_cast<char>(flags));
}

std::uint32_t MessageSize(std::string_view header) {
  std::uint32_t size = 0;
  std::memcpy(&size, header.data(), sizeof size);
  return size;
}

}  // namespace

void AppendRecord(const StagedRecord& record, std::string* out) {
  AppendHeader(record, out);
  out->append(record.message);
}

absl::StatusOr<StagedRecord> TakeRecord(std::string_view* bytes) {
  if (bytes->size() < kHeader)
    return absl::DataLossError("a staged record is cut off in its header");
  const std::uint32_t size = MessageSize(*bytes);
  if (bytes->size() - kHeader < size)
    return absl::DataLossError("a staged record is cut off in its message");
  StagedRecord record;
  std::memcpy(&record.subxid, bytes->data() + 4, sizeof record.subxid);
  std::memcpy(&record.serial, bytes->data() + 8, sizeof record.serial);
  const auto flags = static_cast<unsigned char>((*bytes)[16]);
  record.in_stream_block = (flags & kInStreamBlock) != 0;
  record.injected = (flags & kInjected) != 0;
  record.message = bytes->substr(kHeader, size);
  bytes->remove_prefix(kHeader + size);
  return record;
}

Spool::~Spool() {
  if (file_ >= 0) close(file_);
}

absl::Status Spool::Append(const StagedRecord& record) {
  if (aborted_.contains(record.subxid)) {
    return absl::DataLossError(absl::StrCat("a message of subtransaction ",
                                            record.subxid,
                                            ", which has been rolled back"));
  }
  bytes_ += static_cast<std::int64_t>(kHeader + record.message.size());
  subxids_.insert(record.subxid);
  if (record.message.size() < kMemory) {
    AppendRecord(record, &buffer_);
    return buffer_.size() < kMemory ? absl::OkStatus() : Flush();
  }
  // A large value is not copied on its way to the file.
  AppendHeader(record, &buffer_);
  RETURN_IF_ERROR(Flush());
  return Write(record.message);
}

void Spool::AbortSubtransaction(Xid subxid) {
  // An abort of a subtransaction that left nothing here need not be remembered.
  if (subxids_.contains(subxid)) aborted_.insert(subxid);
}

std::uint64_t Spool::SerialOf(Oid relation) const {
  const auto found = relations_.find(relation);
  return found == relations_.end() ? 0 : found->second;
}

absl::Status Spool::Flush() {
  if (file_ < 0) {
    // Unlinked from the beginning: it goes with the process, whatever ends it.
    file_ = open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0) {
      std::string name = absl::StrCat(directory_, "/.sublite-spill-XXXXXX");
      file_ = mkostemp(name.data(), O_CLOEXEC);
      if (file_ < 0) return IoError(directory_, "make it");
      unlink(name.c_str());
    }
  }
  RETURN_IF_ERROR(Write(buffer_));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status Spool::Write(std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t written = pwrite(file_, rest.data(), rest.size(), flushed_);
    if (written < 0) {
      if (errno == EINTR) continue;
      return IoError(directory_, "write it");
    }
    flushed_ += written;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status Spool::Visit(
    std::string_view* bytes,
    const std::function<absl::Status(const StagedRecord&)>& visit) {
  while (bytes->size() >= kHeader &&
         bytes->size() - kHeader >= MessageSize(*bytes)) {
    ASSIGN_OR_RETURN(const StagedRecord record, TakeRecord(bytes));
    if (aborted_.contains(record.subxid) && !record.describes()) continue;
    RETURN_IF_ERROR(visit(record));
  }
  return absl::OkStatus();
}

absl::Status Spool::ForEach(
    const std::function<absl::Status(const StagedRecord&)>& visit) {
  std::string chunk;
  for (std::int64_t offset = 0; offset < flushed_;) {
    const std::size_t kept = chunk.size();
    std::size_t wanted = kReadChunk;
    if (kept >= kHeader && MessageSize(chunk) + kHeader > kept) {
      wanted = std::max(wanted, MessageSize(chunk) + kHeader -
                                    kept);  // a row larger than a chunk
    }
    chunk.resize(kept +
                 static_cast<std::size_t>(std::min<std::int64_t>(
                     static_cast<std::int64_t>(wanted), flushed_ - offset)));
    const ssize_t got =
        pread(file_, chunk.data() + kept, chunk.size() - kept, offset);
    if (got < 0 && errno == EINTR) {
      chunk.resize(kept);
      continue;
    }
    if (got <= 0)
      return got < 0 ? IoError(directory_, "read it")
                     : absl::DataLossError("a spill file lost its end");
    offset += got;
    chunk.resize(kept + static_cast<std::size_t>(got));
    std::string_view rest = chunk;
    RETURN_IF_ERROR(Visit(&rest, visit));
    chunk.erase(0, chunk.size() - rest.size());
    if (chunk.capacity() > 4 * kReadChunk && chunk.size() < kReadChunk)
      chunk.shrink_to_fit();
  }
  if (!chunk.empty())
    return absl::DataLossError("a spill file ends inside a record");
  std::string_view rest = buffer_;
  RETURN_IF_ERROR(Visit(&rest, visit));
  return rest.empty() ? absl::OkStatus()
                      : absl::DataLossError("a spool ends inside a record");
}

}  // namespace sublite
