#include "applier/cli/check_settings.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

// A slot that is lost after less WAL than this is lost on any busy day.
constexpr std::int64_t kLittleWalMb = 1024;
constexpr absl::Duration kShortSenderTimeout = absl::Seconds(10);

void CheckWalKept(const SettingFacts& settings, Findings* findings) {
  const auto& limit = settings.max_slot_wal_keep_size_mb;
  if (!limit.has_value()) {
    findings->Warn(
        "servers before 13 keep WAL for a replica that is away until their "
        "disk is full: watch pg_replication_slots, and run `sublite teardown` "
        "for a device that is retired");
  } else if (*limit < 0) {
    findings->Warn(
        "max_slot_wal_keep_size is -1: the publisher keeps WAL for a replica "
        "that is away until its disk is full: ALTER SYSTEM SET "
        "max_slot_wal_keep_size = '…GB'; SELECT pg_reload_conf()");
  } else if (*limit < kLittleWalMb) {
    findings->Warn(absl::StrCat(
        "max_slot_wal_keep_size is ", *limit,
        " MB: a replica that is away for more WAL than that loses its slot, "
        "and everything is copied again: ALTER SYSTEM SET "
        "max_slot_wal_keep_size = '…GB'; SELECT pg_reload_conf()"));
  }
  const auto& idle = settings.idle_replication_slot_timeout;
  if (idle.has_value() && *idle > absl::ZeroDuration()) {
    findings->Warn(absl::StrCat(
        "idle_replication_slot_timeout is ", absl::FormatDuration(*idle),
        ": a replica that is away for longer loses its slot, and everything is "
        "copied again: ALTER SYSTEM SET idle_replication_slot_timeout = 0; "
        "SELECT pg_reload_conf()"));
  }
}

void CheckSenderTimeout(const SettingFacts& settings, Findings* findings) {
  const absl::Duration timeout = settings.wal_sender_timeout;
  constexpr char kMend[] =
      ": ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf()";
  if (timeout == absl::ZeroDuration()) {
    findings->Warn(absl::StrCat(
        "wal_sender_timeout is 0: the publisher does not notice a connection "
        "that is gone, and refuses the slot to the next one for hours",
        kMend));
  } else if (timeout < kShortSenderTimeout) {
    findings->Warn(absl::StrCat("wal_sender_timeout is ",
                                absl::FormatDuration(timeout),
                                ": a slow line ends the connection", kMend));
  }
}

void CheckSynchronous(const SettingFacts& settings, Findings* findings) {
  for (const std::string& name :
       SynchronousNames(settings.synchronous_standby_names)) {
    if (name != "*" &&
        !absl::EqualsIgnoreCase(name, settings.application_name)) {
      continue;
    }
    findings->Warn(absl::StrCat(
        "synchronous_standby_names (", settings.synchronous_standby_names,
        ") counts this replica (application_name ", settings.application_name,
        ") as a synchronous standby: commits on the publisher may wait for it "
        "while it is away: ALTER SYSTEM SET synchronous_standby_names to the "
        "standbys that are meant, or set another application_name in "
        "publisher.conninfo"));
    return;
  }
}

}  // namespace

std::vector<std::string> SynchronousNames(std::string_view setting) {
  std::vector<std::string> names;
  std::string name;
  bool any = false;  // of `name`, which may be "" in quotes
  const auto end = [&] {
    if (any) names.push_back(name);
    name.clear();
    any = false;
  };
  for (std::size_t i = 0; i < setting.size(); ++i) {
    const char c = setting[i];
    if (c == '"') {
      any = true;
      for (++i; i < setting.size(); ++i) {
        if (setting[i] == '"') {
          // Twice is one of the name.
          if (i + 1 >= setting.size() || setting[i + 1] != '"') break;
          ++i;
        }
        name.push_back(setting[i]);
      }
    } else if (c == '(') {
      // FIRST, ANY and the number are no names.
      names.clear();
      name.clear();
      any = false;
    } else if (c == ',' || c == ')') {
      end();
    } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      any = true;
      name.push_back(c);
    }
  }
  end();
  return names;
}

void CheckSettings(const SettingFacts& settings, Findings* findings) {
  CheckWalKept(settings, findings);
  CheckSenderTimeout(settings, findings);
  CheckSynchronous(settings, findings);
}

}  // namespace sublite
