// What the tests of the real publisher share: one server for the whole test
// program, a database, a publisher and a stop signal for each test.
//
// Threads: the test's own, unless a test says otherwise.
#ifndef SUBLITE_TESTS_IO_PUBLISHER_FIXTURE_H_
#define SUBLITE_TESTS_IO_PUBLISHER_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "applier/io/libpq_publisher.h"
#include "applier/stop_signal.h"
#include "tests/support/pg_server.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {

class PublisherTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  // Runs SQL in the test's database; a failure fails the test.
  void Sql(const std::string& sql);
  std::string Scalar(const std::string& sql);

  // As the superuser over the socket, unless `conninfo` says otherwise.
  std::unique_ptr<LibpqPublisher> MakePublisher(
      const std::string& conninfo = "", const StreamLimits& limits = {});
  // The same, connected.
  std::unique_ptr<LibpqPublisher> Connected(const std::string& conninfo = "",
                                            const StreamLimits& limits = {});
  std::string Conninfo() const { return server().Conninfo(database_); }

  // All rows of a table, without their newlines, in the order of arrival.
  absl::StatusOr<std::vector<std::string>> ReadRows(
      LibpqPublisher& publisher, const std::string& table,
      const std::string& schema = "public");

  static PgServer& server() { return *server_; }
  // True where the server is of this major version or later.
  static bool Since(int major) { return server_->major_version() >= major; }

  StopSignal stop_;
  std::string database_;
  std::unique_ptr<PgSession> session_;

 private:
  static PgServer* server_;
};

// Requests the stop after `delay`, in a thread that is joined by destruction.
class StopLater {
 public:
  StopLater(StopSignal* stop, absl::Duration delay)
      : thread_([stop, delay] {
          absl::SleepFor(delay);
          stop->Request();
        }) {}
  ~StopLater() { thread_.join(); }

 private:
  std::thread thread_;
};

// How long `what` takes.
absl::Duration Measure(const std::function<void()>& what);

// What a call may take to end when it is told to stop. The promise is 200 ms;
// the machine that runs the tests may be busy.
inline constexpr absl::Duration kStopBound = absl::Seconds(3);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_IO_PUBLISHER_FIXTURE_H_
