// The running stream: order, back-pressure, time-outs on both sides, loss, stop
// (C072, C085 to C088, C115).
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "applier/wire/frame.h"
#include "tests/io/proxy.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kPerson = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kRetry = absl::StatusCode::kUnavailable;

class StreamTest : public PublisherTest {
 protected:
  void SetUp() override {
    PublisherTest::SetUp();
    Sql("CREATE TABLE t (id int PRIMARY KEY, v text);"
        "CREATE PUBLICATION pub FOR TABLE t");
  }
  void TearDown() override {
    stream_.reset();
    publisher_.reset();
    for (int i = 0; i < 100; ++i) {
      if (Scalar("SELECT count(*) FROM pg_replication_slots") == "0") break;
      session_
          ->Exec(
              "SELECT pg_terminate_backend(active_pid) FROM "
              "pg_replication_slots WHERE active; SELECT "
              "pg_drop_replication_slot(slot_name) FROM "
              "pg_replication_slots WHERE NOT active")
          .status()
          .IgnoreError();
      absl::SleepFor(absl::Milliseconds(50));
    }
    PublisherTest::TearDown();
  }

  std::string Through(const Proxy& proxy, const std::string& more = "") const {
    return absl::StrCat("host=127.0.0.1 port=", proxy.port(),
                        " user=postgres dbname=", database_, " ", more);
  }

  // Makes the slot "s" and streams from it.
  void Start(const std::string& conninfo = "", const StreamLimits& limits = {},
             const std::vector<std::string>& publications = {"pub"}) {
    publisher_ = Connected(conninfo, limits);
    const auto slot = publisher_->CreateSlot({"s", false, false}, nullptr);
    ASSERT_OK(slot);
    start_ = slot->consistent_point;
    Restart(publications);
  }
  void Restart(const std::vector<std::string>& publications = {"pub"}) {
    StreamOptions options;
    options.slot = "s";
    options.start = start_;
    options.publications = publications;
    absl::StatusOr<std::unique_ptr<ReplicationStream>> stream =
        publisher_->StartReplication(options);
    ASSERT_OK(stream);
    stream_ = *std::move(stream);
  }

  // Receives until `done`, an error, or the time is up.
  absl::Status ReceiveUntil(const std::function<bool()>& done,
                            absl::Duration patience = absl::Seconds(30)) {
    const absl::Time end = absl::Now() + patience;
    while (!done() && absl::Now() < end) {
      std::vector<Frame> frames;
      const absl::Status status =
          stream_->Receive(absl::Milliseconds(100), &frames);
      for (const Frame& frame : frames) Note(frame);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  void Note(const Frame& frame) {
    const absl::StatusOr<ServerFrame> parsed = ParseFrame(frame.bytes());
    ASSERT_OK(parsed);
    if (const auto* alive = std::get_if<Keepalive>(&*parsed)) {
      ++keepalives_;
      wal_end_ = alive->wal_end;
      return;
    }
    const auto& data = std::get<XLogData>(*parsed);
    kinds_ += data.payload[0];
    ++counts_[data.payload[0]];
    bytes_ += data.payload.size();
  }
  // A column of the walsender's row.
  std::string Sender(const std::string& column) {
    return Scalar(absl::StrCat("SELECT coalesce((SELECT ", column,
                               "::text FROM pg_stat_replication "
                               "WHERE application_name = 'sublite'), 'none')"));
  }
  bool Eventually(const std::function<bool()>& what) {
    for (int i = 0; i < 100; ++i) {
      if (what()) return true;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }
  static Lsn ToLsn(const std::string& text) {
    Lsn lsn;  // stays 0 for "none"
    EXPECT_TRUE(text == "none" || Lsn::Parse(text, &lsn)) << text;
    return lsn;
  }

  std::unique_ptr<LibpqPublisher> publisher_;
  std::unique_ptr<ReplicationStream> stream_;
  Lsn start_;
  Lsn wal_end_;
  std::string kinds_;
  std::map<char, int> counts_;
  int keepalives_ = 0;
  std::size_t bytes_ = 0;
};

TEST_F(StreamTest, FramesInOrder) {
  Start();
  const absl::Time before = absl::Now();
  Sql("INSERT INTO t VALUES (1, 'a'); UPDATE t SET v = 'b'; DELETE FROM t");
  Sql("TRUNCATE t");
  ASSERT_OK(ReceiveUntil([&] { return counts_['C'] == 2; }));
  // The server describes the table again when it likes to: after TRUNCATE, or
  // when it was vacuumed or analyzed meanwhile.
  EXPECT_EQ(kinds_.substr(0, 2), "BR");
  kinds_.erase(std::remove(kinds_.begin(), kinds_.end(), 'R'), kinds_.end());
  EXPECT_THAT(kinds_, AnyOf("BIUDCBTC", "BIUDCBC"));
  EXPECT_EQ(counts_['T'], Since(11) ? 1 : 0);
  EXPECT_GE(stream_->LastHeard(), before);
  EXPECT_LE(stream_->LastHeard(), absl::Now());
}

TEST_F(StreamTest, ManyTransactionsThroughASmallQueue) {
  StreamLimits limits;
  limits.queue_bytes_max = 2000;
  Start("", limits);
  Sql("DO $$ BEGIN FOR i IN 1..500 LOOP INSERT INTO t SELECT i * 100 + j, "
      "repeat('x', 50) FROM generate_series(0, 19) j; COMMIT; END LOOP; END "
      "$$");
  ASSERT_OK(ReceiveUntil([&] { return counts_['C'] == 500; }));
  EXPECT_EQ(counts_['I'], 10000);
  EXPECT_EQ(counts_['B'], 500);
}

TEST_F(StreamTest, RowLargerThanTheQueue) {
  StreamLimits limits;
  limits.queue_bytes_max = 64 << 10;
  Start("", limits);
  Sql("INSERT INTO t VALUES (1, repeat('x', 20000000))");
  Sql("INSERT INTO t VALUES (2, 'y')");
  ASSERT_OK(ReceiveUntil([&] { return counts_['C'] == 2; }));
  EXPECT_GT(bytes_, 20000000u);
  EXPECT_EQ(kinds_, "BRICBIC");
}

// C087: the consumer is busy for longer than the server's patience, with the
// queue full and more waiting in the socket.
TEST_F(StreamTest, SleepingConsumerKeepsTheConnection) {
  if (!Since(12)) GTEST_SKIP() << "wal_sender_timeout is the server's alone";
  StreamLimits limits;
  limits.queue_bytes_max = 64 << 10;
  limits.status_interval = absl::Minutes(10);
  Start(Conninfo() + " options='-c wal_sender_timeout=2s'", limits);
  Sql("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 20000)"
      " i");
  const std::string pid = Sender("pid");
  absl::SleepFor(absl::Seconds(6));
  EXPECT_EQ(Sender("pid"), pid);
  EXPECT_TRUE(stream_->HasMore());
  // It was alive all the time, and confirmed nothing that was not confirmed.
  EXPECT_EQ(ToLsn(Sender("flush_lsn")), start_);
  ASSERT_OK(ReceiveUntil([&] { return counts_['C'] == 1; }));
  EXPECT_EQ(counts_['I'], 20000);
  EXPECT_EQ(Sender("pid"), pid);
}

TEST_F(StreamTest, IdleConsumerKeepsTheConnection) {
  if (!Since(12)) GTEST_SKIP();
  StreamLimits limits;
  limits.status_interval = absl::Minutes(10);
  Start(Conninfo() + " options='-c wal_sender_timeout=2s'", limits);
  const std::string pid = Sender("pid");
  ASSERT_OK(ReceiveUntil([] { return false; }, absl::Seconds(5)));
  EXPECT_EQ(Sender("pid"), pid);
}

TEST_F(StreamTest, ConfirmReachesTheServerAndNeverGoesBack) {
  Start();
  Sql("INSERT INTO t VALUES (1, 'a')");
  ASSERT_OK(ReceiveUntil([&] { return counts_['C'] == 1; }));
  const Lsn now = ToLsn(Scalar("SELECT pg_current_wal_lsn()"));
  EXPECT_TRUE(Eventually([&] { return ToLsn(Sender("flush_lsn")) == start_; }));
  stream_->Confirm({now, now}, true);
  EXPECT_TRUE(Eventually([&] { return ToLsn(Sender("flush_lsn")) == now; }));
  EXPECT_EQ(ToLsn(Sender("replay_lsn")), now);
  EXPECT_GE(ToLsn(Sender("write_lsn")), now);
  stream_->Confirm({start_, start_}, true);
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(ToLsn(Sender("flush_lsn")), now);
  EXPECT_TRUE(Eventually([&] {
    return ToLsn(Scalar("SELECT confirmed_flush_lsn FROM "
                        "pg_replication_slots")) >= now;
  }));
}

TEST_F(StreamTest, StatusGoesOutByItself) {
  StreamLimits limits;
  limits.status_interval = absl::Milliseconds(300);
  Start("", limits);
  const Lsn now = ToLsn(Scalar("SELECT pg_current_wal_lsn()"));
  stream_->Confirm({now, now}, false);
  EXPECT_TRUE(Eventually([&] { return ToLsn(Sender("flush_lsn")) == now; }));
}

TEST_F(StreamTest, LossComesAfterTheFrames) {
  Proxy proxy(server().port());
  Start(Through(proxy));
  Sql("INSERT INTO t SELECT generate_series(1, 100)");
  ASSERT_TRUE(Eventually([&] { return stream_->HasMore(); }));
  absl::SleepFor(absl::Milliseconds(500));
  proxy.HangUp();
  absl::SleepFor(absl::Milliseconds(200));
  const absl::Status status = ReceiveUntil([] { return false; });
  EXPECT_THAT(status, StatusIs(kRetry));
  EXPECT_EQ(counts_['I'], 100);
  EXPECT_EQ(counts_['C'], 1);
  std::vector<Frame> frames;
  EXPECT_THAT(stream_->Receive(absl::Seconds(1), &frames), StatusIs(kRetry));
}

TEST_F(StreamTest, LossWithAFullQueue) {
  Proxy proxy(server().port());
  StreamLimits limits;
  limits.queue_bytes_max = 10000;
  limits.status_interval = absl::Milliseconds(50);
  Start(Through(proxy), limits);
  Sql("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 2000) "
      "i");
  ASSERT_TRUE(Eventually([&] { return stream_->HasMore(); }));
  absl::SleepFor(absl::Milliseconds(300));
  proxy.HangUp();
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_THAT(ReceiveUntil([] { return false; }), StatusIs(kRetry));
  EXPECT_GT(counts_['I'], 0);
}

TEST_F(StreamTest, TerminatedByTheServer) {
  Start();
  Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_replication");
  EXPECT_THAT(ReceiveUntil([] { return false; }),
              StatusIs(kRetry, HasSubstr("terminating connection")));
}

// C085: a cut without a sign.
TEST_F(StreamTest, SilenceIsNoticedAndPatienceGrows) {
  Proxy proxy(server().port());
  StreamLimits limits;
  limits.silence_min = absl::Seconds(1);
  const std::string options =
      Since(12) ? "options='-c wal_sender_timeout=1s'" : "";
  Start(Through(proxy, options), limits);
  if (!Since(12)) return;
  ASSERT_OK(ReceiveUntil([] { return false; }, absl::Seconds(3)));
  proxy.SetPaused(true);
  absl::Status status;
  absl::Duration took =
      Measure([&] { status = ReceiveUntil([] { return false; }); });
  EXPECT_THAT(status, StatusIs(kRetry, HasSubstr("nothing was heard")));
  EXPECT_GE(took, absl::Milliseconds(300));
  EXPECT_LE(took, absl::Seconds(5));
  took = Measure([&] { stream_.reset(); });
  EXPECT_LT(took, kStopBound);
  proxy.SetPaused(false);

  // Nothing but keepalives came: the next one waits twice as long.
  ASSERT_TRUE(Eventually([&] { return Sender("pid") == "none"; }));
  Restart();
  proxy.SetPaused(true);
  took = Measure([&] { status = ReceiveUntil([] { return false; }); });
  EXPECT_THAT(status, StatusIs(kRetry, HasSubstr("for 2s")));
  EXPECT_GE(took, absl::Milliseconds(1500));
  proxy.SetPaused(false);
}

TEST_F(StreamTest, StopEndsReceiveAndALastConfirmStillGoesOut) {
  Start();
  {
    const StopLater later(&stop_, absl::Milliseconds(300));
    std::vector<Frame> frames;
    absl::Status status;
    EXPECT_LT(Measure([&] {
                while (status.ok()) {
                  status = stream_->Receive(absl::Minutes(10), &frames);
                }
              }),
              kStopBound);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  }
  const Lsn now = ToLsn(Scalar("SELECT pg_current_wal_lsn()"));
  stream_->Confirm({now, now}, true);
  EXPECT_LT(Measure([&] { stream_.reset(); }), kStopBound);
  EXPECT_GE(ToLsn(Scalar("SELECT confirmed_flush_lsn FROM "
                         "pg_replication_slots")),
            now);
  // And the slot is free at once.
  EXPECT_EQ(Scalar("SELECT active FROM pg_replication_slots"), "f");
}

TEST_F(StreamTest, DestructionWithDataInFlight) {
  StreamLimits limits;
  limits.queue_bytes_max = 10000;
  Start("", limits);
  Sql("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 30000)"
      " i");
  ASSERT_TRUE(Eventually([&] { return stream_->HasMore(); }));
  EXPECT_LT(Measure([&] { stream_.reset(); }), kStopBound);
}

TEST_F(StreamTest, ServerShutdownEndsTheStream) {
  Start();
  Sql("INSERT INTO t VALUES (1, 'a')");
  std::thread stopper([&] { EXPECT_OK(server().Stop()); });
  absl::Status status;
  while (status.ok()) {
    std::vector<Frame> frames;
    status = stream_->Receive(absl::Milliseconds(100), &frames);
    for (const Frame& frame : frames) Note(frame);
    // The server waits until all that it sent is confirmed.
    if (counts_['C'] == 1) stream_->Confirm({wal_end_, wal_end_}, true);
  }
  EXPECT_THAT(status, StatusIs(kRetry, AnyOf(HasSubstr("shuts down"),
                                             HasSubstr("closed"))));
  stopper.join();
  ASSERT_OK(server().StartAgain());
  ASSERT_OK_AND_ASSIGN(session_, server().Connect(database_));
}

TEST_F(StreamTest, HostilePublicationNames) {
  Sql("CREATE PUBLICATION \"Pub,\"\"two', x 'y\" FOR TABLE t;"
      "CREATE PUBLICATION \"a b\" FOR TABLE t");
  Start("", {}, {"Pub,\"two', x 'y", "a b"});
  Sql("INSERT INTO t VALUES (1, 'a')");
  ASSERT_OK(ReceiveUntil([&] { return counts_['C'] == 1; }));
  EXPECT_EQ(kinds_, "BRIC");
}

// C066. From 18 on the server only warns, and sends nothing.
TEST_F(StreamTest, MissingPublication) {
  Start("", {}, {"nothere"});
  Sql("INSERT INTO t VALUES (1, 'a')");
  const absl::Status status =
      ReceiveUntil([] { return false; }, absl::Seconds(Since(18) ? 2 : 30));
  if (Since(18)) {
    EXPECT_OK(status);
  } else {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                                 HasSubstr("\"nothere\"")));
  }
}

// C039.
TEST_F(StreamTest, DifferentColumnLists) {
  if (!Since(15)) GTEST_SKIP();
  Sql("CREATE PUBLICATION a FOR TABLE t (id, v);"
      "CREATE PUBLICATION b FOR TABLE t (id)");
  Start("", {}, {"a", "b"});
  Sql("INSERT INTO t VALUES (1, 'a')");
  EXPECT_THAT(ReceiveUntil([] { return false; }),
              StatusIs(kPerson, HasSubstr("column lists")));
}

TEST_F(StreamTest, StartErrors) {
  publisher_ = Connected();
  StreamOptions options;
  options.slot = "nowhere";
  options.publications = {"pub"};
  EXPECT_THAT(publisher_->StartReplication(options),
              StatusIs(kPerson, HasSubstr("nowhere")));
  options.slot = "x' y\"";
  EXPECT_THAT(publisher_->StartReplication(options),
              StatusIs(kPerson, HasSubstr("publisher.slot")));
  ASSERT_OK(publisher_->CreateSlot({"s", false, false}, nullptr));
  options.slot = "s";
  options.protocol_version = 99;
  EXPECT_THAT(publisher_->StartReplication(options), StatusIs(kPerson));
}

TEST_F(StreamTest, AllOptionsOfTheServer) {
  publisher_ = Connected();
  ASSERT_OK(publisher_->CreateSlot({"s", Since(15), false}, nullptr));
  StreamOptions options;
  options.slot = "s";
  options.publications = {"pub"};
  options.protocol_version = Since(16) ? 4 : Since(15) ? 3 : Since(14) ? 2 : 1;
  options.streaming = Since(16)   ? Streaming::kParallel
                      : Since(14) ? Streaming::kOn
                                  : Streaming::kOff;
  options.two_phase = Since(15);
  options.binary = Since(14);
  options.messages = Since(14);
  options.origin_none = Since(16);
  ASSERT_OK_AND_ASSIGN(stream_, publisher_->StartReplication(options));
  Sql("BEGIN; INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, "
      "1000) i; PREPARE TRANSACTION 'g'");
  Sql("COMMIT PREPARED 'g'");
  Sql("SELECT pg_logical_emit_message(false, 'p', 'x')");
  ASSERT_OK(ReceiveUntil([&] {
    return counts_['I'] == 1000 &&
           counts_[Since(15) ? 'K' : 'C'] + (Since(14) ? counts_['c'] : 0) >=
               1 &&
           (!Since(14) || counts_['M'] == 1);
  }));
  EXPECT_EQ(counts_['S'] > 0, Since(14));
  EXPECT_EQ(counts_['p'], Since(15) ? 1 : 0);
}

TEST(StartReplicationSqlTest, QuotesBothLevels) {
  StreamOptions options;
  options.slot = "a_1";
  options.start = Lsn(0x100000002);
  options.publications = {"x", "Pub,\"two'"};
  EXPECT_EQ(StartReplicationSql(options),
            "START_REPLICATION SLOT \"a_1\" LOGICAL 1/2 (proto_version '1', "
            "publication_names '\"x\",\"Pub,\"\"two''\"')");
  options.protocol_version = 4;
  options.streaming = Streaming::kParallel;
  options.two_phase = options.binary = options.messages = true;
  options.origin_none = true;
  EXPECT_THAT(StartReplicationSql(options),
              HasSubstr(", streaming 'parallel', two_phase 'on', binary 'true',"
                        " messages 'true', origin 'none')"));
}

}  // namespace
}  // namespace sublite::testing
