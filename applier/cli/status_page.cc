#include "applier/cli/status_page.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "applier/cli/status_words.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="10">
<title>sublite</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8885; overflow-wrap: anywhere; padding: .3em .6em; text-align: left; vertical-align: top; }
.good { color: #080; }
.bad { color: #c00; font-weight: bold; }
@media (prefers-color-scheme: dark) { .good { color: #6d6; } .bad { color: #f77; } }
</style>
</head>
<body>
)";
constexpr char kEnd[] = "</body>\n</html>\n";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The length of the UTF-8 character at the beginning of `text`, 0 if there is
// none.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint8_t>(text[i]);
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 && first <= 0xf4   ? 4
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xc2 && first <= 0xdf ? 2
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong =
      (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) > 0x9f;
  const bool beyond = first == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}

// Names may be in any script; each is kept to itself.
std::string Isolated(std::string_view text) {
  return absl::StrCat("<bdi>", EscapeHtml(text), "</bdi>");
}

void AddRow(std::string_view label, std::string_view text, std::string* out) {
  if (text.empty()) return;
  absl::StrAppend(out, "<tr><th scope=\"row\">", EscapeHtml(label), "</th><td>",
                  Isolated(text), "</td></tr>\n");
}

void AddHeads(const std::vector<const char*>& heads, std::string* out) {
  absl::StrAppend(out, "<table>\n<tr>");
  for (const char* head : heads)
    absl::StrAppend(out, "<th scope=\"col\">", head, "</th>");
  absl::StrAppend(out, "</tr>\n");
}

void AddCells(const std::vector<std::string>& cells, std::string* out) {
  absl::StrAppend(out, "<tr>");
  for (const std::string& cell : cells)
    absl::StrAppend(out, "<td>", Isolated(cell), "</td>");
  absl::StrAppend(out, "</tr>\n");
}

int Urgency(const TableRow& table) {
  if (table.state == "failed") return 0;
  if (table.state == "copying") return 1;
  if (table.state == "pending") return 2;
  return table.state == "ready" ? 3 : 4;
}

void AddTables(const ReplicaStatus& status, std::string* out) {
  std::vector<const TableRow*> tables;
  for (const TableRow& table : status.tables) tables.push_back(&table);
  std::stable_sort(tables.begin(), tables.end(),
                   [](const TableRow* a, const TableRow* b) {
                     return Urgency(*a) < Urgency(*b);
                   });
  absl::StrAppend(out, "<h2>Tables (", tables.size(), ")</h2>\n");
  AddHeads({"table", "publisher's name", "state", "rows copied"}, out);
  for (std::size_t i = 0; i < tables.size() && i < kPageTablesMax; ++i) {
    const TableRow& table = *tables[i];
    AddCells(
        {table.sqlite_table, table.PgName(),
         table.error.empty() ? table.state
                             : absl::StrCat(table.state, ": ", table.error),
         RowsText(table)},
        out);
  }
  absl::StrAppend(out, "</table>\n");
  if (tables.size() > kPageTablesMax) {
    absl::StrAppend(out, "<p>", tables.size() - kPageTablesMax,
                    " more: see sublite_tables in the replica.</p>\n");
  }
}

void AddPrepared(const ReplicaStatus& status, absl::Time now,
                 std::string* out) {
  if (status.prepared == 0) return;
  absl::StrAppend(out, "<h2>Prepared transactions (", status.prepared,
                  ")</h2>\n");
  AddHeads({"GID", "xid", "prepared", "changes", "size"}, out);
  for (const PreparedRow& prepared : status.prepared_rows) {
    AddCells({prepared.gid, absl::StrCat(prepared.xid),
              TimeAndAge(prepared.prepared_at, now),
              absl::StrCat(prepared.changes), BytesText(prepared.bytes)},
             out);
  }
  absl::StrAppend(out, "</table>\n");
}

void AddEvents(const ReplicaStatus& status, absl::Time now, std::string* out) {
  absl::StrAppend(out, "<h2>Last errors and events</h2>\n");
  if (!status.last_error.empty()) {
    absl::StrAppend(
        out, "<p class=\"bad\">", Isolated(status.last_error), " <small>",
        EscapeHtml(TimeAndAge(status.last_error_at, now)), "</small></p>\n");
  }
  AddHeads({"when", "what", "table", "LSN", "detail"}, out);
  for (const EventRow& event : status.events) {
    AddCells({TimeAndAge(event.at, now), event.kind, event.sqlite_table,
              event.lsn, event.detail},
             out);
  }
  absl::StrAppend(out, "</table>\n");
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const char c = text[0];
    const bool control = (c >= 0 && c < ' ' && c != '\n' && c != '\t') ||
                         c == '\x7f' ||
                         (length == 2 && c == '\xc2' &&
                          static_cast<std::uint8_t>(text[1]) < 0xa0);
    if (length == 0 || control) {
      out += kReplacement;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string StatusPage(const std::string& database, const ReplicaStatus& status,
                       std::string_view doing, absl::Time now) {
  std::string out = kHead;
  const bool good = status.state == "streaming" && status.consistent;
  absl::StrAppend(&out, "<h1>sublite <small class=\"", good ? "good" : "bad",
                  "\">", Isolated(status.started ? status.state : "new"),
                  "</small></h1>\n<table>\n");
  AddRow("replica", database, &out);
  AddRow("state", StateText(status), &out);
  AddRow("doing", doing, &out);
  AddRow("waits for", status.activity, &out);
  if (status.started) {
    AddRow("consistent", ConsistentText(status), &out);
    AddRow("freshness", FreshText(status, now), &out);
    AddRow("applied",
           absl::StrCat(status.applied_lsn, ", last change committed ",
                        TimeAndAge(status.applied_commit_time, now)),
           &out);
    AddRow("publisher",
           absl::StrCat("PostgreSQL ", status.server_version, ", publications ",
                        status.publications, ", slot ", status.slot),
           &out);
    AddRow("WAL kept", RetainedText(status, now), &out);
    AddRow("may be away", OfflineText(status, now), &out);
    if (status.missing_rows + status.replaced_rows > 0)
      AddRow("conflicts",
             absl::StrCat(status.missing_rows, " changes found no row, ",
                          status.replaced_rows, " found their key taken"),
             &out);
  }
  for (const std::string& step : NextSteps(status, now))
    AddRow("next", step, &out);
  absl::StrAppend(&out, "</table>\n");
  AddTables(status, &out);
  AddPrepared(status, now, &out);
  AddEvents(status, now, &out);
  absl::StrAppend(&out, kEnd);
  return out;
}

std::string TroublePage(const std::string& database, std::string_view error,
                        std::string_view doing) {
  std::string out = kHead;
  absl::StrAppend(&out,
                  "<h1>sublite <small class=\"bad\">trouble</small></h1>\n",
                  "<table>\n");
  AddRow("replica", database, &out);
  AddRow("doing", doing, &out);
  AddRow("error", error, &out);
  absl::StrAppend(&out, "</table>\n", kEnd);
  return out;
}

}  // namespace sublite
