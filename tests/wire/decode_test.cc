// Each message from bytes made by hand: every field, and every reason to refuse
// it. What real servers send is in golden_test, cut and changed bytes are in
// mutation_test.
#include "applier/wire/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/encode.h"
#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using encode::Binary;
using encode::Null;
using encode::Text;
using encode::Unchanged;
using ::sublite::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kUnimplemented = absl::StatusCode::kUnimplemented;

constexpr Lsn kLsn1(0x0102030405060708);
constexpr Lsn kLsn2(0x1112131415161718);
constexpr PgTime kTime1{0x2122232425262728};
constexpr PgTime kTime2{-2};
constexpr Xid kXid = 0xF1F2F3F4;
constexpr Oid kOid = 0xA1A2A3A4;

class DecodeTest : public ::testing::Test {
 protected:
  DecodeTest() { context_.protocol_version = 4; }

  absl::StatusOr<Message> Run(const std::string& payload) {
    payload_ = payload;
    return Decode(payload_, context_, scratch_);
  }

  // The message, which must be a T.
  template <typename T>
  T Get(const std::string& payload) {
    const absl::StatusOr<Message> message = Run(payload);
    EXPECT_OK(message.status());
    if (!message.ok() || !std::holds_alternative<T>(*message)) {
      ADD_FAILURE() << "not the message that was asked for";
      return {};
    }
    return std::get<T>(*message);
  }

  std::string payload_;
  DecodeContext context_;
  DecodeScratch scratch_;
};

TEST_F(DecodeTest, Begin) {
  const auto m = Get<BeginMessage>(encode::Begin(kLsn1, kTime1, kXid));
  EXPECT_EQ(m.final_lsn, kLsn1);
  EXPECT_EQ(m.commit_time.micros, kTime1.micros);
  EXPECT_EQ(m.xid, kXid);
}

TEST_F(DecodeTest, LogicalMessage) {
  const std::string content("a\0b", 3);
  const auto m = Get<LogicalMessage>(
      encode::LogicalMessage(true, kLsn1, "prefix", content));
  EXPECT_FALSE(m.xid.has_value());
  EXPECT_TRUE(m.transactional);
  EXPECT_EQ(m.lsn, kLsn1);
  EXPECT_EQ(m.prefix, "prefix");
  EXPECT_EQ(m.content, content);
  EXPECT_FALSE(Get<LogicalMessage>(encode::LogicalMessage(false, Lsn(), "", ""))
                   .transactional);
}

TEST_F(DecodeTest, Commit) {
  const auto m = Get<CommitMessage>(encode::Commit(kLsn1, kLsn2, kTime2));
  EXPECT_EQ(m.commit_lsn, kLsn1);
  EXPECT_EQ(m.end_lsn, kLsn2);
  EXPECT_EQ(m.commit_time.micros, kTime2.micros);
}

TEST_F(DecodeTest, Origin) {
  const auto m = Get<OriginMessage>(encode::Origin(kLsn1, "name"));
  EXPECT_EQ(m.origin_lsn, kLsn1);
  EXPECT_EQ(m.name, "name");
  // In a stream block servers do not know the LSN yet, and there is no xid.
  context_.in_stream_block = true;
  EXPECT_FALSE(
      Get<OriginMessage>(encode::Origin(Lsn(), "name")).origin_lsn.valid());
}

TEST_F(DecodeTest, Relation) {
  const auto m = Get<RelationMessage>(
      encode::Relation(kOid, "ns", "name", 'i',
                       {{"k", 23, true, -1}, {"v", 1700, false, 786438}}));
  EXPECT_FALSE(m.xid.has_value());
  EXPECT_EQ(m.relation, kOid);
  EXPECT_EQ(m.pg_namespace, "ns");
  EXPECT_EQ(m.name, "name");
  EXPECT_EQ(m.identity, ReplicaIdentity::kIndex);
  ASSERT_EQ(m.columns.size(), 2u);
  EXPECT_TRUE(m.columns[0].key);
  EXPECT_EQ(m.columns[0].name, "k");
  EXPECT_EQ(m.columns[0].type, 23u);
  EXPECT_EQ(m.columns[0].type_modifier, -1);
  EXPECT_FALSE(m.columns[1].key);
  EXPECT_EQ(m.columns[1].type_modifier, 786438);
}

TEST_F(DecodeTest, EveryReplicaIdentity) {
  for (const char identity : {'d', 'i', 'f', 'n'}) {
    const auto m =
        Get<RelationMessage>(encode::Relation(kOid, "", "t", identity, {}));
    EXPECT_EQ(static_cast<char>(m.identity), identity);
    EXPECT_TRUE(m.columns.empty());
  }
}

TEST_F(DecodeTest, AnEmptyNamespaceIsPgCatalog) {
  EXPECT_EQ(Get<RelationMessage>(encode::Relation(kOid, "", "t", 'd', {}))
                .pg_namespace,
            "pg_catalog");
  EXPECT_EQ(Get<TypeMessage>(encode::Type(kOid, "", "int4")).pg_namespace,
            "pg_catalog");
}

TEST_F(DecodeTest, Type) {
  const auto m = Get<TypeMessage>(encode::Type(kOid, "ns", "name"));
  EXPECT_EQ(m.type, kOid);
  EXPECT_EQ(m.pg_namespace, "ns");
  EXPECT_EQ(m.name, "name");
}

TEST_F(DecodeTest, InsertWithEveryKindOfValue) {
  const std::string bytes("\0\xff", 2);
  const auto m = Get<InsertMessage>(encode::Insert(
      kOid, {Null(), Unchanged(), Text("text"), Text(""), Binary(bytes)}));
  EXPECT_FALSE(m.xid.has_value());
  EXPECT_EQ(m.relation, kOid);
  ASSERT_EQ(m.new_tuple.size(), 5u);
  EXPECT_TRUE(m.new_tuple[0].is_null());
  EXPECT_TRUE(m.new_tuple[1].is_unchanged());
  EXPECT_EQ(m.new_tuple[2].kind, Datum::Kind::kText);
  EXPECT_EQ(m.new_tuple[2].bytes, "text");
  EXPECT_EQ(m.new_tuple[3].kind, Datum::Kind::kText);
  EXPECT_EQ(m.new_tuple[3].bytes, "");
  EXPECT_EQ(m.new_tuple[4].kind, Datum::Kind::kBinary);
  EXPECT_EQ(m.new_tuple[4].bytes, bytes);
}

TEST_F(DecodeTest, ARowMayHaveNoColumnsOrAsManyAsPostgresAllows) {
  EXPECT_TRUE(Get<InsertMessage>(encode::Insert(kOid, {})).new_tuple.empty());
  const encode::Values most(1600);
  EXPECT_EQ(Get<InsertMessage>(encode::Insert(kOid, most)).new_tuple.size(),
            1600u);
}

TEST_F(DecodeTest, UpdateWithAndWithoutOldTuple) {
  const auto none =
      Get<UpdateMessage>(encode::Update(kOid, {Text("1"), Unchanged()}));
  EXPECT_EQ(none.old_kind, OldTuple::kNone);
  EXPECT_TRUE(none.old_tuple.empty());
  ASSERT_EQ(none.new_tuple.size(), 2u);
  EXPECT_TRUE(none.new_tuple[1].is_unchanged());

  const auto key = Get<UpdateMessage>(encode::UpdateWithOld(
      kOid, 'K', {Text("1"), Null()}, {Text("2"), Text("x")}));
  EXPECT_EQ(key.old_kind, OldTuple::kKey);
  ASSERT_EQ(key.old_tuple.size(), 2u);
  EXPECT_EQ(key.old_tuple[0].bytes, "1");
  ASSERT_EQ(key.new_tuple.size(), 2u);
  EXPECT_EQ(key.new_tuple[0].bytes, "2");

  const auto full = Get<UpdateMessage>(
      encode::UpdateWithOld(kOid, 'O', {Text("old")}, {Text("new")}));
  EXPECT_EQ(full.old_kind, OldTuple::kFull);
  EXPECT_EQ(full.old_tuple[0].bytes, "old");
  EXPECT_EQ(full.new_tuple[0].bytes, "new");
}

TEST_F(DecodeTest, Delete) {
  const auto key =
      Get<DeleteMessage>(encode::Delete(kOid, 'K', {Text("1"), Null()}));
  EXPECT_EQ(key.relation, kOid);
  EXPECT_EQ(key.old_kind, OldTuple::kKey);
  EXPECT_EQ(key.old_tuple.size(), 2u);
  EXPECT_EQ(Get<DeleteMessage>(encode::Delete(kOid, 'O', {Null()})).old_kind,
            OldTuple::kFull);
}

TEST_F(DecodeTest, Truncate) {
  for (int options = 0; options <= 3; ++options) {
    const auto m =
        Get<TruncateMessage>(encode::Truncate({kOid, 5, 6}, options));
    EXPECT_EQ(m.cascade, (options & 1) != 0);
    EXPECT_EQ(m.restart_identity, (options & 2) != 0);
    EXPECT_THAT(m.relations, ElementsAre(kOid, 5, 6));
  }
  EXPECT_TRUE(Get<TruncateMessage>(encode::Truncate({})).relations.empty());
}

TEST_F(DecodeTest, StreamStartAndStop) {
  for (const bool first : {false, true}) {
    const auto m = Get<StreamStartMessage>(encode::StreamStart(kXid, first));
    EXPECT_EQ(m.xid, kXid);
    EXPECT_EQ(m.first_segment, first);
  }
  Get<StreamStopMessage>(encode::StreamStop());
}

TEST_F(DecodeTest, StreamCommit) {
  const auto m = Get<StreamCommitMessage>(
      encode::StreamCommit(kXid, kLsn1, kLsn2, kTime1));
  EXPECT_EQ(m.xid, kXid);
  EXPECT_EQ(m.commit_lsn, kLsn1);
  EXPECT_EQ(m.end_lsn, kLsn2);
  EXPECT_EQ(m.commit_time.micros, kTime1.micros);
}

TEST_F(DecodeTest, StreamAbortIsLongerWithParallelStreaming) {
  const std::string plain = encode::StreamAbort(kXid, 7);
  const std::string parallel = encode::StreamAbort(kXid, 7, kLsn1, kTime1);
  const auto m = Get<StreamAbortMessage>(plain);
  EXPECT_EQ(m.xid, kXid);
  EXPECT_EQ(m.subxid, 7u);
  EXPECT_FALSE(m.abort_lsn.has_value());
  EXPECT_FALSE(m.abort_time.has_value());
  EXPECT_THAT(Run(parallel), StatusIs(kDataLoss,
                                      "Stream Abort: offset 9: 16 bytes follow "
                                      "the end of the message"));

  context_.parallel_streaming = true;
  const auto p = Get<StreamAbortMessage>(parallel);
  EXPECT_EQ(p.abort_lsn, kLsn1);
  EXPECT_EQ(p.abort_time->micros, kTime1.micros);
  EXPECT_THAT(Run(plain), StatusIs(kDataLoss,
                                   "Stream Abort: offset 9: abort LSN needs 8 "
                                   "bytes, 0 are left"));
  // An abort that the server found after a crash has no LSN.
  EXPECT_EQ(
      Get<StreamAbortMessage>(encode::StreamAbort(kXid, kXid, Lsn(), PgTime{}))
          .abort_lsn,
      Lsn());
}

TEST_F(DecodeTest, TheMessagesOfTwoPhaseCommit) {
  const auto begin = Get<BeginPrepareMessage>(
      encode::BeginPrepare(kLsn1, kLsn2, kTime1, kXid, "gid"));
  const auto prepare =
      Get<PrepareMessage>(encode::Prepare(kLsn1, kLsn2, kTime1, kXid, "gid"));
  const auto stream = Get<StreamPrepareMessage>(
      encode::StreamPrepare(kLsn1, kLsn2, kTime1, kXid, "gid"));
  const auto check = [](const auto& m) {
    EXPECT_EQ(m.prepare_lsn, kLsn1);
    EXPECT_EQ(m.end_lsn, kLsn2);
    EXPECT_EQ(m.prepare_time.micros, kTime1.micros);
    EXPECT_EQ(m.xid, kXid);
  };
  check(begin);
  check(prepare);
  check(stream);
  const auto commit = Get<CommitPreparedMessage>(
      encode::CommitPrepared(kLsn1, kLsn2, kTime1, kXid, "gid"));
  EXPECT_EQ(commit.commit_lsn, kLsn1);
  EXPECT_EQ(commit.end_lsn, kLsn2);
  EXPECT_EQ(commit.commit_time.micros, kTime1.micros);
  EXPECT_EQ(commit.xid, kXid);
  EXPECT_EQ(commit.gid, "gid");
  const auto rollback = Get<RollbackPreparedMessage>(
      encode::RollbackPrepared(kLsn1, kLsn2, kTime1, kTime2, kXid, "gid"));
  EXPECT_EQ(rollback.prepare_end_lsn, kLsn1);
  EXPECT_EQ(rollback.rollback_end_lsn, kLsn2);
  EXPECT_EQ(rollback.prepare_time.micros, kTime1.micros);
  EXPECT_EQ(rollback.rollback_time.micros, kTime2.micros);
  EXPECT_EQ(rollback.xid, kXid);
  EXPECT_EQ(rollback.gid, "gid");
}

TEST_F(DecodeTest, MessagesInAStreamBlockCarryTheirXid) {
  context_.in_stream_block = true;
  EXPECT_EQ(
      Get<LogicalMessage>(encode::LogicalMessage(true, kLsn1, "p", "c", kXid))
          .xid,
      kXid);
  EXPECT_EQ(Get<RelationMessage>(
                encode::Relation(kOid, "ns", "t", 'd', {{"a"}}, kXid))
                .xid,
            kXid);
  EXPECT_EQ(Get<TypeMessage>(encode::Type(kOid, "ns", "t", kXid)).xid, kXid);
  EXPECT_EQ(Get<InsertMessage>(encode::Insert(kOid, {Text("1")}, kXid)).xid,
            kXid);
  EXPECT_EQ(Get<UpdateMessage>(encode::Update(kOid, {Text("1")}, kXid)).xid,
            kXid);
  EXPECT_EQ(
      Get<DeleteMessage>(encode::Delete(kOid, 'K', {Text("1")}, kXid)).xid,
      kXid);
  const auto truncate = Get<TruncateMessage>(encode::Truncate({kOid}, 1, kXid));
  EXPECT_EQ(truncate.xid, kXid);
  EXPECT_THAT(truncate.relations, ElementsAre(kOid));
  // The end of the block has none.
  Get<StreamStopMessage>(encode::StreamStop());
}

// --- What is refused ---------------------------------------------------------

TEST_F(DecodeTest, ErrorsNameMessageLsnAndOffset) {
  context_.lsn = Lsn(0x1A2B3C);
  EXPECT_THAT(Run("I" + encode::Int32(kOid) + "X"),
              StatusIs(kDataLoss,
                       "Insert at 0/1A2B3C: offset 5: new tuple "
                       "'N' expected, not 'X'"));
  context_.lsn = Lsn();
  EXPECT_THAT(Run("C"), StatusIs(kDataLoss,
                                 "Commit: offset 1: flags needs 1 "
                                 "bytes, 0 are left"));
}

TEST_F(DecodeTest, AnEmptyOrUnknownMessage) {
  EXPECT_THAT(Run(""), StatusIs(kDataLoss, HasSubstr("message: offset 0")));
  EXPECT_THAT(Run("zabc"),
              StatusIs(kUnimplemented, HasSubstr("message 0x7a: offset 0")));
  int known = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const absl::Status status =
        Run(std::string(1, static_cast<char>(byte))).status();
    if (status.code() != kUnimplemented) ++known;
    EXPECT_EQ(status.code() != kUnimplemented,
              !MessageName(static_cast<char>(byte)).empty())
        << byte;
  }
  EXPECT_EQ(known, 19);
}

TEST_F(DecodeTest, BytesBehindAnyMessage) {
  const std::vector<std::string> messages = {
      encode::Begin(kLsn1, kTime1, kXid),
      encode::LogicalMessage(true, kLsn1, "p", "c"),
      encode::Commit(kLsn1, kLsn2, kTime1),
      encode::Origin(kLsn1, "o"),
      encode::Relation(kOid, "ns", "t", 'd', {{"a"}}),
      encode::Type(kOid, "ns", "t"),
      encode::Insert(kOid, {Text("1")}),
      encode::Update(kOid, {Text("1")}),
      encode::Delete(kOid, 'K', {Text("1")}),
      encode::Truncate({kOid}),
      encode::StreamStart(kXid, true),
      encode::StreamStop(),
      encode::StreamCommit(kXid, kLsn1, kLsn2, kTime1),
      encode::StreamAbort(kXid, kXid),
      encode::BeginPrepare(kLsn1, kLsn2, kTime1, kXid, "g"),
      encode::Prepare(kLsn1, kLsn2, kTime1, kXid, "g"),
      encode::CommitPrepared(kLsn1, kLsn2, kTime1, kXid, "g"),
      encode::RollbackPrepared(kLsn1, kLsn2, kTime1, kTime2, kXid, "g"),
      encode::StreamPrepare(kLsn1, kLsn2, kTime1, kXid, "g"),
  };
  EXPECT_EQ(messages.size(), std::variant_size_v<Message>);
  for (const std::string& message : messages) {
    ASSERT_OK_AND_ASSIGN(const Message decoded, Run(message));
    EXPECT_EQ(MessageName(decoded), MessageName(message[0]));
    EXPECT_THAT(
        Run(message + "x"),
        StatusIs(kDataLoss, std::string(MessageName(message[0])) + ": offset " +
                                std::to_string(message.size()) +
                                ": 1 bytes follow the end of the message"));
  }
}

struct Bad {
  std::string payload;
  absl::StatusCode code;
  std::string text;
};

TEST_F(DecodeTest, FlagsThatNoVersionHas) {
  const std::string commit = encode::Commit(kLsn1, kLsn2, kTime1).substr(2);
  const std::string prepared =
      encode::Prepare(kLsn1, kLsn2, kTime1, kXid, "g").substr(2);
  const std::string rollback =
      encode::RollbackPrepared(kLsn1, kLsn2, kTime1, kTime1, kXid, "g")
          .substr(2);
  const Bad cases[] = {
      {"C\1" + commit, kUnimplemented, "Commit: offset 1: unknown flags 0x1"},
      {"c" + encode::Int32(1) + "\1" + commit, kUnimplemented,
       "Stream Commit: offset 5: unknown flags 0x1"},
      {"P\x80" + prepared, kUnimplemented,
       "Prepare: offset 1: unknown flags 0x80"},
      {"p\1" + prepared, kUnimplemented,
       "Stream Prepare: offset 1: unknown flags 0x1"},
      {"K\1" + prepared, kUnimplemented,
       "Commit Prepared: offset 1: unknown flags 0x1"},
      {"r\1" + rollback, kUnimplemented,
       "Rollback Prepared: offset 1: unknown flags 0x1"},
      {"M\2" + encode::Int64(1) + encode::CString("p") + encode::Int32(0),
       kUnimplemented, "Message: offset 1: unknown message flags 0x2"},
      {encode::Truncate({kOid}, 4), kUnimplemented,
       "Truncate: offset 5: unknown truncate options 0x4"},
      {"S" + encode::Int32(1) + "\2", kUnimplemented,
       "Stream Start: offset 5: unknown first segment flag 0x2"},
      {encode::Relation(kOid, "", "t", 'x', {}), kUnimplemented,
       "Relation: offset 8: replica identity d, i, f or n expected, not 'x'"},
      {"R" + encode::Int32(1) + encode::CString("") + encode::CString("t") +
           "d" + encode::Int16(1) + "\2" + encode::CString("c") +
           encode::Int64(0),
       kUnimplemented, "Relation: offset 11: unknown column flags 0x2"},
      {encode::Insert(kOid, {{'x', ""}}), kUnimplemented,
       "Insert: offset 8: column kind n, u, t or b expected, not 'x'"},
      {encode::Insert(kOid, {{'\7', ""}}), kUnimplemented, "not 0x07"},
  };
  for (const Bad& bad : cases) {
    EXPECT_THAT(Run(bad.payload), StatusIs(bad.code, HasSubstr(bad.text)));
  }
}

TEST_F(DecodeTest, TupleMarkersThatDoNotFit) {
  const std::string oid = encode::Int32(kOid);
  const std::string row = encode::TupleData({Text("1")});
  for (const std::string& payload :
       {absl::StrCat("I", oid, "K", row), absl::StrCat("I", oid, "O", row),
        absl::StrCat("D", oid, "N", row), absl::StrCat("D", oid, "n", row),
        absl::StrCat("U", oid, "X", row),
        absl::StrCat("U", oid, "K", row, "K", row),
        absl::StrCat("U", oid, "O", row, "O", row)}) {
    EXPECT_THAT(Run(payload), StatusIs(kDataLoss, HasSubstr("expected, not")));
  }
  EXPECT_THAT(Run("U" + oid + "K" + row),
              StatusIs(kDataLoss, HasSubstr("tuple marker needs 1 bytes")));
}

TEST_F(DecodeTest, CountsAndLengthsBeyondTheMessage) {
  const std::string insert = "I" + encode::Int32(kOid) + "N";
  const std::string relation = "R" + encode::Int32(kOid) + encode::CString("") +
                               encode::CString("t") + "d";
  const Bad cases[] = {
      {insert + encode::Int16(65535), kDataLoss,
       "Insert: offset 6: 65535 columns, more than 1600"},
      {insert + encode::Int16(65535) + std::string(70000, 'n'), kDataLoss,
       "65535 columns, more than 1600"},
      {insert + encode::Int16(3) + "nn", kDataLoss,
       "Insert: offset 6: 3 columns cannot follow in 2 bytes"},
      {insert + encode::Int16(1) + "t" + encode::Int32(0x7fffffff) + "x",
       kDataLoss,
       "Insert: offset 9: text value needs 2147483647 bytes, 1 are left"},
      {insert + encode::Int16(1) + "b" + encode::Int32(0x80000000) + "x",
       kDataLoss,
       "Insert: offset 9: binary value has a negative length, -2147483648"},
      {relation + encode::Int16(65535), kDataLoss, "65535 columns"},
      {relation + encode::Int16(2) + std::string(19, 'x'), kDataLoss,
       "2 columns cannot follow in 19 bytes"},
      {"T" + encode::Int32(0xffffffff) + encode::Int8(0) + encode::Int32(1),
       kDataLoss, "4294967295 relations cannot follow in 4 bytes"},
      {"T" + encode::Int32(0x40000001) + encode::Int8(0) + encode::Int32(1),
       kDataLoss, "1073741825 relations cannot follow in 4 bytes"},
      {"T" + encode::Int32(1) + encode::Int8(0) + encode::Int64(1), kDataLoss,
       "4 bytes follow the end"},
      {"M" + encode::Int8(0) + encode::Int64(1) + encode::CString("p") +
           encode::Int32(0xffffffff),
       kDataLoss, "content has a negative length, -1"},
      {"O" + encode::Int64(1) + "name", kDataLoss,
       "Origin: offset 9: origin name does not end within the message"},
  };
  for (const Bad& bad : cases) {
    EXPECT_THAT(Run(bad.payload), StatusIs(bad.code, HasSubstr(bad.text)));
  }
  // Nothing was sized by the counts above.
  EXPECT_LE(scratch_.new_tuple.capacity(), 1600u);
  EXPECT_LE(scratch_.columns.capacity(), 1600u);
  EXPECT_LE(scratch_.relations.capacity(), 16u);
}

TEST_F(DecodeTest, PositionsAndTransactionIdsThatAreZero) {
  const Lsn zero;
  for (const std::string& payload :
       {encode::Begin(zero, kTime1, kXid),
        encode::Begin(kLsn1, kTime1, 0),
        encode::Commit(zero, kLsn2, kTime1),
        encode::Commit(kLsn1, zero, kTime1),
        encode::StreamStart(0, true),
        encode::StreamCommit(0, kLsn1, kLsn2, kTime1),
        encode::StreamCommit(kXid, zero, kLsn2, kTime1),
        encode::StreamCommit(kXid, kLsn1, zero, kTime1),
        encode::StreamAbort(0, kXid),
        encode::StreamAbort(kXid, 0),
        encode::BeginPrepare(zero, kLsn2, kTime1, kXid, "g"),
        encode::BeginPrepare(kLsn1, zero, kTime1, kXid, "g"),
        encode::BeginPrepare(kLsn1, kLsn2, kTime1, 0, "g"),
        encode::Prepare(zero, kLsn2, kTime1, kXid, "g"),
        encode::Prepare(kLsn1, zero, kTime1, kXid, "g"),
        encode::Prepare(kLsn1, kLsn2, kTime1, 0, "g"),
        encode::CommitPrepared(zero, kLsn2, kTime1, kXid, "g"),
        encode::CommitPrepared(kLsn1, zero, kTime1, kXid, "g"),
        encode::CommitPrepared(kLsn1, kLsn2, kTime1, 0, "g"),
        encode::RollbackPrepared(zero, kLsn2, kTime1, kTime1, kXid, "g"),
        encode::RollbackPrepared(kLsn1, zero, kTime1, kTime1, kXid, "g"),
        encode::RollbackPrepared(kLsn1, kLsn2, kTime1, kTime1, 0, "g"),
        encode::StreamPrepare(zero, kLsn2, kTime1, kXid, "g"),
        encode::StreamPrepare(kLsn1, zero, kTime1, kXid, "g"),
        encode::StreamPrepare(kLsn1, kLsn2, kTime1, 0, "g")}) {
    EXPECT_THAT(Run(payload), StatusIs(kDataLoss, HasSubstr(" is zero")));
  }
  context_.in_stream_block = true;
  EXPECT_THAT(
      Run(encode::Insert(kOid, {}, 0)),
      StatusIs(kDataLoss, HasSubstr("streamed transaction id is zero")));
}

// A record has bytes, so its end is behind it. An end that is not would be a
// position that does not cover the transaction: it would be applied twice.
TEST_F(DecodeTest, EndsThatAreNotBehindTheirBeginning) {
  for (const Lsn end : {kLsn1, Lsn(kLsn1.value() - 1), Lsn(1)}) {
    for (const std::string& payload :
         {encode::Commit(kLsn1, end, kTime1),
          encode::StreamCommit(kXid, kLsn1, end, kTime1),
          encode::BeginPrepare(kLsn1, end, kTime1, kXid, "g"),
          encode::Prepare(kLsn1, end, kTime1, kXid, "g"),
          encode::CommitPrepared(kLsn1, end, kTime1, kXid, "g"),
          encode::RollbackPrepared(kLsn1, end, kTime1, kTime1, kXid, "g"),
          encode::StreamPrepare(kLsn1, end, kTime1, kXid, "g")}) {
      EXPECT_THAT(Run(payload),
                  StatusIs(kDataLoss, HasSubstr(" is not behind ")));
    }
  }
  const Lsn next(kLsn1.value() + 1);
  EXPECT_EQ(Get<CommitMessage>(encode::Commit(kLsn1, next, kTime1)).end_lsn,
            next);
}

TEST_F(DecodeTest, MessagesOfALaterProtocolVersion) {
  const std::vector<std::pair<int, std::string>> messages = {
      {2, encode::StreamStart(kXid, true)},
      {2, encode::StreamStop()},
      {2, encode::StreamCommit(kXid, kLsn1, kLsn2, kTime1)},
      {3, encode::BeginPrepare(kLsn1, kLsn2, kTime1, kXid, "g")},
      {3, encode::Prepare(kLsn1, kLsn2, kTime1, kXid, "g")},
      {3, encode::CommitPrepared(kLsn1, kLsn2, kTime1, kXid, "g")},
      {3, encode::RollbackPrepared(kLsn1, kLsn2, kTime1, kTime1, kXid, "g")},
      {3, encode::StreamPrepare(kLsn1, kLsn2, kTime1, kXid, "g")},
      {1, encode::Begin(kLsn1, kTime1, kXid)},
      {1, encode::LogicalMessage(false, kLsn1, "p", "c")},
      // Seen from servers that were not asked to stream.
      {1, encode::StreamAbort(kXid, kXid)},
  };
  for (const auto& [first, payload] : messages) {
    for (int version = 1; version <= 4; ++version) {
      context_.protocol_version = version;
      if (version >= first) {
        EXPECT_OK(Run(payload).status());
        continue;
      }
      EXPECT_THAT(Run(payload),
                  StatusIs(kDataLoss,
                           std::string(MessageName(payload[0])) +
                               ": offset 0: this message needs protocol "
                               "version " +
                               std::to_string(first) + ", the connection has " +
                               std::to_string(version)));
    }
  }
}

TEST_F(DecodeTest, AWarmScratchIsNotAllocatedForAgain) {
  const encode::Values values(20, Text("value"));
  Get<UpdateMessage>(encode::UpdateWithOld(kOid, 'O', values, values));
  const Datum* const old_data = scratch_.old_tuple.data();
  const Datum* const new_data = scratch_.new_tuple.data();
  for (int i = 0; i < 3; ++i) {
    const auto m =
        Get<UpdateMessage>(encode::UpdateWithOld(kOid, 'O', values, values));
    EXPECT_EQ(m.old_tuple.data(), old_data);
    EXPECT_EQ(m.new_tuple.data(), new_data);
  }
}

TEST_F(DecodeTest, ViewsPointIntoThePayload) {
  const auto m = Get<InsertMessage>(encode::Insert(kOid, {Text("value")}));
  EXPECT_EQ(m.new_tuple[0].bytes.data(), payload_.data() + payload_.size() - 5);
}

}  // namespace
}  // namespace sublite
