#include "applier/known_publisher.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

constexpr int kStandbyDecodingServer = 160000;

// Two servers that were promoted apart may use one number for two timelines,
// which then begin at different positions.
bool Differ(Lsn began, Lsn other) {
  return began.valid() && other.valid() && began != other;
}

std::string FindTimelineGap(const Followed& followed,
                            const PublisherIdentity& publisher,
                            const SlotState& slot) {
  const auto& history = publisher.history;
  auto left = std::find_if(
      history.begin(), history.end(),
      [&](const TimelineSwitch& s) { return s.timeline == followed.timeline; });
  const bool other = left != history.end() && left != history.begin() &&
                     Differ(followed.timeline_began, (left - 1)->left_at);
  if (left == history.end() || other) {
    return absl::StrCat("the publisher is on timeline ", publisher.timeline,
                        ", which does not come from this replica's ",
                        followed.timeline);
  }
  if (left->left_at >= followed.applied) return std::string();
  // A standby that is followed takes the replica with it when it changes its
  // timeline. Its slot is the witness: it is on no other server, and what was
  // confirmed to it behind the last switch was sent behind the last switch.
  if (followed.slot_on_standby) {
    auto last = left;
    for (auto s = left; s != history.end(); ++s) {
      if (s->left_at < followed.applied) last = s;
    }
    if (slot.confirmed_flush > last->left_at) return std::string();
  }
  return absl::StrCat("the publisher failed over to timeline ",
                      publisher.timeline, " at ", left->left_at.ToString(),
                      ", before this replica's ", followed.applied.ToString(),
                      ": what lies between is lost there");
}

}  // namespace

std::string WhyWait(const Followed& followed,
                    const PublisherIdentity& publisher, const SlotState& slot) {
  if (!publisher.in_recovery) return std::string();
  if (publisher.server_version < kStandbyDecodingServer) {
    return absl::StrCat(
        "this server is a standby, which before version 16 cannot be followed "
        "(it is ",
        publisher.server_version_text,
        "): waiting until it is promoted, or for another host of "
        "publisher.conninfo (target_session_attrs=read-write)");
  }
  if (slot.exists && slot.synced) {
    return "this server is a standby, and its slot a copy of the primary's: "
           "waiting until it is promoted, or for another host of "
           "publisher.conninfo (target_session_attrs=read-write)";
  }
  if (publisher.system_identifier == followed.system_identifier &&
      publisher.wal_end < followed.applied) {
    // After a restart it replays what it had replayed before.
    return absl::StrCat("this standby has WAL up to ",
                        publisher.wal_end.ToString(), ", the replica is at ",
                        followed.applied.ToString(),
                        ": waiting until it has caught up");
  }
  return std::string();
}

bool MovedPast(const Followed& followed, const PublisherIdentity& publisher,
               const SlotState& slot) {
  return slot.exists && !slot.lost &&
         followed.system_identifier == publisher.system_identifier &&
         slot.confirmed_flush > followed.applied;
}

std::string FindGap(const Followed& followed,
                    const PublisherIdentity& publisher, const SlotState& slot,
                    const std::string& slot_name) {
  if (followed.system_identifier != publisher.system_identifier) {
    return absl::StrCat("the publisher is another one (system identifier ",
                        publisher.system_identifier, ", was ",
                        followed.system_identifier, ")");
  }
  if (!slot.exists) return absl::StrCat("slot ", slot_name, " is gone");
  if (slot.lost) {
    return absl::StrCat("slot ", slot_name,
                        " was invalidated: ", slot.lost_reason);
  }
  if (!slot.confirmed_flush.valid()) {
    return absl::StrCat("slot ", slot_name, " was never finished");
  }
  if (MovedPast(followed, publisher, slot)) {
    return absl::StrCat("slot ", slot_name, " has moved to ",
                        slot.confirmed_flush.ToString(),
                        ", past this replica's ", followed.applied.ToString(),
                        " (a restored or cloned file?)");
  }
  if (publisher.wal_end < followed.applied) {
    return absl::StrCat(
        "the publisher is at ", publisher.wal_end.ToString(),
        ", before this replica's ", followed.applied.ToString(),
        " (restored to an earlier time, or failed over with a loss)");
  }
  if (followed.timeline == 0) return std::string();
  if (followed.timeline == publisher.timeline) {
    if (!Differ(followed.timeline_began, publisher.timeline_began())) {
      return std::string();
    }
    return absl::StrCat("the publisher's timeline ", publisher.timeline,
                        " is another one: it began at ",
                        publisher.timeline_began().ToString(), ", not at ",
                        followed.timeline_began.ToString(),
                        " (two servers were promoted)");
  }
  return FindTimelineGap(followed, publisher, slot);
}

}  // namespace sublite
