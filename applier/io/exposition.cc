#include "applier/io/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

namespace sublite {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;
using prometheus::MetricType;

constexpr double kMicros = 1e6;
constexpr std::array<const char*, 5> kTableStates = {
    "pending", "copying", "ready", "failed", "unpublished"};

class Families {
 public:
  void Begin(const char* name, const char* help, MetricType type) {
    families_.emplace_back();
    families_.back().name = name;
    families_.back().help = help;
    families_.back().type = type;
  }
  void Add(double value, Labels labels = {}) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    (families_.back().type == MetricType::Counter ? metric.counter.value
                                                  : metric.gauge.value) = value;
    families_.back().metric.push_back(std::move(metric));
  }
  void Counter(const char* name, const char* help, const Tally& value) {
    Begin(name, help, MetricType::Counter);
    Add(static_cast<double>(value.get()));
  }
  void Gauge(const char* name, const char* help, double value) {
    Begin(name, help, MetricType::Gauge);
    Add(value);
  }
  void Gauge(const char* name, const char* help, const Tally& value) {
    Gauge(name, help, static_cast<double>(value.get()));
  }
  // Without a sample where it is not known.
  void KnownGauge(const char* name, const char* help, const Tally& value,
                  double divisor = 1) {
    Begin(name, help, MetricType::Gauge);
    if (value.get() >= 0) Add(static_cast<double>(value.get()) / divisor);
  }
  // Seconds since a time that may not be known.
  void Age(const char* name, const char* help, const Tally& since,
           absl::Time now) {
    Begin(name, help, MetricType::Gauge);
    if (since.get() < 0) return;
    const double micros = static_cast<double>(absl::ToUnixMicros(now)) -
                          static_cast<double>(since.get());
    Add(std::max(micros, 0.0) / kMicros);
  }
  template <typename Names, typename Tallies>
  void Labelled(const char* name, const char* help, MetricType type,
                const char* label, const Names& names, const Tallies& values) {
    Begin(name, help, type);
    for (std::size_t i = 0; i < names.size(); ++i)
      Add(static_cast<double>(values[i].get()), {{label, names[i]}});
  }

  std::string Text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

void AddState(const Metrics& metrics, const BuildInfo& build, Families* to) {
  to->Begin("sublite_build_info",
            "Always 1; its labels say which sublite this is.",
            MetricType::Gauge);
  to->Add(1, {{"version", build.version},
              {"libpq", build.libpq},
              {"sqlite", build.sqlite}});
  to->Gauge("sublite_start_time_seconds",
            "When the process began, in seconds since 1970.",
            absl::ToDoubleSeconds(metrics.started() - absl::UnixEpoch()));
  to->Begin("sublite_state", "1 for what sublite is doing now.",
            MetricType::Gauge);
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    to->Add(static_cast<std::size_t>(metrics.phase()) == i ? 1 : 0,
            {{"state", kPhaseNames[i]}});
  to->Gauge("sublite_connected", "1 while connected to the publisher.",
            metrics.connected);
}

void AddPositions(const Metrics& metrics, absl::Time now, Families* to) {
  to->Gauge("sublite_received_lsn",
            "WAL position up to which the publisher has sent, in bytes.",
            metrics.received_lsn);
  to->Gauge("sublite_applied_lsn",
            "WAL position up to which readers see everything, in bytes.",
            metrics.applied_lsn);
  to->Gauge("sublite_flushed_lsn",
            "WAL position up to which everything survives power loss here and "
            "is confirmed to the publisher, in bytes.",
            metrics.flushed_lsn);
  const std::int64_t end =
      std::max(metrics.publisher_lsn.get(), metrics.received_lsn.get());
  to->Gauge("sublite_publisher_lsn",
            "End of the publisher's WAL when last asked, in bytes.",
            static_cast<double>(end));
  to->Gauge("sublite_lag_bytes",
            "WAL of the publisher that is not applied, published or not.",
            static_cast<double>(
                std::max<std::int64_t>(end - metrics.applied_lsn.get(), 0)));
  to->Age("sublite_lag_seconds",
          "Age of the publisher's state that readers see: next to 0 while all "
          "that came is applied, growing while disconnected.",
          metrics.as_of, now);
  to->KnownGauge("sublite_contact_timestamp_seconds",
                 "When the publisher was last heard, in seconds since 1970.",
                 metrics.contact_at, kMicros);
  to->KnownGauge("sublite_applied_commit_timestamp_seconds",
                 "When the transaction that was applied last was committed at "
                 "the publisher, in seconds since 1970.",
                 metrics.applied_commit_at, kMicros);
}

void AddWork(const Metrics& metrics, Families* to) {
  to->Counter("sublite_transactions_total",
              "Publisher's transactions that were applied.",
              metrics.transactions);
  to->Begin("sublite_rows_total",
            "Changes that were applied, by table and kind (truncate counts "
            "tables). The first 1000 tables that changed have series of their "
            "own; schema and table are empty for all others together.",
            MetricType::Counter);
  for (const Metrics::Rows& table : metrics.TableRows()) {
    for (std::size_t kind = 0; kind < table.rows.size(); ++kind) {
      if (table.rows[kind] == 0) continue;
      to->Add(static_cast<double>(table.rows[kind]),
              {{"schema", table.schema},
               {"table", table.table},
               {"kind", kRowKindNames[kind]}});
    }
  }
  to->Counter("sublite_commits_total", "SQLite transactions.", metrics.commits);
  to->Counter("sublite_syncs_total",
              "Times that the replica was made to survive power loss.",
              metrics.syncs);
  to->Counter("sublite_received_bytes_total",
              "Bytes of the replication stream.", metrics.received_bytes);
  to->Counter("sublite_written_bytes_total",
              "Bytes written into the replica's write-ahead log.",
              metrics.wal_written_bytes);
  to->Begin("sublite_conflicts_total",
            "Changes that found no row (missing), or their key taken "
            "(replaced): something else wrote to the replica.",
            MetricType::Counter);
  to->Add(static_cast<double>(metrics.missing_rows.get()),
          {{"kind", "missing"}});
  to->Add(static_cast<double>(metrics.replaced_rows.get()),
          {{"kind", "replaced"}});
  to->Counter("sublite_connects_total",
              "Connections to the publisher that were made.", metrics.connects);
  to->Labelled("sublite_errors_total",
               "Errors by what they concern: connection (mends itself), table "
               "(put aside), transaction (refused), other.",
               MetricType::Counter, "kind", kErrorKindNames, metrics.errors);
}

void AddKept(const Metrics& metrics, absl::Time now, Families* to) {
  to->Gauge("sublite_staged_transactions",
            "Open transactions that are staged until their end.",
            metrics.staged_transactions);
  to->Gauge("sublite_staged_bytes",
            "What they hold, in memory and beside the replica.",
            metrics.staged_bytes);
  to->Counter("sublite_spill_written_bytes_total",
              "Bytes of staged changes that were written beside the replica.",
              metrics.spill_written_bytes);
  to->Gauge("sublite_prepared_transactions",
            "Prepared transactions that are kept until they are decided.",
            metrics.prepared_transactions);
  to->Gauge("sublite_prepared_bytes", "What they hold, in the replica.",
            metrics.prepared_bytes);
  to->Age("sublite_prepared_oldest_seconds",
          "Age of the oldest prepared transaction.", metrics.oldest_prepared_at,
          now);
  to->Labelled("sublite_tables", "Tables by state.", MetricType::Gauge, "state",
               kTableStates, metrics.tables);
  to->Counter("sublite_copies_total", "Tables that were copied.",
              metrics.copies);
  to->Counter("sublite_copied_rows_total", "Rows read by copies.",
              metrics.copied_rows);
  to->Counter("sublite_copied_bytes_total", "Bytes read by copies.",
              metrics.copied_bytes);
  to->KnownGauge("sublite_slot_retained_bytes",
                 "WAL that the publisher keeps for this replica, when last "
                 "asked.",
                 metrics.slot_retained_bytes);
  to->KnownGauge("sublite_slot_safe_bytes",
                 "WAL that the publisher may still write before the slot is "
                 "lost; without a sample where there is no limit.",
                 metrics.slot_safe_bytes);
  to->KnownGauge("sublite_slot_offline_seconds",
                 "How long the slot lasts without this replica at the rate of "
                 "recent hours; without a sample where there is no limit.",
                 metrics.slot_offline_seconds);
}

}  // namespace

std::string WriteExposition(const Metrics& metrics, const BuildInfo& build,
                            absl::Time now) {
  Families families;
  AddState(metrics, build, &families);
  AddPositions(metrics, now, &families);
  AddWork(metrics, &families);
  AddKept(metrics, now, &families);
  return families.Text();
}

}  // namespace sublite
