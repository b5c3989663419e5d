// The decoder against what real servers sent: the text that `sublite decode`
// prints, the changes that the SQL says, the facts that the server itself says,
// and whether every kind of message is there at all.
#include "tests/wire/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "applier/cli/decode_command.h"

namespace sublite::testing {
namespace {

using Json = nlohmann::json;
using ::testing::IsSupersetOf;

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

std::vector<Json> JsonLines(const std::string& text) {
  std::vector<Json> lines;
  for (const std::string& line : Lines(text)) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

std::string Decoded(const GoldenCapture& capture, int* code) {
  std::istringstream in(capture.bytes);
  std::ostringstream out;
  std::ostringstream err;
  *code = DecodeCommand("-", in, out, err);
  EXPECT_EQ(err.str(), "");
  return out.str();
}

class GoldenTest : public ::testing::TestWithParam<GoldenCapture> {
 protected:
  std::vector<Json> Messages() {
    int code = 0;
    return JsonLines(Decoded(GetParam(), &code));
  }
};

TEST_P(GoldenTest, DecodeCommandPrintsTheExpectedText) {
  int code = -1;
  const std::string text = Decoded(GetParam(), &code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(text, ReadFile(GetParam().Path(".jsonl")));
}

// --- What the SQL says -------------------------------------------------------

// What the stream said of its tables and types so far.
struct Catalog {
  std::map<std::int64_t, std::string> table_names;
  std::map<std::int64_t, std::vector<std::int64_t>> column_types;
  std::map<std::int64_t, std::string> type_names;

  void Learn(const Json& message) {
    if (message["message"] == "Type") {
      type_names[message["type"]] = message["name"];
    }
    if (message["message"] != "Relation") return;
    const std::int64_t oid = message["relation"];
    table_names[oid] = message["namespace"].get<std::string>() + "." +
                       message["name"].get<std::string>();
    column_types[oid].clear();
    for (const Json& column : message["columns"]) {
      column_types[oid].push_back(column["type"]);
    }
  }
};

// The text of a value in binary format, for the types that the scenarios use.
std::string TextOfBinary(const std::string& bytes, std::int64_t type,
                         const Catalog& catalog) {
  constexpr std::int64_t kBool = 16;
  const auto name = catalog.type_names.find(type);
  const bool int2_domain =
      name != catalog.type_names.end() && name->second == "int2";
  if (type == kBool) return bytes == std::string(1, '\1') ? "t" : "f";
  if (type == 20 || type == 21 || type == 23 || int2_domain) {
    std::uint64_t value = bytes[0] < 0 ? ~std::uint64_t{0} : 0;
    for (const char byte : bytes) {
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return bytes;  // text, varchar, enum labels
}

Json TextTuple(const Json& tuple, std::int64_t oid, const Catalog& catalog) {
  Json text = Json::array();
  const std::vector<std::int64_t>& types = catalog.column_types.at(oid);
  EXPECT_EQ(tuple.size(), types.size());
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    const Json& value = tuple[i];
    if (value.is_object() && value.contains("binary")) {
      text.push_back(TextOfBinary(absl::HexStringToBytes(std::string(
                                      value["binary"].get<std::string>())),
                                  types[i], catalog));
    } else {
      text.push_back(value);
    }
  }
  return text;
}

// `message` as the expectations are written: tables by name, values as text.
Json Readable(Json message, const Catalog& catalog) {
  if (message["message"] == "Stream Abort") {
    message["whole"] = message["xid"] == message["subxid"];
  }
  if (message.contains("relations")) {
    for (const Json& oid : message["relations"]) {
      message["tables"].push_back(catalog.table_names.at(oid));
    }
  }
  if (!message.contains("relation")) return message;
  const std::int64_t oid = message["relation"];
  message["table"] = catalog.table_names.at(oid);
  for (const char* tuple : {"new", "old", "old_key"}) {
    if (message.contains(tuple)) {
      message[tuple] = TextTuple(message[tuple], oid, catalog);
    }
  }
  return message;
}

// The messages without what only frames or describes others, and without the
// empty transactions that servers before 15 send.
std::vector<Json> ReadableMessages(const std::vector<Json>& messages) {
  const std::set<std::string> left_out = {"Relation", "Type", "Stream Start",
                                          "Stream Stop", "Keepalive"};
  Catalog catalog;
  std::vector<Json> readable;
  for (const Json& message : messages) {
    catalog.Learn(message);
    if (left_out.count(message["message"]) != 0) continue;
    if (message["message"] == "Commit" && !readable.empty() &&
        readable.back()["message"] == "Begin") {
      readable.pop_back();
      continue;
    }
    readable.push_back(Readable(message, catalog));
  }
  return readable;
}

std::vector<Json> ExpectedMessages(const GoldenCapture& capture) {
  std::vector<Json> expected;
  const std::string sql = ReadFile("tests/golden/" + capture.scenario + ".sql");
  const std::string other =
      capture.streaming ? "-- expect[plain]:" : "-- expect[stream]:";
  for (const std::string& line : Lines(sql)) {
    if (!absl::StartsWith(line, "-- expect") || absl::StartsWith(line, other)) {
      continue;
    }
    expected.push_back(Json::parse(line.substr(line.find(':') + 1)));
  }
  return expected;
}

TEST_P(GoldenTest, HoldsTheChangesThatTheSqlMade) {
  const std::vector<Json> messages = ReadableMessages(Messages());
  const std::vector<Json> expected = ExpectedMessages(GetParam());
  ASSERT_EQ(messages.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (const auto& [key, value] : expected[i].items()) {
      const Json seen = messages[i].value(key, Json());
      EXPECT_EQ(seen, value) << "message " << i << ": " << messages[i];
    }
  }
}

// --- What the server says ----------------------------------------------------

class Facts {
 public:
  explicit Facts(const GoldenCapture& capture)
      : lines_(JsonLines(ReadFile(capture.Path(".facts.jsonl")))) {}

  // The only fact of that kind whose `key` is `value`; null if there is none.
  Json Find(const std::string& kind, const std::string& key,
            const Json& value) const {
    Json found;
    for (const Json& line : lines_) {
      if (line["fact"] != kind || line[key] != value) continue;
      EXPECT_TRUE(found.is_null()) << "twice: " << line;
      found = line;
    }
    return found;
  }

  // The WAL record of one transaction.
  Json Wal(const std::string& record, const std::string& key,
           const Json& value) const {
    Json found;
    for (const Json& line : lines_) {
      if (line["fact"] == "wal" && line["record"] == record &&
          line[key] == value) {
        found = line;
      }
    }
    return found;
  }

  bool HasWal() const {
    return std::any_of(lines_.begin(), lines_.end(),
                       [](const Json& line) { return line["fact"] == "wal"; });
  }

  std::set<std::int64_t> Relations() const {
    std::set<std::int64_t> oids;
    for (const Json& line : lines_) {
      if (line["fact"] == "relation")
        oids.insert(line["oid"].get<std::int64_t>());
    }
    return oids;
  }

 private:
  std::vector<Json> lines_;
};

TEST_P(GoldenTest, RelationsAndTypesAreThoseOfTheCatalog) {
  const Facts facts(GetParam());
  std::set<std::int64_t> seen;
  for (const Json& message : Messages()) {
    if (message["message"] == "Relation") {
      const Json fact = facts.Find("relation", "oid", message["relation"]);
      for (const char* key :
           {"namespace", "name", "replica_identity", "columns"}) {
        EXPECT_EQ(message[key], fact[key]) << message;
      }
      seen.insert(message["relation"].get<std::int64_t>());
    }
    if (message["message"] == "Type") {
      const Json fact = facts.Find("type", "oid", message["type"]);
      EXPECT_EQ(message["namespace"], fact["namespace"]) << message;
      EXPECT_EQ(message["name"], fact["name"]) << message;
    }
  }
  EXPECT_EQ(seen, facts.Relations());
}

void CheckCommit(const Json& message, const Json& xid, const Facts& facts) {
  const Json wal = facts.Wal("COMMIT", "xid", xid);
  EXPECT_EQ(message["commit_lsn"], wal["start"]) << message;
  EXPECT_EQ(message["end_lsn"], wal["end"]) << message;
  EXPECT_EQ(message["commit_time"], wal["time"]) << message;
}

void CheckPrepare(const Json& message, const Facts& facts) {
  const Json wal = facts.Wal("PREPARE", "xid", message["xid"]);
  EXPECT_EQ(message["prepare_lsn"], wal["start"]) << message;
  EXPECT_EQ(message["end_lsn"], wal["end"]) << message;
  const Json prepared = facts.Find("prepared", "xid", message["xid"]);
  EXPECT_EQ(message["gid"], prepared["gid"]) << message;
  EXPECT_EQ(message["prepare_time"], prepared["time"]) << message;
}

void CheckFinished(const Json& message, const Facts& facts) {
  const Json prepared = facts.Find("prepared", "xid", message["xid"]);
  EXPECT_EQ(message["gid"], prepared["gid"]) << message;
  if (message["message"] == "Commit Prepared") {
    const Json wal =
        facts.Wal("COMMIT_PREPARED", "start", message["commit_lsn"]);
    EXPECT_EQ(message["end_lsn"], wal["end"]) << message;
    return;
  }
  const Json wal =
      facts.Wal("ABORT_PREPARED", "end", message["rollback_end_lsn"]);
  EXPECT_FALSE(wal.is_null()) << message;
  EXPECT_EQ(message["prepare_end_lsn"],
            facts.Wal("PREPARE", "xid", message["xid"])["end"])
      << message;
  EXPECT_EQ(message["prepare_time"], prepared["time"]) << message;
}

void CheckTransactionMessage(const Json& message, const Json& begin,
                             const Facts& facts) {
  const std::string kind = message["message"];
  if (kind == "Begin") {
    const Json wal = facts.Wal("COMMIT", "xid", message["xid"]);
    EXPECT_EQ(message["final_lsn"], wal["start"]) << message;
    EXPECT_EQ(message["commit_time"], wal["time"]) << message;
  } else if (kind == "Commit") {
    CheckCommit(message, begin["xid"], facts);
  } else if (kind == "Stream Commit") {
    CheckCommit(message, message["xid"], facts);
  } else if (kind == "Stream Abort") {
    // Servers give the end of the record as the LSN of an abort.
    const Json wal = facts.Wal("ABORT", "xid", message["subxid"]);
    EXPECT_EQ(message["lsn"], wal["end"]) << message;
    EXPECT_EQ(message.value("abort_lsn", wal["end"]), wal["end"]) << message;
  } else if (kind == "Begin Prepare" || kind == "Prepare" ||
             kind == "Stream Prepare") {
    CheckPrepare(message, facts);
  } else if (kind == "Commit Prepared" || kind == "Rollback Prepared") {
    CheckFinished(message, facts);
  }
}

TEST_P(GoldenTest, TransactionsAreThoseOfTheServersWal) {
  const Facts facts(GetParam());
  // pg_walinspect, which tells of WAL records, came with 15.
  ASSERT_EQ(facts.HasWal(), GetParam().major != "14");
  Json begin;
  for (const Json& message : Messages()) {
    if (message["message"] == "Begin") begin = message;
    if (message["message"] == "Commit") {
      EXPECT_EQ(message["commit_lsn"], begin["final_lsn"]) << message;
      EXPECT_EQ(message["commit_time"], begin["commit_time"]) << message;
    }
    if (facts.HasWal()) CheckTransactionMessage(message, begin, facts);
  }
}

TEST_P(GoldenTest, StreamAbortHasItsLsnWithStreamingParallelOnly) {
  const bool parallel =
      absl::StrContains(GetParam().header, "streaming=parallel");
  for (const Json& message : Messages()) {
    if (message["message"] != "Stream Abort") continue;
    EXPECT_EQ(message.contains("abort_lsn"), parallel) << message;
    EXPECT_EQ(message.contains("abort_time"), parallel) << message;
  }
}

TEST_P(GoldenTest, StreamedRowsCarryTheXidThatWroteThem) {
  const Facts facts(GetParam());
  Json block_xid;
  for (const Json& message : Messages()) {
    const std::string kind = message["message"];
    if (kind == "Stream Start") block_xid = message["xid"];
    if (kind == "Stream Stop") block_xid = Json();
    if (kind != "Insert") continue;
    EXPECT_EQ(message.contains("xid"), !block_xid.is_null()) << message;
    if (!message["new"][0].is_string()) continue;
    std::int64_t id = 0;
    if (!absl::SimpleAtoi(message["new"][0].get<std::string>(), &id)) continue;
    const Json fact = facts.Find("row_xid", "id", id);
    if (fact.is_null() || block_xid.is_null()) continue;
    EXPECT_EQ(message["xid"], fact["xid"]) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, ::testing::ValuesIn(GoldenCaptures()),
                         [](const auto& info) {
                           return TestNameOf(info.param);
                         });

// --- Whether everything is there ---------------------------------------------

void AddValues(const Json& tuple, std::set<std::string>& seen) {
  for (const Json& value : tuple) {
    if (value.is_null()) seen.insert("value n");
    if (value.is_string()) seen.insert("value t");
    if (value.is_object() && value.contains("binary")) seen.insert("value b");
    if (value.is_object() && value.contains("unchanged")) {
      seen.insert("value u");
    }
  }
}

void AddForms(const Json& message, std::set<std::string>& seen) {
  const std::string kind = message["message"];
  const auto flag = [&](const char* key) {
    return message[key].get<bool>() ? "1" : "0";
  };
  seen.insert(kind);
  for (const char* key : {"new", "old", "old_key"}) {
    if (!message.contains(key)) continue;
    seen.insert(kind + " " + key);
    AddValues(message[key], seen);
  }
  if (kind == "Update" && !message.contains("old") &&
      !message.contains("old_key")) {
    seen.insert("Update without old");
  }
  if (kind == "Truncate") {
    seen.insert(kind + " cascade " + flag("cascade") + " restart " +
                flag("restart_identity"));
    if (message["relations"].size() > 1) seen.insert("Truncate of several");
  }
  if (kind == "Message") {
    seen.insert(kind + " transactional " + flag("transactional"));
  }
  if (kind == "Keepalive") seen.insert(kind + " " + flag("reply_requested"));
  if (kind == "Stream Start") seen.insert(kind + " " + flag("first_segment"));
  if (kind == "Relation") {
    seen.insert(kind + " " + message["replica_identity"].get<std::string>());
  }
  if (kind == "Stream Abort") {
    const bool whole = message["xid"] == message["subxid"];
    const bool with_lsn = message.contains("abort_lsn");
    seen.insert(kind + (whole ? " whole" : " part") +
                (with_lsn ? " with LSN" : " without LSN"));
  } else if (message.contains("xid")) {
    seen.insert(kind + " with xid");
  }
  if (message.value("namespace", "") == "pg_catalog") {
    seen.insert("empty namespace");
  }
}

TEST(GoldenCoverageTest, EveryKindAndFormOfMessageIsThere) {
  std::set<std::string> seen;
  for (const GoldenCapture& capture : GoldenCaptures()) {
    seen.insert("server " + capture.major);
    const std::vector<std::string> header = absl::StrSplit(capture.header, ' ');
    seen.insert(header[2]);
    int code = 0;
    for (const Json& message : JsonLines(Decoded(capture, &code))) {
      AddForms(message, seen);
    }
  }
  EXPECT_THAT(seen, IsSupersetOf(std::vector<std::string>{
                        "server 14",
                        "server 15",
                        "server 16",
                        "server 17",
                        "server 18",
                        "proto_version=1",
                        "proto_version=2",
                        "proto_version=3",
                        "proto_version=4",
                        "Keepalive 0",
                        "Keepalive 1",
                        "Begin",
                        "Commit",
                        "Origin",
                        "Message transactional 0",
                        "Message transactional 1",
                        "Message with xid",
                        "Relation d",
                        "Relation i",
                        "Relation f",
                        "Relation n",
                        "Relation with xid",
                        "Type",
                        "Type with xid",
                        "empty namespace",
                        "Insert new",
                        "Insert with xid",
                        "Update without old",
                        "Update old",
                        "Update old_key",
                        "Update with xid",
                        "Delete old",
                        "Delete old_key",
                        "Delete with xid",
                        "Truncate cascade 0 restart 0",
                        "Truncate cascade 0 restart 1",
                        "Truncate cascade 1 restart 0",
                        "Truncate cascade 1 restart 1",
                        "Truncate of several",
                        "Truncate with xid",
                        "value n",
                        "value t",
                        "value u",
                        "value b",
                        "Stream Start 1",
                        "Stream Start 0",
                        "Stream Stop",
                        "Stream Commit",
                        "Stream Abort whole with LSN",
                        "Stream Abort whole without LSN",
                        "Stream Abort part with LSN",
                        "Stream Abort part without LSN",
                        "Begin Prepare",
                        "Prepare",
                        "Commit Prepared",
                        "Rollback Prepared",
                        "Stream Prepare"}));
}

}  // namespace
}  // namespace sublite::testing
