// One publisher and the devices that follow it, as a role that has LOGIN,
// REPLICATION and SELECT and no more.
//
// The tables are t (id int primary key, v text) and u (no key). One server per
// test binary, one database per test. Threads: one.
#ifndef SUBLITE_TESTS_FLEET_FLEET_FIXTURE_H_
#define SUBLITE_TESTS_FLEET_FLEET_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/fleet/device.h"
#include "tests/support/pg_server.h"

namespace sublite::testing {

class FleetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  static int major() { return server_->major_version(); }
  void Sql(const std::string& sql);
  std::string Scalar(const std::string& sql);
  std::string SlotPosition(const std::string& slot);
  std::string Slots();  // names, in order, with commas
  // For a device, as the role.
  std::string Conninfo() const;
  // Until the device has both tables as the publisher has them.
  void AwaitSame(Device& device);
  void AwaitConfirmed(const std::string& slot);

  std::unique_ptr<PgSession> session_;

 private:
  static std::unique_ptr<PgServer> server_;
  static int databases_;
  std::string database_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FLEET_FLEET_FIXTURE_H_
