// What the tests of failover and of publishing from a standby share: real
// servers, and sublite that runs as `sublite run` does, in a thread.
//
// The table is t (id int primary key, v text) in publication pub. Waiting is
// for something to become true, with a bound that only a fault reaches.
//
// Threads: the test's own, beside sublite's.
#ifndef SUBLITE_TESTS_FAILOVER_FAILOVER_FIXTURE_H_
#define SUBLITE_TESTS_FAILOVER_FAILOVER_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "applier/config.h"
#include "applier/io/libpq_publisher.h"
#include "applier/stop_signal.h"
#include "applier/supervisor.h"
#include "tests/support/pg_server.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {

inline constexpr absl::Duration kPatience = absl::Seconds(90);

class FailoverTest : public ::testing::Test {
 protected:
  FailoverTest();
  ~FailoverTest() override;
  void TearDown() override;

  // The primary with t and pub. False (and the test is to be skipped) where
  // the server is older than `major`.
  bool StartPrimary(int major, const PgServerOptions& options = {});
  // On the primary unless told otherwise; a failure fails the test.
  void Sql(const std::string& sql) { Sql(*primary_, sql); }
  void Sql(PgServer& server, const std::string& sql);
  std::string Scalar(PgServer& server, const std::string& sql);

  // "host=a,b port=1,2 user=postgres dbname=postgres".
  static std::string Hosts(const std::vector<const PgServer*>& servers);

  // `sublite run` with config_, until StopSublite or the end of the test.
  void StartSublite(const std::string& conninfo);
  // How it ended; OK is by the stop.
  absl::Status StopSublite();
  bool running() const { return supervisor_ != nullptr; }

  // As a reader of the file; "" while it has no such table yet.
  std::string Read(const std::string& sql);
  // By another program.
  void Write(const std::string& sql);
  // Until the file's answer is `value`; says what it was otherwise.
  void Await(const std::string& sql, const std::string& value);
  // Until t is there what it is on `server`.
  void AwaitSame(PgServer& server);
  void AwaitTrue(const std::string& what, const std::function<bool()>& is);
  // What was logged since the start of the test, a line each.
  static std::vector<std::string> LogLines();
  std::vector<std::string> Events(const std::string& kind);

  std::unique_ptr<PgServer> primary_;
  Config config_;
  std::string path_;

 private:
  std::string folder_;
  std::unique_ptr<StopSignal> stop_;
  std::unique_ptr<LibpqPublisher> publisher_;
  std::unique_ptr<Supervisor> supervisor_;
  absl::Status ended_;
  std::thread thread_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FAILOVER_FAILOVER_FIXTURE_H_
