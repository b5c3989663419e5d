// An MVCC snapshot of the publisher, as pg_current_snapshot() gives it.
//
// It speaks of top-level transaction ids only, as do Begin, Stream Start and
// the prepare messages of pgoutput. Text form: PostgreSQL's
// `xmin:xmax:xip_list`.
#ifndef SUBLITE_APPLIER_SNAPSHOT_H_
#define SUBLITE_APPLIER_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/wire/message.h"

namespace sublite {

class Snapshot {
 public:
  Snapshot() = default;  // sees nothing

  // DataLoss if `text` is not xmin:xmax:xip,….
  static absl::StatusOr<Snapshot> Parse(std::string_view text);
  std::string ToString() const;

  // The 64-bit id nearest to this snapshot's xmax whose low half is `xid`.
  std::uint64_t Widen(Xid xid) const;

  // True if `xid` is not in progress and not in the future: its effects, if it
  // committed, are in the snapshot's rows.
  bool Sees(Xid xid) const { return SeesFull(Widen(xid)); }
  bool SeesFull(std::uint64_t full_xid) const;

  // Ids that were in progress, ascending.
  const std::vector<std::uint64_t>& in_progress() const { return in_progress_; }
  std::uint64_t xmin() const { return xmin_; }
  std::uint64_t xmax() const { return xmax_; }

 private:
  std::uint64_t xmin_ = 0;
  std::uint64_t xmax_ = 0;
  std::vector<std::uint64_t> in_progress_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_SNAPSHOT_H_
