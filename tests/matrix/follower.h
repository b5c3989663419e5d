// The program sublite at work on a file, and an ordinary reader of that file.
//
// Ownership: the process goes with the object (SIGKILL), the folder of the
// file is Bazel's to remove. Errors fail the test (gtest), with the end of
// sublite's log. Threads: one.
#ifndef SUBLITE_TESTS_MATRIX_FOLLOWER_H_
#define SUBLITE_TESTS_MATRIX_FOLLOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/matrix/mode.h"
#include "tests/support/subprocess.h"

struct sqlite3;

namespace sublite::testing {

// Rows of values as text: "integer 5", "real <bits in hex>", "text x",
// "blob 00ff", "null".
using StoredRows = std::vector<std::vector<std::string>>;

class Follower {
 public:
  // Publication `pub`; the slot is named after the mode.
  Follower(const std::string& conninfo, const Mode& mode);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  void Start();
  // SIGKILL.
  void Kill();
  // SIGTERM; it has to end in order.
  void Stop();

  // The rows of a query; nothing where the file or a table is not there (yet).
  std::optional<StoredRows> Query(const std::string& sql);
  // The only value of the only row, without its type; "" if there is none.
  std::string Scalar(const std::string& sql);
  // Asks until Scalar gives `expected`; false, and a failed test, when sublite
  // ends or when it takes too long.
  bool WaitFor(const std::string& sql, const std::string& expected);

  const std::string& slot() const { return slot_; }
  std::string Log() const;

 private:
  std::string slot_;
  std::string folder_;
  std::unique_ptr<Subprocess> process_;
  sqlite3* database_ = nullptr;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_MATRIX_FOLLOWER_H_
