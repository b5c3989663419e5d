#include "applier/cli/watch_pages.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/cli/replica_file.h"
#include "applier/cli/status_page.h"
#include "applier/io/exposition.h"
#include "applier/io/libpq_publisher.h"
#include "applier/io/sqlite.h"
#include "applier/log.h"
#include "schema/bookkeeping.h"

namespace sublite {
namespace {

constexpr absl::Duration kTryAgain = absl::Seconds(30);
// Who asks more often gets what the one before got.
constexpr absl::Duration kPageAge = absl::Seconds(1);
// A disk may stall, a statement may be long; but not for so long.
constexpr absl::Duration kNoSign = absl::Minutes(2);

std::string MakePage(const std::string& database, const Metrics& metrics) {
  const std::string doing = metrics.note();
  const auto file = OpenReplicaForReading(database);
  if (!file.ok())
    return TroublePage(database, std::string(file.status().message()), doing);
  const absl::StatusOr<ReplicaStatus> status = ReadReplicaStatus(file->get());
  if (!status.ok())
    return TroublePage(database, std::string(status.status().message()), doing);
  return StatusPage(database, *status, doing, absl::Now());
}

// One page at a time is made, however many ask.
class PageCache {
 public:
  PageCache(std::string database, std::shared_ptr<Metrics> metrics)
      : database_(std::move(database)), metrics_(std::move(metrics)) {}

  HttpAnswer Get() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Time now = absl::Now();
    if (page_.empty() || now - made_at_ >= kPageAge || now < made_at_) {
      page_ = MakePage(database_, *metrics_);
      made_at_ = now;
    }
    return {200, "text/html; charset=utf-8", page_};
  }

 private:
  const std::string database_;
  const std::shared_ptr<Metrics> metrics_;
  std::mutex mutex_;  // of these two
  std::string page_;
  absl::Time made_at_;
};

}  // namespace

HttpAnswer HealthAnswer(const Metrics& metrics, absl::Time alive_at,
                        absl::Time now) {
  constexpr char kType[] = "text/plain; charset=utf-8";
  const Phase phase = metrics.phase();
  const std::string what = kPhaseNames[static_cast<std::size_t>(phase)];
  if (now - alive_at > kNoSign) {
    return {503, kType,
            absl::StrCat("stuck: no sign of life for ",
                         absl::ToInt64Seconds(now - alive_at), " s while ",
                         what, "\n")};
  }
  if (phase == Phase::kStreaming || phase == Phase::kCopying)
    return {200, kType, what + "\n"};
  const std::string note = metrics.note();
  return {503, kType, absl::StrCat(note.empty() ? what : note, "\n")};
}

WatchPages::WatchPages(const Config& config, std::shared_ptr<Metrics> metrics,
                       std::function<absl::Time()> alive_at)
    : config_(config),
      metrics_(std::move(metrics)),
      alive_at_(std::move(alive_at)) {}

HttpServer::Pages WatchPages::Pages() const {
  const BuildInfo build = {kVersion, LibpqVersion(), SqliteVersion()};
  auto cache = std::make_shared<PageCache>(config_.replica.database, metrics_);
  return {
      {"/", [cache] { return cache->Get(); }},
      {"/metrics",
       [metrics = metrics_, build] {
         return HttpAnswer{200, kExpositionType,
                           WriteExposition(*metrics, build, absl::Now())};
       }},
      {"/healthz",
       [metrics = metrics_, alive_at = alive_at_] {
         return HealthAnswer(*metrics, alive_at(), absl::Now());
       }},
  };
}

void WatchPages::Tick(absl::Time now) {
  if (!config_.listen.has_value() || server_ != nullptr) return;
  if (now - tried_at_ < kTryAgain) return;
  tried_at_ = now;
  auto started = HttpServer::Start(*config_.listen, Pages());
  const std::string address = config_.listen->ToString();
  if (!started.ok()) {
    if (!std::exchange(told_, true)) {
      LogError(
          "no metrics and no status page: http.listen cannot be had; "
          "replication goes on, and it is tried again every 30 s",
          {{"address", address},
           {"error", std::string(started.status().message())}});
    }
    return;
  }
  server_ = *std::move(started);
  told_ = false;
  LogInfo("serving metrics and the status page",
          {{"address", absl::StrCat("http://", address, "/")}});
  if (!config_.listen->loopback) {
    LogWarn(
        "http.listen is not a loopback address: whoever can reach it sees the "
        "names of tables and errors, without a password",
        {{"address", address}});
  }
}

}  // namespace sublite
