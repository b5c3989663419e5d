#include "tests/support/replica_dump.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "applier/snapshot.h"

namespace sublite::testing {
namespace {

std::string Printed(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return "null";
    case SQLITE_INTEGER:
      return absl::StrCat("i:", sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT: {
      char text[40];
      std::snprintf(text, sizeof text, "r:%.17g",
                    sqlite3_column_double(statement, column));
      return text;
    }
    default:
      break;
  }
  const bool blob = sqlite3_column_type(statement, column) == SQLITE_BLOB;
  const auto* bytes =
      static_cast<const char*>(sqlite3_column_blob(statement, column));
  const auto size =
      static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  const std::string value(bytes == nullptr ? "" : bytes, size);
  return blob ? absl::StrCat("b:", absl::BytesToHexString(value))
              : absl::StrCat("t:", value);
}

std::string Quoted(const std::string& name) {
  std::string quoted = "\"";
  for (char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string QuotedText(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

// The first few lines that are in one and not in the other.
std::string Difference(const std::vector<std::string>& have,
                       const std::vector<std::string>& want) {
  std::vector<std::string> extra;
  std::vector<std::string> missing;
  std::set_difference(have.begin(), have.end(), want.begin(), want.end(),
                      std::back_inserter(extra));
  std::set_difference(want.begin(), want.end(), have.begin(), have.end(),
                      std::back_inserter(missing));
  std::string text;
  for (auto& [name, lines] :
       {std::pair("too much", &extra), std::pair("missing", &missing)}) {
    for (std::size_t i = 0; i < lines->size() && i < 4; ++i) {
      absl::StrAppend(&text, " ", name, ": ", (*lines)[i].substr(0, 120), ";");
    }
    if (lines->size() > 4) absl::StrAppend(&text, " ", lines->size(), " such;");
  }
  return text;
}

}  // namespace

ReplicaReader::ReplicaReader(const std::string& path) {
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db_);
  sqlite3_busy_timeout(db_, 1000);
}

ReplicaReader::~ReplicaReader() { sqlite3_close(db_); }

std::vector<std::string> ReplicaReader::Query(const std::string& sql) {
  std::vector<std::string> rows;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(statement);
    if (code != SQLITE_ROW) break;
    std::string row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      row += (i == 0 ? "" : "|") + Printed(statement, i);
    }
    rows.push_back(std::move(row));
  }
  EXPECT_EQ(code, SQLITE_DONE) << sqlite3_errmsg(db_) << "\n" << sql;
  sqlite3_finalize(statement);
  return rows;
}

std::string ReplicaReader::Scalar(const std::string& sql) {
  const std::vector<std::string> rows = Query(sql);
  if (rows.empty() || rows[0] == "null") return "";
  return rows[0].substr(2);
}

std::int64_t ReplicaReader::Int(const std::string& sql) {
  const std::string text = Scalar(sql);
  return text.empty() ? 0 : std::stoll(text);
}

std::vector<std::string> ReplicaReader::Rows(const std::string& table) {
  std::vector<std::string> rows =
      Query(absl::StrCat("select * from ", Quoted(table)));
  std::sort(rows.begin(), rows.end());
  return rows;
}

bool ReplicaReader::Exists(const std::string& table) {
  return Int(absl::StrCat("select count(*) from sqlite_schema where name = ",
                          QuotedText(table))) > 0;
}

Lsn ReplicaReader::AppliedPos() {
  if (!Exists("sublite_state")) return Lsn();
  return Lsn(
      static_cast<std::uint64_t>(Int("select applied_pos from sublite_state")));
}

std::string StoredRow(const TableVersion& shape, const ModelRow& row) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) text += "|";
    if (!row[i].has_value()) {
      text += "null";
      continue;
    }
    switch (shape.def.columns[i].type) {
      case kInt4:
      case kInt8:
        text += "i:" + *row[i];
        break;
      case kBool:
        text += *row[i] == "t" ? "i:1" : "i:0";
        break;
      default:
        text += "t:" + *row[i];
    }
  }
  return text;
}

namespace {

// Transactions whose changes the rows of a table hold: what is committed by the
// replica's position, and what the snapshot of a copy that is newer saw.
std::function<bool(FullXid)> Held(const PgModel& model, Lsn applied,
                                  Lsn copy_pos, const std::string& snapshot) {
  Snapshot sees;
  const bool newer = copy_pos > applied && !snapshot.empty();
  if (newer) sees = *Snapshot::Parse(snapshot);
  return [=, &model](FullXid xid) {
    if (model.CommittedBy(xid, applied)) return true;
    return newer && model.CommittedBy(xid, copy_pos) && sees.SeesFull(xid);
  };
}

void CompareTables(ReplicaReader& reader, const PgModel& model, Lsn applied,
                   const CompareOptions& options,
                   std::vector<std::string>* differences) {
  for (const std::string& line :
       reader.Query("select id from sublite_tables where state = 'ready'")) {
    const std::string where =
        " from sublite_tables where id = " + line.substr(2);
    const std::string name = reader.Scalar("select sqlite_table" + where);
    if (std::count(options.not_these.begin(), options.not_these.end(), name) >
        0) {
      continue;
    }
    const int table = model.FindTable(reader.Scalar("select pg_schema" + where),
                                      reader.Scalar("select pg_table" + where));
    if (table < 0) continue;
    // It left the publication, or came back: the replica does not know it yet.
    const ModelTable& at = model.tables()[table];
    if (!options.strict &&
        (!at.published || reader.Scalar("select published_as" + where) !=
                              at.shape()->def.published_as)) {
      continue;
    }
    const Lsn copy_pos(static_cast<std::uint64_t>(
        reader.Int("select coalesce(copy_pos, 0)" + where)));
    const auto held = Held(model, applied, copy_pos,
                           reader.Scalar("select snapshot" + where));
    // So does a change of its definition that no row has followed yet.
    if (!options.strict && reader.Scalar("select attributes" + where) !=
                               model.ShapeAt(table, held)->def.attributes) {
      continue;
    }
    std::vector<std::string> want;
    for (const RowVersion* row : model.Rows(table, held)) {
      want.push_back(StoredRow(*row->shape, row->values));
    }
    std::sort(want.begin(), want.end());
    const std::vector<std::string> have = reader.Rows(name);
    if (have == want) continue;
    differences->push_back(
        absl::StrCat(name, " at ", applied.ToString(), " (copy_pos ",
                     copy_pos.ToString(), "): ", have.size(), " rows, model ",
                     want.size(), ";", Difference(have, want)));
  }
}

void ComparePrepared(ReplicaReader& reader, const PgModel& model, Lsn applied,
                     std::vector<std::string>* differences) {
  const Lsn slot_pos(static_cast<std::uint64_t>(
      reader.Int("select slot_pos from sublite_state")));
  std::vector<std::string> want;
  std::vector<std::string> either;
  for (const auto& [xid, transaction] : model.transactions()) {
    if (transaction.gid.empty() || transaction.prepare_end > applied) continue;
    if (transaction.decided.valid() && transaction.decided <= applied) {
      continue;
    }
    // One that was prepared before the slot began comes just before it is
    // committed. Whether one without changes is told depends on the server.
    const bool certain =
        transaction.has_changes && transaction.prepare_lsn >= slot_pos;
    (certain ? want : either)
        .push_back(absl::StrCat("t:", transaction.gid,
                                "|i:", static_cast<Xid>(xid),
                                "|t:", transaction.prepare_lsn.ToString()));
  }
  std::sort(want.begin(), want.end());
  std::vector<std::string> have;
  for (const std::string& line :
       reader.Query("select gid, xid, prepare_lsn from sublite_prepared")) {
    if (std::count(either.begin(), either.end(), line) == 0) {
      have.push_back(line);
    }
  }
  std::sort(have.begin(), have.end());
  if (have == want) return;
  differences->push_back(absl::StrCat("prepared at ", applied.ToString(), ":",
                                      Difference(have, want)));
}

}  // namespace

std::vector<std::string> CompareWithModel(ReplicaReader& reader,
                                          const PgModel& model,
                                          const CompareOptions& options) {
  std::vector<std::string> differences;
  reader.Begin();
  const Lsn applied = reader.AppliedPos();
  if (applied.valid()) {
    CompareTables(reader, model, applied, options, &differences);
    if (options.two_phase) {
      ComparePrepared(reader, model, applied, &differences);
    }
    for (const std::string& row :
         reader.Query("select sqlite_table, missing_rows, replaced_rows from "
                      "sublite_tables where missing_rows + replaced_rows > "
                      "0")) {
      differences.push_back("conflicts in " + row);
    }
  }
  reader.End();
  return differences;
}

std::vector<std::string> CheckSound(ReplicaReader& reader) {
  std::vector<std::string> troubles;
  for (const std::string& line : reader.Query("pragma integrity_check")) {
    if (line != "t:ok") troubles.push_back("integrity_check: " + line);
  }
  if (!reader.Exists("sublite_state")) return troubles;
  for (const std::string& line :
       reader.Query("select 'staged without prepared', prepared_id from "
                    "sublite_staged where prepared_id not in (select id from "
                    "sublite_prepared)")) {
    troubles.push_back(line);
  }
  return troubles;
}

}  // namespace sublite::testing
