#include "tests/fuzz/model_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "schema/value.h"

namespace sublite::testing {
namespace {

constexpr char kNull[] = "null";

std::optional<std::string> Stored(const Datum& datum, const ColumnType& type) {
  std::string scratch;
  SqlValue value;
  if (!ToSqlValue(datum, type, &scratch, &value).ok()) return std::nullopt;
  switch (value.kind) {
    case SqlValue::Kind::kNull:
      return kNull;
    case SqlValue::Kind::kInteger:
      return absl::StrCat("i:", value.integer);
    default:
      return absl::StrCat("t:", std::string(value.bytes));
  }
}

std::set<std::size_t> Places(const std::vector<int>& places) {
  return {places.begin(), places.end()};
}

std::set<std::size_t> Flagged(const Definition& definition) {
  std::set<std::size_t> flagged;
  for (std::size_t i = 0; i < definition.columns.size(); ++i) {
    if (definition.columns[i].key) flagged.insert(i);
  }
  return flagged;
}

// As a UNIQUE index compares: NULL equals nothing.
bool Equal(const ModelRow& a, const ModelRow& b,
           const std::set<std::size_t>& columns) {
  return std::all_of(columns.begin(), columns.end(), [&](std::size_t i) {
    return a[i] != kNull && a[i] == b[i];
  });
}

}  // namespace

bool NewRow::Whole() const {
  return std::all_of(values.begin(), values.end(),
                     [](const auto& value) { return value.has_value(); });
}

ModelRow NewRow::Values() const {
  ModelRow row;
  for (const auto& value : values) row.push_back(value.value_or(kNull));
  return row;
}

std::optional<NewRow> Convert(const TableShape& shape, Tuple tuple,
                              const std::set<std::size_t>& only) {
  if (tuple.size() != shape.columns.size()) return std::nullopt;
  NewRow row;
  row.values.resize(tuple.size());
  for (std::size_t i : only) {
    if (tuple[i].is_unchanged()) continue;
    row.values[i] = Stored(tuple[i], shape.columns[i].type);
    if (!row.values[i].has_value()) return std::nullopt;
  }
  return row;
}

std::optional<NewRow> Convert(const TableShape& shape, Tuple tuple) {
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) all.insert(i);
  return Convert(shape, tuple, all);
}

Match MatchOf(const TableShape& shape) {
  Match match;
  if (shape.replica_identity == 'i') {
    match.columns = Places(shape.IdentityColumns());
    match.none = match.columns.empty();
    return match;
  }
  match.columns = Places(shape.KeyColumns());
  if (!match.columns.empty()) return match;
  match.whole = shape.replica_identity == 'f';
  match.none = !match.whole;
  for (std::size_t i = 0; match.whole && i < shape.columns.size(); ++i) {
    match.columns.insert(i);
  }
  return match;
}

std::set<std::size_t> UniqueColumns(const TableShape& shape) {
  const std::set<std::size_t> key = Places(shape.KeyColumns());
  return key.empty() ? Places(shape.IdentityColumns()) : key;
}

std::vector<std::size_t> Find(
    const ModelTable& table, const Match& match,
    const std::vector<std::optional<std::string>>& values) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < table.rows.size(); ++at) {
    const bool same = std::all_of(
        match.columns.begin(), match.columns.end(), [&](std::size_t i) {
          const std::string& held = table.rows[at][i];
          return values[i] == held && (match.whole || held != kNull);
        });
    if (same) found.push_back(at);
  }
  return found;
}

bool HasEqual(const ModelTable& table, const std::set<std::size_t>& columns,
              const ModelRow& row) {
  return !columns.empty() && std::any_of(table.rows.begin(), table.rows.end(),
                                         [&](const ModelRow& held) {
                                           return Equal(held, row, columns);
                                         });
}

void RemoveEqual(ModelTable& table, const std::set<std::size_t>& columns,
                 const ModelRow& row) {
  if (columns.empty()) return;
  table.rows.erase(std::remove_if(table.rows.begin(), table.rows.end(),
                                  [&](const ModelRow& held) {
                                    return Equal(held, row, columns);
                                  }),
                   table.rows.end());
}

bool BreaksNotNull(const TableShape& shape, const ModelRow& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == kNull && shape.columns[i].not_null) return true;
  }
  return false;
}

bool SameRowsAs(const Definition& definition, const TableShape& shape) {
  if (definition.oid != shape.oid ||
      definition.columns.size() != shape.columns.size()) {
    return false;
  }
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    if (definition.columns[i].name != shape.columns[i].pg_name ||
        definition.columns[i].type != shape.columns[i].type_oid ||
        definition.columns[i].modifier != shape.columns[i].type_modifier) {
      return false;
    }
  }
  // Under the default identity the key is told with the relation.
  return definition.identity != 'd' ||
         Flagged(definition) == Places(shape.KeyColumns());
}

bool TakeIdentity(const Definition& definition, ModelTable* table) {
  TableShape& shape = table->shape;
  const std::set<std::size_t> flagged = Flagged(definition);
  if (definition.identity == shape.replica_identity &&
      (definition.identity != 'i' ||
       flagged == Places(shape.IdentityColumns()))) {
    return true;
  }
  shape.replica_identity = definition.identity;
  int place = 0;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    const bool named = definition.identity == 'i' && flagged.count(i) != 0;
    shape.columns[i].identity_place = named ? ++place : 0;
  }
  const std::set<std::size_t> unique = UniqueColumns(shape);
  if (unique.empty() || !shape.KeyColumns().empty()) return true;
  for (std::size_t a = 0; a < table->rows.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (Equal(table->rows[a], table->rows[b], unique)) return false;
    }
  }
  return true;
}

std::vector<ModelRow> CopiedRows(const TableShape& shape,
                                 const std::vector<FuzzRow>& rows) {
  std::vector<ModelRow> made;
  for (const FuzzRow& row : rows) {
    ModelRow values;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Datum datum = row[i].has_value()
                              ? Datum{Datum::Kind::kText, *row[i]}
                              : Datum{Datum::Kind::kNull, {}};
      values.push_back(*Stored(datum, shape.columns[i].type));
    }
    made.push_back(std::move(values));
  }
  return made;
}

}  // namespace sublite::testing
