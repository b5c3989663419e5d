// Keeps a line that comes again and again from filling a log.
//
// The first kLinesPerWindow equal lines of a minute pass; the others are
// counted, and once the minute is over a summary tells how many there were. So
// a publisher that refuses a connection all night costs a few lines a minute,
// and a line that is new always passes at once. Bounded: the oldest line is
// forgotten when too many differ.
//
// Pure: the clock is an argument. Threads: one at a time.
#ifndef SUBLITE_APPLIER_REPEAT_GUARD_H_
#define SUBLITE_APPLIER_REPEAT_GUARD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace sublite {

class RepeatGuard {
 public:
  static constexpr int kLinesPerWindow = 5;
  static constexpr absl::Duration kWindow = absl::Minutes(1);
  static constexpr std::size_t kLinesMax = 256;

  struct Summary {
    std::string line;
    std::int64_t suppressed;
  };

  // True if `line` is to be written now.
  bool Pass(const std::string& line, absl::Time now);

  // Lines that were suppressed in a window that is over by now. Each is told
  // once.
  std::vector<Summary> TakeSummaries(absl::Time now);

 private:
  struct Entry {
    absl::Time since;
    std::int64_t count = 0;
  };
  void ForgetOldest();
  std::map<std::string, Entry> entries_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_REPEAT_GUARD_H_
