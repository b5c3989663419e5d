#include "tests/support/fake_publisher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "applier/wire/frame.h"
#include "tests/support/encode.h"

namespace sublite::testing {
namespace {

// A loop that waits for nothing to happen would never end.
constexpr int kIdleRoundsMax = 200000;

std::string CopyText(const ModelRow& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += '\t';
    if (!row[i].has_value()) {
      line += "\\N";
      continue;
    }
    for (char c : *row[i]) {
      switch (c) {
        case '\\':
          line += "\\\\";
          break;
        case '\t':
          line += "\\t";
          break;
        case '\n':
          line += "\\n";
          break;
        case '\r':
          line += "\\r";
          break;
        default:
          line += c;
      }
    }
  }
  return line + "\n";
}

class FakeReader : public TableReader {
 public:
  FakeReader(FakePublisher& publisher, int table, const CopyRequest& range)
      : publisher_(publisher),
        snapshot_(publisher.model().CurrentSnapshot()),
        lsn_(publisher.model().end()) {
    const auto visible = [&](FullXid xid) {
      return publisher.model().Visible(xid);
    };
    shape_ = publisher.model().ShapeAt(table, visible);
    const std::vector<const RowVersion*> all =
        publisher.model().Rows(table, visible);
    if (range.limit > 0 && !shape_->def.primary_key.empty()) {
      for (const ModelRow& row : RowsBehind(all, range))
        rows_.push_back(CopyText(row));
      return;
    }
    for (const RowVersion* row : all) rows_.push_back(CopyText(row->values));
    std::shuffle(rows_.begin(), rows_.end(), publisher.random());
  }

  const Snapshot& snapshot() const override { return snapshot_; }
  Lsn snapshot_lsn() const override { return lsn_; }
  const PublishedTable& table() const override { return shape_->def; }
  const PgTypes& types() const override { return ModelTypes(); }
  CopyForm form() const override { return CopyForm::kText; }

  absl::StatusOr<bool> Next(std::string_view* row) override {
    if (publisher_.on_read_row) {
      const absl::Status status = publisher_.on_read_row(
          shape_->def.FullName(), static_cast<int>(next_));
      if (!status.ok()) return status;
    }
    if (next_ == rows_.size()) return false;
    *row = rows_[next_++];
    return true;
  }

 private:
  std::vector<std::string> KeyOf(const ModelRow& row) const {
    std::vector<std::string> key;
    for (const std::string& name : shape_->def.primary_key) {
      for (std::size_t i = 0; i < shape_->def.columns.size(); ++i) {
        if (shape_->def.columns[i].name == name) key.push_back(*row[i]);
      }
    }
    return key;
  }
  // As PostgreSQL would: dates as days, integers as numbers, uuids as bytes.
  // (Text would have the order of a collation; nobody asks for it.)
  static bool Less(const std::vector<std::string>& a,
                   const std::vector<std::string>& b) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (a[i] == b[i]) continue;
      const auto date_a = std::find(kDates.begin(), kDates.end(), a[i]);
      const auto date_b = std::find(kDates.begin(), kDates.end(), b[i]);
      if (date_a != kDates.end() && date_b != kDates.end())
        return date_a < date_b;
      std::int64_t x = 0, y = 0;
      if (absl::SimpleAtoi(a[i], &x) && absl::SimpleAtoi(b[i], &y))
        return x < y;
      return a[i] < b[i];
    }
    return false;
  }
  std::vector<ModelRow> RowsBehind(const std::vector<const RowVersion*>& all,
                                   const CopyRequest& range) const {
    std::vector<ModelRow> rows;
    for (const RowVersion* row : all) {
      if (range.after.empty() || Less(range.after, KeyOf(row->values)))
        rows.push_back(row->values);
    }
    std::sort(rows.begin(), rows.end(),
              [this](const ModelRow& a, const ModelRow& b) {
                return Less(KeyOf(a), KeyOf(b));
              });
    if (rows.size() > static_cast<std::size_t>(range.limit))
      rows.resize(static_cast<std::size_t>(range.limit));
    return rows;
  }

  FakePublisher& publisher_;
  Snapshot snapshot_;
  Lsn lsn_;
  TableVersionPtr shape_;
  std::vector<std::string> rows_;
  std::size_t next_ = 0;
};

DecoderOptions DecoderOptionsFor(const FakePublisher& publisher,
                                 const StreamOptions& options, Lsn start) {
  DecoderOptions decoder;
  decoder.restart = publisher.slot.restart;
  decoder.start = start;
  decoder.two_phase = publisher.slot.state.two_phase;
  decoder.two_phase_at = publisher.slot.two_phase_at;
  decoder.streaming = options.streaming;
  decoder.messages = options.messages;
  decoder.empty_transactions = publisher.identity.server_version < 150000;
  if (publisher.identity.server_version >= 160000) {
    decoder.empty_prepared = publisher.identity.server_version >= 180000
                                 ? DecoderOptions::EmptyPrepared::kPrepare
                                 : DecoderOptions::EmptyPrepared::kDecision;
  }
  decoder.stream_per_mille = publisher.stream_per_mille;
  return decoder;
}

Frame CopyFrame(const std::string& bytes) {
  char* data = new char[bytes.size()];
  std::copy(bytes.begin(), bytes.end(), data);
  return Frame(
      data, bytes.size(),
      +[](void* held) { delete[] static_cast<char*>(held); });
}

std::string DescribeFrame(const std::string& frame) {
  const absl::StatusOr<ServerFrame> parsed = ParseFrame(frame);
  if (!parsed.ok()) return "a broken frame";
  if (const auto* keepalive = std::get_if<Keepalive>(&*parsed)) {
    return absl::StrCat("keepalive ", keepalive->wal_end.ToString(),
                        keepalive->reply_requested ? " reply" : "");
  }
  const auto& data = std::get<XLogData>(*parsed);
  return absl::StrCat(data.data_start.ToString(), " ",
                      std::string(1, data.payload[0]), " ",
                      absl::CHexEscape(absl::string_view(
                          data.payload.data() + 1,
                          std::min<std::size_t>(data.payload.size() - 1, 60))));
}

PgTime Now() { return PgTimeFromUnixMicros(absl::ToUnixMicros(absl::Now())); }

}  // namespace

// -------------------------------------------------------------- FakeStream

FakeStream::FakeStream(FakePublisher& publisher, const StreamOptions& options,
                       Lsn start)
    : publisher_(publisher),
      options_(options),
      decoder_(publisher.model(), DecoderOptionsFor(publisher, options, start),
               &publisher.random()),
      told_(start) {}

FakeStream::~FakeStream() { publisher_.slot.state.active = false; }

void FakeStream::PushKeepalive(bool reply) {
  queue_.push_back(encode::Keepalive(decoder_.sent(), Now(), reply));
  told_ = decoder_.sent();
}

void FakeStream::Fill() {
  while (static_cast<int>(queue_.size()) < publisher_.lookahead &&
         decoder_.Step()) {
    for (PgDecoder::Output& output : decoder_.output()) {
      if (static_cast<int>(publisher_.random_() % 1000) <
          publisher_.keepalive_per_mille) {
        // What is being sent is behind it.
        queue_.push_back(
            encode::Keepalive(told_, Now(), publisher_.random_() % 2 == 0));
      }
      queue_.push_back(encode::XLogData(output.at, publisher_.model().end(),
                                        Now(), output.payload));
    }
    decoder_.output().clear();
    if (static_cast<int>(publisher_.random_() % 1000) <
        publisher_.keepalive_per_mille) {
      PushKeepalive(publisher_.random_() % 2 == 0);
    }
  }
  const bool all = queue_.empty() && decoder_.at_end();
  // Noise moves the end without a record.
  const Lsn end =
      all ? std::max(decoder_.sent(), publisher_.model().end()) : Lsn();
  if (all && publisher_.idle_keepalives && told_ < end) {
    queue_.push_back(encode::Keepalive(end, Now(), false));
    told_ = end;
  }
}

absl::Status FakeStream::Receive(absl::Duration, std::vector<Frame>* frames) {
  if (publisher_.on_receive) publisher_.on_receive(*this);
  Fill();
  for (int i = 0; i < publisher_.batch && !queue_.empty() && cut_in_ != 0;
       ++i) {
    const std::string& frame = queue_.front();
    last_kind_ = frame[0] == 'w' && frame.size() > 25 ? frame[25] : 'k';
    publisher_.Trace(DescribeFrame(frame));
    frames->push_back(CopyFrame(frame));
    queue_.pop_front();
    ++delivered_;
    if (cut_in_ > 0) --cut_in_;
  }
  more_ = !queue_.empty() && (publisher_.gap_per_mille == 0 ||
                              static_cast<int>(publisher_.random_() % 1000) >=
                                  publisher_.gap_per_mille);
  idle_rounds_ = frames->empty() ? idle_rounds_ + 1 : 0;
  if (idle_rounds_ > kIdleRoundsMax) {
    ADD_FAILURE() << "nothing ends the session";
    throw Killed();
  }
  if (cut_in_ == 0) return absl::UnavailableError("the connection was cut");
  return absl::OkStatus();
}

void FakeStream::Confirm(const Positions& positions, bool now) {
  if (now) {
    publisher_.Trace(absl::StrCat("confirm flushed ",
                                  positions.flushed.ToString(), " applied ",
                                  positions.applied.ToString()));
  }
  if (publisher_.on_confirm) publisher_.on_confirm(*this, positions, now);
  EXPECT_LE(positions.flushed.value(), positions.applied.value());
  EXPECT_LE(positions.applied.value(),
            std::max(options_.start, publisher_.model().end()).value());
  confirmed_.flushed = std::max(confirmed_.flushed, positions.flushed);
  confirmed_.applied = std::max(confirmed_.applied, positions.applied);
  Lsn& kept = publisher_.slot.state.confirmed_flush;
  if (now) kept = std::max(kept, confirmed_.flushed);
}

// ----------------------------------------------------------- FakePublisher

FakePublisher::FakePublisher(PgModel& model, std::uint64_t seed)
    : model_(model), random_(seed) {
  identity.system_identifier = "7123456789012345678";
  identity.timeline = 1;
  identity.database = "model";
  identity.server_version = 150018;
  identity.server_version_text = "15.18 (model)";
}

absl::StatusOr<PublisherIdentity> FakePublisher::Connect() {
  ++connects;
  if (!connect_error.ok()) return connect_error;
  identity.wal_end = model_.end();
  return identity;
}

absl::StatusOr<SlotState> FakePublisher::ReadSlot(const std::string& name) {
  if (name == slot_name) return slot.state;
  const auto other = other_slots.find(name);
  return other == other_slots.end() ? SlotState() : other->second.state;
}

void FakePublisher::SelectSlot(const std::string& name) {
  if (name == slot_name) return;
  if (slot.state.exists) other_slots[slot_name] = slot;
  slot_name = name;
  slot = other_slots[name];
  other_slots.erase(name);
}

absl::Status FakePublisher::CopySlot(const std::string& from,
                                     const std::string& to) {
  SelectSlot(from);
  if (!slot.state.exists) return absl::NotFoundError("no such slot");
  if (on_copy_slot) on_copy_slot();
  FakeSlot copy = slot;
  copy.state.two_phase = false;
  copy.state.failover = false;
  copy.state.active = false;
  SelectSlot(to);
  if (slot.state.exists) return absl::AlreadyExistsError("the slot exists");
  slot = copy;
  return absl::OkStatus();
}

void FakePublisher::EndSomehow(FullXid xid) {
  const ModelTransaction& transaction = model_.transaction(xid);
  const bool good = random_() % 3 != 0;
  switch (transaction.state) {
    case ModelTransaction::State::kOpen:
      return good ? model_.Commit(xid) : model_.Abort(xid);
    case ModelTransaction::State::kPrepared:
      return good ? model_.CommitPrepared(xid) : model_.RollbackPrepared(xid);
    case ModelTransaction::State::kInvisible:
      return model_.MakeVisible(xid);
    case ModelTransaction::State::kCommitted:
    case ModelTransaction::State::kAborted:
      return;
  }
}

absl::StatusOr<CreatedSlot> FakePublisher::CreateSlot(
    const SlotOptions& options,
    const std::function<void(std::string_view)>& on_wait) {
  SelectSlot(options.name);
  if (slot.state.exists) return absl::AlreadyExistsError("the slot exists");
  std::vector<FullXid> running;
  for (const auto& [xid, transaction] : model_.transactions()) {
    if (transaction.state != ModelTransaction::State::kCommitted &&
        transaction.state != ModelTransaction::State::kAborted) {
      running.push_back(xid);
    }
  }
  slot = FakeSlot();
  slot.restart = model_.wal().size();
  for (FullXid xid : running) {
    on_wait(absl::StrCat("transaction ", xid));
    if (during_create_slot) during_create_slot();
    EndSomehow(xid);
  }
  if (during_create_slot) during_create_slot();
  slot.state.exists = true;
  slot.state.plugin = "pgoutput";
  slot.state.database = identity.database;
  slot.state.two_phase = options.two_phase;
  slot.state.confirmed_flush = model_.end();
  slot.state.restart = model_.end();
  slot.two_phase_at = model_.end();
  Trace(absl::StrCat("slot at ", model_.end().ToString(), " sees ",
                     model_.SlotSnapshot().ToString()));
  return CreatedSlot{model_.end(), model_.SlotSnapshot()};
}

absl::Status FakePublisher::EnableFailover(const std::string& name) {
  if (!slot.state.exists || name != slot_name) {
    return absl::NotFoundError("no such slot");
  }
  slot.state.failover = true;
  return absl::OkStatus();
}

absl::Status FakePublisher::DropSlot(const std::string& name) {
  SelectSlot(name);
  if (!slot.state.exists) return absl::NotFoundError("no such slot");
  dropped_slots.push_back(std::exchange(slot, FakeSlot()));
  return absl::OkStatus();
}

absl::StatusOr<Publications> FakePublisher::ReadPublications(
    const std::vector<std::string>&) {
  Publications result;
  const auto visible = [&](FullXid xid) { return model_.Visible(xid); };
  for (std::size_t i = 0; i < model_.tables().size(); ++i) {
    if (!model_.tables()[i].published) continue;
    result.tables.push_back(model_.ShapeAt(static_cast<int>(i), visible)->def);
  }
  result.types = ModelTypes();
  result.missing = missing_publications;
  return result;
}

absl::StatusOr<std::vector<std::string>> FakePublisher::ReadWriters(
    std::uint32_t relation) {
  std::vector<std::string> writers;
  for (const ModelTable& table : model_.tables()) {
    if (table.shape()->def.oid != relation) continue;
    for (FullXid xid : table.writers) writers.push_back(absl::StrCat(xid));
  }
  return writers;
}

absl::StatusOr<std::unique_ptr<TableReader>> FakePublisher::ReadTable(
    const std::string& pg_schema, const std::string& pg_table,
    const std::vector<std::string>&, const CopyRequest& range) {
  ++table_reads;
  requests.push_back(range);
  if (on_read_table) {
    const absl::Status status = on_read_table(pg_schema + "." + pg_table);
    if (!status.ok()) return status;
  }
  const int table = model_.FindTable(pg_schema, pg_table);
  if (table < 0 || !model_.tables()[table].published) {
    return absl::NotFoundError(
        absl::StrCat("table ", pg_schema, ".", pg_table, " is not published"));
  }
  // The reader waits for whoever rewrites or empties the table.
  while (model_.tables()[table].exclusive != 0) {
    EndSomehow(model_.tables()[table].exclusive);
  }
  // A commit that waits for a standby becomes visible some time.
  for (const auto& [xid, transaction] : model_.transactions()) {
    if (transaction.state == ModelTransaction::State::kInvisible &&
        invisible_ends && random_() % 2 == 0) {
      model_.MakeVisible(xid);
    }
  }
  auto reader = std::make_unique<FakeReader>(*this, table, range);
  Trace(absl::StrCat("read ", reader->table().FullName(), " in ",
                     reader->snapshot().ToString(), " at ",
                     reader->snapshot_lsn().ToString()));
  return reader;
}

absl::StatusOr<std::vector<std::vector<std::string>>> FakePublisher::Query(
    std::string_view sql) {
  if (sql == "show synchronous_standby_names") {
    return std::vector<std::vector<std::string>>{{synchronous_standby_names}};
  }
  if (sql == "show server_encoding") {
    return std::vector<std::vector<std::string>>{{server_encoding}};
  }
  if (sql == "select pg_is_in_recovery()") {
    return std::vector<std::vector<std::string>>{
        {identity.in_recovery ? "t" : "f"}};
  }
  if (sql.find("pg_replication_slots") != std::string_view::npos) {
    return std::vector<std::vector<std::string>>{{model_.end().ToString(),
                                                  slot.state.restart.ToString(),
                                                  "reserved", "", "-1", ""}};
  }
  if (sql.find("pg_current_snapshot") != std::string_view::npos) {
    return std::vector<std::vector<std::string>>{
        {model_.CurrentSnapshot().ToString(), model_.end().ToString()}};
  }
  if (sql.find("pg_current_wal_insert_lsn") != std::string_view::npos) {
    return std::vector<std::vector<std::string>>{{model_.end().ToString()}};
  }
  return absl::UnimplementedError(
      absl::StrCat("the fake publisher does not know: ",
                   absl::string_view(sql.data(), sql.size())));
}

absl::StatusOr<std::unique_ptr<ReplicationStream>>
FakePublisher::StartReplication(const StreamOptions& options) {
  SelectSlot(options.slot);
  if (!slot.state.exists) return absl::FailedPreconditionError("no slot");
  EXPECT_GE(options.start.value(), slot.state.confirmed_flush.value())
      << "the publisher would skip silently what is between";
  streams.push_back(options);
  Trace(absl::StrCat("start at ", options.start.ToString(), ", confirmed ",
                     slot.state.confirmed_flush.ToString()));
  slot.state.active = true;
  const Lsn start = std::max(options.start, slot.state.confirmed_flush);
  // What a slot has it keeps; what it lacks is switched on by asking for it.
  if (options.two_phase && !slot.state.two_phase) {
    slot.state.two_phase = true;
    slot.two_phase_at = start;
  }
  auto stream = std::make_unique<FakeStream>(*this, options, start);
  if (on_start) on_start();
  return stream;
}

}  // namespace sublite::testing
