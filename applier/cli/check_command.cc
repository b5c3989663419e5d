#include "applier/cli/check_command.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "applier/cli/check_findings.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/replica_file.h"
#include "applier/io/sqlite.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

// linux/magic.h; the numbers are part of the kernel's interface.
constexpr std::uint32_t kNetworkFileSystems[] = {
    0x6969,      // NFS
    0x517b,      // SMB
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
};

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Tables and views of the local administrator.
absl::Status ReadForeign(Database* database, FileFacts* facts) {
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare(
          "select name from sqlite_schema where type in ('table', 'view') "
          "and name not like 'sublite\\_%' escape '\\' "
          "and name not like 'sqlite\\_%' escape '\\' "
          "and name not in (select sqlite_table from sublite_tables)"));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, row.Step());
    if (!more) return absl::OkStatus();
    const std::string name(row.Text(0));
    facts->foreign[FoldForSqlite(name)] = name;
  }
}

absl::Status ReadFollowed(Database* database, Followed* followed) {
  ASSIGN_OR_RETURN(
      Statement row,
      database->Prepare("select coalesce(applied_pos, 0), "
                        "coalesce(system_identifier, ''), "
                        "coalesce(timeline, 0), coalesce(timeline_began, 0), "
                        "slot_on_standby from sublite_state"));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  if (!found) return absl::OkStatus();
  followed->applied = Lsn(static_cast<std::uint64_t>(row.Int(0)));
  followed->system_identifier = std::string(row.Text(1));
  followed->timeline = static_cast<std::uint32_t>(row.Int(2));
  followed->timeline_began = Lsn(static_cast<std::uint64_t>(row.Int(3)));
  followed->slot_on_standby = row.Int(4) != 0;
  return absl::OkStatus();
}

absl::Status ReadFile(const std::string& path, FileFacts* facts) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                   OpenReplicaForReading(path));
  ASSIGN_OR_RETURN(facts->status, ReadReplicaStatus(database.get()));
  RETURN_IF_ERROR(ReadFollowed(database.get(), &facts->followed));
  ASSIGN_OR_RETURN(facts->slot, ReadFileSlot(database.get()));
  return ReadForeign(database.get(), facts);
}

absl::Status ReadSeed(const std::string& path, FileFacts* facts) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                   OpenReplicaForReading(path));
  RETURN_IF_ERROR(ReadFollowed(database.get(), &facts->followed));
  ASSIGN_OR_RETURN(facts->slot, ReadFileSlot(database.get()));
  if (facts->slot.from.empty()) facts->slot.from = facts->slot.name;
  facts->slot.name.clear();
  return facts->followed.applied.valid()
             ? absl::OkStatus()
             : absl::FailedPreconditionError("it has no position yet");
}

FileFacts LookAtFile(const Config& config) {
  const std::string& path = config.replica.database;
  FileFacts facts;
  facts.sqlite_version = SqliteVersion();
  const std::string folder = FolderOf(path);
  struct stat info = {};
  facts.exists = stat(path.c_str(), &info) == 0;
  if (access(folder.c_str(), F_OK) != 0) {
    facts.problem = absl::StrCat("its folder cannot be reached (",
                                 std::strerror(errno), "): make ", folder);
    return facts;
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    facts.problem = absl::StrCat(
        "this user may not write in ", folder,
        ", where SQLite keeps its log: run this as the user of the service, or "
        "give it the folder");
  } else if (facts.exists && access(path.c_str(), R_OK | W_OK) != 0) {
    facts.problem =
        "this user may not write it: run this as the user of the service, or "
        "give it the file";
  }
  struct statfs disk = {};
  if (statfs(folder.c_str(), &disk) == 0) {
    facts.free_bytes = static_cast<std::uint64_t>(disk.f_bavail) *
                       static_cast<std::uint64_t>(disk.f_bsize);
    for (const std::uint32_t magic : kNetworkFileSystems) {
      if (static_cast<std::uint32_t>(disk.f_type) == magic) {
        facts.network_file_system = true;
      }
    }
  }
  if (!facts.exists && !config.replica.seed.empty()) {
    facts.seeded = true;
    const absl::Status seed = ReadSeed(config.replica.seed, &facts);
    if (!seed.ok()) facts.seed_problem = std::string(seed.message());
  }
  if (!facts.exists || !facts.problem.empty()) return facts;
  const absl::Status read = ReadFile(path, &facts);
  if (!read.ok()) facts.problem = std::string(read.message());
  return facts;
}

int ToInt(const std::string& text) { return std::atoi(text.c_str()); }

absl::StatusOr<ServerFacts> ReadServer(const PublisherIdentity& identity,
                                       Publisher* publisher) {
  ASSIGN_OR_RETURN(
      const auto rows,
      publisher->Query(
          "select current_user, current_setting('wal_level'), "
          "current_setting('max_replication_slots'), "
          "(select count(*) from pg_catalog.pg_replication_slots), "
          "current_setting('max_prepared_transactions'), "
          "current_setting('server_encoding'), "
          "coalesce((select version from pg_catalog.pg_stat_ssl "
          " where ssl and pid = pg_catalog.pg_backend_pid()), ''), "
          "coalesce(pg_catalog.inet_client_addr() <<= inet '127.0.0.0/8' "
          " or pg_catalog.inet_client_addr() = inet '::1', true), "
          "current_setting('hot_standby_feedback')"));
  if (rows.size() != 1 || rows[0].size() != 9) {
    return absl::DataLossError("the server's settings did not come as asked");
  }
  const std::vector<std::string>& row = rows[0];
  ServerFacts facts;
  facts.identity = identity;
  facts.role = row[0];
  facts.wal_level = row[1];
  facts.max_replication_slots = ToInt(row[2]);
  facts.used_replication_slots = ToInt(row[3]);
  facts.max_prepared_transactions = ToInt(row[4]);
  facts.encoding = row[5];
  facts.tls = row[6];
  facts.local = row[7] == "t";
  facts.hot_standby_feedback = row[8] == "on";
  return facts;
}

// Without the right to read the table as a whole, each column must be granted.
absl::StatusOr<bool> MayReadColumns(const PublishedTable& table,
                                    Publisher* publisher) {
  if (table.columns.empty()) return true;
  std::vector<std::string> names;
  for (const PublishedColumn& column : table.columns) {
    names.push_back(QuoteLiteral(column.name));
  }
  ASSIGN_OR_RETURN(
      const auto rows,
      publisher->Query(absl::StrCat(
          "select pg_catalog.has_schema_privilege(relnamespace, 'usage') and "
          "(select pg_catalog.bool_and(pg_catalog.has_column_privilege(c.oid, "
          "n, 'select')) from pg_catalog.unnest(array[",
          absl::StrJoin(names, ","),
          "]::text[]) n) from pg_catalog.pg_class c ",
          "where oid = ", table.oid)));
  return rows.empty() || rows[0].empty() || rows[0][0] == "t";
}

absl::StatusOr<std::map<std::uint32_t, TableFacts>> ReadTableFacts(
    const Publications& publications, Publisher* publisher) {
  std::map<std::uint32_t, TableFacts> facts;
  if (publications.tables.empty()) return facts;
  const std::string oids =
      absl::StrJoin(publications.tables, ",",
                    [](std::string* out, const PublishedTable& table) {
                      absl::StrAppend(out, table.oid);
                    });
  ASSIGN_OR_RETURN(
      const auto rows,
      publisher->Query(absl::StrCat(
          "select c.oid, "
          "pg_catalog.has_schema_privilege(c.relnamespace, 'usage') and "
          "pg_catalog.has_table_privilege(c.oid, 'select'), "
          "pg_catalog.row_security_active(c.oid), "
          "(select pg_catalog.sum(pg_catalog.pg_table_size(p.oid)) from "
          " (select c.oid union select inhrelid from pg_catalog.pg_inherits "
          "  where inhparent = c.oid) p) "
          "from pg_catalog.pg_class c where c.oid in (",
          oids, ")")));
  for (const std::vector<std::string>& row : rows) {
    if (row.size() != 4) continue;
    const auto oid =
        static_cast<std::uint32_t>(std::strtoul(row[0].c_str(), nullptr, 10));
    facts[oid] = {row[1] == "t", row[2] == "t",
                  std::strtoull(row[3].c_str(), nullptr, 10)};
  }
  for (const PublishedTable& table : publications.tables) {
    const auto fact = facts.find(table.oid);
    if (fact == facts.end() || fact->second.may_select) continue;
    ASSIGN_OR_RETURN(fact->second.may_select, MayReadColumns(table, publisher));
  }
  return facts;
}

PublisherFacts FactsFor(const Config& config, const ServerFacts& server,
                        const SlotState& slot, const FileFacts& file,
                        const Publications& publications) {
  PublisherFacts facts;
  facts.version = server.identity.server_version;
  facts.version_text = server.identity.server_version_text;
  facts.in_recovery = server.identity.in_recovery;
  facts.encoding = server.encoding;
  facts.undecodable = Undecodable(publications);
  // One that cannot be followed is made anew, as it is wanted.
  if (file.followed.applied.valid() &&
      FindGap(file.followed, server.identity, slot, config.publisher.slot)
          .empty()) {
    facts.slot = slot;
  }
  return facts;
}

// Each step needs the ones before; the first that the publisher refuses ends
// it.
absl::Status CheckPublisher(const Config& configured, Publisher* publisher,
                            Findings* findings) {
  const absl::StatusOr<PublisherIdentity> identity = publisher->Connect();
  if (!identity.ok()) return Annotate(identity.status(), "connection");
  ASSIGN_OR_RETURN(ServerFacts server, ReadServer(*identity, publisher));
  CheckServer(server, findings);
  const FileSlot file_slot = LookAtFile(configured).slot;
  Config config = configured;
  config.publisher.slot = file_slot.Used(configured.publisher.slot);
  const std::string& source =
      file_slot.from.empty() ? file_slot.name : file_slot.from;
  if (!source.empty() && source != config.publisher.slot) {
    ASSIGN_OR_RETURN(server.source_slot, publisher->ReadSlot(source));
  }
  ASSIGN_OR_RETURN(const SlotState slot,
                   publisher->ReadSlot(config.publisher.slot));
  // A running sublite moves the slot and the file. Its file is read after its
  // slot, else an older file would look like a gap.
  const FileFacts file = LookAtFile(config);
  CheckSlot(config, server, slot, file, findings);
  ASSIGN_OR_RETURN(const Publications publications,
                   publisher->ReadPublications(config.publisher.publications));
  CheckPublications(config, publications, findings);
  CheckNegotiation(
      Negotiate(config, FactsFor(config, server, slot, file, publications)),
      server, findings);
  ASSIGN_OR_RETURN(const auto facts, ReadTableFacts(publications, publisher));
  CheckTables(config, publications, facts, file, QuoteIdentifier(server.role),
              findings);
  return absl::OkStatus();
}

}  // namespace

int CheckCommand(const Config& config, Publisher* publisher,
                 std::ostream& out) {
  Findings findings;
  findings.Ok("the configuration can be read");
  CheckFile(config, LookAtFile(config), &findings);
  const absl::Status status = CheckPublisher(config, publisher, &findings);
  if (!status.ok()) findings.Fail(std::string(status.message()));
  findings.Print(out);
  return findings.failed() ? kExitFinding : kExitDone;
}

int CheckBrokenConfig(const absl::Status& status, std::ostream& out) {
  Findings findings;
  const std::string message(status.message());
  for (const absl::string_view line : absl::StrSplit(message, '\n')) {
    findings.Fail(std::string(line));
  }
  findings.Print(out);
  return kExitFinding;
}

}  // namespace sublite
