#include "applier/io/libpq_standby.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "applier/io/wait.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

// Transactions by their 64-bit ids, ascending.
using Xids = std::vector<std::uint64_t>;

absl::StatusOr<Xids> ParseXids(std::string_view text) {
  Xids xids;
  for (absl::string_view part :
       absl::StrSplit(View(text), ',', absl::SkipEmpty())) {
    std::uint64_t xid = 0;
    if (!absl::SimpleAtoi(part, &xid)) {
      return absl::DataLossError("a transaction's id is not a number");
    }
    xids.push_back(xid);
  }
  return xids;
}

// What may still run: `known` and all from `next` on. All others have ended.
struct Candidates {
  Xids known;
  std::uint64_t next = 0;
};

// SQL: the candidates before `end` that run now, as text.
std::string RunningSql(const Candidates& candidates, std::string_view end) {
  return absl::StrCat(
      "(SELECT coalesce(pg_catalog.string_agg(c.x::text, ',' ORDER BY c.x), '')"
      " FROM (SELECT x FROM pg_catalog.unnest('{",
      absl::StrJoin(candidates.known, ","),
      "}'::bigint[]) x UNION ALL SELECT x FROM pg_catalog.generate_series(",
      candidates.next, "::bigint, ", View(end),
      " - 1) x) c WHERE"
      " pg_catalog.pg_xact_status(c.x::text::xid8) = 'in progress')");
}

constexpr std::string_view kXmin =
    "pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())"
    "::text::bigint";
constexpr std::string_view kXmax =
    "pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())"
    "::text::bigint";

// The first look, which may have a wide range to go through.
absl::StatusOr<Candidates> FirstLook(Connection& helper,
                                     std::string_view doing) {
  ASSIGN_OR_RETURN(
      const Result range,
      helper.Query(absl::StrCat("SELECT ", View(kXmin), ", ", View(kXmax)),
                   doing));
  Candidates all;
  std::uint64_t end = 0;
  if (range.rows() != 1 ||
      !absl::SimpleAtoi(View(range.Get(0, 0)), &all.next) ||
      !absl::SimpleAtoi(View(range.Get(0, 1)), &end)) {
    return absl::DataLossError("the standby's snapshot has no range");
  }
  ASSIGN_OR_RETURN(
      const Result running,
      helper.Query(absl::StrCat("SELECT ", RunningSql(all, absl::StrCat(end))),
                   doing));
  Candidates left;
  ASSIGN_OR_RETURN(left.known, ParseXids(running.Get(0, 0)));
  left.next = end;
  return left;
}

struct Attempt {
  std::string exported;
  std::uint64_t xmin = 0;
  std::uint64_t xmax = 0;
  Xids before;                   // ran before the snapshot, and
  std::uint64_t before_end = 0;  // had not ended: all from here on
  Xids after;                    // run after it
};

// One message, so that little time passes between the two looks. Leaves
// `helper` in the transaction that keeps the snapshot.
absl::StatusOr<Attempt> TrySnapshot(Connection& helper,
                                    const Candidates& candidates,
                                    std::string_view doing) {
  ASSIGN_OR_RETURN(
      const Result result,
      helper.Query(
          absl::StrCat("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;"
                       " SELECT pg_catalog.set_config('sublite.running', ",
                       View(kXmax), " || ';' || ",
                       RunningSql(candidates, kXmax),
                       ", true); SELECT pg_catalog.pg_export_snapshot(), ",
                       View(kXmin), ", ", View(kXmax),
                       ", pg_catalog.current_setting('sublite.running'), ",
                       RunningSql(candidates, kXmax)),
          doing));
  Attempt attempt;
  const std::vector<std::string> before =
      absl::StrSplit(View(result.Get(0, 3)), ';');
  if (result.rows() != 1 || before.size() != 2 ||
      !absl::SimpleAtoi(View(result.Get(0, 1)), &attempt.xmin) ||
      !absl::SimpleAtoi(View(result.Get(0, 2)), &attempt.xmax) ||
      !absl::SimpleAtoi(before[0], &attempt.before_end)) {
    return absl::DataLossError("the standby's snapshot cannot be read");
  }
  attempt.exported = result.Text(0, 0);
  ASSIGN_OR_RETURN(attempt.before, ParseXids(before[1]));
  ASSIGN_OR_RETURN(attempt.after, ParseXids(result.Get(0, 4)));
  return attempt;
}

// No transaction that the snapshot could see ended between the two looks.
bool IsKnown(const Attempt& attempt) {
  const auto runs = [&](std::uint64_t xid) {
    return std::binary_search(attempt.after.begin(), attempt.after.end(), xid);
  };
  for (std::uint64_t xid = attempt.before_end; xid < attempt.xmax; ++xid) {
    if (!runs(xid)) return false;
  }
  return std::all_of(attempt.before.begin(), attempt.before.end(), runs);
}

absl::StatusOr<Snapshot> SnapshotOf(const Attempt& attempt) {
  Xids running;
  for (const std::uint64_t xid : attempt.after) {
    if (xid >= attempt.xmin && xid < attempt.xmax) running.push_back(xid);
  }
  return Snapshot::Parse(absl::StrCat(attempt.xmin, ":", attempt.xmax, ":",
                                      absl::StrJoin(running, ",")));
}

}  // namespace

absl::StatusOr<Snapshot> SetKnownSnapshot(Connection& reader,
                                          Connection& helper,
                                          std::string_view doing) {
  ASSIGN_OR_RETURN(Candidates candidates, FirstLook(helper, doing));
  const SteadyTime deadline = SteadyIn(kPatience);
  while (true) {
    ASSIGN_OR_RETURN(const Attempt attempt,
                     TrySnapshot(helper, candidates, doing));
    const bool known = IsKnown(attempt);
    if (known) {
      RETURN_IF_ERROR(reader
                          .Query(absl::StrCat("SET TRANSACTION SNAPSHOT ",
                                              QuoteLiteral(attempt.exported)),
                                 doing)
                          .status());
    }
    RETURN_IF_ERROR(helper.Query("ROLLBACK", doing).status());
    if (known) return SnapshotOf(attempt);
    if (SteadyNow() >= deadline) {
      return absl::UnavailableError(absl::StrCat(
          View(doing),
          ": transactions end too fast on this standby to tell which of them a "
          "snapshot sees; trying again"));
    }
    candidates.known = attempt.after;
    candidates.next = std::max(candidates.next, attempt.xmax);
  }
}

absl::StatusOr<std::vector<std::string>> ReadRunningTransactions(
    Connection& connection) {
  constexpr std::string_view kDoing = "reading which transactions run";
  ASSIGN_OR_RETURN(const Candidates ended, FirstLook(connection, kDoing));
  // A snapshot ends behind the newest transaction that has ended; newer ones
  // run too. age() tells the next id that will be given, in 32 bits.
  const std::string end = absl::StrCat(
      "(", ended.next, " + (((pg_catalog.age('3'::xid)::bigint + 3) - ",
      ended.next, ") & 4294967295))");
  ASSIGN_OR_RETURN(
      const Result result,
      connection.Query(absl::StrCat("SELECT ", RunningSql(ended, end)),
                       kDoing));
  ASSIGN_OR_RETURN(const Xids running, ParseXids(result.Get(0, 0)));
  std::vector<std::string> names;
  for (const std::uint64_t xid : running) {
    names.push_back(absl::StrCat("transaction ", xid));
  }
  return names;
}

}  // namespace sublite
