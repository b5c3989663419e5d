#include "applier/io/libpq_stream.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "applier/io/frame_queue.h"
#include "applier/io/libpq_error.h"
#include "applier/io/libpq_slot.h"
#include "applier/io/receive_pace.h"
#include "applier/io/wait.h"
#include "applier/wire/frame.h"
#include "schema/identifier.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Of what pgoutput looks up by name, publications alone.
constexpr std::string_view kUndefinedObject = "42704";

constexpr std::string_view kDoing = "receiving changes";
constexpr absl::Duration kGoodbyeMax = absl::Milliseconds(200);

// What the consumer tells the thread, and the other way round.
struct Shared {
  std::atomic<std::uint64_t> flushed{0};
  std::atomic<std::uint64_t> applied{0};
  std::atomic<bool> confirm_now{false};
  std::atomic<bool> closing{false};
  std::atomic<std::int64_t> heard_unix_nanos{0};
  EventFd wake;
};

void RaiseTo(std::uint64_t value, std::atomic<std::uint64_t>* target) {
  std::uint64_t seen = target->load(std::memory_order_relaxed);
  while (seen < value &&
         !target->compare_exchange_weak(seen, value, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

struct Timing {
  absl::Duration status_interval;
  absl::Duration silence_max;
};

// What runs in the thread.
class Receiver {
 public:
  Receiver(Connection* connection, Shared* shared, FrameQueue* queue, Lsn start,
           const Timing& timing, std::shared_ptr<SilentEndings> endings)
      : connection_(connection),
        conn_(connection->raw()),
        shared_(shared),
        queue_(queue),
        timing_(timing),
        endings_(std::move(endings)),
        received_(start),
        heard_(SteadyNow()),
        status_sent_(heard_) {}

  void Run();

 private:
  bool TakeFrames();  // false at the end of the stream
  void Look(std::string_view frame);
  absl::Status ServerEnded();
  void KeepTime();
  void SendStatus(bool reply_requested);
  void Wait();
  bool Nap();
  std::size_t Waiting() const;
  void ReadSocket();
  void Lose(absl::Status status);
  void SayGoodbye();

  Connection* const connection_;
  PGconn* const conn_;
  Shared* const shared_;
  FrameQueue* const queue_;
  const Timing timing_;
  const std::shared_ptr<SilentEndings> endings_;

  std::vector<Frame> batch_;
  Lsn received_;      // the last position that the server spoke of
  SteadyTime heard_;  // when it last sent anything
  SteadyTime status_sent_;
  ReceivePace pace_;
  bool status_due_ = true;  // the first tells the server where we are
  bool asked_ = false;      // in this silence, for an answer
  bool full_ = false;       // the queue: nothing is read
  bool unsent_ = false;     // libpq holds bytes that the socket did not take
  bool hung_up_ = false;    // seen while not reading
  absl::Status lost_;       // why the connection is lost; frames may be left
};

void Receiver::Run() {
  while (TakeFrames()) {
    if (shared_->closing.load(std::memory_order_acquire)) {
      SayGoodbye();
      return;
    }
    if (lost_.ok()) KeepTime();
    if (!lost_.ok() && !full_) {
      queue_->Finish(lost_);
      return;
    }
    Wait();
  }
}

bool Receiver::TakeFrames() {
  const bool was_full = std::exchange(full_, false);
  int size = 1;
  while (size > 0 && !full_) {
    const std::size_t room = queue_->Room();
    full_ = room == 0;
    std::size_t taken = 0;
    while (taken < room) {
      char* data = nullptr;
      size = PQgetCopyData(conn_, &data, /*async=*/1);
      if (size <= 0) break;
      Look({data, static_cast<std::size_t>(size)});
      batch_.emplace_back(data, static_cast<std::size_t>(size), PQfreemem);
      taken += FrameQueue::Cost(static_cast<std::size_t>(size));
    }
    queue_->Push(&batch_, taken);
  }
  if (was_full && !full_) {  // until now nothing could be heard
    heard_ = SteadyNow();
    asked_ = false;
    hung_up_ = false;
  }
  if (size >= 0) return true;
  if (size == -1) {
    queue_->Finish(ServerEnded());
  } else {
    queue_->Finish(lost_.ok() ? connection_->Lost(kDoing) : lost_);
  }
  return false;
}

// Positions as PostgreSQL's own apply worker counts them.
void Receiver::Look(std::string_view frame) {
  const absl::StatusOr<ServerFrame> parsed = ParseFrame(frame);
  if (!parsed.ok()) return;  // the consumer will find it, and say so
  if (const auto* data = std::get_if<XLogData>(&*parsed)) {
    received_ = std::max({received_, data->data_start, data->wal_end});
    endings_->store(0, std::memory_order_relaxed);
  } else if (const auto* alive = std::get_if<Keepalive>(&*parsed)) {
    received_ = std::max(received_, alive->wal_end);
    status_due_ |= alive->reply_requested;
  }
}

absl::Status Receiver::ServerEnded() {
  // The message that ended the copy is here already, so this does not block.
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
      PQgetResult(conn_), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (result != nullptr &&
      (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE)) {
    const absl::Status error = connection_->ErrorOf(result.get(), kDoing);
    return SqlState(error) == kUndefinedObject
               ? absl::NotFoundError(error.message())
               : error;
  }
  return ConnectionLost(
      "the publisher ended the stream, as it does when it "
      "shuts down",
      kDoing);
}

void Receiver::Lose(absl::Status status) {
  if (lost_.ok()) lost_ = std::move(status);
}

void Receiver::KeepTime() {
  const SteadyTime now = SteadyNow();
  const absl::Duration silence = absl::FromChrono(now - heard_);
  if (!full_ && silence >= timing_.silence_max) {
    endings_->fetch_add(1, std::memory_order_relaxed);
    Lose(
        ConnectionLost(absl::StrCat("nothing was heard from the publisher for ",
                                    absl::FormatDuration(timing_.silence_max)),
                       kDoing));
    return;
  }
  const bool ask = !full_ && !asked_ && silence >= timing_.silence_max / 2;
  if (shared_->confirm_now.exchange(false, std::memory_order_acq_rel)) {
    status_due_ = true;
  }
  if (status_due_ || ask ||
      now >= SteadyAfter(status_sent_, timing_.status_interval)) {
    asked_ |= ask;
    SendStatus(ask);
  } else if (unsent_) {
    const int left = PQflush(conn_);
    unsent_ = left > 0;
    if (left < 0) Lose(connection_->Lost(kDoing));
  }
}

void Receiver::SendStatus(bool reply_requested) {
  status_due_ = false;
  status_sent_ = SteadyNow();
  if (hung_up_) return;
  // While the socket takes nothing, another one behind the first is no use.
  if (unsent_ && PQflush(conn_) > 0) return;
  StatusUpdate update;
  update.flushed = Lsn(shared_->flushed.load(std::memory_order_acquire));
  update.applied = Lsn(shared_->applied.load(std::memory_order_acquire));
  update.written = std::max(received_, update.flushed);
  update.client_time = PgTimeFromUnixMicros(absl::ToUnixMicros(absl::Now()));
  update.reply_requested = reply_requested;
  const std::string bytes = EncodeStatusUpdate(update);
  if (PQputCopyData(conn_, bytes.data(), static_cast<int>(bytes.size())) != 1) {
    Lose(connection_->Lost(kDoing));
    return;
  }
  const int left = PQflush(conn_);
  unsent_ = left > 0;
  if (left < 0) Lose(connection_->Lost(kDoing));
}

// Bytes that have arrived in the socket.
std::size_t Receiver::Waiting() const {
  int bytes = 0;
  if (ioctl(PQsocket(conn_), FIONREAD, &bytes) != 0 || bytes < 0) return 0;
  return static_cast<std::size_t>(bytes);
}

// Lets the socket fill for a moment; false if nothing came of it.
bool Receiver::Nap() {
  std::size_t bytes = Waiting();
  if (bytes < ReceivePace::kEnoughBytes) {
    pollfd wake = {shared_->wake.fd(), POLLIN, 0};
    const timespec pause = absl::ToTimespec(pace_.nap());
    // What the consumer wants to be said comes first.
    if (ppoll(&wake, 1, &pause, nullptr) > 0) {
      shared_->wake.Clear();
      return true;
    }
    bytes = Waiting();
    if (bytes == 0) {
      // The publisher may only have lost its processor for a moment.
      pollfd socket = {PQsocket(conn_), POLLIN, 0};
      const timespec grace = absl::ToTimespec(ReceivePace::kGrace);
      if (ppoll(&socket, 1, &grace, nullptr) > 0) bytes = Waiting();
    }
    pace_.OnWoken(bytes);
  }
  if (bytes > 0) ReadSocket();
  return bytes > 0;
}

void Receiver::Wait() {
  const bool can_read = lost_.ok() && !hung_up_ && !full_;
  queue_->SetExpecting(full_ || (can_read && pace_.dense()));
  if (can_read && pace_.dense() && !unsent_) {
    if (Nap()) return;
    queue_->SetExpecting(false);
  }
  SteadyTime until = SteadyAfter(status_sent_, timing_.status_interval);
  if (!full_) {
    until =
        std::min(until, SteadyAfter(heard_, asked_ ? timing_.silence_max
                                                   : timing_.silence_max / 2));
  }
  const bool watch = lost_.ok() && !hung_up_;
  const short events =
      static_cast<short>((full_ ? 0 : POLLIN) | (unsent_ ? POLLOUT : 0));
  pollfd fds[2] = {{watch ? PQsocket(conn_) : -1, events, 0},
                   {shared_->wake.fd(), POLLIN, 0}};
  // With frames left over from a lost connection only the consumer matters.
  const int timeout = lost_.ok() ? PollTimeout(until) : -1;
  if (poll(fds, 2, timeout) <= 0) return;
  if (fds[1].revents != 0) shared_->wake.Clear();
  if ((fds[0].revents & POLLIN) != 0) {
    ReadSocket();
  } else if ((fds[0].revents & (POLLERR | POLLHUP)) != 0) {
    // poll() reports these unasked, again and again. What the server still
    // sent is read once there is room.
    if (full_) {
      hung_up_ = true;
    } else {
      ReadSocket();
    }
  }
}

void Receiver::ReadSocket() {
  if (PQconsumeInput(conn_) != 1) {
    Lose(connection_->Lost(kDoing));
    return;
  }
  heard_ = SteadyNow();
  asked_ = false;
  pace_.OnRead(heard_);
  shared_->heard_unix_nanos.store(absl::ToUnixNanos(absl::Now()),
                                  std::memory_order_relaxed);
}

// Tells the last positions and ends the copy, and waits a moment for the
// server's last word: by then it has freed the slot for the next connection.
void Receiver::SayGoodbye() {
  const SteadyTime deadline = SteadyIn(kGoodbyeMax);
  if (!lost_.ok()) return;
  SendStatus(false);
  if (!lost_.ok() || PQputCopyEnd(conn_, nullptr) != 1) return;
  bool copying = true;
  while (true) {
    const int left = PQflush(conn_);
    if (left < 0) return;
    while (copying) {
      char* data = nullptr;
      const int size = PQgetCopyData(conn_, &data, /*async=*/1);
      PQfreemem(data);
      if (size == -2) return;
      if (size == 0) break;
      copying = size > 0;
    }
    if (!copying && PQisBusy(conn_) == 0) return;
    const short events = left > 0 ? POLLIN | POLLOUT : POLLIN;
    if (WaitFor(PQsocket(conn_), events, deadline, nullptr) != Waited::kReady ||
        PQconsumeInput(conn_) != 1) {
      return;
    }
  }
}

class LibpqStream final : public ReplicationStream {
 public:
  LibpqStream(std::unique_ptr<Connection> connection, Lsn start,
              const Timing& timing, std::size_t queue_bytes_max,
              std::shared_ptr<SilentEndings> endings)
      : connection_(std::move(connection)),
        queue_(queue_bytes_max, &shared_.wake),
        receiver_(connection_.get(), &shared_, &queue_, start, timing,
                  std::move(endings)) {
    shared_.flushed = start.value();
    shared_.applied = start.value();
    shared_.heard_unix_nanos = absl::ToUnixNanos(absl::Now());
  }
  ~LibpqStream() override {
    shared_.closing.store(true, std::memory_order_release);
    shared_.wake.Set();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status StartThread() {
    try {
      thread_ = std::thread(&Receiver::Run, &receiver_);
    } catch (const std::system_error&) {
      return absl::ResourceExhaustedError("no thread for receiving changes");
    }
    return absl::OkStatus();
  }

  absl::Status Receive(absl::Duration timeout,
                       std::vector<Frame>* frames) override {
    return queue_.Receive(timeout, connection_->stop(), frames);
  }

  void Confirm(const Positions& positions, bool now) override {
    RaiseTo(positions.flushed.value(), &shared_.flushed);
    RaiseTo(positions.applied.value(), &shared_.applied);
    if (!now) return;
    shared_.confirm_now.store(true, std::memory_order_release);
    shared_.wake.Set();
  }

  bool HasMore() const override { return queue_.HasMore(); }

  absl::Time LastHeard() const override {
    return absl::FromUnixNanos(
        shared_.heard_unix_nanos.load(std::memory_order_relaxed));
  }

 private:
  const std::unique_ptr<Connection> connection_;
  Shared shared_;
  FrameQueue queue_;
  Receiver receiver_;
  std::thread thread_;  // last: it uses all of the above
};

// The role, the database or the server may have set it. 0: none.
absl::StatusOr<absl::Duration> ReadSenderTimeout(Connection& replication) {
  ASSIGN_OR_RETURN(
      const Result result,
      replication.Query("SELECT setting FROM pg_catalog.pg_settings"
                        " WHERE name = 'wal_sender_timeout'",
                        "reading wal_sender_timeout"));
  std::int64_t milliseconds = 0;
  const std::string text = result.rows() == 1 ? result.Text(0, 0) : "";
  if (!absl::SimpleAtoi(text, &milliseconds)) {
    return absl::DataLossError("wal_sender_timeout is not a number");
  }
  return absl::Milliseconds(milliseconds);
}

Timing TimingFor(const StreamLimits& limits, absl::Duration sender_timeout,
                 int silent_endings) {
  constexpr int kDoublingsMax = 4;
  Timing timing;
  timing.status_interval = limits.status_interval;
  if (sender_timeout > absl::ZeroDuration()) {
    timing.status_interval =
        std::min(timing.status_interval, sender_timeout / 3);
  }
  timing.silence_max = std::max(sender_timeout, limits.silence_min) *
                       (1 << std::min(silent_endings, kDoublingsMax));
  return timing;
}

}  // namespace

std::string StartReplicationSql(const StreamOptions& options) {
  std::string sql =
      absl::StrCat("START_REPLICATION SLOT ", QuoteIdentifier(options.slot),
                   " LOGICAL ", options.start.ToString(), " (proto_version '",
                   options.protocol_version, "', publication_names ",
                   QuoteLiteral(QuoteIdentifierList(options.publications)));
  // What is off is the server's default, and left out: older servers do not
  // know the words.
  if (options.streaming == Streaming::kOn) {
    absl::StrAppend(&sql, ", streaming 'on'");
  } else if (options.streaming == Streaming::kParallel) {
    absl::StrAppend(&sql, ", streaming 'parallel'");
  }
  if (options.two_phase) absl::StrAppend(&sql, ", two_phase 'on'");
  if (options.binary) absl::StrAppend(&sql, ", binary 'true'");
  if (options.messages) absl::StrAppend(&sql, ", messages 'true'");
  if (options.origin_none) absl::StrAppend(&sql, ", origin 'none'");
  return absl::StrCat(sql, ")");
}

absl::StatusOr<std::unique_ptr<ReplicationStream>> StartStream(
    std::unique_ptr<Connection> replication, const StreamOptions& options,
    const StreamLimits& limits, std::shared_ptr<SilentEndings> endings) {
  RETURN_IF_ERROR(CheckSlotName(options.slot));
  ASSIGN_OR_RETURN(const absl::Duration sender_timeout,
                   ReadSenderTimeout(*replication));
  ASSIGN_OR_RETURN(
      const Result result,
      replication->Query(StartReplicationSql(options), "starting replication"));
  if (!result.IsCopyBoth()) {
    return absl::DataLossError("START_REPLICATION did not begin to stream");
  }
  const Timing timing = TimingFor(limits, sender_timeout, endings->load());
  auto stream = std::make_unique<LibpqStream>(
      std::move(replication), options.start, timing, limits.queue_bytes_max,
      std::move(endings));
  RETURN_IF_ERROR(stream->StartThread());
  return stream;
}

}  // namespace sublite
