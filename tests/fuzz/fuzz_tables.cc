#include "tests/fuzz/fuzz_tables.h"

#include <algorithm>

namespace sublite::testing {
namespace {

constexpr std::uint32_t kInt4 = 23;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kText = 25;

PublishedColumn Column(const std::string& name, std::uint32_t type,
                       bool not_null, int attnum) {
  PublishedColumn column;
  column.name = name;
  column.type = type;
  column.type_text = type == kText   ? "text"
                     : type == kInt4 ? "integer"
                                     : "bigint";
  column.not_null = not_null;
  column.attnum = attnum;
  return column;
}

PublishedTable MakeTable(int table, bool wider) {
  static constexpr const char* kNames[] = {"pk", "bag", "idx", "log",
                                           "stranger"};
  PublishedTable made;
  made.oid = 16384 + static_cast<std::uint32_t>(table);
  made.pg_schema = "public";
  made.pg_table = kNames[table];
  made.published_as = "p";
  switch (table) {
    case 0:
    case kStranger:
      made.columns = {Column("id", kInt4, true, 1),
                      Column("v", kText, false, 2),
                      Column("n", kInt4, false, 3)};
      made.primary_key = {"id"};
      break;
    case 1:
      made.replica_identity = 'f';
      made.columns = {Column("a", kInt4, false, 1),
                      Column("b", kText, false, 2)};
      break;
    case 2:
      made.replica_identity = 'i';
      made.columns = {Column("v", kText, false, 1), Column("k", kText, true, 2),
                      Column("n", kInt8, false, 3)};
      made.identity_index = {"k"};
      break;
    default:
      made.replica_identity = 'n';
      made.columns = {Column("at", kInt8, false, 1),
                      Column("line", kText, false, 2)};
  }
  if (wider) {
    made.columns.push_back(
        Column("w", kText, false, static_cast<int>(made.columns.size()) + 1));
  }
  return made;
}

}  // namespace

const PublishedTable& FuzzTable(int table, bool wider) {
  static const auto& tables = *new std::vector<PublishedTable>([] {
    std::vector<PublishedTable> made;
    for (int i = 0; i < 2 * kAllTables; ++i) {
      made.push_back(MakeTable(i / 2, i % 2 != 0));
    }
    return made;
  }());
  return tables[2 * static_cast<std::size_t>(table) + (wider ? 1 : 0)];
}

const PgTypes& FuzzTypes() {
  static const auto& types = *new PgTypes([] {
    PgTypes made;
    for (const auto& [oid, name] :
         {std::pair(kInt4, "int4"), std::pair(kInt8, "int8"),
          std::pair(kText, "text")}) {
      PgType type;
      type.oid = oid;
      type.name = name;
      type.builtin = true;
      type.server_version = 180000;
      made[oid] = type;
    }
    return made;
  }());
  return types;
}

std::string FuzzRelation(int table, Variant variant, int detail,
                         encode::MaybeXid xid) {
  PublishedTable made = FuzzTable(table, variant == Variant::kWider);
  if (variant == Variant::kName) {
    made.pg_table = FuzzTable(kStranger).pg_table;
  }
  if (variant == Variant::kOid) made.oid += 100;
  if (variant == Variant::kIdentity) {
    made.replica_identity = "dfin"[detail & 3];
  }
  std::vector<encode::Column> columns;
  for (const PublishedColumn& column : made.columns) {
    encode::Column sent{column.name, column.type, false, column.type_modifier};
    const auto& key =
        made.replica_identity == 'i' ? made.identity_index : made.primary_key;
    sent.key = made.replica_identity == 'f' ||
               std::find(key.begin(), key.end(), column.name) != key.end();
    columns.push_back(std::move(sent));
  }
  if (variant == Variant::kRenamed) columns.back().name += "2";
  if (variant == Variant::kType)
    columns.back().type = kInt8 + kText + kInt4 - columns.back().type;
  if (variant == Variant::kFlags) {
    encode::Column& chosen =
        columns[static_cast<std::size_t>(detail) % columns.size()];
    chosen.key = !chosen.key;
  }
  return encode::Relation(made.oid, made.pg_schema, made.pg_table,
                          made.replica_identity, columns, xid);
}

std::vector<FuzzRow> FuzzRows(int table) {
  switch (table) {
    case 0:
      return {{"1", "a", "1"}, {"2", "b", std::nullopt}, {"3", "", "3"}};
    case 1:
      return {{"1", "x"}, {"1", "x"}, {"2", std::nullopt}};
    case 2:
      return {{"v", "1", "1"}, {std::nullopt, "2", "9007199254740993"}};
    case 3:
      return {{"1", "l"}};
    default:
      return {};
  }
}

std::vector<FuzzRow> FuzzRows(int table, int count, bool wider) {
  std::vector<FuzzRow> rows = FuzzRows(table);
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(count)));
  for (FuzzRow& row : rows) {
    if (wider) row.emplace_back("w");
  }
  return rows;
}

}  // namespace sublite::testing
