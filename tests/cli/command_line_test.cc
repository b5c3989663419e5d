// Words to a command: spellings, mistakes, and what is never repeated.

#include "applier/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "applier/settings.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Words = std::vector<std::string>;

std::map<std::string, std::string> Flags(const CommandLine& line) {
  std::map<std::string, std::string> flags;
  for (const FlagValue& flag : line.settings) flags[flag.flag] = flag.text;
  return flags;
}

TEST(CommandLineTest, Commands) {
  const std::map<std::string, Command> commands = {
      {"run", Command::kRun},           {"check", Command::kCheck},
      {"status", Command::kStatus},     {"resync", Command::kResync},
      {"teardown", Command::kTeardown}, {"init", Command::kInit},
      {"decode", Command::kDecode}};
  for (const auto& [name, command] : commands) {
    EXPECT_EQ(ParseCommandLine({name}).command, command) << name;
    EXPECT_EQ(ParseCommandLine({name, "--config=/x"}).config_file, "/x");
  }
}

TEST(CommandLineTest, FlagsWithDashesUnderscoresAndValuesApart) {
  for (const Words& words :
       {Words{"run", "--log-level=debug", "--two-phase=false"},
        Words{"run", "--log_level", "debug", "--two_phase=false"},
        Words{"--log-level", "debug", "--two-phase=false", "run"}}) {
    const CommandLine line = ParseCommandLine(words);
    ASSERT_EQ(line.command, Command::kRun) << line.text;
    EXPECT_THAT(Flags(line), ElementsAre(std::pair("log_level", "debug"),
                                         std::pair("two_phase", "false")));
  }
}

TEST(CommandLineTest, ValuesAreKeptAsTheyAre) {
  const CommandLine line = ParseCommandLine(
      {"run", "--publisher=host=my-host password=a-b=c", "--slot=a", "--slot=b",
       "--publication=x", "--publication=y,z", "--binary"});
  EXPECT_THAT(Flags(line),
              ElementsAre(std::pair("binary", "true"),
                          std::pair("publication", "x,y,z"),
                          std::pair("publisher", "host=my-host password=a-b=c"),
                          std::pair("slot", "b")));
}

TEST(CommandLineTest, EmptyValue) {
  for (const Words& words : {Words{"run", "--publisher=", "--slot=x"},
                             Words{"run", "--publisher", "", "--slot=x"}}) {
    const CommandLine line = ParseCommandLine(words);
    ASSERT_EQ(line.command, Command::kRun) << line.text;
    EXPECT_EQ(Flags(line)["publisher"], "");
    EXPECT_EQ(Flags(line)["slot"], "x");
  }
}

TEST(CommandLineTest, EverySettingHasItsFlag) {
  for (const Setting& setting : Settings()) {
    if (setting.flag[0] == '\0') continue;
    const CommandLine line =
        ParseCommandLine({"run", std::string("--") + setting.flag + "=1"});
    ASSERT_EQ(line.command, Command::kRun) << line.text;
    EXPECT_THAT(Flags(line), ElementsAre(std::pair(setting.flag, "1")));
  }
}

TEST(CommandLineTest, ArgumentsOfCommands) {
  EXPECT_THAT(ParseCommandLine({"resync"}).arguments, IsEmpty());
  EXPECT_THAT(ParseCommandLine({"resync", "t", "--config=c", "s.u", "status"})
                  .arguments,
              ElementsAre("t", "s.u", "status"));
  EXPECT_THAT(ParseCommandLine({"resync", "--", "--odd-name"}).arguments,
              ElementsAre("--odd-name"));
  EXPECT_TRUE(ParseCommandLine({"status", "--json"}).json);
  const CommandLine backup = ParseCommandLine({"backup", "b.db", "--force"});
  EXPECT_EQ(backup.command, Command::kBackup);
  EXPECT_TRUE(backup.force);
  EXPECT_THAT(backup.arguments, ElementsAre("b.db"));
  EXPECT_THAT(ParseCommandLine({"decode", "-"}).arguments, ElementsAre("-"));
}

TEST(CommandLineTest, Positions) {
  const CommandLine wait =
      ParseCommandLine({"wait", "--lsn=1a/2B", "--timeout=5s"});
  ASSERT_EQ(wait.command, Command::kWait) << wait.text;
  EXPECT_EQ(wait.lsn.ToString(), "1A/2B");
  EXPECT_EQ(wait.timeout, absl::Seconds(5));
  EXPECT_EQ(ParseCommandLine({"wait", "--lsn=0/1"}).timeout, absl::Seconds(30));
  EXPECT_EQ(ParseCommandLine({"skip", "--lsn", "0/1"}).command, Command::kSkip);
  for (const char* bad : {"", "1", "x/y", "0/0", "1/2/3", "1/123456789"}) {
    for (const char* command : {"wait", "skip"}) {
      EXPECT_EQ(
          ParseCommandLine({command, std::string("--lsn=") + bad}).command,
          Command::kError)
          << bad;
    }
  }
}

TEST(CommandLineTest, Mistakes) {
  const std::vector<std::pair<Words, std::string>> mistakes = {
      {{}, "which command?"},
      {{"frobnicate"}, "unknown command \"frobnicate\""},
      {{"statsu"}, "did you mean status?"},
      {{"run", "--no-such-flag"}, "unknown flag --no-such-flag of run"},
      {{"--no-such-flag"}, "unknown flag --no-such-flag"},
      {{"run", "-x"}, "unknown flag -x"},
      {{"run", "--status-intervall=1s"}, "did you mean --status_interval?"},
      {{"run", "status"}, "run does not take \"status\""},
      {{"run", "--slot"}, "--slot needs a value"},
      {{"run", "--log-level"}, "--log-level needs a value"},
      {{"wait"}, "wait needs --lsn=X/Y"},
      {{"wait", "--lsn=0/1", "--timeout=soon"}, "--timeout: is \"soon\""},
      {{"run", "--json"}, "unknown flag --json of run"},
      {{"backup"}, "backup needs the FILE"},
      {{"backup", "a", "b"}, "backup does not take \"b\""}};
  for (const auto& [words, message] : mistakes) {
    const CommandLine line = ParseCommandLine(words);
    EXPECT_EQ(line.command, Command::kError) << message;
    EXPECT_THAT(line.text, HasSubstr(message));
  }
}

TEST(CommandLineTest, SecretsAreNotRepeated) {
  for (const Words& words :
       {Words{"run", "--publisher", "host=h", "password=S3cret"},
        Words{"run", "postgresql://u:S3cret@h/d"},
        Words{"postgresql://u:S3cret@h/d"},
        Words{"run", "--publishr=password=S3cret"}}) {
    const CommandLine line = ParseCommandLine(words);
    EXPECT_EQ(line.command, Command::kError);
    EXPECT_THAT(line.text, Not(HasSubstr("S3cret")));
  }
}

TEST(CommandLineTest, HelpListsAll) {
  const CommandLine help = ParseCommandLine({"--help"});
  ASSERT_EQ(help.command, Command::kHelp);
  for (const char* name : {"run", "check", "status", "wait", "resync", "skip",
                           "teardown", "backup", "init", "decode"}) {
    EXPECT_THAT(help.text, HasSubstr(std::string("\n  ") + name + " "));
    const CommandLine own = ParseCommandLine({name, "--help"});
    EXPECT_EQ(own.command, Command::kHelp) << name;
    EXPECT_THAT(own.text, HasSubstr(std::string("Usage: sublite ") + name));
  }
  for (const Setting& setting : Settings()) {
    if (setting.flag[0] == '\0') continue;
    EXPECT_THAT(help.text, HasSubstr(std::string("--") + setting.flag + "="));
  }
  EXPECT_EQ(ParseCommandLine({"-h"}).command, Command::kHelp);
  EXPECT_EQ(ParseCommandLine({"--version"}).command, Command::kVersion);
}

}  // namespace
}  // namespace sublite::testing
