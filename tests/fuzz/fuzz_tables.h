// The publisher's tables that sequences of messages speak of, and what is in
// them before a sequence begins.
//
// One for each way in which a row is named: a primary key, the whole row, a
// replica identity index, not at all; and one that is published but unknown to
// the replica.
#ifndef SUBLITE_TESTS_FUZZ_FUZZ_TABLES_H_
#define SUBLITE_TESTS_FUZZ_FUZZ_TABLES_H_

#include <optional>
#include <string>
#include <vector>

#include "schema/relation.h"
#include "tests/support/encode.h"

namespace sublite::testing {

inline constexpr int kTables = 4;    // that the replica has
inline constexpr int kStranger = 4;  // the one that it has not
inline constexpr int kAllTables = 5;

// As the catalog describes it; `wider` has a column more at its end.
const PublishedTable& FuzzTable(int table, bool wider = false);
const PgTypes& FuzzTypes();

// Ways in which a Relation message can differ from the catalog.
enum class Variant {
  kSame,
  kIdentity,  // another replica identity
  kRenamed,   // another name of the last column
  kWider,
  kType,
  kOid,
  kName,   // the stranger's name
  kFlags,  // other key flags
  kCount,
};

// The bytes of a Relation message; `detail` chooses among several of a variant.
std::string FuzzRelation(int table, Variant variant, int detail,
                         encode::MaybeXid xid);

using FuzzRow = std::vector<std::optional<std::string>>;
// No two have a key in common.
std::vector<FuzzRow> FuzzRows(int table);
// What a copy finds: the first so many, in the table's form then.
std::vector<FuzzRow> FuzzRows(int table, int count, bool wider);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_FUZZ_TABLES_H_
