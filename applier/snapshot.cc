#include "applier/snapshot.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace sublite {
namespace {

absl::Status Malformed(std::string_view text, const char* where) {
  return absl::DataLossError("snapshot is not xmin:xmax:xip,... at byte " +
                             std::to_string(where - text.data()));
}

// Reads a decimal id at *at and moves *at past it.
bool ReadId(const char** at, const char* end, std::uint64_t* id) {
  const std::from_chars_result result = std::from_chars(*at, end, *id);
  if (result.ec != std::errc()) return false;
  *at = result.ptr;
  return true;
}

bool ReadByte(const char** at, const char* end, char byte) {
  if (*at == end || **at != byte) return false;
  ++*at;
  return true;
}

}  // namespace

absl::StatusOr<Snapshot> Snapshot::Parse(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  Snapshot snapshot;
  if (!ReadId(&at, end, &snapshot.xmin_) || !ReadByte(&at, end, ':') ||
      !ReadId(&at, end, &snapshot.xmax_) || !ReadByte(&at, end, ':') ||
      snapshot.xmin_ == 0 || snapshot.xmax_ < snapshot.xmin_) {
    return Malformed(text, at);
  }
  std::vector<std::uint64_t>& ids = snapshot.in_progress_;
  while (at != end) {
    if (!ids.empty() && !ReadByte(&at, end, ',')) return Malformed(text, at);
    std::uint64_t id = 0;
    if (!ReadId(&at, end, &id) || id < snapshot.xmin_ || id >= snapshot.xmax_ ||
        (!ids.empty() && id <= ids.back())) {
      return Malformed(text, at);
    }
    ids.push_back(id);
  }
  return snapshot;
}

std::string Snapshot::ToString() const {
  std::string text = std::to_string(xmin_) + ":" + std::to_string(xmax_) + ":";
  for (std::size_t i = 0; i < in_progress_.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(in_progress_[i]);
  }
  return text;
}

std::uint64_t Snapshot::Widen(Xid xid) const {
  constexpr std::uint64_t kEpoch = std::uint64_t{1} << 32;
  // The distance on the ring of 32-bit ids, from -2^31 to 2^31 - 1.
  const std::int64_t distance =
      static_cast<std::int32_t>(xid - static_cast<Xid>(xmax_));
  const std::uint64_t full = xmax_ + static_cast<std::uint64_t>(distance);
  // Before the first id and past the last one there is only one epoch to take.
  if (distance < 0 && full > xmax_) return full + kEpoch;
  if (distance > 0 && full < xmax_) return full - kEpoch;
  return full;
}

bool Snapshot::SeesFull(std::uint64_t full_xid) const {
  if (full_xid < xmin_) return true;
  if (full_xid >= xmax_) return false;
  return !std::binary_search(in_progress_.begin(), in_progress_.end(),
                             full_xid);
}

}  // namespace sublite
