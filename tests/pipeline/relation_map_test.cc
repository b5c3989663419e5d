#include "applier/relation_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "applier/wire/decode.h"
#include "tests/support/encode.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {
namespace {

constexpr Oid kOid = 16384;

std::string Raw(const std::string& name, encode::MaybeXid xid = {},
                Oid oid = kOid) {
  return encode::Relation(oid, "public", name, 'd',
                          {{"id", 23, true}, {"v", 25, false, 44}}, xid);
}

RelationDefinition& Put(RelationMap& map, const std::string& raw,
                        std::uint64_t serial, bool from_stream) {
  DecodeScratch scratch;
  const DecodeContext context{4, from_stream, false, Lsn()};
  const absl::StatusOr<Message> message = Decode(raw, context, scratch);
  EXPECT_OK(message);
  return map.Put(std::get<RelationMessage>(*message), raw, serial, from_stream);
}

TEST(RelationMapTest, KeepsWhatAMessageSays) {
  RelationMap map;
  EXPECT_EQ(map.Find(kOid), nullptr);
  {
    // Nothing of the frame may be needed afterwards.
    std::string raw = Raw("orders");
    Put(map, raw, 5, false);
    raw.assign(raw.size(), '?');
  }
  const RelationDefinition* relation = map.Find(kOid);
  ASSERT_NE(relation, nullptr);
  EXPECT_EQ(relation->FullName(), "public.orders");
  EXPECT_EQ(relation->identity, ReplicaIdentity::kDefault);
  ASSERT_EQ(relation->columns.size(), 2u);
  EXPECT_EQ(relation->columns[0].name, "id");
  EXPECT_TRUE(relation->columns[0].key);
  EXPECT_EQ(relation->columns[1].type, 25u);
  EXPECT_EQ(relation->columns[1].type_modifier, 44);
  EXPECT_FALSE(relation->columns[1].key);
  EXPECT_EQ(relation->serial, 5u);
  EXPECT_EQ(relation->message, Raw("orders"));
}

TEST(RelationMapTest, ADescriptionFromAStreamIsKeptWithoutItsXid) {
  RelationMap map;
  EXPECT_EQ(Put(map, Raw("orders", 771), 5, true).message, Raw("orders"));
}

TEST(RelationMapTest, TheNewestCounts) {
  RelationMap map;
  Put(map, Raw("orders"), 5, false);
  Put(map, Raw("other", {}, 16385), 6, false);
  ASSERT_NE(map.Find(kOid), nullptr);
  Put(map, Raw("renamed"), 7, false);
  EXPECT_EQ(map.Find(kOid)->pg_table, "renamed");
  EXPECT_EQ(map.Find(16385)->pg_table, "other");
  map.Clear();
  EXPECT_EQ(map.Find(kOid), nullptr);
  Put(map, Raw("orders"), 8, false);
}

TEST(RelationMapTest, PromoteTakesWhatTheStreamSaid) {
  RelationMap connection;
  RelationMap replayed;
  Put(replayed, Raw("orders", 771), 5, true);
  connection.Promote(replayed);
  ASSERT_NE(connection.Find(kOid), nullptr);
  EXPECT_EQ(connection.Find(kOid)->pg_table, "orders");
}

TEST(RelationMapTest, PromoteLeavesWhatSubliteItselfPutIn) {
  RelationMap connection;
  RelationMap replayed;
  Put(replayed, Raw("orders"), 5, false);
  connection.Promote(replayed);
  EXPECT_EQ(connection.Find(kOid), nullptr);
}

TEST(RelationMapTest, PromoteKeepsTheNewerOne) {
  RelationMap connection;
  // In memory before and after, so that Find's shortcut is met as well.
  Put(connection, Raw("newer"), 9, false);
  RelationMap replayed;
  Put(replayed, Raw("older", 771), 5, true);
  connection.Promote(replayed);
  EXPECT_EQ(connection.Find(kOid)->pg_table, "newer");

  RelationMap later;
  Put(later, Raw("newest", 772), 12, true);
  connection.Promote(later);
  EXPECT_EQ(connection.Find(kOid)->pg_table, "newest");
}

// A second description tells that something changed which the description does
// not carry, so what was found out about the first does not hold.
TEST(RelationMapTest, WhatCameAgainIsLookedAtAgain) {
  RelationMap replayed;
  RelationDefinition& first = Put(replayed, Raw("orders", 771), 5, true);
  first.fits = true;
  first.checked = true;
  Put(replayed, Raw("orders", 771), 6, true);
  EXPECT_FALSE(replayed.Find(kOid)->fits);
  // Its own replay has used it before it is promoted, and could not ask.
  EXPECT_FALSE(replayed.Find(kOid)->checked);
  replayed.Find(kOid)->fits = true;
  replayed.Find(kOid)->checked = true;
  RelationMap connection;
  connection.Promote(replayed);
  EXPECT_FALSE(connection.Find(kOid)->fits);
  EXPECT_FALSE(connection.Find(kOid)->checked);
}

}  // namespace
}  // namespace sublite::testing
