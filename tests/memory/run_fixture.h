// `sublite run` as a process of its own, behind a real server: for what can
// only be seen from outside, such as the memory that it takes.
//
// One server per test binary, one database and one replica file per test.
// SUBLITE_LONG in the environment makes the workloads as large as what is
// promised.
#ifndef SUBLITE_TESTS_MEMORY_RUN_FIXTURE_H_
#define SUBLITE_TESTS_MEMORY_RUN_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/pg_server.h"
#include "tests/support/replica_dump.h"
#include "tests/support/subprocess.h"

namespace sublite::testing {

class RunFixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  static PgServer& server() { return *server_; }
  static bool Long();
  // `otherwise`, or `large` where SUBLITE_LONG is set.
  static int Size(int otherwise, int large) {
    return Long() ? large : otherwise;
  }

  std::unique_ptr<PgSession> Connect();
  void Exec(PgSession& session, const std::string& sql);
  std::string Publisher(const std::string& sql);  // one value
  std::string Replica(const std::string& sql);    // one value

  // Starts `sublite run`, and waits until it follows.
  void Run(const std::vector<std::string>& flags = {});
  // Until all that is committed at the publisher by now is applied.
  void CatchUp();
  // Until `sql` gives `value` in the replica; fails the test after `limit`.
  void Until(const std::string& sql, const std::string& value);
  // The peak resident size of the running process so far.
  std::int64_t PeakBytes();
  // Begins a new peak.
  void ResetPeak();
  // SIGTERM; the process has to end well.
  void Stop();

  std::string database_;
  std::string file_;
  std::string log_;
  std::unique_ptr<PgSession> session_;
  std::unique_ptr<Subprocess> process_;

 private:
  std::string ProcFile(const char* name) const;
  std::string LogTail() const;

  static std::unique_ptr<PgServer> server_;
  static int databases_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_MEMORY_RUN_FIXTURE_H_
