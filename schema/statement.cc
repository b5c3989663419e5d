#include "schema/statement.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "schema/identifier.h"

namespace sublite {
namespace {

bool HasCollation(const TableColumn& column) {
  return column.type.kind == ValueKind::kPaddedText ||
         column.type.kind == ValueKind::kCaselessText;
}

// `terms` joined by AND as a balanced tree: a chain of 1600 would be deeper
// than SQLite's expression limit.
std::string Conjunction(const std::vector<std::string>& terms,
                        std::size_t begin, std::size_t end) {
  constexpr std::size_t kFlat = 50;
  if (end - begin <= kFlat) {
    std::string sql;
    for (std::size_t i = begin; i < end; ++i)
      absl::StrAppend(&sql, i == begin ? "" : " AND ", terms[i]);
    return sql;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  return absl::StrCat("(", Conjunction(terms, begin, middle), ") AND (",
                      Conjunction(terms, middle, end), ")");
}

std::string Where(const TableShape& shape, RowMatch match) {
  const int columns = static_cast<int>(shape.columns.size());
  std::vector<std::string> terms;
  for (int place : MatchColumns(shape, match)) {
    const TableColumn& column = shape.columns[place];
    const std::string name = QuoteIdentifier(column.name);
    const int parameter = columns + place + 1;
    if (match != RowMatch::kWholeRow) {
      terms.push_back(absl::StrCat(name, " = ?", parameter));
      continue;
    }
    terms.push_back(absl::StrCat(name,
                                 HasCollation(column) ? " COLLATE BINARY" : "",
                                 " IS ?", parameter));
    // The index of RowIndexColumns holds only the beginning of long values:
    // name it, so that it is used.
    switch (column.type.kind) {
      case ValueKind::kText:
      case ValueKind::kPaddedText:
      case ValueKind::kCaselessText:
      case ValueKind::kNumericText:
        terms.push_back(absl::StrCat("substr(", name,
                                     ", 1, 32) COLLATE BINARY IS substr(?",
                                     parameter, ", 1, 32)"));
        break;
      default:
        break;
    }
  }
  return Conjunction(terms, 0, terms.size());
}

// The rows that a change touches: one.
std::string OneRow(const TableShape& shape, RowMatch match) {
  if (match != RowMatch::kWholeRow) return Where(shape, match);
  const std::string rowid = RowidName(shape);
  return absl::StrCat(rowid, " = (SELECT ", rowid, " FROM ",
                      QuoteIdentifier(shape.name), " WHERE ",
                      Where(shape, match), " LIMIT 1)");
}

}  // namespace

RowMatch RowMatchFor(const TableShape& shape) {
  const bool keyed = !shape.KeyColumns().empty();
  if (shape.replica_identity == 'i' && !shape.IdentityColumns().empty())
    return RowMatch::kIdentity;
  if (shape.replica_identity != 'i' && keyed) return RowMatch::kKey;
  if (shape.replica_identity == 'f') return RowMatch::kWholeRow;
  return RowMatch::kNone;
}

std::vector<int> MatchColumns(const TableShape& shape, RowMatch match) {
  switch (match) {
    case RowMatch::kKey:
      return shape.KeyColumns();
    case RowMatch::kIdentity:
      return shape.IdentityColumns();
    case RowMatch::kWholeRow: {
      std::vector<int> all(shape.columns.size());
      std::iota(all.begin(), all.end(), 0);
      return all;
    }
    case RowMatch::kNone:
      break;
  }
  return {};
}

std::string InsertSql(const TableShape& shape, std::string_view table) {
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : ", ",
                    QuoteIdentifier(shape.columns[i].name));
    absl::StrAppend(&values, i == 0 ? "?" : ", ?", i + 1);
  }
  return absl::StrCat("INSERT INTO ", QuoteIdentifier(table), " (", names,
                      ") VALUES (", values, ")");
}

std::string UpdateSql(const TableShape& shape, RowMatch match,
                      const std::vector<bool>& set) {
  std::string sql =
      absl::StrCat("UPDATE ", QuoteIdentifier(shape.name), " SET ");
  bool first = true;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    if (!set[i]) continue;
    absl::StrAppend(&sql, first ? "" : ", ",
                    QuoteIdentifier(shape.columns[i].name), " = ?", i + 1);
    first = false;
  }
  return absl::StrCat(sql, " WHERE ", OneRow(shape, match));
}

std::string DeleteSql(const TableShape& shape, RowMatch match, bool all_equal) {
  return absl::StrCat("DELETE FROM ", QuoteIdentifier(shape.name), " WHERE ",
                      all_equal ? Where(shape, match) : OneRow(shape, match));
}

std::string TruncateSql(const TableShape& shape) {
  return absl::StrCat("DELETE FROM ", QuoteIdentifier(shape.name));
}

}  // namespace sublite
