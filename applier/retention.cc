#include "applier/retention.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

// Of what is older, a third counts.
constexpr double kRateSeconds = 3600;
// Two answers closer than this say little about a rate.
constexpr absl::Duration kShortest = absl::Seconds(5);

std::optional<std::int64_t> Number(const std::string& text) {
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

}  // namespace

std::int64_t Retention::retained_bytes() const {
  if (!restart.valid() || wal_end < restart) return 0;
  return static_cast<std::int64_t>(wal_end.value() - restart.value());
}

std::string RetentionSql(std::string_view slot) {
  // Through jsonb, since the columns are other ones in each version.
  return absl::StrCat(
      "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else "
      "pg_current_wal_lsn() end, s->>'restart_lsn', s->>'wal_status', "
      "s->>'safe_wal_size', pg_size_bytes(current_setting("
      "'max_slot_wal_keep_size', true)), extract(epoch from current_setting("
      "'idle_replication_slot_timeout', true)::interval)::bigint from (select "
      "to_jsonb(r) as s from pg_replication_slots r where slot_name = '",
      absl::string_view(slot.data(), slot.size()), "') q");
}

std::optional<Retention> ParseRetention(const std::vector<std::string>& row,
                                        absl::Time at) {
  Retention retention;
  if (row.size() != 6 || !Lsn::Parse(row[0], &retention.wal_end))
    return std::nullopt;
  if (!row[1].empty() && !Lsn::Parse(row[1], &retention.restart))
    return std::nullopt;
  retention.at = at;
  retention.wal_status = row[2];
  retention.safe_bytes = Number(row[3]);
  retention.keep_bytes = Number(row[4]);
  if (retention.keep_bytes.has_value() && *retention.keep_bytes < 0)
    retention.keep_bytes.reset();
  retention.idle_timeout = absl::Seconds(Number(row[5]).value_or(0));
  return retention;
}

double WalRate(const Retention& before, absl::Time at, Lsn wal_end) {
  const absl::Duration passed = at - before.at;
  if (!before.wal_end.valid() || passed < kShortest || wal_end < before.wal_end)
    return before.wal_rate;
  const double seconds = absl::ToDoubleSeconds(passed);
  const double rate =
      static_cast<double>(wal_end.value() - before.wal_end.value()) / seconds;
  if (before.wal_rate <= 0) return rate;
  const double old = std::exp(-seconds / kRateSeconds);
  return before.wal_rate * old + rate * (1 - old);
}

std::optional<absl::Duration> OfflineTime(const Retention& retention) {
  std::optional<absl::Duration> time;
  if (retention.wal_status == "lost") return absl::ZeroDuration();
  if (retention.safe_bytes.has_value()) {
    const double safe =
        static_cast<double>(std::max<std::int64_t>(*retention.safe_bytes, 0));
    if (safe == 0) return absl::ZeroDuration();
    if (retention.wal_rate > 0) time = absl::Seconds(safe / retention.wal_rate);
  }
  if (retention.idle_timeout > absl::ZeroDuration() &&
      (!time.has_value() || retention.idle_timeout < *time))
    time = retention.idle_timeout;
  return time;
}

}  // namespace sublite
