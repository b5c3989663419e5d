#include "applier/staging.h"

#include <algorithm>
#include <cstring>

#include "schema/status.h"

namespace sublite {
namespace {

constexpr std::size_t kMemory =
    32 * 1024;  // a spool up to this size needs no file
constexpr std::size_t kReadChunk = 256 * 1024;
constexpr std::size_t kHeader = 4 + 4 + 8 + 1;
constexpr unsigned char kInStreamBlock = 1;
constexpr unsigned char kInjected = 2;

std::uint32_t MessageSize(std::string_view header) {
  std::uint32_t size = 0;
  std::memcpy(&size, header.data(), sizeof size);
  return size;
}

}  // namespace

void AppendRecordHeader(const StagedRecord& record, std::string* out) {
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

void AppendRecord(const StagedRecord& record, std::string* out) {
  AppendRecordHeader(record, out);
  out->append(record.message);
}

std::size_t RecordSize(std::string_view bytes) {
  return kHeader + (bytes.size() < kHeader ? 0 : MessageSize(bytes));
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
  if (limit_ == Limit::kCounts) file_.Uncount(bytes_);
  file_.AddBuffered(-static_cast<std::int64_t>(buffer_.size()));
  file_.GiveBack(&extents_);
}

absl::Status Spool::Append(const StagedRecord& record) {
  const auto size = static_cast<std::int64_t>(kHeader + record.message.size());
  if (limit_ == Limit::kCounts) RETURN_IF_ERROR(file_.Count(size));
  bytes_ += size;
  if (record.message.size() < kMemory) {
    AppendRecord(record, &buffer_);
    file_.AddBuffered(size);
    const bool full = buffer_.size() >= kMemory ||
                      (file_.crowded() && buffer_.size() >= SpillFile::kPage);
    return full ? Flush() : absl::OkStatus();
  }
  // A large value is not copied on its way to the file.
  AppendRecordHeader(record, &buffer_);
  file_.AddBuffered(kHeader);
  RETURN_IF_ERROR(Flush());
  return Write(record.message);
}

std::uint64_t Spool::SerialOf(Oid relation) const {
  const auto found = relations_.find(relation);
  return found == relations_.end() ? 0 : found->second;
}

absl::Status Spool::Flush() {
  RETURN_IF_ERROR(Write(buffer_));
  file_.AddBuffered(-static_cast<std::int64_t>(buffer_.size()));
  // Thousands of transactions may be open that say nothing more for hours.
  // (Assigning an empty string would keep the memory.)
  std::string().swap(buffer_);
  return absl::OkStatus();
}

absl::Status Spool::Write(std::string_view rest) {
  while (!rest.empty()) {
    const std::int64_t offset = flushed_ % SpillFile::kExtentBytes;
    if (offset == 0) {
      ASSIGN_OR_RETURN(const SpillFile::Extent extent, file_.Take());
      extents_.push_back(extent);
    }
    const std::string_view part = rest.substr(
        0, static_cast<std::size_t>(SpillFile::kExtentBytes - offset));
    RETURN_IF_ERROR(file_.Write(extents_.back(), offset, part));
    flushed_ += static_cast<std::int64_t>(part.size());
    rest.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

absl::Status Spool::ReadMore(std::int64_t offset, std::size_t wanted,
                             std::string* chunk) {
  std::size_t at = chunk->size();
  const auto size =
      std::min(static_cast<std::int64_t>(wanted), flushed_ - offset);
  chunk->resize(at + static_cast<std::size_t>(size));
  while (at < chunk->size()) {
    const std::int64_t inside = offset % SpillFile::kExtentBytes;
    ASSIGN_OR_RETURN(
        const std::size_t got,
        file_.Read(extents_[static_cast<std::size_t>(offset /
                                                     SpillFile::kExtentBytes)],
                   inside, chunk->data() + at,
                   std::min(chunk->size() - at,
                            static_cast<std::size_t>(SpillFile::kExtentBytes -
                                                     inside))));
    at += got;
    offset += static_cast<std::int64_t>(got);
  }
  return absl::OkStatus();
}

absl::Status Spool::Visit(
    std::string_view* bytes,
    const std::function<absl::Status(const StagedRecord&)>& visit) {
  while (bytes->size() >= RecordSize(*bytes)) {
    ASSIGN_OR_RETURN(const StagedRecord record, TakeRecord(bytes));
    if (!record.describes() && aborted_.Contains(record.subxid)) continue;
    RETURN_IF_ERROR(visit(record));
  }
  return absl::OkStatus();
}

absl::Status Spool::ForEach(
    const std::function<absl::Status(const StagedRecord&)>& visit) {
  std::string chunk;
  for (std::int64_t offset = 0; offset < flushed_;) {
    const std::size_t kept = chunk.size();
    // A row may be larger than a chunk.
    const std::size_t wanted = std::max(kReadChunk, RecordSize(chunk) - kept);
    RETURN_IF_ERROR(ReadMore(offset, wanted, &chunk));
    offset += static_cast<std::int64_t>(chunk.size() - kept);
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
