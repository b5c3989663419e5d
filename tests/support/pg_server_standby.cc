// The part of PgServer that makes standbys and promotes them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "schema/status.h"
#include "tests/support/pg_server.h"
#include "tests/support/subprocess.h"

namespace sublite::testing {
namespace {

constexpr int kOldestMajor = 12;  // before it there is recovery.conf

// With the owners that the files have.
absl::Status CopyFolder(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Subprocess> process,
                   Subprocess::Start({"cp", "-a", from, to}));
  if (process->Wait(absl::Seconds(60)) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot copy ", from));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PgServer>> PgServer::StartStandby(
    PgServer& primary, const PgServerOptions& options) {
  if (primary.major_version_ < kOldestMajor) {
    return absl::UnimplementedError("standbys of servers before 12");
  }
  std::unique_ptr<PgServer> standby(new PgServer());
  standby->programs_ = primary.programs_;
  standby->major_version_ = primary.major_version_;
  RETURN_IF_ERROR(standby->MakeDirectory());
  RETURN_IF_ERROR(standby->StartGuard());
  const std::string data = absl::StrCat(standby->directory_, "/data");
  RETURN_IF_ERROR(primary.Stop());
  const absl::Status copied =
      CopyFolder(absl::StrCat(primary.directory_, "/data"), data);
  RETURN_IF_ERROR(primary.StartAgain());
  RETURN_IF_ERROR(copied);
  std::error_code error;
  for (const auto& slot : std::filesystem::directory_iterator(
           absl::StrCat(data, "/pg_replslot"), error)) {
    std::filesystem::remove_all(slot.path(), error);
  }
  if (error) return absl::InternalError("cannot remove the copy's slots");

  std::ofstream settings(absl::StrCat(data, "/postgresql.conf"), std::ios::app);
  settings << "port = " << standby->port_ << "\n"
           << "unix_socket_directories = '" << standby->directory_ << "'\n"
           << "listen_addresses = ''\n"
           << "primary_conninfo = '" << primary.Conninfo() << "'\n"
           << "hot_standby_feedback = on\n"
           << "wal_receiver_status_interval = 1\n"
           << "wal_retrieve_retry_interval = 100\n";
  for (const auto& [name, value] : options.settings)
    settings << name << " = '" << value << "'\n";
  settings.close();
  std::ofstream signal(absl::StrCat(data, "/standby.signal"));
  signal.close();
  if (!settings || !signal)
    return absl::InternalError("cannot write the standby's settings");
  RETURN_IF_ERROR(standby->StartAgain());
  return standby;
}

absl::Status PgServer::Promote() { return Control({"promote"}); }

absl::Status PgServer::CatchUp(PgServer& primary) {
  ASSIGN_OR_RETURN(const std::string end,
                   primary.Scalar("SELECT pg_current_wal_insert_lsn()"));
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (absl::Now() < deadline) {
    ASSIGN_OR_RETURN(
        const std::string there,
        Scalar(absl::StrCat("SELECT pg_last_wal_replay_lsn() >= '", end, "'")));
    if (there == "t") return absl::OkStatus();
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::InternalError(
      absl::StrCat("the standby does not catch up: ", LogTail()));
}

}  // namespace sublite::testing
