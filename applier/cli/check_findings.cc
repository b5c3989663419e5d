#include "applier/cli/check_findings.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "schema/identifier.h"

namespace sublite {
namespace {

constexpr int kOldestServer = 100000;
constexpr int kStandbyDecodingServer = 160000;
// As SQLite is built by everyone.
constexpr std::size_t kSqliteColumnsMax = 2000;

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", text, "\"");
}

std::string NameSetting(const PublishedTable& table) {
  return absl::StrCat("tables.", Quoted(table.FullName()), ".name");
}

std::string Megabytes(std::uint64_t bytes) {
  return absl::StrCat((bytes + (1 << 20) - 1) >> 20, " MB");
}

std::string SqliteNameOf(const Config& config, const PublishedTable& table) {
  const auto setting = config.tables.find(table.FullName());
  if (setting != config.tables.end() && !setting->second.name.empty()) {
    return setting->second.name;
  }
  return SqliteTableName(table.pg_schema, table.pg_table,
                         config.replica.schema_separator);
}

// What `run` will do about a gap, as the end of a sentence.
std::string OnGapText(const Config& config) {
  return config.replica.on_gap == OnGap::kResync
             ? "`sublite run` will copy all tables again beside the old rows"
             : "replica.on_gap is \"stop\": `sublite resync` copies all tables "
               "again";
}

void Gap(const Config& config, const std::string& what, Findings* findings) {
  const std::string text = absl::StrCat(what, ": ", OnGapText(config));
  if (config.replica.on_gap == OnGap::kResync) {
    findings->Warn(text);
  } else {
    findings->Fail(text);
  }
}

void CheckExistingSlot(const Config& config, const ServerFacts& server,
                       const SlotState& slot, const FileFacts& file,
                       Findings* findings) {
  const std::string name = absl::StrCat("slot ", config.publisher.slot);
  if (slot.plugin != "pgoutput" || slot.database != server.identity.database) {
    findings->Fail(absl::StrCat(name, " is somebody else's (plugin ",
                                slot.plugin, ", database ", slot.database,
                                "): choose another with publisher.slot"));
    return;
  }
  const std::string wait = WhyWait(file.followed, server.identity, slot);
  if (!wait.empty()) {
    findings->Warn(wait);
    return;
  }
  if (slot.active) {
    findings->Ok(absl::StrCat(name, " is in use by process ", slot.active_pid,
                              " of the publisher; if that is not your own "
                              "`sublite run`, choose another slot"));
    return;
  }
  if (!file.followed.applied.valid()) {
    Gap(config,
        absl::StrCat(name,
                     " is there, but the replica is new: it belongs to another "
                     "replica, or the file was lost"),
        findings);
    return;
  }
  const std::string gap =
      FindGap(file.followed, server.identity, slot, config.publisher.slot);
  if (gap.empty() && file.seeded && file.slot.from == config.publisher.slot) {
    findings->Ok(absl::StrCat(
        name, " is the seed's: this device takes a copy of it as its own"));
  } else if (gap.empty()) {
    findings->Ok(absl::StrCat(name, " continues from ",
                              file.followed.applied.ToString()));
  } else {
    Gap(config, absl::StrCat("gap: ", gap), findings);
  }
}

void CheckStandby(const ServerFacts& server, Findings* findings) {
  if (!server.identity.in_recovery) return;
  if (server.identity.server_version < kStandbyDecodingServer) {
    findings->Fail(
        "the server is a standby, which can be followed from 16 on only: "
        "connect to the primary");
    return;
  }
  findings->Ok(
      "the server is a standby: making a slot there waits until the primary "
      "logs its running transactions (SELECT pg_log_standby_snapshot() there "
      "hurries it)");
  if (!server.hot_standby_feedback) {
    findings->Warn(
        "hot_standby_feedback is off on this standby, so VACUUM on the primary "
        "may invalidate the slot and end copies: ALTER SYSTEM SET "
        "hot_standby_feedback = on, and let it have a slot on the primary "
        "(primary_slot_name)");
  }
}

void CheckNames(const Config& config, const Publications& publications,
                const FileFacts& file, Findings* findings) {
  std::map<std::string, const PublishedTable*> seen;
  for (const PublishedTable& table : publications.tables) {
    const std::string name = SqliteNameOf(config, table);
    const std::string folded = FoldForSqlite(name);
    const auto [other, fresh] = seen.emplace(folded, &table);
    if (!fresh) {
      findings->Fail(absl::StrCat(
          "SQLite compares names without case: ", other->second->FullName(),
          " and ", table.FullName(), " would both have the name ", Quoted(name),
          ": give one another name with the setting ", NameSetting(table)));
    }
    const auto foreign = file.foreign.find(folded);
    if (foreign != file.foreign.end()) {
      findings->Fail(absl::StrCat(
          "the SQLite file has ", Quoted(foreign->second),
          " of its own, which has the name of ", table.FullName(),
          ": rename or drop it, or use the setting ", NameSetting(table)));
    }
  }
}

// What UPDATE and DELETE need; the publisher itself refuses them without.
void CheckIdentity(const PublishedTable& table, Findings* findings) {
  if (!table.publishes_update_or_delete || table.columns.empty()) return;
  const bool found =
      table.replica_identity == 'f' ||
      (table.replica_identity == 'd' && !table.primary_key.empty()) ||
      (table.replica_identity == 'i' && !table.identity_index.empty());
  if (found) return;
  findings->Warn(absl::StrCat(
      table.FullName(),
      " has no usable replica identity, so the publisher refuses UPDATE and "
      "DELETE on it (INSERT works): ALTER TABLE ",
      QuoteIdentifier(table.pg_schema), ".", QuoteIdentifier(table.pg_table),
      " REPLICA IDENTITY FULL, or give it a primary key"));
}

void CheckColumns(const PublishedTable& table, Findings* findings) {
  if (table.columns.empty()) {
    findings->Warn(absl::StrCat(table.FullName(),
                                " has no column that is published; SQLite has "
                                "no table without columns, so it is left out"));
    return;
  }
  if (table.columns.size() > kSqliteColumnsMax) {
    findings->Fail(absl::StrCat(
        table.FullName(), " has ", table.columns.size(),
        " columns, SQLite takes ", kSqliteColumnsMax,
        ": publish a column list, or leave the table out of the publication"));
  }
  std::vector<std::string> names;
  for (const PublishedColumn& column : table.columns) {
    names.push_back(column.name);
  }
  const std::vector<std::string> stored = SqliteColumnNames(names);
  for (std::size_t i = 0; i < names.size() && i < stored.size(); ++i) {
    if (names[i] == stored[i]) continue;
    findings->Warn(absl::StrCat(
        table.FullName(), ": column ", Quoted(names[i]),
        " has the name of an earlier one but for case, and is called ",
        Quoted(stored[i]),
        " in SQLite: rename it on the publisher if that is "
        "not wanted"));
  }
}

void CheckAccess(const PublishedTable& table, const TableFacts& facts,
                 const std::string& role, Findings* findings) {
  const std::string name = absl::StrCat(QuoteIdentifier(table.pg_schema), ".",
                                        QuoteIdentifier(table.pg_table));
  if (!facts.may_select) {
    findings->Fail(absl::StrCat(table.FullName(),
                                " cannot be read, so not be copied: GRANT "
                                "USAGE ON SCHEMA ",
                                QuoteIdentifier(table.pg_schema), " TO ", role,
                                "; GRANT SELECT ON ", name, " TO ", role));
  }
  if (facts.row_security) {
    findings->Fail(absl::StrCat(
        table.FullName(),
        " has row security that hides rows from the copy: ALTER ROLE ", role,
        " BYPASSRLS"));
  }
}

}  // namespace

bool Findings::failed() const {
  return std::any_of(list_.begin(), list_.end(), [](const Finding& finding) {
    return finding.level == Level::kFail;
  });
}

void Findings::Print(std::ostream& out) const {
  for (const Finding& finding : list_) {
    switch (finding.level) {
      case Level::kOk:
        out << "ok    ";
        break;
      case Level::kWarn:
        out << "warn  ";
        break;
      case Level::kFail:
        out << "fail  ";
        break;
    }
    out << finding.text << "\n";
  }
}

void Findings::Add(Level level, const std::string& text) {
  std::string line = text;
  // Names and the server's messages may hold newlines.
  std::replace(line.begin(), line.end(), '\n', ' ');
  list_.push_back({level, std::move(line)});
}

void CheckFile(const Config& config, const FileFacts& file,
               Findings* findings) {
  const std::string& path = config.replica.database;
  if (!file.problem.empty()) {
    findings->Fail(absl::StrCat(path, ": ", file.problem));
  } else if (file.exists) {
    findings->Ok(absl::StrCat(
        path, " is a replica with ", file.status.tables.size(),
        " table(s), at ",
        file.status.applied_lsn.empty() ? "0/0" : file.status.applied_lsn));
  } else if (!file.seed_problem.empty()) {
    findings->Fail(absl::StrCat("the seed ", config.replica.seed,
                                " cannot be used: ", file.seed_problem));
  } else {
    findings->Ok(absl::StrCat(
        path, " is not there yet; it can be made",
        file.seeded ? absl::StrCat(" from the seed ", config.replica.seed)
                    : ""));
  }
  if (file.network_file_system) {
    findings->Fail(absl::StrCat(
        path,
        " is on a network file system, where SQLite's write-ahead log does not "
        "work: choose a local disk"));
  }
  if (HasWalResetRace(file.sqlite_version)) {
    findings->Warn(absl::StrCat(
        "SQLite ", file.sqlite_version,
        " can lose changes when a second program checkpoints the file "
        "(mended in 3.51.3, 3.50.7 and 3.44.6). sublite checkpoints from one "
        "connection only: let others open the file read-only, or update "
        "libsqlite3"));
  } else {
    findings->Ok(absl::StrCat("SQLite ", file.sqlite_version));
  }
}

void CheckServer(const ServerFacts& server, Findings* findings) {
  const PublisherIdentity& identity = server.identity;
  findings->Ok(absl::StrCat(
      "connected to PostgreSQL ", identity.server_version_text, ", database ",
      identity.database, ", as ", server.role, ", also for replication; ",
      server.tls.empty() ? "without TLS" : server.tls));
  if (server.tls.empty() && !server.local) {
    findings->Warn(
        "the connection is not encrypted: leave out sslmode, or set it to "
        "verify-full");
  }
  if (identity.server_version < kOldestServer) {
    findings->Fail(
        "the server is older than 10, which is the first with publications: "
        "update it");
  }
  if (server.wal_level == "logical") {
    findings->Ok("wal_level is logical");
  } else {
    findings->Fail(absl::StrCat(
        "wal_level is ", server.wal_level,
        ", must be logical: ALTER SYSTEM SET wal_level = logical, then restart "
        "the server"));
  }
  CheckStandby(server, findings);
}

void CheckSlot(const Config& config, const ServerFacts& server,
               const SlotState& slot, const FileFacts& file,
               Findings* findings) {
  if (slot.exists) {
    CheckExistingSlot(config, server, slot, file, findings);
    return;
  }
  if (server.used_replication_slots >= server.max_replication_slots) {
    findings->Fail(absl::StrCat(
        "all ", server.max_replication_slots,
        " replication slots are taken (max_replication_slots): raise it and "
        "restart the server, or drop a slot that nobody uses"));
  } else {
    findings->Ok(absl::StrCat("slot ", config.publisher.slot, " can be made (",
                              server.used_replication_slots, " of ",
                              server.max_replication_slots, " are taken)"));
  }
  if (!file.followed.applied.valid()) return;
  const std::string gap =
      FindGap(file.followed, server.identity, slot, config.publisher.slot);
  const bool same =
      file.followed.system_identifier == server.identity.system_identifier;
  if (file.slot.name == config.publisher.slot || !same) {
    Gap(config, absl::StrCat("gap: ", gap), findings);
    return;
  }
  const std::string from =
      file.slot.from.empty() ? file.slot.name : file.slot.from;
  const SlotState& source = server.source_slot;
  if (source.exists && !source.lost &&
      source.confirmed_flush <= file.followed.applied) {
    findings->Ok(absl::StrCat("slot ", config.publisher.slot,
                              " will be copied from slot ", from));
  } else {
    Gap(config,
        absl::StrCat("gap: slot ", config.publisher.slot,
                     " is not there, and slot ", from,
                     source.exists ? " is past the file" : " is gone, too"),
        findings);
  }
}

void CheckNegotiation(const Negotiated& negotiated, const ServerFacts& server,
                      Findings* findings) {
  for (const Note& note : negotiated.notes) {
    switch (note.level) {
      case Note::Level::kInfo:
        findings->Ok(note.text);
        break;
      case Note::Level::kWarn:
        findings->Warn(note.text);
        break;
      case Note::Level::kRefuse:
        findings->Fail(note.text);
        break;
    }
  }
  if (negotiated.two_phase && server.max_prepared_transactions > 0) {
    findings->Ok("prepared transactions are decoded at PREPARE");
  }
  findings->Ok(absl::StrCat("the stream: ", Describe(negotiated)));
}

void CheckPublications(const Config& config, const Publications& publications,
                       Findings* findings) {
  for (const std::string& name : config.publisher.publications) {
    const auto& missing = publications.missing;
    if (std::find(missing.begin(), missing.end(), name) == missing.end()) {
      findings->Ok(absl::StrCat("publication ", Quoted(name), " exists"));
      continue;
    }
    findings->Fail(absl::StrCat(
        "publication ", Quoted(name),
        " does not exist in this database: CREATE PUBLICATION ",
        QuoteIdentifier(name), " FOR TABLE …, or mend publisher.publications"));
  }
  if (publications.missing.empty() && publications.tables.empty()) {
    findings->Warn("nothing is published: ALTER PUBLICATION … ADD TABLE …");
  }
  for (const auto& [name, setting] : config.tables) {
    const auto& tables = publications.tables;
    const std::string& wanted = name;
    if (std::none_of(tables.begin(), tables.end(),
                     [&](const PublishedTable& table) {
                       return table.FullName() == wanted;
                     })) {
      findings->Warn(absl::StrCat("the section [tables.", Quoted(name),
                                  "] has no effect: no table of that name is "
                                  "published"));
    }
  }
}

void CheckTables(const Config& config, const Publications& publications,
                 const std::map<std::uint32_t, TableFacts>& facts,
                 const FileFacts& file, const std::string& role,
                 Findings* findings) {
  const std::size_t before = findings->list().size();
  std::uint64_t bytes = 0;
  for (const PublishedTable& table : publications.tables) {
    if (!table.problem.empty()) {
      findings->Fail(absl::StrCat(table.FullName(), ": ", table.problem));
    }
    const auto fact = facts.find(table.oid);
    if (fact != facts.end()) {
      CheckAccess(table, fact->second, role, findings);
      bytes += fact->second.bytes;
    }
    CheckIdentity(table, findings);
    CheckColumns(table, findings);
  }
  CheckNames(config, publications, file, findings);
  if (findings->list().size() == before && !publications.tables.empty()) {
    findings->Ok(absl::StrCat(
        publications.tables.size(),
        " published table(s): privileges, replica identity and names"));
  }
  if (!file.exists && file.free_bytes > 0 && bytes > file.free_bytes) {
    findings->Warn(absl::StrCat("the published tables take ", Megabytes(bytes),
                                " on the publisher, the replica's disk has ",
                                Megabytes(file.free_bytes),
                                " free: make room, or publish less"));
  }
}

bool HasWalResetRace(const std::string& sqlite_version) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  if (std::sscanf(sqlite_version.c_str(), "%d.%d.%d", &major, &minor, &patch) <
      2) {
    return false;
  }
  if (major != 3 || minor < 7 || minor > 51) return false;
  if (minor == 44) return patch < 6;
  if (minor == 50) return patch < 7;
  return minor < 51 || patch < 3;
}

}  // namespace sublite
