// The part of Session that asks the publisher what its slot keeps
// (retention.h), and tells those who watch how far the stream is.
#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/session.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Somebody looks at the metrics, or only now and then at `status`.
constexpr absl::Duration kAskWatched = absl::Seconds(15);
constexpr absl::Duration kAskUnwatched = absl::Seconds(60);
// Longer without a word, and what is here need not be what is there.
constexpr absl::Duration kSilence = absl::Seconds(60);

}  // namespace

absl::Status Session::AskRetention(absl::Time now) {
  const absl::Duration every =
      config_.listen.has_value() ? kAskWatched : kAskUnwatched;
  if (now - retention_asked_at_ < every) return absl::OkStatus();
  retention_asked_at_ = now;
  const auto rows = publisher_.Query(RetentionSql(config_.publisher.slot));
  if (absl::IsUnavailable(rows.status()) || absl::IsCancelled(rows.status()))
    return rows.status();
  std::optional<Retention> retention;
  if (rows.ok() && rows->size() == 1)
    retention = ParseRetention(rows->front(), now);
  if (!retention.has_value()) {
    if (memory_.said.insert("retention").second)
      LogWarn("the publisher does not tell what its slot keeps",
              {{"error", std::string(rows.status().message())}});
    return absl::OkStatus();
  }
  if (replica_.retention().has_value())
    retention->wal_rate =
        WalRate(*replica_.retention(), now, retention->wal_end);
  replica_.SetRetention(*retention);
  return absl::OkStatus();
}

void Session::NoteProgress(const ReplicationStream& stream,
                           const Applier& applier, absl::Time now) {
  Metrics& metrics = replica_.metrics();
  const absl::Time heard = stream.LastHeard();
  metrics.contact_at.Set(absl::ToUnixMicros(heard));
  if (applier.at_boundary() && !stream.HasMore()) {
    // All that came is applied.
    metrics.as_of.Set(absl::ToUnixMicros(now - heard < kSilence ? now : heard));
  } else {
    metrics.as_of.Set(
        std::max(metrics.as_of.get(), metrics.applied_commit_at.get()));
  }
  metrics.SetPhase(chunks_wait_ ? Phase::kCopying : Phase::kStreaming);
}

}  // namespace sublite
