#include "applier/cli/resync_command.h"

#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "applier/cli/exit_code.h"
#include "applier/cli/replica_file.h"
#include "applier/settings.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr char kAllTables[] = "*";

using Matches = std::vector<const TableRow*>;

Matches Select(const std::vector<TableRow>& tables,
               const std::function<bool(const TableRow&)>& fits) {
  Matches found;
  for (const TableRow& table : tables) {
    if (fits(table)) found.push_back(&table);
  }
  return found;
}

// From the most to the least exact reading of `name`; the first that fits any
// table counts.
Matches FindTables(const std::vector<TableRow>& tables,
                   const std::string& name) {
  Matches found = Select(tables, [&](const TableRow& table) {
    return table.sqlite_table == name;
  });
  if (found.empty()) {
    found =
        Select(tables, [&](const TableRow& t) { return t.PgName() == name; });
  }
  if (found.empty()) {
    found =
        Select(tables, [&](const TableRow& t) { return t.pg_table == name; });
  }
  if (found.empty()) {
    const std::string folded = FoldForSqlite(name);
    found = Select(tables, [&](const TableRow& table) {
      return FoldForSqlite(table.sqlite_table) == folded;
    });
  }
  return found;
}

absl::StatusOr<const TableRow*> FindTable(const std::vector<TableRow>& tables,
                                          const std::string& name) {
  const Matches found = FindTables(tables, name);
  if (found.size() > 1) {
    const std::string list =
        absl::StrJoin(found, ", ", [](std::string* out, const TableRow* table) {
          absl::StrAppend(out, table->PgName());
        });
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name, "\" can be any of ", list, ": name it with its schema"));
  }
  if (found.empty()) {
    std::vector<std::string> known;
    for (const TableRow& table : tables) {
      known.push_back(table.sqlite_table);
      known.push_back(table.PgName());
    }
    const std::string nearest = NearestName(name, known);
    return absl::InvalidArgumentError(absl::StrCat(
        "the replica has no table \"", name, "\"",
        nearest.empty() ? std::string("; `sublite status` lists them")
                        : absl::StrCat("; did you mean \"", nearest, "\"?")));
  }
  if (found[0]->state == "unpublished") {
    return absl::FailedPreconditionError(absl::StrCat(
        found[0]->PgName(),
        " is not published any more, so it cannot be copied: add it to the "
        "publication first"));
  }
  return found[0];
}

// What goes into sublite_requests.argument, and what a person is told.
struct Target {
  std::string argument;
  std::string name;
};

absl::StatusOr<std::vector<Target>> FindTargets(
    Database* database, const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<Target>{{kAllTables, "all tables"}};
  ASSIGN_OR_RETURN(const std::vector<TableRow> tables, ReadTables(database));
  std::vector<Target> targets;
  std::vector<std::string> errors;
  absl::StatusCode code = absl::StatusCode::kOk;
  for (const std::string& name : names) {
    const absl::StatusOr<const TableRow*> table = FindTable(tables, name);
    if (table.ok()) {
      targets.push_back({absl::StrCat((*table)->id), (*table)->PgName()});
      continue;
    }
    errors.emplace_back(table.status().message());
    code = table.status().code();
  }
  if (errors.empty()) return targets;
  return absl::Status(code, absl::StrJoin(errors, "\n"));
}

absl::StatusOr<std::vector<Target>> Request(
    const std::string& path, const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                   OpenReplicaForWriting(path));
  // Names are looked up under the write lock, so that an id stays what it was.
  RETURN_IF_ERROR(database->Execute("begin immediate"));
  ASSIGN_OR_RETURN(const std::vector<Target> targets,
                   FindTargets(database.get(), names));
  for (const Target& target : targets) {
    RETURN_IF_ERROR(AddRequest(database.get(), "resync", target.argument));
  }
  RETURN_IF_ERROR(database->Execute("commit"));
  return targets;
}

}  // namespace

int ResyncCommand(const std::string& database,
                  const std::vector<std::string>& names, std::ostream& out,
                  std::ostream& err) {
  const absl::StatusOr<std::vector<Target>> targets = Request(database, names);
  if (!targets.ok()) return Fail(err, targets.status());
  for (const Target& target : *targets) {
    out << "asked for another copy of " << target.name << "\n";
  }
  out << "`sublite run` takes it up at once if it is running, else when it "
         "starts; the old rows can be read until the new ones are complete. "
         "`sublite status` shows how far it is.\n";
  return kExitDone;
}

}  // namespace sublite
