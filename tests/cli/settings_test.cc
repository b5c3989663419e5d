// The table of settings, durations, and the file that `init` prints.

#include "applier/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "applier/cli/init_command.h"
#include "applier/io/config_file.h"
#include "applier/units.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

using ::testing::HasSubstr;

TEST(DurationTest, Forms) {
  EXPECT_THAT(ParseDurationText("10s"), IsOkAndHolds(absl::Seconds(10)));
  EXPECT_THAT(ParseDurationText("500ms"),
              IsOkAndHolds(absl::Milliseconds(500)));
  EXPECT_THAT(ParseDurationText("1m"), IsOkAndHolds(absl::Minutes(1)));
  EXPECT_THAT(ParseDurationText("2min"), IsOkAndHolds(absl::Minutes(2)));
  EXPECT_THAT(ParseDurationText("1.5h"), IsOkAndHolds(absl::Minutes(90)));
  EXPECT_THAT(ParseDurationText("1d"), IsOkAndHolds(absl::Hours(24)));
  EXPECT_THAT(ParseDurationText("1m 30s"), IsOkAndHolds(absl::Seconds(90)));
  EXPECT_THAT(ParseDurationText("1m30s"), IsOkAndHolds(absl::Seconds(90)));
  EXPECT_THAT(ParseDurationText("10 s"), IsOkAndHolds(absl::Seconds(10)));
  EXPECT_THAT(ParseDurationText("0s"), IsOkAndHolds(absl::ZeroDuration()));
}

TEST(DurationTest, Mistakes) {
  for (const char* text : {"", " ", "soon", "-1s", "+1s", "inf", "infs", "nans",
                           "s", "1e3s", "0x10s", ".s", "1s-"}) {
    EXPECT_THAT(ParseDurationText(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
  EXPECT_THAT(
      ParseDurationText("10"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a unit")));
  EXPECT_THAT(
      ParseDurationText("10 years"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a unit")));
}

TEST(NearestNameTest, OnlyWhatCanBeMeant) {
  const std::vector<std::string> names = {"slot", "status_interval", "numeric"};
  EXPECT_EQ(NearestName("slott", names), "slot");
  EXPECT_EQ(NearestName("status-intervall", names), "status_interval");
  EXPECT_EQ(NearestName("nummeric", names), "numeric");
  EXPECT_EQ(NearestName("colour", names), "");
  EXPECT_EQ(NearestName("x", names), "");
  EXPECT_EQ(NearestName("", names), "");
}

TEST(SettingsTest, KeysAndFlagsAreUnique) {
  std::set<std::string> seen;
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(seen.insert(setting.key).second) << setting.key;
    EXPECT_EQ(FindSetting(setting.key), &setting);
    if (setting.flag[0] == '\0') continue;
    EXPECT_TRUE(seen.insert(setting.flag).second) << setting.flag;
    EXPECT_EQ(FindSettingByFlag(setting.flag), &setting);
  }
  EXPECT_EQ(FindSetting("publisher.none"), nullptr);
  EXPECT_EQ(FindSettingByFlag(""), nullptr);
}

TEST(SettingsTest, SizesHaveTheUnitsOfPostgresql) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"0", 0},
      {"17", 17},
      {"17B", 17},
      {"1kB", 1024},
      {"1 KiB", 1024},
      {"64mb", 67108864},
      {"1.5GB", 1610612736},
      {"2 GiB", 2147483648},
      {"3TB", 3298534883328},
      {"8388607TB", 9223370937343148032},
  };
  for (const auto& [text, bytes] : good)
    EXPECT_THAT(ParseByteSize(text), IsOkAndHolds(bytes)) << text;
  for (const char* bad : {"", " ", "-1", "+1", "kB", "1XB", "1k", "1kBB", "1e3",
                          "inf", "0x10", "1 kB 1", "8388608TB"}) {
    EXPECT_THAT(ParseByteSize(bad),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string("\"") + bad + "\"")))
        << bad;
  }
}

TEST(SettingsTest, BooleanFlags) {
  const Setting& setting = *FindSetting("publisher.binary");
  for (const char* yes : {"true", "on", "YES", "1"}) {
    EXPECT_THAT(ValueFromFlag(setting, yes), IsOkAndHolds(SettingValue(true)));
  }
  for (const char* no : {"false", "off", "no", "0"}) {
    EXPECT_THAT(ValueFromFlag(setting, no), IsOkAndHolds(SettingValue(false)));
  }
  EXPECT_THAT(ValueFromFlag(setting, ""),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// `#key = value` and `#[section]` without the sign; prose stays a comment.
std::string Uncomment(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 1 && line[0] == '#' && line[1] != ' ') line.erase(0, 1);
    out += line + "\n";
  }
  return out;
}

TEST(InitTest, IsAValidFile) {
  const ConfigNeeds all = {true, true, true, true};
  EXPECT_OK(ParseConfig(InitText(), "init", {}, all));
  ASSERT_OK_AND_ASSIGN(const Config config,
                       ParseConfig(Uncomment(InitText()), "init", {}, all));
  EXPECT_EQ(config.tables.size(), 1u);
}

TEST(InitTest, HoldsEverySetting) {
  const std::string text = Uncomment(InitText());
  for (const Setting& setting : Settings()) {
    const std::string key = setting.key;
    EXPECT_THAT(text, HasSubstr("\n" + key.substr(key.find('.') + 1) + " = "));
  }
}

// What init shows as default is the default: the file sets nothing else.
TEST(InitTest, SamplesOfOptionalSettingsAreTheDefaults) {
  const Config defaults;
  ASSERT_OK_AND_ASSIGN(const Config config,
                       ParseConfig(Uncomment(InitText()), "init", {}, {}));
  EXPECT_EQ(config.publisher.two_phase, defaults.publisher.two_phase);
  EXPECT_EQ(config.publisher.streaming, defaults.publisher.streaming);
  EXPECT_EQ(config.publisher.binary, defaults.publisher.binary);
  EXPECT_EQ(config.publisher.origin_none, defaults.publisher.origin_none);
  EXPECT_EQ(config.publisher.messages, defaults.publisher.messages);
  EXPECT_EQ(config.publisher.failover, defaults.publisher.failover);
  EXPECT_EQ(config.publisher.status_interval,
            defaults.publisher.status_interval);
  EXPECT_EQ(config.replica.numeric, defaults.replica.numeric);
  EXPECT_EQ(config.replica.schema_separator, defaults.replica.schema_separator);
  EXPECT_EQ(config.replica.mirror_indexes, defaults.replica.mirror_indexes);
  EXPECT_EQ(config.replica.copy_rate, defaults.replica.copy_rate);
  EXPECT_EQ(config.replica.spill_limit, defaults.replica.spill_limit);
  EXPECT_EQ(config.replica.on_gap, defaults.replica.on_gap);
  EXPECT_EQ(config.replica.drop_unpublished, defaults.replica.drop_unpublished);
  EXPECT_EQ(config.replica.refusal_patience, defaults.replica.refusal_patience);
  EXPECT_EQ(config.log.level, defaults.log.level);
  EXPECT_EQ(config.log.format, defaults.log.format);
}

}  // namespace
}  // namespace sublite::testing
