// Whether the publisher can be followed from where the replica stands: the
// checks of every connect, by system identifier, timeline and slot position.
//
// A server that was restored, replaced or promoted with a loss holds another
// past than the replica, and its slot would give no sign of it. In doubt there
// is a gap: everything is then copied again, which is slow and right.
//
// Pure. Facts relied on: a position names a record only together with its
// timeline; START_REPLICATION from before the slot's confirmed_flush_lsn begins
// there in silence; pg_basebackup and pg_rewind leave slots out; slots that
// standbys copy (17+) or that tools copy to standbys are the primary's.
#ifndef SUBLITE_APPLIER_KNOWN_PUBLISHER_H_
#define SUBLITE_APPLIER_KNOWN_PUBLISHER_H_

#include <cstdint>
#include <string>

#include "applier/publisher.h"
#include "applier/wire/lsn.h"

namespace sublite {

// What the replica knows of the publisher that it followed.
struct Followed {
  Lsn applied;
  std::string system_identifier;
  std::uint32_t timeline = 0;    // at the last connect; 0: not known
  Lsn timeline_began;            // PublisherIdentity::timeline_began of then
  bool slot_on_standby = false;  // the slot was made on a standby
};

// Why this server cannot be used now, but may be later without anything having
// been lost: it is a standby that is to be promoted, or has to catch up. ""
// otherwise. To be asked before FindGap.
std::string WhyWait(const Followed& followed,
                    const PublisherIdentity& publisher, const SlotState& slot);

// Whether a slot of the publisher that was followed has been confirmed behind
// the replica's position: by somebody else, or by a newer state of the file.
bool MovedPast(const Followed& followed, const PublisherIdentity& publisher,
               const SlotState& slot);

// Why the slot (named `slot_name`) cannot be followed from `followed.applied`;
// "" if it can.
std::string FindGap(const Followed& followed,
                    const PublisherIdentity& publisher, const SlotState& slot,
                    const std::string& slot_name);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_KNOWN_PUBLISHER_H_
