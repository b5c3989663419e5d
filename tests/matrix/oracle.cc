#include "tests/matrix/oracle.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/matrix/kinds.h"

namespace sublite::testing {
namespace {

constexpr std::size_t kShownRows = 3;
constexpr std::size_t kShownBytes = 300;

std::string Quoted(const std::string& name, char quote) {
  const std::string once(1, quote);
  return absl::StrCat(
      once, absl::StrReplaceAll(name, {{once, absl::StrCat(once, once)}}),
      once);
}

// The columns that are published, with the type of each. A generated column is
// one of them only from 18 on, where the matrix asks for it.
std::string ColumnsSql(const std::string& relation) {
  return absl::StrCat(
      "select attname, format_type(atttypid, atttypmod) from pg_attribute"
      " where attrelid = ",
      Quoted(relation, '\''),
      "::regclass and attnum > 0 and not attisdropped and (attgenerated = ''"
      " or attgenerated = 's' and"
      " current_setting('server_version_num')::int >= 180000)"
      " order by attnum");
}

// What one side has more of than the other; both sorted.
StoredRows Surplus(const StoredRows& of, const StoredRows& against) {
  StoredRows surplus;
  std::set_difference(of.begin(), of.end(), against.begin(), against.end(),
                      std::back_inserter(surplus));
  return surplus;
}

// `lacking` and `surplus` rows of a table; a changed row is in both.
std::vector<std::string> Describe(const StoredRows& lacking,
                                  const StoredRows& surplus,
                                  const std::vector<std::string>& columns) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& what, const std::string& value) {
    lines.push_back(what + value.substr(0, kShownBytes));
  };
  for (std::size_t i = 0; i < lacking.size() && i < kShownRows; ++i) {
    if (i >= surplus.size() || surplus[i][0] != lacking[i][0]) {
      add("lacks ", absl::StrJoin(lacking[i], " | "));
      continue;
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (lacking[i][c] == surplus[i][c]) continue;
      add(absl::StrCat(lacking[i][0], ", ", columns[c], " should be "),
          lacking[i][c]);
      add("  and is ", surplus[i][c]);
    }
  }
  for (std::size_t i = 0; i < surplus.size() && i < kShownRows; ++i)
    add("has ", absl::StrJoin(surplus[i], " | "));
  if (!lines.empty())
    lines.push_back(absl::StrCat(lacking.size(), " rows lacking, ",
                                 surplus.size(), " too many"));
  return lines;
}

}  // namespace

Oracle::Oracle(PgSession* session) : session_(session) {
  const absl::StatusOr<PgRows> columns = session->Exec(ColumnsSql("kinds"));
  if (!columns.ok()) return;  // every type is unknown then, which Compare says
  expected_["integer"] = "'integer ' || v";  // the key, in front
  for (std::size_t i = 1; i < columns->size() && i <= Kinds().size(); ++i)
    expected_[*(*columns)[i][1]] = Kinds()[i - 1].expected;
}

std::vector<std::string> Oracle::Compare(Follower& follower) {
  const absl::StatusOr<PgRows> tables = session_->Exec(
      "select schemaname, tablename from pg_publication_tables"
      " where pubname = 'pub' order by 1, 2");
  if (!tables.ok()) return {tables.status().ToString()};
  if (tables->empty()) return {"no table is published"};
  std::vector<std::string> differences;
  for (const auto& row : *tables) {
    for (std::string& line : CompareTable(follower, *row[0], *row[1]))
      differences.push_back(absl::StrCat(*row[1], ": ", line));
  }
  return differences;
}

std::vector<std::string> Oracle::CompareTable(Follower& follower,
                                              const std::string& schema,
                                              const std::string& table) {
  const std::string relation =
      absl::StrCat(Quoted(schema, '"'), ".", Quoted(table, '"'));
  const std::string stored =
      schema == "public" ? table : absl::StrCat(schema, ".", table);
  const absl::StatusOr<PgRows> columns = session_->Exec(ColumnsSql(relation));
  if (!columns.ok()) return {columns.status().ToString()};
  std::vector<std::string> names, expressions;
  for (const auto& column : *columns) {
    const auto known = expected_.find(*column[1]);
    if (known == expected_.end())
      return {absl::StrCat("nobody knows what ", *column[1], " is stored as")};
    names.push_back(Quoted(*column[0], '"'));
    // Some expressions give text for NULL too; a row of NULLs "is null".
    expressions.push_back(absl::StrCat(
        "case num_nulls(", names.back(), ") when 0 then (select ",
        known->second, " from (select ", names.back(), " as v) x) end"));
  }
  const absl::StatusOr<PgRows> published = session_->Exec(absl::StrCat(
      "select ", absl::StrJoin(expressions, ", "), " from ", relation));
  if (!published.ok()) return {published.status().ToString()};
  StoredRows expected;
  for (const auto& row : *published) {
    std::vector<std::string>& values = expected.emplace_back();
    for (const auto& value : row) values.push_back(value.value_or("null"));
  }

  const std::optional<StoredRows> found_names =
      follower.Query(absl::StrCat("select name from pragma_table_info(",
                                  Quoted(stored, '\''), ") order by cid"));
  std::vector<std::string> found_columns;
  for (const auto& row : found_names.value_or(StoredRows()))
    found_columns.push_back(Quoted(row[0].substr(5), '"'));
  if (found_columns != names)
    return {absl::StrCat("has columns ", absl::StrJoin(found_columns, ", "),
                         " instead of ", absl::StrJoin(names, ", "))};
  std::optional<StoredRows> found = follower.Query(absl::StrCat(
      "select ", absl::StrJoin(names, ", "), " from ", Quoted(stored, '"')));
  if (!found.has_value()) return {"cannot be read"};

  std::sort(expected.begin(), expected.end());
  std::sort(found->begin(), found->end());
  return Describe(Surplus(expected, *found), Surplus(*found, expected), names);
}

}  // namespace sublite::testing
