#include "schema/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "schema/identifier.h"

namespace sublite {
namespace {

int PlaceIn(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? 0 : static_cast<int>(found - names.begin()) + 1;
}

std::vector<int> InOrder(const std::vector<TableColumn>& columns,
                         int TableColumn::*place) {
  std::vector<int> result;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].*place > 0) result.push_back(static_cast<int>(i));
  }
  std::sort(result.begin(), result.end(), [&](int a, int b) {
    return columns[a].*place < columns[b].*place;
  });
  return result;
}

std::string ColumnList(const TableShape& shape,
                       const std::vector<int>& places) {
  std::string list;
  for (int place : places) {
    absl::StrAppend(&list, list.empty() ? "" : ", ",
                    QuoteIdentifier(shape.columns[place].name));
  }
  return list;
}

// Values long enough to make an index on them as large as the table are indexed
// by their first characters.
std::string RowIndexTerm(const TableColumn& column) {
  const std::string name = QuoteIdentifier(column.name);
  switch (column.type.kind) {
    case ValueKind::kBytea:
    case ValueKind::kJson:
    case ValueKind::kArray:
    case ValueKind::kHstore:
      return "";
    case ValueKind::kText:
    case ValueKind::kPaddedText:
    case ValueKind::kCaselessText:
    case ValueKind::kNumericText:
      return absl::StrCat("substr(", name, ", 1, 32) COLLATE BINARY");
    default:
      return name;
  }
}

// An index through which FULL rows without a key are found. Eight columns tell
// rows apart well enough.
std::string RowIndexColumns(const TableShape& shape) {
  constexpr int kColumns = 8;
  std::string list;
  int taken = 0;
  for (const TableColumn& column : shape.columns) {
    const std::string term = RowIndexTerm(column);
    if (term.empty() || taken == kColumns) continue;
    absl::StrAppend(&list, taken == 0 ? "" : ", ", term);
    ++taken;
  }
  return list;
}

// Index names are global in SQLite and share one namespace with tables, so they
// follow the rule for table names.
std::string IndexName(const TableShape& shape, const std::string& pg_index,
                      std::string_view separator) {
  return SqliteTableName(shape.pg_schema, pg_index, separator);
}

}  // namespace

std::vector<int> TableShape::KeyColumns() const {
  return InOrder(columns, &TableColumn::key_place);
}

std::vector<int> TableShape::IdentityColumns() const {
  return InOrder(columns, &TableColumn::identity_place);
}

TableShape ShapeFor(const PublishedTable& table, const PgTypes& types,
                    const NamingOptions& options) {
  TableShape shape;
  shape.pg_schema = table.pg_schema;
  shape.pg_table = table.pg_table;
  shape.name =
      options.name.empty()
          ? SqliteTableName(table.pg_schema, table.pg_table, options.separator)
          : options.name;
  shape.oid = table.oid;
  shape.replica_identity = table.replica_identity;
  shape.publishes_update_or_delete = table.publishes_update_or_delete;

  std::vector<std::string> names;
  for (const PublishedColumn& column : table.columns)
    names.push_back(column.name);
  const std::vector<std::string> sqlite_names = SqliteColumnNames(names);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const PublishedColumn& from = table.columns[i];
    TableColumn column;
    column.name = sqlite_names[i];
    column.pg_name = from.name;
    column.pg_type = from.type_text;
    column.attnum = from.attnum;
    column.type_oid = from.type;
    column.type_modifier = from.type_modifier;
    column.type =
        ColumnTypeFor(from.type, from.type_modifier, types, options.numeric);
    column.not_null = from.not_null;
    column.key_place = PlaceIn(table.primary_key, from.name);
    column.identity_place = PlaceIn(table.identity_index, from.name);
    shape.columns.push_back(std::move(column));
  }
  for (const PublishedIndex& from : table.indexes) {
    PublishedIndex index{from.name, {}};
    for (const std::string& column : from.columns) {
      const int place = PlaceIn(names, column);
      if (place > 0) index.columns.push_back(sqlite_names[place - 1]);
    }
    if (index.columns.size() == from.columns.size())
      shape.indexes.push_back(std::move(index));
  }
  return shape;
}

bool SameRows(const TableShape& a, const TableShape& b) {
  if (a.oid != b.oid || a.pg_schema != b.pg_schema ||
      a.pg_table != b.pg_table || a.name != b.name ||
      a.columns.size() != b.columns.size()) {
    return false;
  }
  return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(),
                    [](const TableColumn& x, const TableColumn& y) {
                      return x.name == y.name && x.pg_name == y.pg_name &&
                             x.pg_type == y.pg_type && x.attnum == y.attnum &&
                             x.type_oid == y.type_oid &&
                             x.type_modifier == y.type_modifier &&
                             SameStored(x.type, y.type) &&
                             x.not_null == y.not_null &&
                             x.key_place == y.key_place;
                    });
}

const TableColumn* FindUndecodable(const TableShape& shape) {
  for (const TableColumn& column : shape.columns) {
    if (!HasBinaryDecoder(column.type)) return &column;
  }
  return nullptr;
}

const TableColumn* FindUncopyable(const TableShape& shape) {
  for (const TableColumn& column : shape.columns) {
    if (!HasBinaryDecoder(column.type) ||
        column.type.form == BinaryForm::kTextOnly) {
      return &column;
    }
  }
  return nullptr;
}

std::string CreateTableSql(const TableShape& shape, std::string_view name) {
  std::string sql = absl::StrCat("CREATE TABLE ", QuoteIdentifier(name), " (");
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    const TableColumn& column = shape.columns[i];
    absl::StrAppend(&sql, i == 0 ? "" : ", ", QuoteIdentifier(column.name), " ",
                    column.type.Declaration(),
                    column.not_null ? " NOT NULL" : "");
  }
  const std::vector<int> key = shape.KeyColumns();
  // One INTEGER column makes the rowid itself the key.
  if (!key.empty())
    absl::StrAppend(&sql, ", PRIMARY KEY (", ColumnList(shape, key), ")");
  return sql + ")";
}

std::vector<TableIndex> IndexesFor(const TableShape& shape, bool mirror,
                                   std::string_view separator) {
  std::vector<TableIndex> result;
  const bool keyed = !shape.KeyColumns().empty();
  const std::vector<int> identity = shape.IdentityColumns();
  if (!identity.empty()) {
    result.push_back({IndexName(shape, shape.pg_table + "_identity", separator),
                      ColumnList(shape, identity), !keyed, true});
  } else if (!keyed && shape.replica_identity == 'f' &&
             shape.publishes_update_or_delete) {
    const std::string columns = RowIndexColumns(shape);
    if (!columns.empty()) {
      result.push_back({IndexName(shape, shape.pg_table + "_row", separator),
                        columns, false, true});
    }
  }
  if (!mirror) return result;
  for (const PublishedIndex& index : shape.indexes) {
    std::string columns;
    for (const std::string& column : index.columns) {
      absl::StrAppend(&columns, columns.empty() ? "" : ", ",
                      QuoteIdentifier(column));
    }
    result.push_back(
        {IndexName(shape, index.name, separator), columns, false, false});
  }
  return result;
}

std::string RowidName(const TableShape& shape) {
  for (const char* name : {"rowid", "_rowid_", "oid"}) {
    const bool hidden = std::any_of(shape.columns.begin(), shape.columns.end(),
                                    [&](const TableColumn& column) {
                                      return FoldForSqlite(column.name) == name;
                                    });
    if (!hidden) return name;
  }
  return "";
}

}  // namespace sublite
