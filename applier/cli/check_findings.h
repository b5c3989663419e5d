// What `sublite check` has to say, from facts that somebody else has gathered.
//
// Pure: no connection, no file, no clock. check_command gathers the facts.
// Every finding is one line; every fail and warn names its mend.
#ifndef SUBLITE_APPLIER_CLI_CHECK_FINDINGS_H_
#define SUBLITE_APPLIER_CLI_CHECK_FINDINGS_H_

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "applier/cli/replica_file.h"
#include "applier/config.h"
#include "applier/known_publisher.h"
#include "applier/negotiation.h"
#include "applier/publisher.h"
#include "schema/relation.h"

namespace sublite {

class Findings {
 public:
  enum class Level { kOk, kWarn, kFail };
  struct Finding {
    Level level;
    std::string text;
  };

  void Ok(const std::string& text) { Add(Level::kOk, text); }
  void Warn(const std::string& text) { Add(Level::kWarn, text); }
  void Fail(const std::string& text) { Add(Level::kFail, text); }

  bool failed() const;
  const std::vector<Finding>& list() const { return list_; }
  // `ok    …`, `warn  …`, `fail  …`: one line each.
  void Print(std::ostream& out) const;

 private:
  void Add(Level level, const std::string& text);
  std::vector<Finding> list_;
};

struct ServerFacts {
  PublisherIdentity identity;
  std::string role;
  std::string wal_level;
  int max_replication_slots = 0;
  int used_replication_slots = 0;
  int max_prepared_transactions = 0;
  std::string encoding;
  bool hot_standby_feedback = false;
  // The slot that the file's position comes from, if another is to go on.
  SlotState source_slot;
  std::string tls;     // "TLSv1.3", "" for a plain connection
  bool local = false;  // over a socket or the loopback
};

struct TableFacts {
  bool may_select = true;     // the table, or each of its published columns
  bool row_security = false;  // hides rows from this role
  std::uint64_t bytes = 0;
};

struct FileFacts {
  bool exists = false;
  ReplicaStatus status;  // where it exists
  Followed followed;     // `applied` is 0 until there is a slot
  FileSlot slot;
  // Where it does not exist and is made from replica.seed, `followed` and
  // `slot` are the seed's, and this is what is wrong with that, or "".
  bool seeded = false;
  std::string seed_problem;
  // Tables and views that are not sublite's, folded, with their spelling.
  std::map<std::string, std::string> foreign;
  std::string problem;  // why it cannot be made or written, "" if it can
  bool network_file_system = false;
  std::uint64_t free_bytes = 0;
  std::string sqlite_version;
};

void CheckFile(const Config& config, const FileFacts& file, Findings* findings);
void CheckServer(const ServerFacts& server, Findings* findings);
void CheckSlot(const Config& config, const ServerFacts& server,
               const SlotState& slot, const FileFacts& file,
               Findings* findings);
// What slot and stream will be asked for, and what of it is not to be had.
void CheckNegotiation(const Negotiated& negotiated, const ServerFacts& server,
                      Findings* findings);
void CheckPublications(const Config& config, const Publications& publications,
                       Findings* findings);
// `facts` by OID.
void CheckTables(const Config& config, const Publications& publications,
                 const std::map<std::uint32_t, TableFacts>& facts,
                 const FileFacts& file, const std::string& role,
                 Findings* findings);

// True for "3.40.1" and all others with the WAL-reset race: 3.7.0 to 3.51.2
// but for 3.44.6 and 3.50.7 and what follows them in their lines.
bool HasWalResetRace(const std::string& sqlite_version);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CLI_CHECK_FINDINGS_H_
