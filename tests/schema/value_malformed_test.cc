// Whatever the bytes are, the codec answers OK or DataLoss and reads nothing
// else than them; what it calls JSON is JSON.
#include <cstddef>
#include <memory>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/codec.h"
#include "tests/schema/samples.h"
#include "tests/schema/sqlite_column.h"

namespace sublite {
namespace {

using testing::Sample;

// json elements are passed on as they are, whatever they are.
bool MakesJson(const ColumnType& type) {
  if (type.kind == ValueKind::kHstore) return true;
  return type.kind == ValueKind::kArray &&
         type.element->kind != ValueKind::kJson;
}

class Malformed : public ::testing::Test {
 protected:
  void Expect(const std::string& text, const ColumnType& type) {
    // Of the exact size, so that a sanitizer sees a read past the end.
    std::unique_ptr<char[]> exact(new char[text.size()]);
    text.copy(exact.get(), text.size());
    Datum datum;
    datum.kind = Datum::Kind::kText;
    datum.bytes = std::string_view(exact.get(), text.size());
    SqlValue value;
    const absl::Status status = ToSqlValue(datum, type, &scratch_, &value);
    if (!status.ok()) {
      ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss)
          << type.Encode() << ": " << text;
      return;
    }
    if (MakesJson(type) &&
        !(type.kind == ValueKind::kArray && text[0] == '[')) {
      ASSERT_TRUE(sqlite_.IsJson(std::string(value.bytes)))
          << type.Encode() << ": " << text << " became " << value.bytes;
    }
  }

 private:
  std::string scratch_;
  testing::SqliteColumn sqlite_{"TEXT"};
};

TEST_F(Malformed, EveryPrefix) {
  for (const Sample& sample : testing::Samples()) {
    const ColumnType type = testing::TypeOf(sample.type);
    for (const std::string& text : sample.texts) {
      for (std::size_t size = 0; size <= text.size(); ++size) {
        Expect(text.substr(0, size), type);
      }
    }
  }
}

TEST_F(Malformed, EveryByteChanged) {
  for (const Sample& sample : testing::Samples()) {
    const ColumnType type = testing::TypeOf(sample.type);
    for (const std::string& text : sample.texts) {
      std::string changed = text;
      for (std::size_t at = 0; at < text.size() && at < 100; ++at) {
        for (int byte = 0; byte < 256; ++byte) {
          changed[at] = static_cast<char>(byte);
          Expect(changed, type);
        }
        changed[at] = text[at];
      }
    }
  }
}

TEST_F(Malformed, EverySampleUnderEveryType) {
  for (const Sample& sample : testing::Samples()) {
    const ColumnType type = testing::TypeOf(sample.type);
    for (const Sample& other : testing::Samples()) {
      for (const std::string& text : other.texts) Expect(text, type);
    }
    for (const std::string& text : testing::TextsThatLookLikeNumbers()) {
      Expect(text, type);
    }
  }
}

TEST_F(Malformed, RandomBytesOfTheGrammar) {
  const std::string alphabet = "{}[]\",;\\=>NULLtf01.-+e: $xab\n\x01\xc3\xa9";
  std::mt19937_64 random(20240229);
  for (const Sample& sample : testing::Samples()) {
    const ColumnType type = testing::TypeOf(sample.type);
    for (int i = 0; i < 5000; ++i) {
      std::string text =
          type.kind == ValueKind::kArray && i % 8 != 0 ? "{" : "";
      for (std::size_t size = random() % 20; size > 0; --size) {
        text += alphabet[random() % alphabet.size()];
      }
      if (!text.empty() && text[0] == '{' && i % 4 != 0) text += '}';
      Expect(text, type);
    }
  }
}

}  // namespace
}  // namespace sublite
