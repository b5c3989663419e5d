// The program sublite on one device: a folder of its own, a replica file in it,
// and a process that follows into it.
//
// Ownership: the process goes with the object (SIGKILL), the folder is Bazel's
// to remove. Errors fail the test (gtest), with the end of sublite's log.
// Threads: one.
#ifndef SUBLITE_TESTS_FLEET_DEVICE_H_
#define SUBLITE_TESTS_FLEET_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"

namespace sublite::testing {

class Device {
 public:
  using Flags = std::vector<std::string>;

  // Publication `pub` at `conninfo`; `name` is that of the folder.
  Device(const std::string& name, const std::string& conninfo);

  void Start(const Flags& flags);
  // SIGTERM; it has to end in order.
  void Stop();
  // SIGKILL.
  void Kill();
  // Another command than run, or a run that ends by itself: its exit code.
  int Command(const std::string& command, const Flags& flags);

  // One value of one row, "" while the file or the table is not there.
  std::string Scalar(const std::string& sql) const;
  // By another program.
  void Write(const std::string& sql) const;
  // Until Scalar gives `value`.
  void Await(const std::string& sql, const std::string& value);
  int Events(const std::string& kind) const;

  const std::string& file() const { return file_; }
  std::string Log() const;

 private:
  std::vector<std::string> Line(const std::string& command,
                                const Flags& flags) const;

  std::string conninfo_;
  std::string folder_;
  std::string file_;
  std::unique_ptr<Subprocess> process_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FLEET_DEVICE_H_
