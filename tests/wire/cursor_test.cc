#include "applier/wire/cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::StatusIs;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

TEST(CursorTest, ReadsIntegersInNetworkByteOrder) {
  Cursor cursor(std::string_view(
      "\x01\x80\x02\xff\xff\xff\xfe\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\xff"
      "\xff\xff\xff\xff\xff",
      23));
  EXPECT_EQ(cursor.U8("a"), 1);
  EXPECT_EQ(cursor.U16("b"), 0x8002);
  EXPECT_EQ(cursor.I32("c"), -2);
  EXPECT_EQ(cursor.U64("d"), 0x0102030405060708u);
  EXPECT_EQ(cursor.I64("e"), -1);
  EXPECT_EQ(cursor.remaining(), 0u);
  EXPECT_OK(cursor.Finish());
}

TEST(CursorTest, ReadsStringsUpToTheirZeroByte) {
  Cursor cursor(std::string_view("ab\0\0c\0", 6));
  EXPECT_EQ(cursor.String("a"), "ab");
  EXPECT_EQ(cursor.String("b"), "");
  EXPECT_EQ(cursor.String("c"), "c");
  EXPECT_OK(cursor.Finish());
}

TEST(CursorTest, GivesViewsIntoItsBytes) {
  const std::string bytes("\0\0\0\2xyrest", 10);
  Cursor cursor(bytes);
  EXPECT_EQ(cursor.Counted("a").data(), bytes.data() + 4);
  EXPECT_EQ(cursor.Rest().data(), bytes.data() + 6);
  EXPECT_OK(cursor.Finish());
}

TEST(CursorTest, NeverPassesTheEnd) {
  // Each read on each length of bytes that is too short for it.
  const std::string bytes(8, '\1');
  for (std::size_t size = 0; size < 8; ++size) {
    Cursor cursor(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(cursor.U64("field"), 0u);
    EXPECT_FALSE(cursor.ok());
    EXPECT_EQ(cursor.remaining(), 0u);
    EXPECT_THAT(cursor.Finish(),
                StatusIs(kDataLoss, "offset 0: field needs 8 bytes, " +
                                        std::to_string(size) + " are left"));
  }
}

TEST(CursorTest, AStringWithoutItsEndIsAnError) {
  Cursor cursor("xabc");
  cursor.U8("kind");
  EXPECT_EQ(cursor.String("name"), "");
  EXPECT_THAT(
      cursor.Finish(),
      StatusIs(kDataLoss, "offset 1: name does not end within the message"));
}

TEST(CursorTest, ALengthThatIsNegativeOrTooLongIsAnError) {
  Cursor negative(std::string_view("\xff\xff\xff\xffxyz", 7));
  EXPECT_EQ(negative.Counted("value"), "");
  EXPECT_THAT(negative.Finish(),
              StatusIs(kDataLoss, "offset 0: value has a negative length, -1"));
  Cursor longer(std::string_view("\x7f\xff\xff\xffxyz", 7));
  EXPECT_EQ(longer.Counted("value"), "");
  EXPECT_THAT(longer.Finish(),
              StatusIs(kDataLoss,
                       "offset 0: value needs 2147483647 bytes, 3 are left"));
}

TEST(CursorTest, ACountIsBoundedByTheBytesLeftAndByItsMaximum) {
  Cursor fits("12345678");
  EXPECT_EQ(fits.Count(4, 2, 4, "columns"), 4u);
  EXPECT_TRUE(fits.ok());
  Cursor more_than_left("12345678");
  EXPECT_EQ(more_than_left.Count(5, 2, 100, "columns"), 0u);
  EXPECT_THAT(
      more_than_left.Finish(),
      StatusIs(kDataLoss, "offset 0: 5 columns cannot follow in 8 bytes"));
  Cursor more_than_allowed("12345678");
  EXPECT_EQ(more_than_allowed.Count(4, 1, 3, "columns"), 0u);
  EXPECT_THAT(more_than_allowed.Finish(),
              StatusIs(kDataLoss, "offset 0: 4 columns, more than 3"));
}

TEST(CursorTest, BytesThatAreLeftOverAreAnError) {
  Cursor cursor("abc");
  cursor.U8("kind");
  EXPECT_THAT(
      cursor.Finish(),
      StatusIs(kDataLoss, "offset 1: 2 bytes follow the end of the message"));
}

TEST(CursorTest, TheFirstErrorStaysAndEndsAllReading) {
  Cursor cursor("abcdefgh");
  cursor.U8("first");
  cursor.U8("second");
  cursor.Fail(absl::StatusCode::kUnimplemented, "unknown");
  EXPECT_EQ(cursor.U8("third"), 0);
  EXPECT_EQ(cursor.String("fourth"), "");
  EXPECT_EQ(cursor.Counted("fifth"), "");
  EXPECT_EQ(cursor.Rest(), "");
  cursor.Fail(kDataLoss, "later");
  EXPECT_THAT(cursor.Finish(),
              StatusIs(absl::StatusCode::kUnimplemented, "offset 1: unknown"));
}

}  // namespace
}  // namespace sublite
