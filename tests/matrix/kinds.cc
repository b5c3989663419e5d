#include "tests/matrix/kinds.h"

#include "absl/strings/str_cat.h"
#include "tests/schema/type_cases.h"

namespace sublite::testing {
namespace {

// No type has more special values.
constexpr int kSpecialRows = 8;

bool HasBinaryForm(const std::string& type) { return type != "regtype"; }

std::vector<Kind> MakeKinds() {
  std::vector<Kind> kinds;
  const auto add = [&](const std::string& type, const std::string& random,
                       const std::string& expected,
                       const std::string& special) {
    kinds.push_back(
        {absl::StrCat("c", kinds.size()), type, random, expected, special});
  };
  for (const ScalarCase& scalar : ScalarCases()) {
    const std::string type = scalar.type;
    if (!HasBinaryForm(type)) continue;
    if (type == "money") {
      // Amounts beyond 15 digits have more than one right form.
      add(type, "((whole() % 100000000000)::numeric / 100)",
          ExpectedSql(scalar), "'0.01', '-0.01'");
    } else {
      add(type, scalar.random, ExpectedSql(scalar), scalar.special);
    }
  }
  for (const ElementCase& element : ElementCases()) {
    const std::string type = absl::StrCat(element.type, "[]");
    // Other lower bounds keep PostgreSQL's own text.
    add(type, RandomArraySql(element, "1", "3"), ExpectedSql(element),
        "'{}', '{NULL}', '[0:0]={NULL}'");
  }
  return kinds;
}

}  // namespace

const std::vector<Kind>& Kinds() {
  static const auto& kinds = *new std::vector<Kind>(MakeKinds());
  return kinds;
}

std::string CreateKindsSql() {
  std::string sql = "create table kinds (id integer primary key";
  for (const Kind& kind : Kinds())
    absl::StrAppend(&sql, ", ", kind.column, " ", kind.type);
  return sql + ");";
}

std::string InsertKindsSql(int id, int count) {
  std::string random = absl::StrCat("select ", id, " + i");
  std::string special = absl::StrCat("select ", id + count, " + i");
  for (const Kind& kind : Kinds()) {
    absl::StrAppend(&random, ", (", kind.random, ")::", kind.type);
    absl::StrAppend(&special, ", (array[", kind.special,
                    ", null]::text[])[i]::", kind.type);
  }
  return absl::StrCat("insert into kinds ", random, " from generate_series(1, ",
                      count, ") i; insert into kinds ", special,
                      " from generate_series(1, ", kSpecialRows, ") i;");
}

std::string ShiftKindsSql(int id, int count) {
  std::string set;
  for (const Kind& kind : Kinds())
    absl::StrAppend(&set, set.empty() ? "" : ", ", kind.column, " = o.",
                    kind.column);
  return absl::StrCat("update kinds k set ", set,
                      " from kinds o where o.id = k.id + 1 and k.id > ", id,
                      " and k.id <= ", id + count, ";");
}

}  // namespace sublite::testing
