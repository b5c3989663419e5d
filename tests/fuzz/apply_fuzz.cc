// The whole pipeline: any sequence of messages through the real Applier into a
// real file, beside ReplicaModel.
//
// Required: the Applier refuses a message exactly where the model does, with
// the same code; whatever comes, the file as another program sees it holds
// whole transactions only: after an error, a reconnect (orderly or not, with
// everything sent again or not) and at the end its rows, prepared transactions
// and messages are those of the model at the last commit, and its position is
// the one that was reported; what is reported as flushed is not ahead of it;
// positions never go back; nothing that was finished is left unwritten.
//
// With SUBLITE_FUZZ_TRACE set it prints what comes, to follow a finding.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "applier/applier.h"
#include "applier/spill_file.h"
#include "tests/fuzz/fuzz_replica.h"
#include "tests/fuzz/fuzz_tables.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/replica_model.h"
#include "tests/fuzz/sequence.h"
#include "tests/support/encode.h"

namespace sublite::testing {
namespace {

class Run {
 public:
  Run(FuzzReplica& files, std::string_view input)
      : files_(files),
        sequence_(input, model_.stream(), Lsn(0x10100)),
        now_(absl::FromUnixSeconds(1700000000)) {
    for (const CatalogAnswer& answer : files.publisher().catalog) {
      model_.SetCatalog(answer);
    }
  }

  void Play() {
    Connect();
    while (!model_.unsure() && errors_ < kErrorsMax) {
      std::optional<Event> event = sequence_.Next();
      if (!event.has_value()) break;
      On(*event);
    }
    if (model_.unsure()) return;
    End(true);
    CompareFile();
  }

 private:
  void On(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kMessage:
        OnMessage(event.message);
        break;
      case Event::Kind::kKeepalive:
        Consume(encode::Keepalive(event.wal_end, PgTime(), event.reply));
        model_.OnKeepalive(event.wal_end);
        Tick();
        break;
      case Event::Kind::kTick:
        more_ = event.more;
        now_ += absl::Seconds(event.seconds);
        Tick();
        break;
      case Event::Kind::kReconnect:
        Trace("reconnect");
        Reconnect(event);
        break;
      case Event::Kind::kCatalog:
        Trace(absl::StrCat("catalog of table ", event.catalog.table, ": ",
                           static_cast<int>(event.catalog.kind), ", at ",
                           event.catalog.position.ToString()));
        files_.publisher()
            .catalog[static_cast<std::size_t>(event.catalog.table)] =
            event.catalog;
        model_.SetCatalog(event.catalog);
        break;
    }
  }

  void OnMessage(const std::string& message) {
    sent_.push_back(message);
    const absl::Status expected = model_.OnMessage(
        message, sequence_.context(), sequence_.keep_messages(),
        *files_.replica().state().applied);
    if (model_.unsure()) return;
    const absl::Status status = applier_->Consume(
        encode::XLogData(Lsn(1), Lsn(1), PgTime(), message), now_);
    Trace(absl::StrCat(std::string(MessageName(message[0])), " ",
                       absl::CHexEscape(message.substr(1, 80)), " -> ",
                       expected.ToString(), " / ", status.ToString()));
    Require(status.code() == expected.code(),
            expected.ok() ? "a message that fits is refused"
                          : "a message is taken, or refused otherwise",
            absl::StrCat(std::string(MessageName(message[0])), ": expected ",
                         expected.ToString(), ", got ", status.ToString()));
    if (status.ok()) return Tick();
    ++errors_;
    applier_.reset();
    Connect();
  }

  static void Trace(const std::string& line) {
    static const bool wanted = std::getenv("SUBLITE_FUZZ_TRACE") != nullptr;
    if (wanted) std::cerr << line << std::endl;
  }

  void Consume(const std::string& frame) {
    const absl::Status status = applier_->Consume(frame, now_);
    Require(status.ok(), "a keepalive is refused", status.ToString());
  }

  void Tick() {
    now_ += absl::Milliseconds(10);
    const absl::Status status = applier_->Tick(now_, more_);
    Require(status.ok(), "a tick fails", status.ToString());
    NotePositions();
  }

  void NotePositions() {
    const Positions positions = applier_->positions();
    Require(positions.flushed <= positions.applied, "flushed before applied");
    Require(positions.applied >= position_, "the position goes back");
    Require(positions.applied <= model_.reached(), "the position is ahead");
    if (files_.replica().in_transaction()) return;
    // All that is written is committed.
    position_ = positions.applied;
    model_.Written();
  }

  // Ends the connection. `finish`: as when told to stop; otherwise as when it
  // is lost.
  void End(bool finish) {
    if (finish) {
      const absl::Status status = applier_->Finish(now_);
      Require(status.ok(), "the end fails", status.ToString());
      NotePositions();
      if (model_.stream().state() != StreamModel::State::kTransaction) {
        Require(
            !files_.replica().in_transaction() && position_ == model_.reached(),
            "something whole is left unwritten");
        Require(applier_->positions().flushed == position_,
                "something whole is left without a sync");
      }
    }
    applier_.reset();
  }

  void Reconnect(const Event& event) {
    End(event.finish);
    std::vector<std::string> again = std::move(sent_);
    Connect();
    if (!event.again || again.size() > kAgainMax || rounds_++ > kRoundsMax) {
      return;
    }
    for (const std::string& message : again) OnMessage(message);
  }

  void Connect() {
    Replica& replica = files_.replica();
    replica.Rollback();
    const absl::Status status = replica.Reload();
    Require(status.ok(), "the file cannot be read again", status.ToString());
    CompareFile();
    copy_ = files_.MakeCopy();
    ApplierOptions options;
    options.protocol_version = sequence_.context().protocol_version;
    options.parallel_streaming = sequence_.context().parallel_streaming;
    options.keep_messages = sequence_.keep_messages();
    options.spill.directory = files_.folder();
    options.spill.free_min = 0;
    options.spill.memory_max = 2 * SpillFile::kPage;
    applier_ = std::make_unique<Applier>(replica, *copy_, files_.ended(),
                                         std::move(options));
    model_.Connect(*replica.state().applied);
    sent_.clear();
  }

  void CompareFile() {
    std::string version = absl::StrCat(files_.Version(), " ", model_.writes());
    if (version == compared_) return;
    compared_ = std::move(version);
    const ModelState& state = model_.written();
    for (const ModelTable& table : state.tables) {
      std::vector<std::string> rows;
      for (const ModelRow& row : table.rows) {
        rows.push_back(absl::StrJoin(row, "|"));
      }
      Same(absl::StrCat("select * from \"", table.shape.name, "\""),
           std::move(rows));
    }
    std::vector<std::string> prepared;
    for (const ModelPrepared& work : state.prepared) {
      const auto changes =
          std::count_if(work.work.begin(), work.work.end(),
                        [](const ModelMessage& m) { return !m.describes; });
      prepared.push_back(absl::StrCat("i:", work.xid, "|t:", work.gid, "|t:",
                                      work.lsn.ToString(), "|i:", changes));
    }
    Same("select xid, gid, prepare_lsn, changes from sublite_prepared",
         std::move(prepared));
    std::vector<std::string> messages;
    for (const auto& [lsn, text] : state.messages) {
      messages.push_back(absl::StrCat("t:", lsn, "|t:", text));
    }
    Same(
        "select lsn, transactional || '|' || prefix || '|' || content from "
        "sublite_messages",
        std::move(messages));
    Same("select applied_pos from sublite_state",
         {absl::StrCat("i:", static_cast<std::int64_t>(position_.value()))});
  }

  void Same(const std::string& sql, std::vector<std::string> expected) {
    std::sort(expected.begin(), expected.end());
    const std::vector<std::string> found = files_.Query(sql);
    if (found == expected) return;
    Require(false, "the file holds something else",
            absl::StrCat(sql, "\n  found:    ", absl::StrJoin(found, ", "),
                         "\n  expected: ", absl::StrJoin(expected, ", ")));
  }

  static constexpr std::size_t kAgainMax = 200;
  static constexpr int kRoundsMax = 2;
  // What follows many errors brings little that is new.
  static constexpr int kErrorsMax = 5;

  FuzzReplica& files_;
  ReplicaModel model_;
  Sequence sequence_;
  absl::Time now_;
  bool more_ = false;
  Lsn position_ = FuzzReplica::kStart;
  std::unique_ptr<TableCopy> copy_;
  std::unique_ptr<Applier> applier_;
  std::vector<std::string> sent_;
  int rounds_ = 0;
  int errors_ = 0;
  std::string compared_;  // the file and the model when they were
};

}  // namespace
}  // namespace sublite::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static sublite::testing::FuzzReplica files;
  files.Reset();
  sublite::testing::Run(
      files, std::string_view(reinterpret_cast<const char*>(data), size))
      .Play();
  return 0;
}
