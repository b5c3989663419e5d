// Every mistake that a configuration can hold, with the line that is named.

#include "applier/io/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr ConfigNeeds kAll = {true, true, true, false};

constexpr char kGood[] =
    "[publisher]\n"
    "conninfo = \"host=h password=S3cret\"\n"
    "publications = [\"pub\"]\n"
    "[replica]\n"
    "database = \"/var/lib/x/plant-1.db\"\n";

absl::StatusOr<Config> Parse(const std::string& text,
                             const std::vector<FlagValue>& flags = {}) {
  return ParseConfig(text, "x.toml", flags, kAll);
}

// The whole message for a file that is good but for `line` in front of it.
std::string ErrorOf(const std::string& line) {
  return GetMessage(Parse(line + "\n" + kGood));
}

// The same for a line in [publisher].
std::string PublisherError(const std::string& line) {
  return GetMessage(Parse(absl::StrCat(
      "[replica]\ndatabase = \"r.db\"\n[publisher]\nconninfo = \"h=S3cret\"\n",
      line, "\n",
      line.rfind("publications", 0) == 0 ? "" : "publications = [\"pub\"]\n")));
}

TEST(ConfigFileTest, DefaultsAreThoseOfTheContract) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(kGood));
  EXPECT_EQ(config.publisher.conninfo.reveal(), "host=h password=S3cret");
  EXPECT_THAT(config.publisher.publications, ElementsAre("pub"));
  EXPECT_EQ(config.publisher.slot, "sublite_plant_1");
  EXPECT_TRUE(config.publisher.two_phase);
  EXPECT_EQ(config.publisher.streaming, StreamingSetting::kAuto);
  EXPECT_FALSE(config.publisher.binary);
  EXPECT_FALSE(config.publisher.origin_none);
  EXPECT_FALSE(config.publisher.messages);
  EXPECT_FALSE(config.publisher.failover);
  EXPECT_EQ(config.publisher.status_interval, absl::Seconds(10));
  EXPECT_EQ(config.replica.numeric, NumericMode::kAuto);
  EXPECT_EQ(config.replica.schema_separator, ".");
  EXPECT_TRUE(config.replica.mirror_indexes);
  EXPECT_EQ(config.replica.on_gap, OnGap::kResync);
  EXPECT_EQ(config.log.level, LogLevel::kInfo);
  EXPECT_EQ(config.log.format, LogFormat::kAuto);
  EXPECT_THAT(config.tables, IsEmpty());
}

TEST(ConfigFileTest, ReadsEverySetting) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("[publisher]\nconninfo = 'c'\npublications = \"a, b\"\n"
            "slot = \"s_1\"\ntwo_phase = false\nstreaming = \"parallel\"\n"
            "binary = true\norigin = \"none\"\nmessages = true\n"
            "failover = true\nstatus_interval = \"1m\"\n"
            "password_file = \"/p\"\n"
            "[replica]\ndatabase = \"d\"\nnumeric = \"real\"\n"
            "schema_separator = \"__\"\nmirror_indexes = false\n"
            "copy_rate = 0\nspill_limit = \"3MB\"\non_gap = "
            "\"stop\"\ndrop_unpublished = false\nrefusal_patience = \"0s\"\n"
            "changes = false\n[http]\nlisten = \"off\"\n"
            "[log]\nlevel = \"debug\"\nformat = \"json\"\n"
            "[tables.\"public.item\"]\nname = \"item_lower\"\n"
            "[tables.\"shop.orders\"]\nnumeric = \"text\"\n"));
  EXPECT_THAT(config.publisher.publications, ElementsAre("a", "b"));
  EXPECT_EQ(config.publisher.slot, "s_1");
  EXPECT_FALSE(config.publisher.two_phase);
  EXPECT_EQ(config.publisher.streaming, StreamingSetting::kParallel);
  EXPECT_TRUE(config.publisher.binary);
  EXPECT_TRUE(config.publisher.origin_none);
  EXPECT_TRUE(config.publisher.messages);
  EXPECT_TRUE(config.publisher.failover);
  EXPECT_EQ(config.publisher.status_interval, absl::Minutes(1));
  EXPECT_EQ(config.publisher.password_file, "/p");
  EXPECT_EQ(config.replica.numeric, NumericMode::kReal);
  EXPECT_EQ(config.replica.schema_separator, "__");
  EXPECT_FALSE(config.replica.mirror_indexes);
  EXPECT_EQ(config.replica.spill_limit, 3 * 1024 * 1024);
  EXPECT_EQ(config.replica.on_gap, OnGap::kStop);
  EXPECT_EQ(config.replica.refusal_patience, absl::ZeroDuration());
  EXPECT_EQ(config.log.level, LogLevel::kDebug);
  EXPECT_EQ(config.log.format, LogFormat::kJson);
  EXPECT_EQ(config.tables.at("public.item").name, "item_lower");
  EXPECT_FALSE(config.tables.at("public.item").has_numeric);
  EXPECT_TRUE(config.tables.at("shop.orders").has_numeric);
  EXPECT_EQ(config.tables.at("shop.orders").numeric, NumericMode::kText);
}

TEST(ConfigFileTest, UnknownKeys) {
  EXPECT_EQ(PublisherError("status_intervall = \"1s\""),
            "x.toml:5: publisher.status_intervall: unknown key; did you mean "
            "\"status_interval\"?");
  EXPECT_EQ(PublisherError("database = \"x\""),
            "x.toml:5: publisher.database: unknown key; it belongs into the "
            "section [replica]");
  EXPECT_THAT(PublisherError("colour = 1"),
              AllOf(HasSubstr("x.toml:5: publisher.colour: unknown key"),
                    HasSubstr("known here: conninfo")));
  EXPECT_EQ(ErrorOf("slot = \"x\""),
            "x.toml:1: slot: unknown key outside any section; it belongs into "
            "the section [publisher]");
  EXPECT_EQ(ErrorOf("[publishers]\nx = 1"),
            "x.toml:1: [publishers]: unknown section; did you mean "
            "[publisher]?");
  EXPECT_THAT(ErrorOf("[whatever]"), HasSubstr("known: publisher, replica"));
}

TEST(ConfigFileTest, WrongTypes) {
  EXPECT_EQ(PublisherError("two_phase = \"yes\""),
            "x.toml:5: publisher.two_phase: must be true or false, without "
            "quotes");
  EXPECT_EQ(PublisherError("slot = 7"),
            "x.toml:5: publisher.slot: must be a text in quotes");
  EXPECT_EQ(PublisherError("slot = 1.5"),
            "x.toml:5: publisher.slot: is a number with a fraction, must be a "
            "text in quotes");
  EXPECT_EQ(PublisherError("publications = [1, 2]"),
            "x.toml:5: publisher.publications: is a list of something else "
            "than texts, must be a list of names: [\"first\", \"second\"]");
  EXPECT_EQ(PublisherError("slot.name = \"x\""),
            "x.toml:5: publisher.slot: is a section, must be a text in quotes");
  EXPECT_EQ(ErrorOf("log = 3"),
            "x.toml:1: log: is a whole number, must be a section: [log]");
  EXPECT_THAT(PublisherError("streaming = true"),
              HasSubstr("must be one of \"auto\", \"off\", \"on\""));
}

TEST(ConfigFileTest, BadValues) {
  EXPECT_EQ(PublisherError("status_interval = \"soon\""),
            "x.toml:5: publisher.status_interval: is \"soon\", must be a time "
            "like \"10s\", \"500ms\", \"1m\"");
  EXPECT_THAT(PublisherError("status_interval = 10"),
              HasSubstr("needs a unit"));
  EXPECT_THAT(PublisherError("status_interval = \"0s\""),
              HasSubstr("between 10ms and 1h"));
  EXPECT_EQ(PublisherError("streaming = \"sideways\""),
            "x.toml:5: publisher.streaming: is \"sideways\", must be one of "
            "\"auto\", \"off\", \"on\", \"parallel\"");
  EXPECT_THAT(PublisherError("slot = \"Slot\""),
              HasSubstr("lower-case letters, digits and underscores"));
  EXPECT_THAT(PublisherError("slot = \"\""), HasSubstr("1 to 63"));
  EXPECT_THAT(
      PublisherError("publications = []"),
      HasSubstr("x.toml:5: publisher.publications: must name at least"));
  EXPECT_THAT(PublisherError("publications = \"a,,b\""),
              HasSubstr("holds an empty name"));
  EXPECT_THAT(PublisherError("publications = [\"a\", \"a\"]"),
              HasSubstr("names \"a\" twice"));
  EXPECT_THAT(ErrorOf("[replica]"), HasSubstr("cannot redefine"));
}

TEST(ConfigFileTest, BadDatabases) {
  for (const char* path : {"", ":memory:", "file:x?mode=ro", "~/x.db", "/x/"}) {
    EXPECT_THAT(
        Parse(absl::StrCat("[publisher]\nconninfo=''\npublications='p'\n"
                           "[replica]\ndatabase = '",
                           path, "'\n")),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 HasSubstr("x.toml:5: replica.database: ")))
        << path;
  }
}

TEST(ConfigFileTest, ListenAddressesAreLookedAtBeforeAnythingRuns) {
  EXPECT_EQ(ErrorOf("[http]\nlisten = \"127.0.0.1:9187\""), "");
  EXPECT_EQ(ErrorOf("[http]\nlisten = \"off\""), "");
  EXPECT_EQ(ErrorOf("[http]\nlisten = \"plant.example.com:9187\""),
            "x.toml:2: http.listen: is \"plant.example.com:9187\", which does "
            "not begin with an address (names are not taken): write an address "
            "and a port, like 127.0.0.1:9187 or [::1]:9187");
}

TEST(ConfigFileTest, ChangesAreBounded) {
  const auto config =
      Parse(absl::StrCat(kGood,
                         "changes = true\nchanges_age = \"2h\"\n"
                         "changes_size = \"1MB\"\n"));
  ASSERT_OK(config);
  EXPECT_TRUE(config->replica.changes);
  EXPECT_EQ(config->replica.changes_age, absl::Hours(2));
  EXPECT_EQ(config->replica.changes_size, 1 << 20);
  for (const char* bad : {"changes_age = \"1s\"", "changes_age = 5",
                          "changes_age = \"100000000h\"",
                          "changes_size = \"1kB\"", "changes_size = -1"}) {
    EXPECT_THAT(GetMessage(Parse(absl::StrCat(kGood, bad, "\n"))),
                HasSubstr("x.toml:6: replica.changes_"))
        << bad;
  }
}

TEST(ConfigFileTest, MissingKeysNameTheirSection) {
  EXPECT_THAT(GetMessage(ParseConfig("[publisher]\nconninfo = 'x'\n\n[log]\n",
                                     "x.toml", {}, kAll)),
              AllOf(HasSubstr("x.toml:1: publisher.publications: is missing"),
                    HasSubstr("x.toml:4: replica.database: is missing"),
                    HasSubstr("--database"), Not(HasSubstr("conninfo:"))));
  EXPECT_THAT(GetMessage(ParseConfig("", "", {}, kAll)),
              HasSubstr("/etc/sublite/sublite.toml"));
  EXPECT_OK(ParseConfig("[replica]\ndatabase = 'x'\n", "x.toml", {},
                        ConfigNeeds{false, false, true, false}));
  ConfigNeeds slot;
  slot.slot = true;
  EXPECT_THAT(ParseConfig("", "x.toml", {}, slot),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("publisher.slot: is missing")));
  EXPECT_OK(ParseConfig("", "", {{"database", "/x/y.db"}}, slot));
}

TEST(ConfigFileTest, SyntaxErrorsNameTheLineAndNotTheContent) {
  EXPECT_EQ(GetMessage(Parse("[publisher\nconninfo = \"x\"\n"))
                .rfind("x.toml:1: ", 0),
            0u);
  for (const char* line :
       {"conninfo = host=h password=S3cret", "conninfo = \"host S3cret",
        "conninfo = \"a\" S3cret", "conninfo = postgresql://u:S3cret@h/d",
        "conninfo = \"a\\qS3cret\"", "password S3cret"}) {
    const std::string message = PublisherError(line);
    EXPECT_THAT(message, AllOf(HasSubstr("x.toml:5: "), Not(HasSubstr("S3")),
                               Not(HasSubstr("'S'"))))
        << line;
  }
}

TEST(ConfigFileTest, TableSections) {
  EXPECT_EQ(ErrorOf("[tables.public.item]\nname = \"x\""),
            "x.toml:1: tables.public.item: needs quotes around schema and "
            "table: [tables.\"public.item\"]");
  EXPECT_EQ(ErrorOf("[tables.item]\nname = \"x\""),
            "x.toml:1: tables.\"item\": needs the schema: "
            "[tables.\"public.item\"]");
  EXPECT_EQ(ErrorOf("[tables.\"a.b\"]\nnam = \"x\""),
            "x.toml:2: tables.\"a.b\".nam: unknown key; did you mean "
            "\"name\"?");
  EXPECT_THAT(ErrorOf("[tables.\"a.b\"]\nname = 5"),
              HasSubstr("x.toml:2: tables.\"a.b\".name: must be a text"));
  EXPECT_THAT(ErrorOf("[tables.\"a.b\"]\nnumeric = \"big\""),
              HasSubstr("x.toml:2: tables.\"a.b\".numeric: is \"big\""));
  EXPECT_THAT(ErrorOf("[tables.\"a.b\"]\nname = \"SQLite_x\""),
              HasSubstr("must not begin with \"sqlite_\""));
  EXPECT_EQ(ErrorOf("[tables.\"a.b\"]\nname = \"Dup\"\n"
                    "[tables.\"a.c\"]\nname = \"dup\""),
            "x.toml:4: tables.\"a.c\".name: is the name that tables.\"a.b\" "
            "has already (SQLite compares names without case)");
}

TEST(ConfigFileTest, AllMistakesAtOnceInTheirOrder) {
  const std::string message = GetMessage(
      Parse("[publisher]\npublications = 4\nslot = 'X'\nstreamin = 'on'\n",
            {{"binary", "maybe"}}));
  std::istringstream lines(message);
  std::vector<std::string> starts;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t place = line.rfind("x.toml", 0) == 0 ? 10 : 0;
    starts.push_back(line.substr(0, line.find(": ", place)));
  }
  EXPECT_THAT(starts, ElementsAre("x.toml:1: publisher.conninfo",
                                  "x.toml:2: publisher.publications",
                                  "x.toml:3: publisher.slot",
                                  "x.toml:4: publisher.streamin",
                                  "x.toml:4: replica.database", "--binary"));
}

TEST(ConfigFileTest, FlagsOverrideTheFile) {
  ASSERT_OK_AND_ASSIGN(const Config config,
                       Parse(kGood, {{"publisher", "host=other"},
                                     {"publication", "b,c"},
                                     {"slot", "mine"},
                                     {"two_phase", "off"},
                                     {"binary", "true"},
                                     {"status_interval", "500ms"},
                                     {"database", "other.db"},
                                     {"log_level", "error"},
                                     {"copy_rate", "0"}}));
  EXPECT_EQ(config.publisher.conninfo.reveal(), "host=other");
  EXPECT_THAT(config.publisher.publications, ElementsAre("b", "c"));
  EXPECT_EQ(config.publisher.slot, "mine");
  EXPECT_FALSE(config.publisher.two_phase);
  EXPECT_TRUE(config.publisher.binary);
  EXPECT_EQ(config.publisher.status_interval, absl::Milliseconds(500));
  EXPECT_EQ(config.replica.database, "other.db");
  EXPECT_EQ(config.log.level, LogLevel::kError);
}

TEST(ConfigFileTest, FlagsAloneAreEnough) {
  EXPECT_OK(ParseConfig(
      "", "", {{"publisher", ""}, {"publication", "p"}, {"database", "r.db"}},
      kAll));
}

TEST(ConfigFileTest, BadFlagsAreTheCommandLinesFault) {
  EXPECT_THAT(Parse(kGood, {{"status_interval", "soon"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--status_interval: is \"soon\", must be a time like "
                       "\"10s\", \"500ms\", \"1m\""));
  EXPECT_THAT(
      Parse(kGood, {{"publisher", std::string("S3cret\0", 7)}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("--publisher"), Not(HasSubstr("S3cret")))));
  EXPECT_THAT(Parse(kGood, {{"copy_rate", "fast"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be a whole number")));
}

TEST(ConfigFileTest, SizesAreTextsOrNumbers) {
  const std::string file = std::string(kGood) + "spill_limit = ";
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, std::int64_t>>{
           {"4096", 4096}, {"\"4096\"", 4096}, {"\"2 kB\"", 2048}}) {
    ASSERT_OK_AND_ASSIGN(const Config config, Parse(file + text));
    EXPECT_EQ(config.replica.spill_limit, bytes) << text;
  }
  ASSERT_OK_AND_ASSIGN(const Config config,
                       Parse(kGood, {{"spill_limit", "1GB"}}));
  EXPECT_EQ(config.replica.spill_limit, 1 << 30);
  for (const char* bad : {"-1", "\"-1kB\"", "\"\"", "true", "1.5", "[1]"}) {
    EXPECT_THAT(Parse(file + bad),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("replica.spill_limit")))
        << bad;
  }
}

TEST(ConfigFileTest, SecretsPrintAsStars) {
  std::ostringstream out;
  out << Secret("S3cret");
  EXPECT_EQ(out.str(), "***");
}

TEST(ConfigFileTest, FilesThatCannotBeRead) {
  const std::string folder = ::testing::TempDir();
  EXPECT_THAT(LoadConfig({folder + "/none.toml", {}}, kAll),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("none.toml: No such file")));
  EXPECT_THAT(LoadConfig({folder, {}}, kAll),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("it is a folder")));
  const std::string path = folder + "/good.toml";
  std::ofstream(path) << kGood;
  EXPECT_OK(LoadConfig({path, {}}, kAll));
}

// ---- passwords ----

class PasswordTest : public ::testing::Test {
 protected:
  PasswordTest() : folder_(::testing::TempDir()) {}
  ~PasswordTest() override { unsetenv("CREDENTIALS_DIRECTORY"); }

  std::string Write(const std::string& name, const std::string& text,
                    mode_t mode) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  const std::string folder_;
  Config config_;
  std::string warning_;
};

TEST_F(PasswordTest, FileWithoutItsNewline) {
  config_.publisher.password_file = Write("p1", "S3cret \n", 0600);
  ASSERT_OK(LoadPassword(&config_, &warning_));
  EXPECT_EQ(config_.publisher.password.reveal(), "S3cret ");
  EXPECT_EQ(warning_, "");
}

TEST_F(PasswordTest, WarnsOfOtherReaders) {
  config_.publisher.password_file = Write("p2", "S3cret", 0640);
  ASSERT_OK(LoadPassword(&config_, &warning_));
  EXPECT_THAT(warning_, AllOf(HasSubstr("p2"), HasSubstr("chmod 600"),
                              Not(HasSubstr("S3cret"))));
}

TEST_F(PasswordTest, FileBeforeCredential) {
  setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
  Write("password", "of systemd\n", 0440);
  ASSERT_OK(LoadPassword(&config_, &warning_));
  EXPECT_EQ(config_.publisher.password.reveal(), "of systemd");
  EXPECT_EQ(warning_, "");
  config_.publisher.password_file = Write("p3", "of the file", 0600);
  ASSERT_OK(LoadPassword(&config_, &warning_));
  EXPECT_EQ(config_.publisher.password.reveal(), "of the file");
}

TEST_F(PasswordTest, NoneIsNoError) {
  ASSERT_OK(LoadPassword(&config_, &warning_));
  EXPECT_TRUE(config_.publisher.password.empty());
  setenv("CREDENTIALS_DIRECTORY", "/nonexistent", 1);
  EXPECT_OK(LoadPassword(&config_, &warning_));
}

TEST_F(PasswordTest, MissingOrEmptyFile) {
  config_.publisher.password_file = folder_ + "/nopassword";
  EXPECT_THAT(LoadPassword(&config_, &warning_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("publisher.password_file: cannot read")));
  config_.publisher.password_file = Write("p4", "\n", 0600);
  EXPECT_THAT(
      LoadPassword(&config_, &warning_),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is empty")));
}

}  // namespace
}  // namespace sublite::testing
