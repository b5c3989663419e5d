// Whose slot it is: copies of a file beside their original, files with another
// slot than before, and files of an earlier sublite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class PipelineSlotTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    first_ = path_;
    twin_ = ::testing::TempDir() + "/twin.db";
    for (const char* end : {"", "-wal", "-shm"})
      std::remove((twin_ + end).c_str());
    config_.replica.machine = "one";
    t_ = AddTable("t", 'd', {"id int4 k"});
    Insert(t_, {{"1"}});
    Caught();
  }

  // A copy of the file as it is, to be followed on another machine.
  void MakeTwin() {
    Write(absl::StrCat("vacuum into '", twin_, "'"));
    // On another path and machine, as a disk that was cloned has neither.
    ForgetHome(twin_);
  }
  void ForgetHome(const std::string& path) {
    const std::string was = std::exchange(path_, path);
    Write("update sublite_state set home_machine = '', home_path = ''");
    path_ = was;
  }
  // The process that follows ends, and one that follows `path` begins.
  void Switch(const std::string& path) {
    Kill();
    path_ = path;
  }
  std::string Text(const std::string& sql) {
    const std::vector<std::string> rows = Query(sql);
    return rows.size() == 1 ? rows[0] : "";
  }
  std::string Slot() { return Text("select slot from sublite_status"); }
  std::string FileId() { return Text("select file_id from sublite_status"); }
  // One session, and another under its new name where it took another slot.
  void Caught() {
    SessionEnd end = Follow();
    if (end.at_once) end = Follow();
    EXPECT_EQ(end.next, SessionEnd::Next::kStop) << end.status;
    EXPECT_EQ(Compare(), "");
  }
  void CaughtWithoutACopy() {
    const int reads = publisher_.table_reads;
    Caught();
    EXPECT_EQ(publisher_.table_reads, reads);
  }
  int next_ = 1;
  void Change() { Insert(t_, {{std::to_string(++next_)}}); }
  FakeSlot& Other(const std::string& name) {
    publisher_.SelectSlot(name);
    return publisher_.slot;
  }

  int t_ = 0;
  std::string first_;
  std::string twin_;
};

TEST_F(PipelineSlotTest, TheReplicaIntroducesItself) {
  EXPECT_THAT(FileId(), SizeIs(16 + 2));  // "t:" and 16 digits
  EXPECT_EQ("t:" + publisher_.introduced_as.substr(8), FileId());
  EXPECT_THAT(publisher_.introduced_as, StartsWith("sublite "));
  const std::string id = FileId();
  Kill();
  Caught();
  EXPECT_EQ(FileId(), id);
}

TEST_F(PipelineSlotTest, NamesOfSlots) {
  EXPECT_EQ(OwnSlotName("s", "0123456789abcdef"), "s_01234567");
  // PostgreSQL takes 63 characters.
  EXPECT_EQ(OwnSlotName(std::string(63, 's'), "0123456789abcdef"),
            std::string(54, 's') + "_01234567");
  ReplicaState state;
  state.slot = "s_01234567";
  EXPECT_EQ(SlotFor("s", state), "s");
  state.slot_asked = "s";
  EXPECT_EQ(SlotFor("s", state), "s_01234567");
  EXPECT_EQ(SlotFor("other", state), "other");
}

// The twin's copy is older than the slot. It cannot be told from a file that
// was restored, once.
TEST_F(PipelineSlotTest, TwoFilesByTurnsDoNotTakeTheSlotFromEachOtherForEver) {
  MakeTwin();
  Change();
  Caught();
  Switch(twin_);
  Change();
  Caught();
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("restored or cloned")));
  EXPECT_EQ(Slot(), "t:s");
  // The first finds the slot past itself, and so does then the twin, which has
  // seen that before.
  Switch(first_);
  Change();
  Caught();
  EXPECT_EQ(Slot(), "t:s");
  Switch(twin_);
  Change();
  Caught();
  EXPECT_THAT(Slot(), StartsWith("t:s_"));
  EXPECT_THAT(Events("twin"), ElementsAre(HasSubstr("not for the first time")));
  EXPECT_THAT(Text("select slot_note from sublite_status"),
              HasSubstr("pg_drop_replication_slot('s')"));
  // From now on each has its own.
  for (const std::string& path : {first_, twin_, first_, twin_}) {
    Switch(path);
    Change();
    CaughtWithoutACopy();
  }
}

// A slot that is not past the file is copied, and no table is.
TEST_F(PipelineSlotTest, AnotherSlotIsMadeFromTheOneBefore) {
  const std::string id = FileId();
  Kill();
  config_.publisher.slot = "another";
  Change();
  CaughtWithoutACopy();
  EXPECT_THAT(Events("gap"), IsEmpty());
  EXPECT_THAT(Events("slot"), ElementsAre(HasSubstr("a copy of s")));
  EXPECT_EQ(Slot(), "t:another");
  EXPECT_NE(FileId(), id);
  EXPECT_TRUE(Other("s").state.exists);
  Kill();
  Change();
  CaughtWithoutACopy();
  EXPECT_THAT(Events("slot"), SizeIs(1));
}

TEST_F(PipelineSlotTest, AnotherSlotThatIsThereAlready) {
  Kill();
  ASSERT_OK(publisher_.CopySlot("s", "another"));
  config_.publisher.slot = "another";
  Change();
  CaughtWithoutACopy();
  EXPECT_THAT(Events("slot"), ElementsAre(HasSubstr("goes on from")));
}

// It may be another device's, so it is not made anew.
TEST_F(PipelineSlotTest, AnotherSlotThatIsPastTheFileIsLeftAlone) {
  Kill();
  ASSERT_OK(publisher_.CopySlot("s", "another"));
  Change();
  Other("another").state.confirmed_flush = model_.end();
  config_.publisher.slot = "another";
  CaughtWithoutACopy();
  EXPECT_THAT(Slot(), StartsWith("t:another_"));
  EXPECT_THAT(Events("twin"), ElementsAre(HasSubstr("has never followed it")));
  EXPECT_THAT(publisher_.dropped_slots, IsEmpty());
  EXPECT_EQ(Other("another").state.confirmed_flush, model_.end());
}

TEST_F(PipelineSlotTest, NothingToMakeAnotherSlotFrom) {
  Kill();
  Change();
  publisher_.slot.state.confirmed_flush = model_.end();
  config_.publisher.slot = "another";
  config_.replica.on_gap = OnGap::kStop;
  const SessionEnd end = Follow();
  EXPECT_EQ(end.next, SessionEnd::Next::kNeedsPerson);
  EXPECT_THAT(
      std::string(end.status.message()),
      HasSubstr("SELECT pg_copy_logical_replication_slot('…', 'another')"));
  config_.replica.on_gap = OnGap::kResync;
  Caught();
  EXPECT_EQ(Slot(), "t:another");
  EXPECT_THAT(publisher_.dropped_slots, IsEmpty());
}

// It moves between the look and the copy.
TEST_F(PipelineSlotTest, TheSourceMovesWhileItIsCopied) {
  Kill();
  Change();
  config_.publisher.slot = "another";
  publisher_.on_copy_slot = [&] {
    publisher_.slot.state.confirmed_flush = model_.end();
  };
  Caught();
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("past this file's")));
  EXPECT_EQ(Slot(), "t:another");
}

TEST_F(PipelineSlotTest, AKillAtTheCopyOfTheSlot) {
  Kill();
  Change();
  config_.publisher.slot = "another";
  publisher_.on_copy_slot = [] { throw Killed(); };
  EXPECT_THROW(RunSession(), Killed);
  Kill(true);
  publisher_.on_copy_slot = nullptr;
  CaughtWithoutACopy();
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// In use by a process that is not this one, and going on.
TEST_F(PipelineSlotTest, ASlotThatIsInUse) {
  MakeTwin();
  Switch(twin_);
  FakeSlot& slot = publisher_.slot;
  slot.state.active = true;
  slot.state.active_pid = 77;
  slot.state.active_name = publisher_.introduced_as;
  SessionEnd end = Follow();
  EXPECT_EQ(end.next, SessionEnd::Next::kAgain);
  EXPECT_THAT(std::string(end.status.message()),
              HasSubstr("process 77 (sublite "));
  EXPECT_THAT(std::string(end.status.message()),
              HasSubstr("the identity of this very file"));
  EXPECT_THAT(Events("twin"), IsEmpty());
  Change();
  slot.state.confirmed_flush = model_.end();
  end = Follow();
  EXPECT_TRUE(end.at_once);
  EXPECT_THAT(Events("twin"), ElementsAre(HasSubstr("it moved from")));
  Caught();
  EXPECT_THAT(Slot(), StartsWith("t:s_"));
  EXPECT_TRUE(Other("s").state.active);
  EXPECT_THAT(publisher_.dropped_slots, IsEmpty());
}

// Two devices with one slot by mistake: the later has nothing yet.
TEST_F(PipelineSlotTest, AFreshFileLeavesASlotThatIsInUse) {
  owner_patience_ = absl::Hours(1);
  Switch(twin_);
  publisher_.slot.state.active = true;
  publisher_.slot.state.active_pid = 77;
  EXPECT_EQ(Follow().next, SessionEnd::Next::kAgain);
  // Its owner loses the connection: it is not made anew at once.
  publisher_.slot.state.active = false;
  const SessionEnd end = Follow();
  EXPECT_EQ(end.next, SessionEnd::Next::kAgain);
  EXPECT_THAT(std::string(end.status.message()),
              HasSubstr("whether its owner comes back"));
  publisher_.slot.state.active = true;
  publisher_.slot.state.active_pid = 78;
  EXPECT_TRUE(Follow().at_once);
  Caught();
  EXPECT_THAT(Slot(), StartsWith("t:s_"));
  EXPECT_THAT(publisher_.dropped_slots, IsEmpty());
}

TEST_F(PipelineSlotTest, APersonMayWantToDecide) {
  Kill();
  config_.replica.on_gap = OnGap::kStop;
  publisher_.slot.state.active = true;
  publisher_.slot.state.active_pid = 7;
  EXPECT_EQ(Follow().next, SessionEnd::Next::kAgain);
  publisher_.slot.state.active_pid = 8;
  const std::string id = FileId();
  const SessionEnd end = Follow();
  EXPECT_EQ(end.next, SessionEnd::Next::kNeedsPerson);
  EXPECT_THAT(std::string(end.status.message()),
              HasSubstr("a publisher.slot of its own"));
  EXPECT_EQ(Slot(), "t:s");
  EXPECT_EQ(FileId(), id);
}

// On another machine, and the slot went on without the file.
TEST_F(PipelineSlotTest, ACopyOnAnotherMachine) {
  Write(absl::StrCat("vacuum into '", twin_, "'"));
  Change();
  Caught();
  Switch(twin_);
  config_.replica.machine = "two";
  Caught();
  EXPECT_THAT(Events("twin"), ElementsAre(HasSubstr("on another machine")));
  EXPECT_THAT(Slot(), StartsWith("t:s_"));
  Switch(first_);
  config_.replica.machine = "one";
  Change();
  CaughtWithoutACopy();
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// A disk that was put into another machine.
TEST_F(PipelineSlotTest, AFileThatMoved) {
  owner_patience_ = absl::Hours(1);
  Kill();
  config_.replica.machine = "two";
  SessionEnd end = Follow();
  EXPECT_EQ(end.next, SessionEnd::Next::kAgain);
  EXPECT_THAT(std::string(end.status.message()),
              HasSubstr("whether its owner comes back"));
  owner_patience_ = absl::ZeroDuration();
  Kill();
  Change();
  CaughtWithoutACopy();
  EXPECT_EQ(Slot(), "t:s");
  EXPECT_THAT(Events("moved"), SizeIs(1));
  Kill();
  Caught();
  EXPECT_THAT(Events("moved"), SizeIs(1));
}

// The original is still beside it, on the same machine.
TEST_F(PipelineSlotTest, ACopyBesideTheOriginal) {
  Write(absl::StrCat("vacuum into '", twin_, "'"));
  Switch(twin_);
  CaughtWithoutACopy();
  EXPECT_THAT(Events("twin"), ElementsAre(HasSubstr("which is still there")));
  EXPECT_THAT(Slot(), StartsWith("t:s_"));
  Switch(first_);
  Change();
  CaughtWithoutACopy();
  EXPECT_THAT(Events("twin"), IsEmpty());
}

TEST_F(PipelineSlotTest, AFileThatWasRenamed) {
  Write(absl::StrCat("vacuum into '", twin_, "'"));
  Kill();
  for (const char* end : {"", "-wal", "-shm"})
    std::remove((first_ + end).c_str());
  Switch(twin_);
  Change();
  CaughtWithoutACopy();
  EXPECT_EQ(Slot(), "t:s");
  EXPECT_THAT(Events("twin"), IsEmpty());
}

// The slot that it made before it was killed is its own.
TEST_F(PipelineSlotTest, AKillWhileEverythingIsCopiedAfterARestore) {
  for (int i = 0; i < 2; ++i) {
    Change();
    // Passed once before.
    Kill();
    Write("update sublite_state set slot_passed = 1");
    publisher_.slot = FakeSlot();
    publisher_.on_read_table = [](const std::string&) -> absl::Status {
      throw Killed();
    };
    EXPECT_THROW(RunSession(), Killed);
    Kill(i == 1);
    publisher_.on_read_table = nullptr;
    Caught();
    EXPECT_EQ(Slot(), "t:s");
    EXPECT_THAT(Events("twin"), IsEmpty());
  }
}

// The server would begin at the slot's position in silence.
TEST_F(PipelineSlotTest, TheSlotMovesJustBeforeItIsUsed) {
  Kill();
  Change();
  bool moved = false;
  publisher_.on_start = [&] {
    if (!moved) publisher_.slot.state.confirmed_flush = model_.end();
    moved = true;
  };
  const SessionEnd end = Follow();
  EXPECT_EQ(end.next, SessionEnd::Next::kAgain);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("was moved to"));
  EXPECT_THAT(Rows("t"), ElementsAre("i:1"));
  Caught();
  EXPECT_THAT(Events("gap"), SizeIs(1));
}

// What the file has staged comes again whole, or is decided; never twice.
TEST_F(PipelineSlotTest, PreparedWorkWithACopiedSlot) {
  const FullXid staged = model_.Begin();
  EXPECT_TRUE(model_.Insert(staged, t_, {"100"}));
  model_.Prepare(staged, "staged");
  const FullXid undone = model_.Begin();
  EXPECT_TRUE(model_.Insert(undone, t_, {"101"}));
  model_.Prepare(undone, "undone");
  Caught();
  EXPECT_EQ(Int("select prepared from sublite_status"), 2);
  Kill();
  config_.publisher.slot = "another";
  Change();
  Caught();
  EXPECT_EQ(Int("select prepared from sublite_status"), 2);
  model_.CommitPrepared(staged);
  model_.RollbackPrepared(undone);
  CaughtWithoutACopy();
  EXPECT_EQ(Int("select prepared from sublite_status"), 0);
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:100", "i:2"));
  EXPECT_THAT(Events("gap"), IsEmpty());
}

// A slot that does not decode at PREPARE brings the work with its COMMIT.
TEST_F(PipelineSlotTest, PreparedWorkWithoutTwoPhase) {
  const FullXid staged = model_.Begin();
  EXPECT_TRUE(model_.Insert(staged, t_, {"100"}));
  model_.Prepare(staged, "staged");
  Caught();
  Kill();
  config_.publisher.slot = "another";
  config_.publisher.two_phase = false;
  Caught();
  EXPECT_EQ(Int("select prepared from sublite_status"), 0);
  model_.CommitPrepared(staged);
  CaughtWithoutACopy();
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:100"));
}

// A slot that has sent a PREPARE to somebody else does not send it again: where
// the file has not staged it, the COMMIT PREPARED is a gap.
TEST_F(PipelineSlotTest, PreparedWorkThatAnotherFileGot) {
  ASSERT_OK(publisher_.CopySlot("s", "another"));
  publisher_.slot.state.two_phase = true;
  publisher_.slot.two_phase_at = publisher_.slot.state.confirmed_flush;
  const FullXid prepared = model_.Begin();
  EXPECT_TRUE(model_.Insert(prepared, t_, {"100"}));
  model_.Prepare(prepared, "g");
  Kill();
  Caught();
  Write("delete from sublite_prepared; delete from sublite_staged");
  Kill();
  config_.publisher.slot = "another";
  Follow();
  EXPECT_EQ(Slot(), "t:another");
  model_.CommitPrepared(prepared);
  Caught();
  EXPECT_THAT(Events("gap"), ElementsAre(HasSubstr("never came")));
  EXPECT_THAT(Rows("t"), ElementsAre("i:1", "i:100"));
}

// A file that an earlier sublite made gets what it lacks.
TEST_F(PipelineSlotTest, AFileOfAnEarlierSublite) {
  Kill();
  Write("drop view sublite_status");
  Write(
      "create view sublite_status as select state, slot, applied_pos from "
      "sublite_state");
  for (const char* column :
       {"slot_from", "slot_asked", "slot_making", "slot_passed", "slot_note",
        "file_id", "home_machine", "home_path"}) {
    Write(absl::StrCat("alter table sublite_state drop column ", column));
  }
  Write("alter table sublite_tables drop column unpublished_since");
  Change();
  CaughtWithoutACopy();
  EXPECT_THAT(FileId(), SizeIs(16 + 2));
  EXPECT_EQ(Slot(), "t:s");
}

TEST_F(PipelineSlotTest, ATableSaysSinceWhenItIsUnpublished) {
  const auto since = [&] {
    return Text("select unpublished_since from sublite_tables");
  };
  EXPECT_EQ(since(), "null");
  model_.Publish(t_, false);
  Kill();
  Follow();
  const std::string left = since();
  EXPECT_EQ(Text("select state from sublite_tables"), "t:unpublished");
  EXPECT_EQ(Text("select unpublished_since between '2024' and '2999' and "
                 "unpublished_since like '%+00:00' from sublite_tables"),
            "i:1");
  Kill();
  Follow();
  EXPECT_EQ(since(), left);
  model_.Publish(t_, true);
  Kill();
  Caught();
  EXPECT_EQ(since(), "null");
  EXPECT_EQ(Text("select state from sublite_tables"), "t:ready");
}

}  // namespace
}  // namespace sublite::testing
