// What `run` serves on http.listen: /metrics, / and /healthz.
//
// Replication comes first: an address that cannot be had is an error in the log
// and is tried again every 30 s, and no page waits for the thread that works.
// The pages read counters, and the replica as any other reader does.
// Threads: all of WatchPages on one; the pages run on the server's.
#ifndef SUBLITE_APPLIER_CLI_WATCH_PAGES_H_
#define SUBLITE_APPLIER_CLI_WATCH_PAGES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "applier/config.h"
#include "applier/io/http_server.h"
#include "applier/metrics.h"

namespace sublite {

class WatchPages {
 public:
  // Does nothing without config.listen. `alive_at` says when work last showed a
  // sign of life; from any thread.
  WatchPages(const Config& config, std::shared_ptr<Metrics> metrics,
             std::function<absl::Time()> alive_at);

  // Call now and then: listens as soon as that is possible.
  void Tick(absl::Time now);
  // Ends the server; may take a few seconds where a client hangs.
  void Stop() { server_.reset(); }
  // True while the pages can be had.
  bool listening() const { return server_ != nullptr; }

 private:
  HttpServer::Pages Pages() const;

  const Config& config_;
  const std::shared_ptr<Metrics> metrics_;
  const std::function<absl::Time()> alive_at_;
  std::unique_ptr<HttpServer> server_;
  absl::Time tried_at_ = absl::InfinitePast();
  bool told_ = false;
};

// 200 while it follows or copies, else 503, with the reason.
HttpAnswer HealthAnswer(const Metrics& metrics, absl::Time alive_at,
                        absl::Time now);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_WATCH_PAGES_H_
