#include "applier/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr absl::Duration kReceivePatience = absl::Milliseconds(100);
constexpr absl::Duration kHousekeepingEvery = absl::Milliseconds(250);
constexpr absl::Duration kProgressLoggedEvery = absl::Seconds(5);
// A stream that ends at once, again and again, is no reason to come back
// quickly.
constexpr absl::Duration kHeldLongEnough = absl::Seconds(30);
constexpr absl::Duration kCatalogPause = absl::Seconds(1);
constexpr absl::Duration kCatalogEvery = absl::Seconds(60);

std::string DirectoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Session::Session(const Config& config, Replica& replica, Publisher& publisher,
                 SessionMemory& memory, std::function<bool()> stop,
                 std::function<void(std::string_view)> report)
    : config_(config),
      replica_(replica),
      publisher_(publisher),
      memory_(memory),
      stop_(std::move(stop)),
      report_(std::move(report)),
      copy_(replica, publisher, config, memory.ended, stop_,
            [this](const ReplicaTable& table, std::int64_t rows,
                   double expected) { CopyProgress(table, rows, expected); }),
      chunks_(
          replica, copy_, config, stop_,
          [this](const ReplicaTable& table, std::int64_t rows,
                 double expected) { CopyProgress(table, rows, expected); }) {}

void Session::CopyProgress(const ReplicaTable& table, std::int64_t rows,
                           double expected) {
  // What is copied whole begins again when it is interrupted.
  if (table.partial != nullptr) copied_ = true;
  const std::string of =
      expected > 0
          ? absl::StrCat(" of about ", static_cast<std::int64_t>(expected))
          : "";
  Progress(absl::StrCat("copying ", table.shape.FullName(), ": ", rows, of,
                        " rows"));
}

void Session::NoteConnected() {
  Metrics& metrics = replica_.metrics();
  metrics.connects.Add(1);
  metrics.connected.Set(1);
  metrics.contact_at.Set(absl::ToUnixMicros(absl::Now()));
  metrics.publisher_lsn.Set(
      static_cast<std::int64_t>(identity_.wal_end.value()));
  // Until the stream begins.
  metrics.SetPhase(Phase::kCopying);
}

SessionEnd Session::Run() {
  const absl::Status status = Work();
  replica_.metrics().connected.Set(0);
  replica_.metrics().SetPhase(Phase::kWaiting);
  replica_.Rollback();
  SessionEnd end = Judge(status);
  const absl::Duration held = streamed_from_.has_value()
                                  ? absl::Now() - streamed_at_
                                  : absl::ZeroDuration();
  end.progressed = held >= kHeldLongEnough || copied_ ||
                   (streamed_from_.has_value() &&
                    replica_.state().applied.value_or(Lsn()) > *streamed_from_);
  if (end.next == SessionEnd::Next::kReopen) return end;
  const absl::Status reloaded = replica_.Reload();
  if (!reloaded.ok() && end.next != SessionEnd::Next::kStop)
    return {end.next, reloaded, false, end.progressed};
  return end;
}

void Session::Progress(const std::string& text) {
  report_(text);
  const absl::Time now = absl::Now();
  if (now - progress_logged_at_ < kProgressLoggedEvery) return;
  progress_logged_at_ = now;
  LogInfo(text);
}

SessionEnd Session::Judge(const absl::Status& status) {
  if (stop_() || absl::IsCancelled(status))
    return {SessionEnd::Next::kStop, status};
  if (replica_.files_changed()) return {SessionEnd::Next::kReopen, status};
  if (restart_) return {SessionEnd::Next::kAgain, status, true};
  if (refused_.has_value()) return {SessionEnd::Next::kWait, status};
  // A publisher that let this replica in before may do so again: a role that is
  // locked, or a database that is moved, for a while.
  if (absl::IsFailedPrecondition(status) && !connected_ &&
      replica_.state().applied.has_value()) {
    replica_.metrics().CountError(ErrorKind::kConnection);
    return {SessionEnd::Next::kWait, status};
  }
  if (absl::IsFailedPrecondition(status)) {
    return {on_publisher_ ? SessionEnd::Next::kNeedsPerson
                          : SessionEnd::Next::kWait,
            status};
  }
  return {SessionEnd::Next::kAgain, status};
}

absl::Status Session::Work() {
  RETURN_IF_ERROR(replica_.CheckFiles());
  replica_.metrics().SetPhase(Phase::kConnecting);
  report_("connecting to the publisher");
  RETURN_IF_ERROR(replica_.SetActivity(""));
  RETURN_IF_ERROR(ChooseSlot());
  ASSIGN_OR_RETURN(identity_, publisher_.Connect());
  connected_ = true;
  NoteConnected();
  ASSIGN_OR_RETURN(const auto standbys,
                   publisher_.Query("show synchronous_standby_names"));
  synchronous_ =
      !standbys.empty() && !standbys[0].empty() && !standbys[0][0].empty();
  facts_.version = identity_.server_version;
  facts_.version_text = identity_.server_version_text;
  facts_.in_recovery = identity_.in_recovery;
  if (config_.publisher.binary) {
    ASSIGN_OR_RETURN(const auto encoding,
                     publisher_.Query("show server_encoding"));
    if (!encoding.empty() && !encoding[0].empty())
      facts_.encoding = encoding[0][0];
  }
  RETURN_IF_ERROR(KnowPublisher());
  RETURN_IF_ERROR(AskRetention(absl::Now()));
  RETURN_IF_ERROR(TakeRequests());
  RETURN_IF_ERROR(RetryFailed(absl::Now()));
  RETURN_IF_ERROR(CopyWaiting(/*whole=*/false));
  return Stream();
}

// ------------------------------------------------------------------------------------------------
// the slot

absl::Status Session::KnowPublisher() {
  ASSIGN_OR_RETURN(const Publications* read, ReadCatalog());
  const Publications& publications = *read;
  if (!publications.missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the publisher has no publication ",
                     absl::StrJoin(publications.missing, ", "),
                     ": create it there, or mend publisher.publications"));
  }
  ASSIGN_OR_RETURN(SlotState slot, publisher_.ReadSlot(slot_));
  RETURN_IF_ERROR(CheckSlot(slot));
  RETURN_IF_ERROR(replica_.SetPublications(config_.publisher.publications));
  const bool fresh = !replica_.state().applied.has_value();
  ASSIGN_OR_RETURN(const std::string no_copy, CopySlot(&slot));
  std::string gap =
      fresh ? std::string() : FindGap(WhatWeFollowed(), identity_, slot, slot_);
  if (!gap.empty() && !no_copy.empty()) gap = no_copy;
  if (gap.empty() && !fresh) gap = memory_.undecodable;
  RETURN_IF_ERROR(CheckOwner(slot, !gap.empty()));
  // One that is made anew is made as it is wanted.
  facts_.slot = fresh || !gap.empty() ? SlotState() : slot;
  RETURN_IF_ERROR(Agree());
  if (fresh) {
    RETURN_IF_ERROR(StartAnew(slot, publications));
  } else {
    RETURN_IF_ERROR(gap.empty() ? GoOn(slot)
                                : ReplaceSlot(slot, publications, gap));
  }
  RETURN_IF_ERROR(copy_.DropHidden());
  RETURN_IF_ERROR(Reconcile(publications, false));
  RETURN_IF_ERROR(DropUnpublished(publications));
  return chunks_.Resume(publications);
}

absl::Status Session::CheckSlot(const SlotState& slot) const {
  if (slot.exists && slot.plugin != "pgoutput") {
    return absl::FailedPreconditionError(
        absl::StrCat("slot ", slot_, " belongs to another program (plugin ",
                     slot.plugin, "): choose another publisher.slot"));
  }
  if (slot.exists && slot.database != identity_.database) {
    return absl::FailedPreconditionError(absl::StrCat(
        "slot ", slot_, " belongs to database ", slot.database, ", not ",
        identity_.database, ": choose another publisher.slot"));
  }
  const std::string wait = WhyWait(WhatWeFollowed(), identity_, slot);
  if (!wait.empty()) return absl::UnavailableError(wait);
  return absl::OkStatus();
}

Followed Session::WhatWeFollowed() const {
  const ReplicaState& state = replica_.state();
  Followed followed;
  followed.applied = state.applied.value_or(Lsn());
  followed.system_identifier = state.system_identifier;
  followed.timeline = state.timeline;
  followed.timeline_began = state.timeline_began;
  followed.slot_on_standby = state.slot_on_standby;
  return followed;
}

// Follows the slot from our position.
absl::Status Session::GoOn(const SlotState& slot) {
  if (agreed_.enable_failover) {
    RETURN_IF_ERROR(publisher_.EnableFailover(slot_));
    facts_.slot.failover = true;
  }
  const std::uint32_t was = replica_.state().timeline;
  return replica_.Transaction([&]() -> absl::Status {
    RETURN_IF_ERROR(NoteMoved());
    if (replica_.state().slot_is_new()) RETURN_IF_ERROR(Adopt(slot));
    if (was != 0 && was != identity_.timeline) {
      const std::string detail = absl::StrCat(
          "the publisher failed over from timeline ", was, " to ",
          identity_.timeline, "; slot ", slot_, " at ",
          slot.confirmed_flush.ToString(), " goes on without a gap");
      LogInfo(detail);
      RETURN_IF_ERROR(
          replica_.AddEvent("failover", "", replica_.state().applied, detail));
    }
    return replica_.SetPublisher(identity_);
  });
}

absl::Status Session::Agree() {
  facts_.undecodable.clear();
  for (const auto& table : replica_.tables()) {
    if (table->state == TableState::kUnpublished) continue;
    if (facts_.undecodable.empty())
      facts_.undecodable = Undecodable(table->shape);
  }
  // Of tables that are not here yet only the catalog knows.
  for (const PublishedTable& published : catalog_.tables) {
    if (facts_.undecodable.empty())
      facts_.undecodable =
          Undecodable(copy_.ShapeOf(published, catalog_.types));
  }
  agreed_ = Negotiate(config_, facts_);
  copy_.SetBinary(agreed_.binary_copies);
  for (const Note& note : agreed_.notes) {
    if (note.level == Note::Level::kRefuse)
      return absl::FailedPreconditionError(note.text);
    if (!memory_.said.insert(absl::StrCat(facts_.version, " ", note.text))
             .second)
      continue;
    Log(note.level == Note::Level::kWarn ? LogLevel::kWarn : LogLevel::kInfo,
        note.text);
  }
  return absl::OkStatus();
}

absl::StatusOr<CreatedSlot> Session::MakeSlot(const SlotState& old) {
  // That it is this replica's has to outlast a power loss.
  RETURN_IF_ERROR(replica_.Sync());
  if (old.exists) {
    const absl::Status dropped = publisher_.DropSlot(slot_);
    if (!dropped.ok() && !absl::IsNotFound(dropped)) return dropped;
  }
  SlotOptions options;
  options.name = slot_;
  options.two_phase = agreed_.slot_two_phase;
  options.failover = agreed_.slot_failover;
  memory_.slot_watch.Reset();
  report_(absl::StrCat("creating slot ", options.name));
  ASSIGN_OR_RETURN(
      CreatedSlot created,
      publisher_.CreateSlot(options, [this](std::string_view whom) {
        const std::string text =
            absl::StrCat("creating the slot waits for ", View(whom));
        Progress(text);
        if (text == waits_for_) return;
        waits_for_ = text;
        const absl::Status noted = replica_.SetActivity(text);
        if (!noted.ok())
          LogWarn("cannot note it in the replica",
                  {{"error", std::string(noted.message())}});
      }));
  RETURN_IF_ERROR(replica_.SetActivity(""));
  LogInfo(
      "created the replication slot",
      {{"slot", options.name}, {"lsn", created.consistent_point.ToString()}});
  if (identity_.in_recovery) {
    // Promoted meanwhile, and the slot may be one that standbys copy?
    ASSIGN_OR_RETURN(const auto standby,
                     publisher_.Query("select pg_is_in_recovery()"));
    identity_.in_recovery =
        standby.size() == 1 && standby[0].size() == 1 && standby[0][0] == "t";
  }
  facts_.slot = SlotState();
  facts_.slot.exists = true;
  facts_.slot.two_phase = options.two_phase;
  facts_.slot.failover = options.failover;
  copy_.SetSlotSnapshot(created.snapshot);
  memory_.undecodable.clear();
  memory_.ended.Clear();
  memory_.streaming_pause.Clear();
  return created;
}

absl::Status Session::StartAnew(const SlotState& slot,
                                const Publications& publications) {
  if (slot.exists) {
    const std::string detail =
        absl::StrCat("gap: slot ", slot_,
                     " is there, but this file holds nothing of it; "
                     "the slot is made anew and everything is copied");
    LogWarn(detail);
    RETURN_IF_ERROR(replica_.AddEvent("gap", "", slot.confirmed_flush, detail));
  }
  RETURN_IF_ERROR(replica_.SetState("copying"));
  RETURN_IF_ERROR(
      replica_.Transaction([&] { return replica_.SetPublisher(identity_); }));
  ASSIGN_OR_RETURN(const CreatedSlot created, MakeSlot(slot));
  // Tables that were published before the slot began need no more than their
  // snapshot; see WritersGone for later ones.
  return replica_.Transaction([&]() -> absl::Status {
    RETURN_IF_ERROR(replica_.SetSlot(slot_, identity_, created));
    RETURN_IF_ERROR(replica_.SetHome(config_.replica.machine));
    return Reconcile(publications, true);
  });
}

// ------------------------------------------------------------------------------------------------
// the stream

StreamOptions Session::ChooseStreamOptions() const {
  StreamOptions options;
  options.slot = slot_;
  options.start = *replica_.state().applied;
  options.protocol_version = agreed_.protocol_version;
  options.publications = config_.publisher.publications;
  options.streaming = agreed_.streaming;
  options.two_phase = agreed_.two_phase;
  options.binary = agreed_.binary;
  options.messages = agreed_.messages;
  options.origin_none = agreed_.origin_none;
  return options;
}

ApplierOptions Session::ChooseApplierOptions(const StreamOptions& options) {
  ApplierOptions chosen;
  chosen.protocol_version = options.protocol_version;
  chosen.parallel_streaming = options.streaming == Streaming::kParallel;
  chosen.keep_messages = config_.publisher.messages;
  chosen.binary = options.binary;
  chosen.status_interval = config_.publisher.status_interval;
  chosen.spill.directory = DirectoryOf(replica_.path());
  chosen.spill.bytes_max = config_.replica.spill_limit;
  chosen.doubt_prepared =
      identity_.timeline != replica_.state().slot_timeline &&
      !replica_.state().slot_on_standby;
  chosen.still_fits = [this](const ReplicaTable& table, Lsn commit_lsn) {
    return StillFits(table, commit_lsn);
  };
  chosen.stop = stop_;
  chosen.skip = skip_;
  return chosen;
}

absl::Status Session::Stream() {
  RETURN_IF_ERROR(Agree());
  if (memory_.streaming_pause.active() &&
      agreed_.streaming != Streaming::kOff) {
    agreed_.streaming = Streaming::kOff;
    RETURN_IF_ERROR(replica_.SetActivity(
        absl::StrCat("transactions in progress are not streamed for now: ",
                     memory_.streaming_pause.why())));
  }
  const StreamOptions options = ChooseStreamOptions();
  memory_.slot_watch.Reset();
  ASSIGN_OR_RETURN(const std::unique_ptr<ReplicationStream> stream,
                   publisher_.StartReplication(options));
  RETURN_IF_ERROR(CheckHeldSlot(options));
  on_publisher_ = false;
  streamed_from_ = options.start;
  streamed_at_ = absl::Now();
  RETURN_IF_ERROR(replica_.SetState(chunks_wait_ ? "copying" : "streaming"));
  RETURN_IF_ERROR(NoteHold());
  LogInfo("streaming", {{"lsn", options.start.ToString()},
                        {"slot", options.slot},
                        {"with", Describe(agreed_)}});
  report_(absl::StrCat("streaming from ", options.start.ToString()));

  Applier applier(replica_, copy_, memory_.ended,
                  ChooseApplierOptions(options));

  absl::Status status = StreamLoop(*stream, applier);
  if (applier.failed_table().has_value()) {
    const Applier::FailedTable& failed = *applier.failed_table();
    return StartOverWithout(
        failed.id, {failed.why, failed.commit_lsn, absl::ZeroDuration()});
  }
  if (applier.needs_text()) {
    restart_ = true;
  } else if (applier.spill_full().has_value() &&
             options.streaming != Streaming::kOff) {
    RETURN_IF_ERROR(PauseStreaming(*applier.spill_full()));
  } else if (applier.refused().has_value()) {
    replica_.metrics().CountError(ErrorKind::kTransaction);
    return OnRefused(*applier.refused());
  }
  return status;
}

absl::Status Session::StreamLoop(ReplicationStream& stream, Applier& applier) {
  std::vector<Frame> frames;
  while (true) {
    NoteProgress(stream, applier, absl::Now());
    frames.clear();
    const absl::Status received = stream.Receive(
        chunks_wait_ ? chunk_patience_ : kReceivePatience, &frames);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const absl::Time now = absl::Now();
      RETURN_IF_ERROR(applier.Consume(frames[i].bytes(), now));
      frames[i] = Frame();
      const bool more = i + 1 < frames.size() || stream.HasMore();
      RETURN_IF_ERROR(applier.Tick(now, more));
      if (applier.TakeConfirm()) stream.Confirm(applier.positions(), true);
      if (stop_()) break;
    }
    const absl::Time now = absl::Now();
    if (stop_() || !received.ok()) {
      // What is whole is kept, and told, before the connection goes.
      RETURN_IF_ERROR(applier.Finish(now));
      stream.Confirm(applier.positions(), true);
      if (stop_()) return absl::CancelledError("told to stop");
      return absl::IsNotFound(received) ? OnUndecodable(received) : received;
    }
    RETURN_IF_ERROR(applier.Tick(now, stream.HasMore()));
    stream.Confirm(applier.positions(), applier.TakeConfirm());
    RETURN_IF_ERROR(BetweenTransactions(applier, now));
    if (chunks_wait_ && applier.at_boundary())
      RETURN_IF_ERROR(CopyChunks(applier.reached(), stream.HasMore()));
  }
}

absl::Status Session::BetweenTransactions(Applier& applier, absl::Time now) {
  if (!applier.at_boundary()) return absl::OkStatus();
  catalog_due_ = applier.TakeCatalogDue() || catalog_due_;
  if ((catalog_due_ && now - catalog_read_at_ >= kCatalogPause) ||
      now - catalog_read_at_ >= kCatalogEvery) {
    catalog_due_ = false;
    RETURN_IF_ERROR(RefreshCatalog());
  }
  if (now - requests_read_at_ < kHousekeepingEvery) return absl::OkStatus();
  requests_read_at_ = now;
  RETURN_IF_ERROR(replica_.CheckFiles());
  RETURN_IF_ERROR(TakeRequests());
  applier.SetSkip(skip_);
  RETURN_IF_ERROR(TryStreamingAgain(now));
  RETURN_IF_ERROR(RetryFailed(now));
  RETURN_IF_ERROR(AskRetention(now));
  return CopyWaiting(/*whole=*/false);
}

}  // namespace sublite
