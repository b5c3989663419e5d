#include "applier/wire/copy_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::IsOkAndHolds;
using ::sublite::testing::StatusIs;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

template <std::size_t N>
std::string Bytes(const char (&literal)[N]) {
  return std::string(literal, N - 1);
}

// As "Binary Format" of COPY has them: signature, flags, length of the header
// extension.
std::string Header() { return Bytes("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0"); }
// 7::integer, NULL, 'ab', ''.
std::string Row() {
  return Bytes(
      "\0\4\0\0\0\4\0\0\0\7\xff\xff\xff\xff\0\0\0\2"
      "ab\0\0\0\0");
}
std::string Trailer() { return Bytes("\xff\xff"); }

// The row's columns, "<NULL>" for NULL; "none" where there is no row; else the
// error.
std::vector<std::string> Parse(BinaryCopy& copy, const std::string& message) {
  Tuple row;
  const absl::StatusOr<bool> has_row = copy.Parse(message, &row);
  if (!has_row.ok()) return {std::string(has_row.status().message())};
  if (!*has_row) return {"none"};
  std::vector<std::string> texts;
  for (const Datum& datum : row) {
    EXPECT_TRUE(datum.is_null() || datum.kind == Datum::Kind::kBinary);
    texts.emplace_back(datum.is_null() ? "<NULL>" : datum.bytes);
  }
  return texts;
}

using Texts = std::vector<std::string>;
const Texts& TheRow() {
  static const Texts& row =
      *new Texts{Bytes("\0\0\0\7"), "<NULL>", "ab", std::string()};
  return row;
}

// How PostgreSQL cuts the stream: the header is in the first row's message.
TEST(CopyBinaryTest, RowsBetweenHeaderAndTrailer) {
  BinaryCopy copy(4);
  EXPECT_EQ(Parse(copy, Header() + Row()), TheRow());
  EXPECT_EQ(Parse(copy, Row()), TheRow());
  EXPECT_THAT(copy.End(), StatusIs(kDataLoss, HasSubstr("trailer")));
  EXPECT_EQ(Parse(copy, Trailer()), Texts{"none"});
  EXPECT_OK(copy.End());
}

TEST(CopyBinaryTest, NoRows) {
  BinaryCopy together(4);
  EXPECT_EQ(Parse(together, Header() + Trailer()), Texts{"none"});
  EXPECT_OK(together.End());
  BinaryCopy apart(4);
  EXPECT_EQ(Parse(apart, Header()), Texts{"none"});
  EXPECT_FALSE(apart.End().ok());
  EXPECT_EQ(Parse(apart, Trailer()), Texts{"none"});
  EXPECT_OK(apart.End());
  // Without a single message there was no header either.
  EXPECT_FALSE(BinaryCopy(4).End().ok());
}

TEST(CopyBinaryTest, RowsWithoutColumns) {
  BinaryCopy copy(0);
  EXPECT_EQ(Parse(copy, Header() + Bytes("\0\0")), Texts());
  EXPECT_EQ(Parse(copy, Bytes("\0\0")), Texts());
  EXPECT_EQ(Parse(copy, Trailer()), Texts{"none"});
}

TEST(CopyBinaryTest, AHeaderExtensionIsPassedOver) {
  BinaryCopy copy(4);
  std::string header = Header();
  header.back() = 3;
  EXPECT_EQ(Parse(copy, header + "new" + Row()), TheRow());
}

TEST(CopyBinaryTest, FlagsThatMayBeIgnoredAre) {
  BinaryCopy copy(4);
  std::string header = Header();
  header[14] = 1;
  EXPECT_EQ(Parse(copy, header + Row()), TheRow());
}

TEST(CopyBinaryTest, CriticalFlagsAreRefused) {
  for (const std::size_t byte : {11u, 12u}) {
    BinaryCopy copy(4);
    std::string header = Header();
    header[byte] = 1;  // byte 12: bit 16, "OIDs are included"
    Tuple row;
    EXPECT_THAT(copy.Parse(header + Row(), &row),
                StatusIs(kDataLoss, HasSubstr("flags that are not known")));
  }
}

TEST(CopyBinaryTest, ADamagedSignatureIsRefused) {
  for (std::size_t i = 0; i < 11; ++i) {
    BinaryCopy copy(4);
    std::string header = Header();
    header[i] = static_cast<char>(header[i] ^ 0x20);
    Tuple row;
    EXPECT_THAT(copy.Parse(header + Row(), &row),
                StatusIs(kDataLoss, HasSubstr("offset 0: no signature")));
  }
}

// But for the header alone, which is a message that may be.
TEST(CopyBinaryTest, EveryPrefixIsRefused) {
  const std::string whole = Header() + Row();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    BinaryCopy copy(4);
    Tuple row;
    const std::string prefix = whole.substr(0, size);
    if (size == Header().size()) {
      EXPECT_THAT(copy.Parse(prefix, &row), IsOkAndHolds(false));
    } else {
      EXPECT_THAT(copy.Parse(prefix, &row),
                  StatusIs(kDataLoss, HasSubstr("binary COPY: offset")))
          << size;
    }
  }
  for (std::size_t size = 0; size < Row().size(); ++size) {
    BinaryCopy copy(4);
    EXPECT_EQ(Parse(copy, Header()), Texts{"none"});
    Tuple row;
    EXPECT_THAT(copy.Parse(Row().substr(0, size), &row), StatusIs(kDataLoss))
        << size;
  }
}

TEST(CopyBinaryTest, WhatIsNoRowIsRefused) {
  const struct {
    std::string message;
    const char* error;
  } kCases[] = {
      {Row() + "x", "offset 24: 1 bytes follow"},
      {Trailer() + "x", "offset 2: 1 bytes follow"},
      {Bytes("\0\3"), "3 columns instead of 4"},
      {Bytes("\0\5"), "5 columns instead of 4"},
      {Bytes("\xff\xfe"), "-2 columns instead of 4"},
      {Bytes("\0\4\xff\xff\xff\xfe"), "a field of length -2"},
      {Bytes("\0\4\x80\0\0\0"), "a field of length -2147483648"},
      {Bytes("\0\4\x7f\xff\xff\xff"), "needs 2147483647 bytes, 0 are left"},
  };
  for (const auto& c : kCases) {
    BinaryCopy copy(4);
    EXPECT_EQ(Parse(copy, Header() + Row()), TheRow());
    Tuple row;
    EXPECT_THAT(copy.Parse(c.message, &row),
                StatusIs(kDataLoss, HasSubstr(c.error)));
  }
}

TEST(CopyBinaryTest, NothingFollowsTheTrailer) {
  BinaryCopy copy(4);
  EXPECT_EQ(Parse(copy, Header() + Trailer()), Texts{"none"});
  Tuple row;
  EXPECT_THAT(copy.Parse(Row(), &row),
              StatusIs(kDataLoss, HasSubstr("behind the trailer")));
}

}  // namespace
}  // namespace sublite
