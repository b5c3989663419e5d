// The status page for a browser: what `sublite status` says, as one HTML
// document without a script, an image or another file.
//
// Pure. Whatever comes from the publisher or from an error is escaped; what is
// no UTF-8, and control characters, become U+FFFD, so the document is valid
// whatever a table is named.
#ifndef SUBLITE_APPLIER_CLI_STATUS_PAGE_H_
#define SUBLITE_APPLIER_CLI_STATUS_PAGE_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "applier/cli/replica_file.h"

namespace sublite {

// Tables that are shown, those that need attention first; with 10,000 of them a
// page would be of no use.
inline constexpr int kPageTablesMax = 200;

// `doing`: what the process does now, in words.
std::string StatusPage(const std::string& database, const ReplicaStatus& status,
                       std::string_view doing, absl::Time now);
// In place of it, where the replica cannot be read.
std::string TroublePage(const std::string& database, std::string_view error,
                        std::string_view doing);

// `text` for a place between tags or inside a quoted attribute.
std::string EscapeHtml(std::string_view text);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_STATUS_PAGE_H_
