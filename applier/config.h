// What sublite was told to do: the settings of CONTRACT.md section 1, checked,
// and unchanged from then on.
//
// Plain data without I/O; io/config_file fills it from TOML and flags. Secrets
// are held in Secret, which prints as `***`.
#ifndef SUBLITE_APPLIER_CONFIG_H_
#define SUBLITE_APPLIER_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "applier/listen_address.h"
#include "schema/type_map.h"

namespace sublite {

// Text that must not reach a log, an error, an argument or the database.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }
  friend std::ostream& operator<<(std::ostream& out, const Secret&) {
    return out << "***";
  }

 private:
  std::string text_;
};

enum class StreamingSetting { kAuto, kOff, kOn, kParallel };
enum class OnGap { kResync, kStop };
enum class LogFormat { kAuto, kText, kJson, kJournal };
enum class LogLevel { kDebug, kInfo, kWarn, kError };

struct TableSetting {
  std::string name;  // SQLite name; "" as by the naming rules
  bool has_numeric = false;
  NumericMode numeric = NumericMode::kAuto;
};

struct Config {
  struct {
    Secret conninfo;  // may hold a password
    std::string password_file;
    Secret password;  // from password_file or systemd's credential `password`;
                      // empty if neither (io/config_file LoadPassword)
    std::vector<std::string> publications;
    std::string slot;
    bool two_phase = true;
    StreamingSetting streaming = StreamingSetting::kAuto;
    bool binary = false;
    bool origin_none = false;
    bool messages = false;
    bool failover = false;
    absl::Duration status_interval = absl::Seconds(10);
  } publisher;
  struct {
    std::string database;
    NumericMode numeric = NumericMode::kAuto;
    std::string schema_separator = ".";
    bool mirror_indexes = true;
    std::int64_t copy_chunk_rows = 0;  // of each part of a copy; 0: as fits
    int gaps_an_hour = 5;  // mended by themselves; no setting, for tests
                           // (not a setting: tests)
    std::string machine;   // this machine's identity; "": not known (not a
                           // setting: io/machine)
    std::string seed;      // the file that a missing database is made from
    std::uint64_t copy_rate = 0;  // bytes a second; 0: no limit
    // Bytes that the staged changes of open transactions may take; 0: no limit
    // of its own (spill_file.h).
    std::int64_t spill_limit = 0;
    OnGap on_gap = OnGap::kResync;
    bool drop_unpublished = false;
    // For how long a transaction that something local refuses is waited for.
    absl::Duration refusal_patience = absl::Minutes(5);
    bool changes = false;  // these three: change_feed.h
    absl::Duration changes_age = absl::Hours(24);
    std::int64_t changes_size = 64 << 20;
  } replica;
  struct {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kAuto;
  } log;
  std::optional<ListenAddress> listen;         // http.listen
  std::map<std::string, TableSetting> tables;  // by "schema.table"
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_CONFIG_H_
