// Binary values against hand-made tables, and whatever bytes there are: every
// prefix and every changed byte of a value is a value or DataLoss.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "schema/binary_form.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/binary_samples.h"
#include "tests/schema/codec.h"

namespace sublite::testing {
namespace {

absl::Status Decode(std::string_view bytes, const ColumnType& type,
                    std::string* scratch, SqlValue* value) {
  const Datum datum{Datum::Kind::kBinary, bytes};
  return ToSqlValue(datum, type, scratch, value);
}

std::string Show(std::string_view bytes, const ColumnType& type) {
  std::string scratch;
  SqlValue value;
  const absl::Status status = Decode(bytes, type, &scratch, &value);
  return status.ok() ? ShowValue(value) : status.ToString();
}

// A value or DataLoss. The bytes lie alone, so that a sanitizer sees a read
// past their end.
void ExpectNoHarm(const std::string& bytes, const ColumnType& type) {
  std::unique_ptr<char[]> exact(new char[bytes.size()]);
  bytes.copy(exact.get(), bytes.size());
  std::string scratch;
  SqlValue value;
  const absl::Status status =
      Decode({exact.get(), bytes.size()}, type, &scratch, &value);
  if (status.ok()) {
    // Text is never null, and all of it can be read.
    EXPECT_FALSE(ShowValue(value).empty());
    if (value.kind == SqlValue::Kind::kText ||
        value.kind == SqlValue::Kind::kBlob) {
      EXPECT_NE(value.bytes.data(), nullptr);
    }
    return;
  }
  ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss)
      << type.Encode() << ": " << status;
}

TEST(ValueBinary, Samples) {
  for (const BinarySample& sample : BinarySamples()) {
    EXPECT_EQ(Show(sample.Bytes(), TypeOf(sample.type)), sample.expected)
        << sample.type << " " << sample.hex;
  }
}

TEST(ValueBinary, SamplesHaveEveryForm) {
  std::set<BinaryForm> seen;
  for (const BinarySample& sample : BinarySamples()) {
    seen.insert(TypeOf(sample.type).form);
  }
  for (int form = 0; form <= static_cast<int>(BinaryForm::kRecord); ++form) {
    const auto known = static_cast<BinaryForm>(form);
    if (known == BinaryForm::kNone || known == BinaryForm::kTextOnly) continue;
    EXPECT_TRUE(seen.count(known) == 1) << FormName(known);
  }
}

TEST(ValueBinary, WithoutDecoder) {
  for (const char* type : {"text", "text@text-only", "array(,;text)"}) {
    std::string scratch;
    SqlValue value;
    EXPECT_EQ(Decode("x", TypeOf(type), &scratch, &value).code(),
              absl::StatusCode::kUnimplemented)
        << type;
  }
  EXPECT_FALSE(HasBinaryDecoder(TypeOf("text")));
  EXPECT_TRUE(HasBinaryDecoder(TypeOf("text@text-only")));
}

TEST(ValueBinary, TextAndNullStay) {
  const ColumnType type = TypeOf("int@int4");
  std::string scratch;
  SqlValue value;
  EXPECT_TRUE(
      ToSqlValue({Datum::Kind::kText, "42"}, type, &scratch, &value).ok());
  EXPECT_EQ(value.integer, 42);
  EXPECT_TRUE(
      ToSqlValue({Datum::Kind::kNull, {}}, type, &scratch, &value).ok());
  EXPECT_EQ(value.kind, SqlValue::Kind::kNull);
}

TEST(ValueBinary, ScratchIsReused) {
  // Of the same scratch, a value of one form after another of each other.
  std::string scratch;
  for (const BinarySample& first : BinarySamples()) {
    for (const char* type : {"text@uuid", "array(,;int@int4)@array"}) {
      SqlValue value;
      const std::string bytes = first.Bytes();
      ASSERT_TRUE(Decode(bytes, TypeOf(first.type), &scratch, &value).ok());
      ASSERT_EQ(ShowValue(value), first.expected);
      const ColumnType other = TypeOf(type);
      const std::string zeros(other.form == BinaryForm::kUuid ? 16 : 12, '\0');
      ASSERT_TRUE(Decode(zeros, other, &scratch, &value).ok());
      ASSERT_EQ(ShowValue(value),
                other.form == BinaryForm::kUuid
                    ? "text 00000000-0000-0000-0000-000000000000"
                    : "text []");
    }
  }
}

TEST(ValueBinary, EveryPrefix) {
  for (const BinarySample& sample : BinarySamples()) {
    const ColumnType type = TypeOf(sample.type);
    const std::string bytes = sample.Bytes();
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      ExpectNoHarm(bytes.substr(0, size), type);
    }
    ExpectNoHarm(bytes + '\0', type);
    // Only text goes on to wherever the bytes end.
    if (type.form == BinaryForm::kText || type.form == BinaryForm::kBytea ||
        type.form == BinaryForm::kVersionedText) {
      continue;
    }
    EXPECT_EQ(Show(bytes + '\0', type).substr(0, 9), "DATA_LOSS")
        << sample.type;
    if (!bytes.empty()) {
      EXPECT_EQ(Show(bytes.substr(1), type).substr(0, 9), "DATA_LOSS")
          << sample.type << " " << sample.hex;
    }
  }
}

TEST(ValueBinary, EveryByteChanged) {
  for (const BinarySample& sample : BinarySamples()) {
    const ColumnType type = TypeOf(sample.type);
    const std::string bytes = sample.Bytes();
    std::string changed = bytes;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        changed[at] = static_cast<char>(byte);
        ExpectNoHarm(changed, type);
      }
      changed[at] = bytes[at];
    }
  }
}

TEST(ValueBinary, EverySampleUnderEveryType) {
  for (const BinarySample& sample : BinarySamples()) {
    const ColumnType type = TypeOf(sample.type);
    for (const BinarySample& other : BinarySamples()) {
      ExpectNoHarm(other.Bytes(), type);
    }
  }
}

// Counts that promise more than there is, and more than there can be.
TEST(ValueBinary, HugeCounts) {
  for (const BinarySample& sample : BinarySamples()) {
    const ColumnType type = TypeOf(sample.type);
    for (const char byte : {'\x7f', '\x80', '\xff'}) {
      ExpectNoHarm(std::string(64, byte), type);
      ExpectNoHarm(byte + sample.Bytes().substr(0, 3), type);
    }
  }
  // 2^31 - 1 elements a dimension, in all six.
  std::string array(4, '\0');
  array[3] = 6;
  array += std::string(8, '\0');
  for (int i = 0; i < 6; ++i)
    array += std::string("\x7f\xff\xff\xff\0\0\0\1", 8);
  EXPECT_EQ(Show(array, TypeOf("array(,;int@int4)@array")).substr(0, 9),
            "DATA_LOSS");
}

// A tsquery nested as deep as its bytes say: nothing recurses.
TEST(ValueBinary, DeepQuery) {
  constexpr int kDepth = 200000;
  std::string query = {0, 3, 13, 65};  // kDepth + 1
  for (int i = 0; i < kDepth; ++i) query += "\2\1";
  query += std::string("\1\0\0a\0", 5);
  EXPECT_EQ(Show(query, TypeOf("text@tsquery")),
            "text " + std::string(kDepth, '!') + "'a'");
}

}  // namespace
}  // namespace sublite::testing
