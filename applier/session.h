// One stay at the publisher: connect, know it again, copy what is missing,
// follow the stream until something ends it.
//
// Everything that lasts is in the Replica; a Session leaves nothing behind but
// what it committed there. The caller starts a new one after a pause, or ends
// the process, as SessionEnd says. Threads: one (the stream's receiver is
// inside Publisher).
#ifndef SUBLITE_APPLIER_SESSION_H_
#define SUBLITE_APPLIER_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "applier/applier.h"
#include "applier/chunk_copy.h"
#include "applier/config.h"
#include "applier/known_publisher.h"
#include "applier/negotiation.h"
#include "applier/publisher.h"
#include "applier/replica.h"
#include "applier/retry_plan.h"
#include "applier/slot_watch.h"
#include "applier/streaming_pause.h"
#include "applier/table_copy.h"

namespace sublite {

struct SessionEnd {
  enum class Next {
    kStop,    // told to stop
    kAgain,   // a passing trouble, or one table was put aside: go on after a
              // pause
    kWait,    // the replica refuses a transaction: try again seldom, a person
              // has to act
    kReopen,  // the replica's file was deleted or replaced: open what is there
              // now
    kNeedsPerson,  // trying again cannot help
  };
  Next next = Next::kAgain;
  absl::Status status;
  bool at_once = false;     // kAgain without a pause
  bool progressed = false;  // the stream brought something, or held for a
                            // while: pauses begin anew
};

// What a process remembers from one session to the next.
struct SessionMemory {
  EndedTransactions ended;
  StreamingPause streaming_pause;
  // Said to the log once, and not again at every connect.
  std::set<std::string> said;
  SlotWatch slot_watch;
  RetryPlan retries;
  // Why the slot cannot be followed although its position fits; "" if it can.
  std::string undecodable;
  // How often a copy that is made whole was begun, by table.
  std::map<std::int64_t, int> copies_tried;
};

class Session {
 public:
  // `stop` is asked often and also tells a watchdog that work goes on. `report`
  // is told what is being done, in a short text.
  Session(const Config& config, Replica& replica, Publisher& publisher,
          SessionMemory& memory, std::function<bool()> stop,
          std::function<void(std::string_view)> report);

  SessionEnd Run();

 private:
  absl::Status Work();
  void NoteConnected();
  SessionEnd Judge(const absl::Status& status);
  // Tells of long work: always to `report`, and to the log now and then.
  void Progress(const std::string& text);
  void CopyProgress(const ReplicaTable& table, std::int64_t rows,
                    double expected);

  // ---- the slot
  absl::Status KnowPublisher();
  absl::Status CheckSlot(const SlotState& slot) const;
  // Chooses `slot_`, and what the replica is called there (session_slot.cc).
  absl::Status ChooseSlot();
  // Whether it may be used; else Unavailable, or Aborted with `restart_` where
  // another one was chosen.
  absl::Status CheckOwner(const SlotState& slot, bool gap);
  // Why the slot is another replica's although nobody was seen to use it; "" if
  // it is not.
  std::string WhoseSlot(const SlotState& slot, bool past);
  // It was last followed on another machine.
  bool IsElsewhere() const;
  absl::Status TakeOwnSlot(const std::string& why);
  // Makes the planned slot from the one that the position comes from. Why that
  // cannot be, or "".
  absl::StatusOr<std::string> CopySlot(SlotState* slot);
  // The parts of GoOn for a file that is not where it was, and for a slot that
  // is not yet its own.
  absl::Status NoteMoved();
  absl::Status Adopt(const SlotState& slot);
  // Nobody can move the slot once it is in use here, but until then anybody
  // can, and the server would begin behind the gap in silence.
  absl::Status CheckHeldSlot(const StreamOptions& options);
  absl::StatusOr<bool> AskedToResync();
  // What the replica knows of the publisher that it followed.
  Followed WhatWeFollowed() const;
  absl::Status GoOn(const SlotState& slot);
  // What slot and stream are asked for, into `agreed_`; says what is not to be
  // had.
  absl::Status Agree();
  absl::Status StartAnew(const SlotState& slot,
                         const Publications& publications);
  absl::Status ReplaceSlot(const SlotState& slot,
                           const Publications& publications,
                           const std::string& gap);
  absl::StatusOr<CreatedSlot> MakeSlot(const SlotState& old);
  // Unavailable where there were too many of late.
  absl::Status CheckGapsAreFew(const std::string& detail);
  // All tables are to be copied again, while readers see the rows of now.
  absl::Status CopyAllBeside(const Publications& publications,
                             const CreatedSlot& created);
  // Says in the status whose rows readers see, while that is so.
  absl::Status NoteHold();
  // Shows all of them once all are there and the stream has `reached` them;
  // true if so.
  absl::StatusOr<bool> ShowTogether(Lsn reached);

  // ---- tables
  absl::Status Reconcile(const Publications& publications, bool fresh);
  absl::Status KeepForms(ReplicaTable& table, const TableShape& shape);
  absl::Status RefreshCatalog();
  // As replica.drop_unpublished says.
  absl::Status DropUnpublished(const Publications& publications);
  // The published tables, and `catalog_as_of_`.
  absl::StatusOr<const Publications*> ReadCatalog();
  absl::StatusOr<CatalogFit> StillFits(const ReplicaTable& table,
                                       Lsn commit_lsn);
  // Those that are copied whole and were interrupted before only with `whole`,
  // or if there are no others.
  absl::Status CopyWaiting(bool whole);
  absl::StatusOr<bool> WritersGone(ReplicaTable& table);
  // A copy found it published as something else than what its writers were
  // waited for.
  absl::Status WaitForWritersAgain(ReplicaTable& table,
                                   const std::string& published_as);
  absl::Status CopyOne(ReplicaTable& table);
  // A part of a table that is copied beside the stream; whole ones are shown
  // once the stream has `reached` them.
  absl::Status CopyChunks(Lsn reached, bool busy);
  // False if nothing can be done for now.
  absl::StatusOr<bool> CopyChunk(ReplicaTable& table, Lsn reached,
                                 bool may_read);
  bool CopiesInChunks(ReplicaTable& table) const;
  absl::Status TakeRequests();

  // ---- tables that are put aside
  struct Trouble {
    absl::Status why;
    std::optional<Lsn> lsn;  // of the transaction; none: of what is applied
    absl::Duration took;     // for how long the copy was tried
  };
  absl::Status SetAside(ReplicaTable& table, const Trouble& trouble);
  // The same from the middle of a transaction; the session has to end.
  absl::Status StartOverWithout(std::int64_t table, const Trouble& trouble);
  absl::Status OnRefused(const Applier::Refused& refused);
  // Tables that are due to be tried again.
  absl::Status RetryFailed(absl::Time now);
  // What the table is at the publisher; "" if that is not known.
  std::string MadeAs(const ReplicaTable& table) const;

  // ---- the stream
  absl::Status Stream();
  absl::Status StreamLoop(ReplicationStream& stream, Applier& applier);
  absl::Status BetweenTransactions(Applier& applier, absl::Time now);
  // The server looks for a publication in the time that it decodes. One that is
  // there now was made later: what was written until then is lost to the slot.
  absl::Status OnUndecodable(const absl::Status& why);
  // Goes on without streaming of transactions in progress.
  absl::Status PauseStreaming(const Applier::SpillFull& full);
  // Aborted, with `restart_`, when the pause is over.
  absl::Status TryStreamingAgain(absl::Time now);
  // At most now and then; trouble with the answer is no reason to end.
  absl::Status AskRetention(absl::Time now);
  void NoteProgress(const ReplicationStream& stream, const Applier& applier,
                    absl::Time now);
  StreamOptions ChooseStreamOptions() const;
  ApplierOptions ChooseApplierOptions(const StreamOptions& options);

  const Config& config_;
  Replica& replica_;
  Publisher& publisher_;
  SessionMemory& memory_;
  std::function<bool()> stop_;
  std::function<void(std::string_view)> report_;
  TableCopy copy_;
  ChunkCopy chunks_;

  PublisherIdentity identity_;
  PublisherFacts facts_;
  Negotiated agreed_;
  bool synchronous_ = false;  // commits at the publisher may wait for a standby
  bool connected_ = false;
  bool on_publisher_ = true;  // whose FailedPrecondition it would be
  std::optional<Lsn> streamed_from_;
  absl::Time streamed_at_;
  bool copied_ = false;  // rows that stay, by a copy in chunks
  bool restart_ = false;
  std::optional<Applier::Refused> refused_;

  std::string slot_;         // the one that is used
  std::string copied_from_;  // the slot that it was made from, in this session
  std::vector<std::int64_t> done_requests_;
  Publications catalog_;
  std::uint64_t catalog_number_ = 0;  // how often it was read
  Lsn catalog_as_of_;  // the catalog shows every change that was committed
                       // before this position
  absl::Time catalog_read_at_ = absl::InfinitePast();
  absl::Time requests_read_at_ = absl::InfinitePast();
  absl::Time retention_asked_at_ = absl::InfinitePast();
  absl::Time progress_logged_at_ = absl::InfinitePast();
  std::string waits_for_;
  bool catalog_due_ = false;
  bool chunks_wait_ = false;  // tables are being copied beside the stream
  absl::Time next_chunk_at_ = absl::InfinitePast();
  absl::Duration chunk_patience_;  // of the next Receive
  bool wholes_wait_ = false;
  int still_rounds_ = 0;  // in which no copy in chunks could go on
  std::optional<Lsn> skip_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_SESSION_H_
