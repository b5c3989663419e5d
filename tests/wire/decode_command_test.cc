#include "applier/cli/decode_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/encode.h"

namespace sublite {
namespace {

using ::testing::HasSubstr;

constexpr PgTime kTime{762523200500000};

std::string Record(const std::string& frame) {
  return encode::Int32(static_cast<std::uint32_t>(frame.size())) + frame;
}

std::string Data(const std::string& payload, Lsn lsn = Lsn(0x10)) {
  return Record(encode::XLogData(lsn, Lsn(0x20), kTime, payload));
}

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

Result RunDecode(const std::string& records,
                 const std::string& streaming = "on") {
  std::istringstream in("sublite-capture 1 proto_version=4 streaming=" +
                        streaming + "\n" + records);
  std::ostringstream out;
  std::ostringstream err;
  Result result;
  result.code = DecodeCommand("-", in, out, err);
  result.out = out.str();
  result.err = err.str();
  return result;
}

constexpr char kEnvelope[] =
    R"({"lsn":"0/10","wal_end":"0/20","sent_at":"2024-02-29 12:00:00.5+00:00",)";

TEST(DecodeCommandTest, PrintsAnObjectALine) {
  const Result result =
      RunDecode(Data(encode::Begin(Lsn(0x30), kTime, 7)) +
                Data(encode::Insert(5, {encode::Text("a\"\n")})));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            std::string(kEnvelope) +
                R"("message":"Begin","final_lsn":"0/30","commit_time":)"
                R"("2024-02-29 12:00:00.5+00:00","xid":7})"
                "\n" +
                kEnvelope +
                R"("message":"Insert","relation":5,"new":["a\"\n"]})"
                "\n");
}

TEST(DecodeCommandTest, LeavesOutAnLsnThatTheServerDidNotGive) {
  EXPECT_EQ(RunDecode(Data(encode::StreamStop(), Lsn())).out,
            R"({"wal_end":"0/20","sent_at":"2024-02-29 12:00:00.5+00:00",)"
            R"("message":"Stream Stop"})"
            "\n");
}

TEST(DecodeCommandTest, PrintsKeepalives) {
  EXPECT_EQ(RunDecode(Record(encode::Keepalive(Lsn(0x20), kTime, true))).out,
            R"({"wal_end":"0/20","sent_at":"2024-02-29 12:00:00.5+00:00",)"
            R"("message":"Keepalive","reply_requested":true})"
            "\n");
}

TEST(DecodeCommandTest, PrintsEveryKindOfValue) {
  const encode::Values values = {encode::Null(), encode::Unchanged(),
                                 encode::Text("é"), encode::Text("\xff"),
                                 encode::Binary(std::string("\0\xab", 2))};
  EXPECT_THAT(
      RunDecode(Data(encode::Insert(5, values))).out,
      HasSubstr(
          R"("new":[null,{"unchanged":true},"é",{"text_hex":"ff"},{"binary":"00ab"}]})"));
}

TEST(DecodeCommandTest, TellsUtf8FromOtherBytes) {
  const std::pair<std::string, bool> cases[] = {
      {"", true},
      {"plain", true},
      {"\x7f", true},
      {"\xc2\x80", true},
      {"\xdf\xbf", true},
      {"\xe0\xa0\x80", true},
      {"\xed\x9f\xbf", true},
      {"\xef\xbf\xbf", true},
      {"\xf0\x90\x80\x80", true},
      {"\xf4\x8f\xbf\xbf", true},
      {"\x80", false},
      {"\xc1\xbf", false},          // overlong
      {"\xe0\x9f\xbf", false},      // overlong
      {"\xf0\x8f\xbf\xbf", false},  // overlong
      {"\xed\xa0\x80", false},      // surrogate
      {"\xf4\x90\x80\x80", false},  // beyond U+10FFFF
      {"\xf5\x80\x80\x80", false},
      {"\xc3", false},      // cut off
      {"\xe2\x82", false},  // cut off
      {"\xc3(", false},
      {"\xe2\x82(", false},
  };
  for (const auto& [text, is_utf8] : cases) {
    const std::string out =
        RunDecode(Data(encode::Insert(5, {encode::Text(text)}))).out;
    EXPECT_EQ(out.find("text_hex") == std::string::npos, is_utf8) << out;
  }
}

TEST(DecodeCommandTest, BadBytesInNamesAreReplaced) {
  const Result result = RunDecode(Data(encode::Origin(Lsn(1), "a\xff")));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("\"name\":\"a\xEF\xBF\xBD\""));
}

TEST(DecodeCommandTest, FollowsStreamBlocks) {
  const Result result =
      RunDecode(Data(encode::StreamStart(7, true)) +
                Data(encode::Insert(5, {encode::Text("a")}, 8)) +
                Data(encode::StreamStop()) +
                Data(encode::LogicalMessage(false, Lsn(1), "p", "c")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(R"("xid":8,"relation":5)"));
}

TEST(DecodeCommandTest, ReportsABadFrameAndGoesOn) {
  const std::string good = Data(encode::StreamStop());
  const Result result = RunDecode(Data("I" + encode::Int32(5) + "X") + good +
                                  Record("z") + good + Data("") + good);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
  EXPECT_THAT(result.err,
              HasSubstr("sublite: standard input: record 1 at file offset 47: "
                        "Insert at 0/10: offset 5: new tuple 'N' expected, not "
                        "'X'\n"));
  EXPECT_THAT(result.err, HasSubstr("record 3 at file offset 112: "));
  EXPECT_THAT(result.err, HasSubstr("record 5 at file offset 147: message"));
}

TEST(DecodeCommandTest, ABadStreamStartStillOpensItsBlock) {
  const Result result =
      RunDecode(Data("S") + Data(encode::Insert(5, {encode::Text("a")}, 8)));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr(R"("xid":8)"));
}

TEST(DecodeCommandTest, ACaptureThatIsCutOffIsReported) {
  const std::string records =
      Data(encode::StreamStop()) + Data(encode::StreamStop());
  const Result result = RunDecode(records.substr(0, records.size() - 1));
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_THAT(result.err, HasSubstr("record 2 at file offset 77: "));
}

TEST(DecodeCommandTest, ReadsFiles) {
  const std::string path =
      ::testing::TempDir() + "/decode_command_test.capture";
  std::ofstream(path, std::ios::binary)
      << "sublite-capture 1 proto_version=1 streaming=off\n"
      << Data(encode::Commit(Lsn(1), Lsn(2), kTime));
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(DecodeCommand(path, in, out, err), 0);
  EXPECT_THAT(out.str(), HasSubstr(R"("message":"Commit")"));
}

TEST(DecodeCommandTest, AFileThatCannotBeReadIsAWrongCommandLine) {
  for (const std::string& path : {std::string("/nonexistent/file"),
                                  ::testing::TempDir(), std::string("")}) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(DecodeCommand(path, in, out, err), 64) << path;
    EXPECT_THAT(err.str(), HasSubstr("sublite: " + path + ": "));
  }
}

TEST(DecodeCommandTest, AnotherFileIsNoCapture) {
  std::istringstream in("{\"json\": true}\n");
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(DecodeCommand("-", in, out, err), 64);
  EXPECT_THAT(err.str(), HasSubstr("not a sublite capture"));
}

}  // namespace
}  // namespace sublite
