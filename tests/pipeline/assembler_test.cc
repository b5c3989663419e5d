// Every message in every state of one connection.
#include "applier/assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Xid kTop = 700;
constexpr Xid kSub = 701;
constexpr Xid kOther = 800;  // streamed earlier, undecided

// The states that a connection can be in.
enum State { kIdle, kTransaction, kPrepare, kStreamBlock, kStates };
const char* const kStateNames[] = {"idle", "in Begin", "in Begin Prepare",
                                   "in a stream block"};

BeginMessage Begin() { return {Lsn(100), PgTime(), kTop}; }
CommitMessage Commit(std::uint64_t lsn) { return {Lsn(lsn), Lsn(110), {}}; }
StreamStartMessage Start(Xid xid, bool first) { return {xid, first}; }
BeginPrepareMessage BeginPrepare() {
  return {Lsn(100), Lsn(110), PgTime(), kTop, "g"};
}
PrepareMessage Prepare(Xid xid, std::uint64_t lsn, std::string_view gid) {
  return {Lsn(lsn), Lsn(110), PgTime(), xid, gid};
}

Assembler In(State state) {
  Assembler assembler;
  // A transaction that was streamed before and is open in every state.
  EXPECT_OK(assembler.Next(Start(kOther, true)));
  EXPECT_OK(assembler.Next(StreamStopMessage()));
  switch (state) {
    case kIdle:
    case kStates:
      break;
    case kTransaction:
      EXPECT_OK(assembler.Next(Begin()));
      break;
    case kPrepare:
      EXPECT_OK(assembler.Next(BeginPrepare()));
      break;
    case kStreamBlock:
      EXPECT_OK(assembler.Next(Start(kTop, true)));
      break;
  }
  return assembler;
}

std::string Shown(const absl::StatusOr<Step>& step) {
  if (!step.ok()) {
    EXPECT_EQ(step.status().code(), absl::StatusCode::kDataLoss);
    return "error";
  }
  const std::map<Action, std::string> names = {
      {Action::kNothing, "nothing"},
      {Action::kDescribe, "describe"},
      {Action::kBegin, "begin"},
      {Action::kApply, "apply"},
      {Action::kCommit, "commit"},
      {Action::kOpenSpool, "open"},
      {Action::kStage, "stage"},
      {Action::kVoid, "void"},
      {Action::kDiscard, "discard"},
      {Action::kReplay, "replay"},
      {Action::kSeal, "seal"},
      {Action::kCommitPrepared, "commit prepared"},
      {Action::kRollbackPrepared, "rollback prepared"},
      {Action::kNote, "note"},
  };
  std::string text = names.at(step->action);
  if (step->action == Action::kNothing || step->action == Action::kNote ||
      step->action == Action::kDescribe) {
    return text;
  }
  text += " " + std::to_string(step->xid);
  if (step->subxid != step->xid) text += "/" + std::to_string(step->subxid);
  return text;
}

struct Case {
  const char* name;
  Message message;
  std::vector<std::string> expected;  // by State
};

// A change with its xid is one of a stream block; outside it comes without.
std::vector<Case> ChangeCases() {
  InsertMessage insert;
  UpdateMessage update;
  DeleteMessage del;
  TruncateMessage truncate;
  LogicalMessage logical;
  logical.transactional = true;
  LogicalMessage note;
  const std::vector<std::string> plain = {"error", "apply 700", "stage 700",
                                          "stage 700"};
  const std::vector<std::string> of_sub = {"error", "apply 700", "stage 700",
                                           "stage 700/701"};
  std::vector<Case> cases = {
      {"Insert", insert, plain},
      {"Update", update, plain},
      {"Delete", del, plain},
      {"Truncate", truncate, plain},
      {"transactional Message", logical, plain},
      {"Message", note, {"note", "note", "note", "note"}},
  };
  insert.xid = update.xid = del.xid = truncate.xid = logical.xid = kSub;
  cases.push_back({"Insert of a subtransaction", insert, of_sub});
  cases.push_back({"Update of a subtransaction", update, of_sub});
  cases.push_back({"Delete of a subtransaction", del, of_sub});
  cases.push_back({"Truncate of a subtransaction", truncate, of_sub});
  cases.push_back({"Message of a subtransaction", logical, of_sub});
  RelationMessage relation;
  cases.push_back({"Relation",
                   relation,
                   {"describe", "describe", "describe", "stage 700"}});
  relation.xid = kSub;
  cases.push_back({"Relation of a subtransaction",
                   relation,
                   {"describe", "describe", "describe", "stage 700/701"}});
  cases.push_back(
      {"Type", TypeMessage(), {"nothing", "nothing", "nothing", "nothing"}});
  cases.push_back(
      {"Origin", OriginMessage(), {"error", "nothing", "nothing", "nothing"}});
  return cases;
}

std::vector<Case> ControlCases() {
  return {
      {"Begin", Begin(), {"begin 700", "error", "error", "error"}},
      {"Begin of a streamed one",
       BeginMessage{Lsn(100), PgTime(), kOther},
       {"error", "error", "error", "error"}},
      {"Commit", Commit(100), {"error", "commit 700", "error", "error"}},
      {"Commit of another", Commit(101), {"error", "error", "error", "error"}},
      {"Stream Start",
       Start(900, true),
       {"open 900", "error", "error", "error"}},
      {"Stream Start, further",
       Start(kOther, false),
       {"nothing", "error", "error", "error"}},
      {"Stream Start, begun twice",
       Start(kOther, true),
       {"error", "error", "error", "error"}},
      {"Stream Start, never begun",
       Start(900, false),
       {"error", "error", "error", "error"}},
      {"Stream Stop",
       StreamStopMessage(),
       {"error", "error", "error", "nothing"}},
      {"Stream Commit",
       StreamCommitMessage{kOther, Lsn(100), Lsn(110), {}},
       {"replay 800", "error", "error", "error"}},
      {"Stream Commit of none",
       StreamCommitMessage{900, Lsn(100), Lsn(110), {}},
       {"error", "error", "error", "error"}},
      {"Stream Abort",
       StreamAbortMessage{kOther, kOther, {}, {}},
       {"discard 800", "error", "error", "error"}},
      {"Stream Abort of a subtransaction",
       StreamAbortMessage{kOther, 801, {}, {}},
       {"void 800/801", "error", "error", "error"}},
      // PostgreSQL 18 was seen to abort what it never streamed.
      {"Stream Abort of none",
       StreamAbortMessage{900, 900, {}, {}},
       {"nothing", "error", "error", "error"}},
  };
}

std::vector<Case> PreparedCases() {
  return {
      {"Begin Prepare",
       BeginPrepare(),
       {"open 700", "error", "error", "error"}},
      {"Begin Prepare of a streamed one",
       BeginPrepareMessage{Lsn(100), Lsn(110), {}, kOther, "g"},
       {"error", "error", "error", "error"}},
      // PostgreSQL 18 sends no Begin Prepare for one without changes.
      {"Prepare",
       Prepare(kTop, 100, "g"),
       {"seal 700", "error", "seal 700", "error"}},
      {"Prepare of another transaction",
       Prepare(702, 100, "g"),
       {"seal 702", "error", "error", "error"}},
      {"Prepare at another place",
       Prepare(kTop, 101, "g"),
       {"seal 700", "error", "error", "error"}},
      {"Prepare under another name",
       Prepare(kTop, 100, "h"),
       {"seal 700", "error", "error", "error"}},
      {"Prepare of a streamed one",
       Prepare(kOther, 100, "g"),
       {"error", "error", "error", "error"}},
      {"Commit Prepared",
       CommitPreparedMessage{Lsn(100), Lsn(110), {}, 650, "old"},
       {"commit prepared 650", "error", "error", "error"}},
      {"Rollback Prepared",
       RollbackPreparedMessage{Lsn(90), Lsn(110), {}, {}, 650, "old"},
       {"rollback prepared 650", "error", "error", "error"}},
      {"Commit Prepared of a streamed one",
       CommitPreparedMessage{Lsn(100), Lsn(110), {}, kOther, "old"},
       {"commit prepared 800", "error", "error", "error"}},
      {"Rollback Prepared of a streamed one",
       RollbackPreparedMessage{Lsn(90), Lsn(110), {}, {}, kOther, "old"},
       {"rollback prepared 800", "error", "error", "error"}},
      {"Stream Prepare",
       StreamPrepareMessage{Lsn(100), Lsn(110), {}, kOther, "g"},
       {"seal 800", "error", "error", "error"}},
      {"Stream Prepare of none",
       StreamPrepareMessage{Lsn(100), Lsn(110), {}, 900, "g"},
       {"error", "error", "error", "error"}},
  };
}

void RunCases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    for (int state = 0; state < kStates; ++state) {
      Assembler assembler = In(static_cast<State>(state));
      EXPECT_EQ(Shown(assembler.Next(c.message)),
                c.expected[static_cast<std::size_t>(state)])
          << c.name << ", " << kStateNames[state];
    }
  }
}

TEST(AssemblerTest, ChangesInEveryState) { RunCases(ChangeCases()); }

TEST(AssemblerTest, ControlMessagesInEveryState) { RunCases(ControlCases()); }

TEST(AssemblerTest, PreparedTransactionsInEveryState) {
  RunCases(PreparedCases());
}

TEST(AssemblerTest, TellsWhetherATransactionIsOpen) {
  EXPECT_TRUE(In(kIdle).between_transactions());
  EXPECT_FALSE(In(kTransaction).between_transactions());
  EXPECT_FALSE(In(kPrepare).between_transactions());
  EXPECT_FALSE(In(kStreamBlock).between_transactions());
  EXPECT_TRUE(In(kStreamBlock).in_stream_block());
  EXPECT_FALSE(In(kPrepare).in_stream_block());
}

TEST(AssemblerTest, StreamedTransactionsInterleave) {
  Assembler assembler;
  InsertMessage insert;
  insert.xid = 11;
  EXPECT_EQ(Shown(assembler.Next(Start(10, true))), "open 10");
  EXPECT_EQ(Shown(assembler.Next(insert)), "stage 10/11");
  EXPECT_EQ(Shown(assembler.Next(StreamStopMessage())), "nothing");
  EXPECT_EQ(Shown(assembler.Next(Start(20, true))), "open 20");
  EXPECT_EQ(Shown(assembler.Next(StreamStopMessage())), "nothing");
  EXPECT_EQ(Shown(assembler.Next(Begin())), "begin 700");
  EXPECT_EQ(Shown(assembler.Next(Commit(100))), "commit 700");
  EXPECT_EQ(Shown(assembler.Next(Start(10, false))), "nothing");
  EXPECT_EQ(Shown(assembler.Next(insert)), "stage 10/11");
  EXPECT_EQ(Shown(assembler.Next(StreamStopMessage())), "nothing");
  EXPECT_EQ(Shown(assembler.Next(StreamAbortMessage{10, 11, {}, {}})),
            "void 10/11");
  EXPECT_EQ(Shown(assembler.Next(StreamAbortMessage{20, 20, {}, {}})),
            "discard 20");
  // Both ends are final.
  EXPECT_EQ(Shown(assembler.Next(StreamAbortMessage{20, 20, {}, {}})),
            "nothing");
  EXPECT_EQ(Shown(assembler.Next(Start(20, false))), "error");
  EXPECT_EQ(
      Shown(assembler.Next(StreamCommitMessage{10, Lsn(200), Lsn(210), {}})),
      "replay 10");
  EXPECT_EQ(
      Shown(assembler.Next(StreamCommitMessage{10, Lsn(200), Lsn(210), {}})),
      "error");
  // The id may come again, a wrap-around later.
  EXPECT_EQ(Shown(assembler.Next(Start(10, true))), "open 10");
}

TEST(AssemblerTest, AnErrorNamesBothMessages) {
  Assembler assembler = In(kTransaction);
  EXPECT_THAT(assembler.Next(Start(900, true)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("Stream Start"), HasSubstr("700"),
                             HasSubstr("Begin"))));
  EXPECT_THAT(assembler.Next(Commit(101)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("0/65"), HasSubstr("0/64"))));
}

}  // namespace
}  // namespace sublite::testing
