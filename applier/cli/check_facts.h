// Reads from the publisher what `sublite check` judges.
//
// Asks on the ordinary connection, changes nothing, and needs no privilege but
// to connect. Errors: as Publisher::Query; DataLoss where an answer has another
// form than it was asked for. Threads: as Publisher.
#ifndef SUBLITE_APPLIER_CLI_CHECK_FACTS_H_
#define SUBLITE_APPLIER_CLI_CHECK_FACTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "applier/cli/check_published.h"
#include "applier/cli/check_settings.h"
#include "applier/publisher.h"

namespace sublite {

absl::StatusOr<SettingFacts> ReadSettings(Publisher* publisher);

absl::StatusOr<PublishedFacts> ReadPublishedFacts(
    int server_version, const std::vector<std::string>& names,
    const Publications& publications, Publisher* publisher);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_CHECK_FACTS_H_
