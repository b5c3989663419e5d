#include "applier/chunk_copy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/log.h"
#include "applier/wire/copy_rows.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

constexpr std::int64_t kFirstRows = 2500;
constexpr std::int64_t kRowsMin = 100;
constexpr std::int64_t kRowsMax = 1000000;
// What the other tables wait for while a chunk is read.
constexpr absl::Duration kChunkTime = absl::Milliseconds(250);
// Rows that are much larger than those before end a chunk early.
constexpr std::int64_t kChunkBytesMax = 32 << 20;

// Says nothing against the rows before: the connection was lost, or sublite is
// told to stop.
bool EndsConnection(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

std::unique_ptr<PartialCopy> NewPartial(Database& database,
                                        const ReplicaTable& table,
                                        const PublishedTable& published,
                                        const TableShape& shape) {
  auto partial = std::make_unique<PartialCopy>();
  partial->shape = shape;
  partial->hidden = shape;
  partial->hidden.name = HiddenTableName(table.id);
  partial->published = published;
  partial->made_as = CopyMadeAs(published, shape);
  if (CanCopyInChunks(shape)) partial->key = shape.KeyColumns();
  partial->writer = std::make_unique<TableWriter>(database, partial->hidden,
                                                  partial->hidden.name);
  return partial;
}

}  // namespace

ChunkCopy::ChunkCopy(Replica& replica, TableCopy& copy, const Config& config,
                     std::function<bool()> stop, TableCopy::Progress progress)
    : replica_(replica),
      copy_(copy),
      config_(config),
      stop_(std::move(stop)),
      progress_(std::move(progress)) {}

absl::Status ChunkCopy::Resume(const Publications& publications) {
  return replica_.Transaction([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<StoredCopy> stored,
                     replica_.StoredCopies());
    for (const StoredCopy& copy : stored) {
      ReplicaTable* table = replica_.FindTable(copy.table_id);
      const PublishedTable* published =
          table == nullptr ? nullptr
                           : publications.Find(table->shape.pg_schema,
                                               table->shape.pg_table);
      if (published != nullptr && table->state == TableState::kCopying) {
        const TableShape shape = copy_.ShapeOf(*published, publications.types);
        if (copy.hidden_exists && (copy.complete || CanCopyInChunks(shape)) &&
            CopyMadeAs(*published, shape) == copy.made_as) {
          auto partial =
              NewPartial(replica_.database(), *table, *published, shape);
          ASSIGN_OR_RETURN(partial->upto, ParseCopyKey(copy.upto));
          ASSIGN_OR_RETURN(partial->chunks, ParseChunks(copy.chunks));
          partial->complete = copy.complete;
          partial->rows = copy.rows;
          LogInfo(
              "going on with the copy",
              {{"table", shape.FullName()}, {"rows", absl::StrCat(copy.rows)}});
          replica_.SetPartial(*table, std::move(partial));
          continue;
        }
      }
      RETURN_IF_ERROR(replica_.DropCopy(copy.table_id));
    }
    return absl::OkStatus();
  });
}

absl::Status ChunkCopy::Begin(ReplicaTable& table, const TableReader& reader,
                              const TableShape& shape) {
  RETURN_IF_ERROR(copy_.MakeHidden(table, shape, HiddenTableName(table.id)));
  replica_.SetPartial(
      table, NewPartial(replica_.database(), table, reader.table(), shape));
  return absl::OkStatus();
}

absl::StatusOr<ChunkCopy::Step> ChunkCopy::Next(ReplicaTable& table) {
  CopyRequest request;
  request.limit = kFirstRows;
  if (config_.replica.copy_chunk_rows > 0) {
    request.limit = config_.replica.copy_chunk_rows;
  } else if (table.partial != nullptr && table.partial->chunk_rows > 0) {
    request.limit = table.partial->chunk_rows;
  }
  if (table.partial != nullptr) request.after = table.partial->UptoTexts();
  ASSIGN_OR_RETURN(const std::unique_ptr<TableReader> reader,
                   copy_.TryRead(table, request));
  if (reader == nullptr) return Step::kNotYet;
  if (!reader->table().problem.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", reader->table().FullName(), ": ", reader->table().problem));
  }
  const TableShape shape = copy_.ShapeOf(reader->table(), reader->types());
  if (table.partial != nullptr &&
      table.partial->made_as != CopyMadeAs(reader->table(), shape)) {
    LogInfo("the table changed at the publisher; its copy begins anew",
            {{"table", shape.FullName()}});
    RETURN_IF_ERROR(
        replica_.Transaction([&] { return replica_.DropCopy(table.id); }));
    return Step::kBegunAnew;
  }
  if (table.partial == nullptr &&
      !table.IsPublishedAsSettled(reader->table())) {
    published_as_ = reader->table().published_as;
    return Step::kPublishedAnew;
  }
  if (!CanCopyInChunks(shape)) return Step::kUnsuited;

  const absl::Time began = absl::Now();
  absl::Status cut;
  RETURN_IF_ERROR(replica_.Transaction([&]() -> absl::Status {
    if (table.partial == nullptr) RETURN_IF_ERROR(Begin(table, *reader, shape));
    return Load(table, *reader, request.limit, &cut);
  }));
  RETURN_IF_ERROR(cut);
  AdaptSize(*table.partial, request.limit, absl::Now() - began);
  return Step::kCopied;
}

absl::Status ChunkCopy::Load(ReplicaTable& table, TableReader& reader,
                             std::int64_t limit, absl::Status* cut) {
  PartialCopy& partial = *table.partial;
  CopyRows parser(reader.form(), partial.shape.columns.size());
  std::string_view message;
  Tuple row;
  CopyChunk chunk{partial.upto, {}, reader.snapshot(), reader.snapshot_lsn()};
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  bool at_end = false;
  // With a limit a chunk is what may be taken in a second.
  const std::int64_t bytes_max =
      copy_.rate().limited()
          ? static_cast<std::int64_t>(std::min<std::uint64_t>(
                copy_.rate().bytes_per_second(), kChunkBytesMax))
          : kChunkBytesMax;
  while (bytes < bytes_max) {
    const absl::StatusOr<bool> more = reader.Next(&message);
    if (!more.ok() && rows > 0 && EndsConnection(more.status())) {
      *cut = more.status();
      break;
    }
    RETURN_IF_ERROR(more.status());
    if (!*more) {
      RETURN_IF_ERROR(parser.End());
      at_end = rows < limit;
      break;
    }
    ASSIGN_OR_RETURN(const bool has_row, parser.Parse(message, &row));
    if (!has_row) continue;
    const absl::StatusOr<Outcome> outcome = partial.writer->Insert(row);
    if (!outcome.ok()) return OfRow(outcome.status(), partial.shape, row);
    ASSIGN_OR_RETURN(chunk.upto, partial.KeyOf(row));
    if (*outcome != Outcome::kDone ||
        (!chunk.after.empty() && chunk.upto <= chunk.after)) {
      return absl::OutOfRangeError(
          absl::StrCat("table ", partial.shape.FullName(),
                       ": its rows do not come in the order of their keys"));
    }
    ++rows;
    replica_.metrics().copied_rows.Add(1);
    replica_.metrics().copied_bytes.Add(
        static_cast<std::int64_t>(message.size()));
    bytes += static_cast<std::int64_t>(message.size());
    copy_.rate().Take(static_cast<std::int64_t>(message.size()), absl::Now());
    if ((rows & 0xfff) == 0 && stop_()) {
      *cut = absl::CancelledError("told to stop");
      break;
    }
  }
  if (bytes >= bytes_max) partial.chunk_rows = std::max<std::int64_t>(rows, 1);
  partial.published = reader.table();
  partial.rows += rows;
  if (rows > 0) partial.upto = chunk.upto;
  if (at_end) {
    partial.complete = true;
    chunk.upto.clear();
  }
  partial.ForgetPassed(replica_.state().applied.value_or(Lsn()));
  if (rows > 0 || at_end) partial.chunks.push_back(std::move(chunk));
  RETURN_IF_ERROR(Store(table, partial));
  RETURN_IF_ERROR(replica_.SetCopyProgress(table, partial.rows,
                                           reader.table().estimated_rows));
  progress_(table, partial.rows, reader.table().estimated_rows);
  return absl::OkStatus();
}

absl::Status ChunkCopy::Store(const ReplicaTable& table,
                              const PartialCopy& progress) {
  StoredCopy stored;
  stored.table_id = table.id;
  stored.made_as = progress.made_as;
  stored.upto = FormatCopyKey(progress.upto);
  stored.complete = progress.complete;
  stored.chunks = FormatChunks(progress.chunks);
  stored.rows = progress.rows;
  return replica_.StoreCopy(stored);
}

void ChunkCopy::AdaptSize(PartialCopy& partial, std::int64_t limit,
                          absl::Duration took) const {
  std::int64_t& rows = partial.chunk_rows;
  // What was read ended the chunk, not its number of rows.
  if (rows > 0 && rows < limit) return;
  rows = limit;
  if (took < kChunkTime / 2) rows = std::min(rows * 2, kRowsMax);
  if (took > kChunkTime * 2) rows = std::max(rows / 2, kRowsMin);
}

absl::Status ChunkCopy::Hold(ReplicaTable& table, const CopiedTable& copied) {
  auto partial =
      NewPartial(replica_.database(), table, copied.published, copied.shape);
  partial->chunks.push_back({{}, {}, copied.snapshot, copied.snapshot_lsn});
  partial->complete = true;
  partial->rows = copied.rows;
  RETURN_IF_ERROR(replica_.Transaction([&] { return Store(table, *partial); }));
  replica_.SetPartial(table, std::move(partial));
  return absl::OkStatus();
}

bool ChunkCopy::IsPassed(const ReplicaTable& table, Lsn reached) {
  return table.partial != nullptr && table.partial->complete &&
         reached >= table.partial->last_lsn();
}

absl::Status ChunkCopy::Show(ReplicaTable& table) {
  const PartialCopy& partial = *table.partial;
  CopiedTable copied;
  copied.shape = partial.shape;
  copied.published = partial.published;
  copied.rows = partial.rows;
  copied.hidden = partial.hidden.name;
  RETURN_IF_ERROR(copy_.CheckName(table, copied.shape));
  return copy_.SwapIn(table, copied);
}

}  // namespace sublite
