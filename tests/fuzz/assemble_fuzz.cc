// Assembling and staging, without SQLite: any sequence of messages through
// Decode, Assembler and Spool, beside StreamModel.
//
// Required: the Assembler refuses a message exactly where the model does, with
// DataLoss; each step is the one that is due; a transaction that is due,
// or prepared, holds exactly the messages of the model's list, from memory and
// from the spool's file; records survive being packed as the file keeps them,
// and a packed record that lost its end is refused.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "applier/assembler.h"
#include "applier/spill_file.h"
#include "applier/staging.h"
#include "applier/wire/decode.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sequence.h"
#include "tests/fuzz/stream_model.h"

namespace sublite::testing {
namespace {

using Due = StreamModel::Due;

class Connection {
 public:
  explicit Connection(std::string_view input)
      : sequence_(input, model_, Lsn(0x10000)) {}

  void Run() {
    while (std::optional<Event> event = sequence_.Next()) {
      if (event->kind == Event::Kind::kReconnect) {
        Connect();
      } else if (event->kind == Event::Kind::kMessage) {
        OnMessage(event->message);
      }
    }
  }

 private:
  void Connect() {
    model_.Connect();
    assembler_ = Assembler();
    spools_.clear();
  }

  void OnMessage(const std::string& bytes) {
    DecodeContext context = sequence_.context();
    context.in_stream_block = assembler_.in_stream_block();
    const absl::StatusOr<Message> message = Decode(bytes, context, scratch_);
    if (!message.ok()) return Connect();
    Due due;
    const bool fits = model_.Take(*message, bytes, &due);
    const absl::StatusOr<Step> step = assembler_.Next(*message);
    absl::Status status = step.status();
    if (status.ok() && fits) status = Do(*step, bytes, due);
    Require(status.ok() == fits,
            fits ? "a message that fits is refused"
                 : "a message is taken that "
                   "cannot come here",
            absl::StrCat(std::string(MessageName(*message)), " ",
                         status.ToString()));
    if (fits) return;
    Require(absl::IsDataLoss(status), "a misplaced message has another code",
            status.ToString());
    Connect();
  }

  void Is(const Due& due, Due::Kind kind, const Step& step) {
    Require(due.kind == kind, "another step is due",
            absl::StrCat(static_cast<int>(step.action)));
    if (kind != Due::Kind::kNothing && kind != Due::Kind::kNote) {
      Require(due.xid == step.xid, "a step of another transaction");
    }
  }

  absl::Status Do(const Step& step, const std::string& bytes, const Due& due) {
    ++serial_;
    switch (step.action) {
      case Action::kNothing:
      case Action::kDescribe:
        Is(due, Due::Kind::kNothing, step);
        break;
      case Action::kBegin:
        Is(due, Due::Kind::kBegin, step);
        break;
      case Action::kApply:
        Is(due, Due::Kind::kApply, step);
        break;
      case Action::kCommit:
        Is(due, Due::Kind::kCommit, step);
        break;
      case Action::kOpenSpool:
        Is(due, Due::Kind::kNothing, step);
        spools_[step.xid] =
            std::make_unique<Spool>(spill_, Spool::Limit::kCounts);
        break;
      case Action::kStage: {
        const absl::Status staged = Find(step.xid).Append(
            {step.subxid, serial_, assembler_.in_stream_block(), false, bytes});
        if (!staged.ok()) return staged;
        Is(due, Due::Kind::kStaged, step);
        Require(due.message.subxid == step.subxid,
                "a step of another subtransaction");
        break;
      }
      case Action::kVoid:
        Is(due, Due::Kind::kNothing, step);
        Find(step.xid).AbortSubtransaction(step.subxid);
        break;
      case Action::kDiscard:
        Is(due, Due::Kind::kNothing, step);
        spools_.erase(step.xid);
        break;
      case Action::kReplay:
        Is(due, Due::Kind::kReplay, step);
        Compare(step.xid, due.work);
        break;
      case Action::kSeal:
        Is(due, Due::Kind::kPrepared, step);
        Compare(step.xid, due.work);
        break;
      case Action::kCommitPrepared:
        Is(due, Due::Kind::kCommitPrepared, step);
        break;
      case Action::kRollbackPrepared:
        Is(due, Due::Kind::kRollbackPrepared, step);
        break;
      case Action::kNote:
        Is(due, Due::Kind::kNote, step);
        break;
    }
    return absl::OkStatus();
  }

  Spool& Find(Xid xid) {
    const auto found = spools_.find(xid);
    Require(found != spools_.end(),
            "a step asks for a spool that was never "
            "opened");
    return *found->second;
  }

  void Compare(Xid xid, const std::vector<ModelMessage>& work) {
    const auto found = spools_.find(xid);
    if (found == spools_.end()) {
      return Require(work.empty(), "a transaction has no spool");
    }
    std::size_t at = 0;
    std::string packed;
    const absl::Status status =
        found->second->ForEach([&](const StagedRecord& record) {
          Require(at < work.size() && record.message == *work[at].bytes &&
                      record.subxid == work[at].subxid &&
                      record.in_stream_block == work[at].in_stream &&
                      record.describes() == work[at].describes,
                  "a staged message is another one");
          ++at;
          if (packed.size() < kPackedMax) AppendRecord(record, &packed);
          return absl::OkStatus();
        });
    Require(status.ok(), "a spool cannot be read", status.ToString());
    Require(at == work.size(), "staged messages are missing");
    ComparePacked(packed, work);
    spools_.erase(found);
  }

  static void ComparePacked(std::string_view packed,
                            const std::vector<ModelMessage>& work) {
    for (std::size_t at = 0; !packed.empty(); ++at) {
      const std::size_t size = packed.size();
      const absl::StatusOr<StagedRecord> record = TakeRecord(&packed);
      Require(record.ok() && record->message == *work[at].bytes &&
                  record->subxid == work[at].subxid,
              "a packed record is another one");
      if (!packed.empty()) continue;
      std::string_view cut(record->message.data() - 17, size - 1);
      Require(absl::IsDataLoss(TakeRecord(&cut).status()),
              "a packed record without its end is taken");
    }
  }

  // Little memory, so that small transactions go through the file as well.
  static SpillOptions Options() {
    SpillOptions options;
    options.directory = ScratchFolder();
    options.free_min = 0;
    options.memory_max = 2 * SpillFile::kPage;
    return options;
  }

  static constexpr std::size_t kPackedMax = 256 << 10;

  StreamModel model_;
  Sequence sequence_;
  Assembler assembler_;
  SpillFile spill_{Options()};
  std::map<Xid, std::unique_ptr<Spool>> spools_;
  DecodeScratch scratch_;
  std::uint64_t serial_ = 0;
};

}  // namespace
}  // namespace sublite::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  sublite::testing::Connection(
      std::string_view(reinterpret_cast<const char*>(data), size))
      .Run();
  return 0;
}
