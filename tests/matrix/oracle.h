// The file against its publisher: every row of every published table, where
// the publisher itself says in SQL what must be stored. Nothing of sublite
// takes part in that.
//
// Both have to be at rest meanwhile. Threads: one.
#ifndef SUBLITE_TESTS_MATRIX_ORACLE_H_
#define SUBLITE_TESTS_MATRIX_ORACLE_H_

#include <map>
#include <string>
#include <vector>

#include "tests/matrix/follower.h"
#include "tests/support/pg_server.h"

namespace sublite::testing {

class Oracle {
 public:
  // `session` has the settings of SessionSettingsSql() and outlives this; the
  // table `kinds` is there, whose columns' types are those that are known.
  explicit Oracle(PgSession* session);

  // One line a difference; none if the file is right.
  std::vector<std::string> Compare(Follower& follower);

 private:
  std::vector<std::string> CompareTable(Follower& follower,
                                        const std::string& schema,
                                        const std::string& table);

  PgSession* const session_;
  // From a type, as format_type prints it, to SQL over v.
  std::map<std::string, std::string> expected_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_MATRIX_ORACLE_H_
