// Metrics as Prometheus reads them: the text format 0.0.4, written by
// prometheus-cpp.
//
// Every name begins with `sublite_`, sizes are bytes, times seconds, counters
// end in `_total`. What is not known (a slot without a limit) has no sample.
// Sole includer of prometheus-cpp. Pure, but for the clock that is passed in;
// any thread.
#ifndef SUBLITE_APPLIER_IO_EXPOSITION_H_
#define SUBLITE_APPLIER_IO_EXPOSITION_H_

#include <string>

#include "absl/time/time.h"
#include "applier/metrics.h"

namespace sublite {

struct BuildInfo {
  std::string version;
  std::string libpq;
  std::string sqlite;
};

inline constexpr char kExpositionType[] =
    "text/plain; version=0.0.4; charset=utf-8";

std::string WriteExposition(const Metrics& metrics, const BuildInfo& build,
                            absl::Time now);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_EXPOSITION_H_
