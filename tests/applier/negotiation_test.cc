// What servers from 10.0 to 18.4 are asked for, and what is said of what they
// do not have.
#include "applier/negotiation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PublisherFacts Facts(int version) {
  PublisherFacts facts;
  facts.version = version;
  facts.version_text = absl::StrCat(version / 10000, ".", version % 10000);
  facts.encoding = "UTF8";
  return facts;
}

// Everything that there is.
Config AskForAll() {
  Config config;
  config.publisher.slot = "s";
  config.publisher.streaming = StreamingSetting::kParallel;
  config.publisher.two_phase = true;
  config.publisher.binary = true;
  config.publisher.messages = true;
  config.publisher.failover = true;
  config.publisher.origin_none = true;
  return config;
}

// The settings that are spoken of, in their order, with W or I or R in front.
std::vector<std::string> Spoken(const Negotiated& negotiated) {
  std::vector<std::string> spoken;
  for (const Note& note : negotiated.notes) {
    for (const char* setting : {"origin", "streaming", "two_phase", "binary",
                                "messages", "failover"}) {
      if (!absl::StartsWith(note.text, absl::StrCat("publisher.", setting)))
        continue;
      const char* level = note.level == Note::Level::kInfo   ? "I "
                          : note.level == Note::Level::kWarn ? "W "
                                                             : "R ";
      spoken.push_back(absl::StrCat(level, setting));
    }
  }
  return spoken;
}

struct Case {
  int version;
  int protocol;
  Streaming streaming;
  bool two_phase;
  bool messages_and_binary;
  bool origin;
  bool failover;
  std::vector<std::string> spoken;
};

const std::vector<Case>& Cases() {
  static const auto* cases = new std::vector<Case>{
      {100000,
       1,
       Streaming::kOff,
       false,
       false,
       false,
       false,
       {"R origin", "W streaming", "I two_phase", "W binary", "W messages",
        "W failover"}},
      {130023,
       1,
       Streaming::kOff,
       false,
       false,
       false,
       false,
       {"R origin", "W streaming", "I two_phase", "W binary", "W messages",
        "W failover"}},
      {140000,
       2,
       Streaming::kOn,
       false,
       true,
       false,
       false,
       {"R origin", "W streaming", "I two_phase", "W failover"}},
      {149999,
       2,
       Streaming::kOn,
       false,
       true,
       false,
       false,
       {"R origin", "W streaming", "I two_phase", "W failover"}},
      {150000,
       3,
       Streaming::kOn,
       true,
       true,
       false,
       false,
       {"R origin", "W streaming", "W failover"}},
      {160000,
       4,
       Streaming::kParallel,
       true,
       true,
       true,
       false,
       {"W failover"}},
      {170010, 4, Streaming::kParallel, true, true, true, true, {}},
      {180004, 4, Streaming::kParallel, true, true, true, true, {}},
      {190000, 4, Streaming::kParallel, true, true, true, true, {}},
  };
  return *cases;
}

TEST(NegotiationTest, AllThatThereIs) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.version);
    const Negotiated got = Negotiate(AskForAll(), Facts(c.version));
    EXPECT_EQ(got.protocol_version, c.protocol);
    EXPECT_EQ(got.streaming, c.streaming);
    EXPECT_EQ(got.two_phase, c.two_phase);
    EXPECT_EQ(got.slot_two_phase, c.two_phase);
    EXPECT_EQ(got.binary, c.messages_and_binary);
    EXPECT_EQ(got.messages, c.messages_and_binary);
    EXPECT_EQ(got.origin_none, c.origin);
    EXPECT_EQ(got.slot_failover, c.failover);
    EXPECT_FALSE(got.enable_failover);
    EXPECT_EQ(Spoken(got), c.spoken);
    EXPECT_EQ(got.notes.size(), c.spoken.size());
    for (const Note& note : got.notes) {
      EXPECT_THAT(note.text, HasSubstr(Facts(c.version).version_text));
    }
  }
}

// The defaults ask for what there is: only two_phase is worth a word.
TEST(NegotiationTest, Defaults) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.version);
    const Negotiated got = Negotiate(Config(), Facts(c.version));
    EXPECT_EQ(got.protocol_version, c.protocol);
    EXPECT_EQ(got.streaming, c.streaming);
    EXPECT_EQ(got.two_phase, c.two_phase);
    EXPECT_FALSE(got.binary || got.messages || got.origin_none ||
                 got.slot_failover);
    if (c.two_phase) {
      EXPECT_THAT(got.notes, IsEmpty());
    } else {
      EXPECT_THAT(Spoken(got), ElementsAre("I two_phase"));
    }
  }
}

TEST(NegotiationTest, Streaming) {
  Config config;
  config.publisher.streaming = StreamingSetting::kOn;
  EXPECT_EQ(Negotiate(config, Facts(180004)).streaming, Streaming::kOn);
  EXPECT_THAT(
      Negotiate(config, Facts(140000)).notes,
      ElementsAre(::testing::Field(&Note::text, HasSubstr("two_phase"))));
  config.publisher.streaming = StreamingSetting::kOff;
  const Negotiated off = Negotiate(config, Facts(150000));
  EXPECT_EQ(off.streaming, Streaming::kOff);
  EXPECT_THAT(off.notes, IsEmpty());
}

TEST(NegotiationTest, Binary) {
  Config config;
  config.publisher.binary = true;
  PublisherFacts facts = Facts(170010);
  EXPECT_TRUE(Negotiate(config, facts).binary);
  EXPECT_TRUE(Negotiate(config, facts).binary_copies);
  facts.undecodable =
      "column public.t.r is of type regclass, which has no "
      "binary decoder";
  Negotiated got = Negotiate(config, facts);
  EXPECT_FALSE(got.binary);
  // Other tables may still be copied so.
  EXPECT_TRUE(got.binary_copies);
  ASSERT_EQ(got.notes.size(), 1u);
  EXPECT_THAT(got.notes[0].text, HasSubstr("public.t.r is of type regclass"));
  facts.encoding = "LATIN1";
  got = Negotiate(config, facts);
  ASSERT_EQ(got.notes.size(), 1u);
  EXPECT_THAT(got.notes[0].text, HasSubstr("in LATIN1"));
  EXPECT_FALSE(got.binary_copies);
  EXPECT_FALSE(Negotiate(config, Facts(130010)).binary_copies);
  config.publisher.binary = false;
  EXPECT_THAT(Negotiate(config, facts).notes, IsEmpty());
  EXPECT_FALSE(Negotiate(config, Facts(170010)).binary_copies);
}

TEST(NegotiationTest, SlotsThatAreThere) {
  Config config = AskForAll();
  PublisherFacts facts = Facts(170010);
  facts.slot.exists = true;
  Negotiated got = Negotiate(config, facts);
  EXPECT_TRUE(got.two_phase);  // asked for, it is switched on
  EXPECT_TRUE(got.enable_failover);
  ASSERT_EQ(got.notes.size(), 2u);
  EXPECT_THAT(got.notes[0].text, HasSubstr("was made without two_phase"));
  EXPECT_THAT(got.notes[1].text, HasSubstr("was made without failover"));
  for (const Note& note : got.notes) EXPECT_EQ(note.level, Note::Level::kInfo);

  facts.slot.two_phase = true;
  facts.slot.failover = true;
  got = Negotiate(config, facts);
  EXPECT_FALSE(got.enable_failover);
  EXPECT_THAT(got.notes, IsEmpty());

  config.publisher.two_phase = false;
  config.publisher.failover = false;
  got = Negotiate(config, facts);
  EXPECT_FALSE(got.two_phase);
  EXPECT_FALSE(got.enable_failover);
  ASSERT_EQ(got.notes.size(), 1u);
  EXPECT_EQ(got.notes[0].level, Note::Level::kWarn);
  EXPECT_THAT(got.notes[0].text, HasSubstr("set it to true, or make a new"));
}

TEST(NegotiationTest, OnAStandby) {
  PublisherFacts facts = Facts(180004);
  facts.in_recovery = true;
  facts.slot.exists = true;
  facts.slot.two_phase = true;
  const Negotiated got = Negotiate(AskForAll(), facts);
  EXPECT_FALSE(got.slot_failover);
  EXPECT_FALSE(got.enable_failover);
  EXPECT_THAT(Spoken(got), ElementsAre("W failover"));
}

TEST(NegotiationTest, Description) {
  EXPECT_EQ(Describe(Negotiate(AskForAll(), Facts(180004))),
            "protocol 4, streaming parallel, two-phase, rows in binary form, "
            "messages, origin none");
  EXPECT_EQ(Describe(Negotiate(Config(), Facts(100023))),
            "protocol 1, streaming off, rows as text");
}

TEST(NegotiationTest, UndecodableColumns) {
  Publications publications;
  EXPECT_EQ(Undecodable(publications), "");
  PublishedTable table;
  table.pg_schema = "public";
  table.pg_table = "t";
  PublishedColumn column;
  column.name = "id";
  column.type = 23;  // int4
  table.columns.push_back(column);
  publications.tables.push_back(table);
  for (const auto& [oid, name] : {std::pair(23, "int4"), {2205, "regclass"}}) {
    PgType type;
    type.oid = oid;
    type.name = name;
    type.builtin = true;
    publications.types[type.oid] = type;
  }
  EXPECT_EQ(Undecodable(publications), "");
  table.columns[0].name = "r";
  table.columns[0].type = 2205;  // regclass
  publications.tables.push_back(table);
  EXPECT_THAT(Undecodable(publications), HasSubstr("column public.t.r is of"));
}

}  // namespace
}  // namespace sublite
