#include "schema/identifier.h"

#include <cstddef>

#include "absl/container/flat_hash_set.h"

namespace sublite {
namespace {

// NAMEDATALEN - 1: the longest name that PostgreSQL keeps.
constexpr std::size_t kSlotNameBytesMax = 63;

char FoldAscii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string Quote(std::string_view text, char quote) {
  std::string quoted;
  quoted.reserve(text.size() + 2);
  quoted += quote;
  for (char c : text) {
    if (c == quote) quoted += quote;
    quoted += c;
  }
  quoted += quote;
  return quoted;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// "plant" of "/var/lib/sublite/plant.db". A dot in front belongs to the name.
std::string_view FileStem(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  const std::size_t dot = path.rfind('.');
  if (dot != std::string_view::npos && dot > 0) path = path.substr(0, dot);
  return path;
}

}  // namespace

std::string QuoteIdentifier(std::string_view name) { return Quote(name, '"'); }

std::string QuoteLiteral(std::string_view text) { return Quote(text, '\''); }

std::string QuoteIdentifierList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    if (!list.empty()) list += ',';
    list += QuoteIdentifier(name);
  }
  return list;
}

std::string FoldForSqlite(std::string_view name) {
  std::string folded(name);
  for (char& c : folded) c = FoldAscii(c);
  return folded;
}

std::string DefaultSlotName(std::string_view database_path) {
  std::string_view stem = FileStem(database_path);
  if (stem.empty()) stem = "replica";
  std::string name = "sublite_";
  for (char c : stem) {
    // A character of several bytes becomes one underscore, not one for each.
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    c = FoldAscii(c);
    const bool legal = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += legal ? c : '_';
    if (name.size() == kSlotNameBytesMax) break;
  }
  return name;
}

std::string SqliteTableName(std::string_view pg_schema,
                            std::string_view pg_table,
                            std::string_view separator) {
  std::string name;
  if (pg_schema != "public") {
    name.append(pg_schema).append(separator);
  } else {
    const std::string folded = FoldForSqlite(pg_table);
    if (StartsWith(folded, "sqlite_") || StartsWith(folded, "sublite_")) {
      name = "public.";
    }
  }
  name.append(pg_table);
  return name;
}

std::vector<std::string> SqliteColumnNames(
    const std::vector<std::string>& names) {
  absl::flat_hash_set<std::string> used;
  std::vector<std::string> unique_names;
  unique_names.reserve(names.size());
  for (const std::string& name : names) {
    std::string candidate = name;
    for (int n = 2; !used.insert(FoldForSqlite(candidate)).second; ++n) {
      candidate = name + "_" + std::to_string(n);
    }
    unique_names.push_back(std::move(candidate));
  }
  return unique_names;
}

}  // namespace sublite
