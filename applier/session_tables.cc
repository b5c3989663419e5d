// The part of Session that holds the replica's tables to what the publications
// publish.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/session.h"
#include "schema/enum_labels.h"
#include "schema/status.h"

namespace sublite {
namespace {

// How long the stream is listened to while no copy can go on.
constexpr absl::Duration kChunkPatience = absl::Milliseconds(20);
// After so many rounds in which no copy in chunks could go on, one that is made
// whole has its turn.
constexpr int kStillRounds = 10;

// The rows here are no longer the publisher's although every change was
// followed: it left the publication and came back, its row filter changed, or
// ALTER TABLE rewrote values in place. A partition may be truncated without a
// word in the stream.
bool OtherRows(const ReplicaTable& table, const PublishedTable& published) {
  const bool copied = !table.shape.columns.empty();
  const bool other_files = copied && table.storage != published.storage;
  return table.published_as != published.published_as ||
         (other_files && (published.relkind == 'p' ||
                          table.attributes != published.attributes));
}

}  // namespace

absl::Status Session::Reconcile(const Publications& publications, bool fresh) {
  return replica_.Transaction([&]() -> absl::Status {
    for (const PublishedTable& published : publications.tables) {
      const TableShape shape = copy_.ShapeOf(published, publications.types);
      ReplicaTable* table =
          replica_.FindTable(published.pg_schema, published.pg_table);
      if (table == nullptr) {
        // What was published before the slot began has been decoded as such
        // from the beginning. This is kept, so that a restart before the copy
        // does not make the table look new.
        PublishedTable added = published;
        if (!fresh) added.published_as.clear();
        ASSIGN_OR_RETURN(table, replica_.AddTable(added, shape.name));
        table->newly_published = !fresh;
        continue;
      }
      const bool again = table->state == TableState::kUnpublished ||
                         OtherRows(*table, published);
      if (table->state == TableState::kReady && !again &&
          SameRows(table->shape, shape)) {
        RETURN_IF_ERROR(KeepForms(*table, shape));
        continue;
      }
      if (table->state == TableState::kReady) {
        RETURN_IF_ERROR(
            replica_.SetTableState(*table, TableState::kCopying, ""));
        RETURN_IF_ERROR(replica_.AddEvent(
            "schema", table->shape.name, std::nullopt,
            again ? "published anew, or rewritten; it is copied again"
            : LabelsRenamed(table->shape.labels, shape.labels)
                ? "a label of an enum was renamed; it is copied again"
                : "the publisher's catalog describes it differently; it is "
                  "copied again"));
      } else if (table->state == TableState::kFailed &&
                 table->failed_as == CopyMadeAs(published, shape)) {
        continue;  // a person or RetryFailed has to say so
      } else if (table->state != TableState::kPending &&
                 table->state != TableState::kCopying) {
        RETURN_IF_ERROR(
            replica_.SetTableState(*table, TableState::kPending, ""));
      }
      // A copy beside the stream looks for itself whether it is of this.
      const bool renamed = LabelsRenamed(table->shape.labels, shape.labels);
      if ((again || renamed) && !fresh && table->partial == nullptr)
        table->newly_published = true;
    }
    for (const auto& table : replica_.tables()) {
      if (table->state == TableState::kUnpublished) continue;
      if (publications.Find(table->shape.pg_schema, table->shape.pg_table) !=
          nullptr)
        continue;
      LogInfo("the table is not published any more; its rows stay",
              {{"table", table->shape.FullName()}});
      RETURN_IF_ERROR(replica_.AddEvent("unpublished", table->shape.name,
                                        std::nullopt,
                                        "its rows stay as they are"));
      RETURN_IF_ERROR(replica_.SetTableState(*table, TableState::kUnpublished,
                                             "not published any more"));
      table->stale = false;
      table->copied_for.clear();
    }
    return absl::OkStatus();
  });
}

// The rows are the same, but their binary form may not be (the publisher or
// sublite is of another version), or an enum has more labels.
absl::Status Session::KeepForms(ReplicaTable& table, const TableShape& shape) {
  TableShape kept = table.shape;
  bool changed = false;
  for (std::size_t i = 0; i < kept.columns.size(); ++i) {
    if (kept.columns[i].type == shape.columns[i].type) continue;
    kept.columns[i].type = shape.columns[i].type;
    changed = true;
  }
  if (kept.labels != shape.labels) {
    kept.labels = shape.labels;
    changed = true;
  }
  return changed ? replica_.SetIdentity(table, kept) : absl::OkStatus();
}

absl::Status Session::RefreshCatalog() {
  ASSIGN_OR_RETURN(const Publications* read, ReadCatalog());
  const Publications& publications = *read;
  // A publication that was dropped for a moment publishes nothing: its tables
  // are held as unpublished until it is back.
  if (!publications.missing.empty()) {
    LogWarn("a publication is gone from the publisher",
            {{"publication", absl::StrJoin(publications.missing, ", ")}});
  }
  RETURN_IF_ERROR(Reconcile(publications, false));
  return DropUnpublished(publications);
}

absl::Status Session::DropUnpublished(const Publications& publications) {
  // What a publication that is gone for a moment published comes back.
  if (!config_.replica.drop_unpublished || !publications.missing.empty())
    return absl::OkStatus();
  std::vector<std::int64_t> ids;
  for (const auto& table : replica_.tables()) {
    if (table->state == TableState::kUnpublished) ids.push_back(table->id);
  }
  for (std::int64_t id : ids) {
    const TableShape shape = replica_.FindTable(id)->shape;
    LogInfo("dropping a table that is not published any more",
            {{"table", shape.FullName()}});
    RETURN_IF_ERROR(replica_.Transaction([&] {
      RETURN_IF_ERROR(replica_.RemoveTable(id));
      return replica_.AddEvent("dropped", shape.name, replica_.state().applied,
                               "replica.drop_unpublished: it is not published "
                               "any more");
    }));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Publications*> Session::ReadCatalog() {
  // First the position: what was committed before it is in the catalog that is
  // read afterwards.
  ASSIGN_OR_RETURN(
      const auto position,
      publisher_.Query(
          "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() "
          "else pg_current_wal_insert_lsn() end"));
  Lsn as_of;
  if (!position.empty() && !position[0].empty())
    Lsn::Parse(position[0][0], &as_of);
  ASSIGN_OR_RETURN(catalog_,
                   publisher_.ReadPublications(config_.publisher.publications));
  catalog_.BuildIndex();
  ++catalog_number_;
  catalog_as_of_ = as_of;
  catalog_read_at_ = absl::Now();
  return &catalog_;
}

absl::StatusOr<CatalogFit> Session::StillFits(const ReplicaTable& table,
                                              Lsn commit_lsn) {
  // The descriptions of a backlog are all older than one reading of the
  // catalog.
  if (commit_lsn >= catalog_as_of_) RETURN_IF_ERROR(ReadCatalog().status());
  const PublishedTable* published =
      catalog_.Find(table.shape.pg_schema, table.shape.pg_table);
  if (published != nullptr) {
    const TableShape shape = copy_.ShapeOf(*published, catalog_.types);
    if (table.partial != nullptr) {
      return CopyMadeAs(*published, shape) == table.partial->made_as
                 ? CatalogFit::kSame
                 : CatalogFit::kDifferent;
    }
    if (table.published_as != published->published_as)
      return CatalogFit::kPublishedAnew;
    // Who is writing now may write the old label yet (a prepared transaction).
    if (LabelsRenamed(table.shape.labels, shape.labels))
      return CatalogFit::kPublishedAnew;
    return !OtherRows(table, *published) && SameRows(shape, table.shape)
               ? CatalogFit::kSame
               : CatalogFit::kDifferent;
  }
  // Gone meanwhile: the stream's own description counts until the catalog is
  // read again.
  catalog_due_ = true;
  return CatalogFit::kSame;
}

// A transaction that wrote to the table before it was published is sent without
// those rows. It holds a lock on the table until it has ended and become
// visible, so a snapshot taken after its lock is gone sees it.
absl::StatusOr<bool> Session::WritersGone(ReplicaTable& table) {
  // With a synchronous standby, so does a transaction that this replica has
  // followed already, in an earlier process.
  const bool unsettled = synchronous_ && !memory_.ended.Settled(table.id);
  if (!table.newly_published && !unsettled) return true;
  if (table.newly_published && !table.writers.has_value()) {
    const PublishedTable* published =
        catalog_.Find(table.shape.pg_schema, table.shape.pg_table);
    if (published == nullptr) {
      // The stream knows of it, the catalog as it was read last does not.
      catalog_due_ = true;
      return false;
    }
    table.settled_as = published->published_as;
  }
  ASSIGN_OR_RETURN(std::vector<std::string> writers,
                   publisher_.ReadWriters(table.shape.oid));
  if (!table.writers.has_value()) table.writers = writers;
  const bool gone =
      std::none_of(table.writers->begin(), table.writers->end(),
                   [&](const std::string& writer) {
                     return std::find(writers.begin(), writers.end(), writer) !=
                            writers.end();
                   });
  if (!gone) return false;
  // The next wait asks anew: it may be published anew once more.
  table.writers.reset();
  table.newly_published = false;
  memory_.ended.Settle(table.id);
  return true;
}

absl::Status Session::WaitForWritersAgain(ReplicaTable& table,
                                          const std::string& published_as) {
  LogInfo("the table was published anew meanwhile; its copy waits again",
          {{"table", table.shape.FullName()}});
  table.newly_published = true;
  table.settled_as = published_as;
  ASSIGN_OR_RETURN(table.writers, publisher_.ReadWriters(table.shape.oid));
  return absl::OkStatus();
}

absl::Status Session::CopyWaiting(bool whole) {
  std::vector<ReplicaTable*> others;
  bool in_chunks = false;
  for (const auto& table : replica_.tables()) {
    if (table->state != TableState::kPending &&
        table->state != TableState::kCopying)
      continue;
    if (CopiesInChunks(*table)) {
      in_chunks = true;
    } else {
      others.push_back(table.get());
    }
  }
  // CopyChunks ends it, and says so.
  chunks_wait_ =
      chunks_wait_ || in_chunks || replica_.state().shown.has_value();
  wholes_wait_ = !others.empty();
  // Over a bad line a whole copy may never end: once one was interrupted, what
  // gets on goes first, then what was tried least.
  std::map<std::int64_t, int>& tried = memory_.copies_tried;
  std::stable_sort(others.begin(), others.end(),
                   [&](const ReplicaTable* a, const ReplicaTable* b) {
                     return tried[a->id] < tried[b->id];
                   });
  for (ReplicaTable* table : others) {
    if (stop_()) return absl::CancelledError("told to stop");
    if (!whole && in_chunks && tried[table->id] > 0) break;
    ASSIGN_OR_RETURN(const bool free, WritersGone(*table));
    if (!free) continue;
    ++tried[table->id];
    RETURN_IF_ERROR(CopyOne(*table));
    chunks_wait_ = chunks_wait_ || table->partial != nullptr;
  }
  if (done_requests_.empty()) return absl::OkStatus();
  for (std::int64_t id : std::exchange(done_requests_, {}))
    RETURN_IF_ERROR(replica_.RemoveRequest(id));
  return absl::OkStatus();
}

// Others can only be read whole, in one snapshot, while the stream waits.
bool Session::CopiesInChunks(ReplicaTable& table) const {
  if (table.partial != nullptr) return true;
  // Changes that cannot be followed halfway come too often.
  constexpr int kCopiesLostMax = 3;
  if (table.copies_lost >= kCopiesLostMax) return false;
  // Asked for every waiting table several times a second.
  if (table.chunks_asked != catalog_number_) {
    const PublishedTable* published =
        catalog_.Find(table.shape.pg_schema, table.shape.pg_table);
    table.chunks_asked = catalog_number_;
    table.chunks_can = published != nullptr && CanCopyInChunks(copy_.ShapeOf(
                                                   *published, catalog_.types));
  }
  return table.chunks_can;
}

absl::Status Session::CopyChunks(Lsn reached, bool busy) {
  const absl::Time began = absl::Now();
  if (busy && began < next_chunk_at_) return absl::OkStatus();
  const bool may_read = began >= copy_.rate().free_at();
  bool wait = false;
  bool moved = false;
  for (const auto& table : replica_.tables()) {
    if (table->state != TableState::kPending &&
        table->state != TableState::kCopying)
      continue;
    if (!CopiesInChunks(*table)) continue;
    wait = true;
    const absl::StatusOr<bool> copied = CopyChunk(*table, reached, may_read);
    if (!copied.ok() && (restart_ || !ConcernsOneTable(copied.status())))
      return copied.status();
    if (!copied.ok()) {
      RETURN_IF_ERROR(SetAside(
          *table, {copied.status(), std::nullopt, absl::Now() - began}));
    }
    moved = !copied.ok() || *copied;
    if (moved) break;  // the stream has its turn
  }
  if (!moved && replica_.state().shown.has_value()) {
    ASSIGN_OR_RETURN(moved, ShowTogether(reached));
    wait = !moved;
  }
  // A busy stream gets as much time as the copies.
  const absl::Time done = absl::Now();
  next_chunk_at_ = busy ? done + (done - began) : done;
  chunk_patience_ = moved ? absl::ZeroDuration() : kChunkPatience;
  still_rounds_ = moved ? 0 : still_rounds_ + 1;
  if (wait && wholes_wait_ && still_rounds_ >= kStillRounds) {
    still_rounds_ = 0;
    RETURN_IF_ERROR(CopyWaiting(/*whole=*/true));
  }
  if (wait) return absl::OkStatus();
  chunks_wait_ = false;
  return replica_.SetState("streaming");
}

absl::StatusOr<bool> Session::CopyChunk(ReplicaTable& table, Lsn reached,
                                        bool may_read) {
  if (table.partial != nullptr && table.partial->complete) {
    if (replica_.state().shown.has_value() ||
        !ChunkCopy::IsPassed(table, reached))
      return false;
    // Rows as of this position become visible.
    const absl::Status shown = replica_.Transaction([&] {
      replica_.SetPosition(reached, std::nullopt);
      return chunks_.Show(table);
    });
    if (ConcernsOneTable(shown))
      return StartOverWithout(table.id, {shown, std::nullopt, {}});
    RETURN_IF_ERROR(shown);
    memory_.retries.Healed(table.id);
    LogInfo("copied", {{"table", table.shape.FullName()}});
    report_(absl::StrCat("copied ", table.shape.FullName()));
    return true;
  }
  if (!may_read) return false;
  ASSIGN_OR_RETURN(const bool free, WritersGone(table));
  if (!free) return false;
  if (table.state != TableState::kCopying) {
    LogInfo("copying", {{"table", table.shape.FullName()}});
    RETURN_IF_ERROR(replica_.SetTableState(table, TableState::kCopying, ""));
  }
  ASSIGN_OR_RETURN(const ChunkCopy::Step step, chunks_.Next(table));
  if (step == ChunkCopy::Step::kUnsuited) {
    RETURN_IF_ERROR(CopyOne(table));
  } else if (step == ChunkCopy::Step::kPublishedAnew) {
    RETURN_IF_ERROR(WaitForWritersAgain(table, chunks_.published_as()));
  } else if (step == ChunkCopy::Step::kBegunAnew) {
    ++table.copies_lost;
    // It may have left the publication meanwhile.
    table.newly_published = true;
  }
  return step != ChunkCopy::Step::kNotYet &&
         step != ChunkCopy::Step::kPublishedAnew;
}

absl::Status Session::CopyOne(ReplicaTable& table) {
  LogInfo("copying", {{"table", table.shape.FullName()}});
  report_(absl::StrCat("copying ", table.shape.FullName()));
  RETURN_IF_ERROR(replica_.SetTableState(table, TableState::kCopying, ""));
  const absl::Time began = absl::Now();
  const absl::StatusOr<CopiedTable> copied = copy_.Fill(table);
  if (!copied.ok()) {
    return ConcernsOneTable(copied.status())
               ? SetAside(table,
                          {copied.status(), std::nullopt, absl::Now() - began})
               : copied.status();
  }
  if (!table.IsPublishedAsSettled(copied->published)) {
    RETURN_IF_ERROR(WaitForWritersAgain(table, copied->published.published_as));
    return copy_.DropHidden();
  }
  const bool hold =
      replica_.state().shown.has_value() && !copied->hidden.empty();
  const absl::Status shown =
      hold ? chunks_.Hold(table, *copied)
           : replica_.Transaction([&] { return copy_.SwapIn(table, *copied); });
  if (ConcernsOneTable(shown)) {
    return StartOverWithout(table.id,
                            {shown, std::nullopt, absl::Now() - began});
  }
  RETURN_IF_ERROR(shown);
  memory_.retries.Healed(table.id);
  memory_.copies_tried.erase(table.id);
  LogInfo("copied", {{"table", table.shape.FullName()},
                     {"rows", absl::StrCat(copied->rows)}});
  report_(absl::StrCat("copied ", table.shape.FullName()));
  return absl::OkStatus();
}

absl::Status Session::TakeRequests() {
  ASSIGN_OR_RETURN(const std::vector<Request> requests, replica_.Requests());
  skip_.reset();
  for (const Request& request : requests) {
    if (request.kind == "skip") {
      Lsn lsn;
      const bool valid = Lsn::Parse(request.argument, &lsn);
      // One that names what was passed long ago would wait for ever.
      if (!valid || (replica_.state().applied.has_value() &&
                     lsn < *replica_.state().applied)) {
        RETURN_IF_ERROR(replica_.RemoveRequest(request.id));
      } else {
        skip_ = lsn;
      }
      continue;
    }
    if (std::find(done_requests_.begin(), done_requests_.end(), request.id) !=
        done_requests_.end())
      continue;
    std::int64_t id = 0;
    const bool one = absl::SimpleAtoi(request.argument, &id);
    for (const auto& table : replica_.tables()) {
      if (one && table->id != id) continue;
      if (table->state == TableState::kReady ||
          table->state == TableState::kFailed) {
        memory_.retries.Forget(table->id);
        RETURN_IF_ERROR(
            replica_.SetTableState(*table, TableState::kCopying, ""));
      }
    }
    done_requests_.push_back(request.id);
  }
  return absl::OkStatus();
}

}  // namespace sublite
