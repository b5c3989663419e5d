// The value codec: any bytes under any column type, as text and in binary form.
// The input's first byte chooses the type and the form.
//
// Required: OK or DataLoss; the same again with another value's leavings in the
// scratch; text and blobs that SQLite can be given (never a null pointer); a
// type read from a damaged file is refused, or is written as it was read.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/schema/binary_samples.h"
#include "tests/schema/samples.h"

namespace sublite::testing {
namespace {

struct Choice {
  std::string name;
  ColumnType type;
  Datum::Kind form;
};

// The types of the samples are all kinds and all binary forms that there are.
const std::vector<Choice>& Choices() {
  static const auto& choices = *new std::vector<Choice>([] {
    std::vector<Choice> made;
    for (const Sample& sample : Samples()) {
      made.push_back(
          {sample.type, *ColumnType::Parse(sample.type), Datum::Kind::kText});
    }
    std::set<std::string> seen;
    for (const BinarySample& sample : BinarySamples()) {
      if (!seen.insert(sample.type).second) continue;
      made.push_back(
          {sample.type, *ColumnType::Parse(sample.type), Datum::Kind::kBinary});
    }
    return made;
  }());
  return choices;
}

bool Same(const SqlValue& a, const SqlValue& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case SqlValue::Kind::kNull:
      return true;
    case SqlValue::Kind::kInteger:
      return a.integer == b.integer;
    case SqlValue::Kind::kReal:
      return a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
    default:
      return a.bytes == b.bytes;
  }
}

void FuzzDatum(const Datum& datum, const ColumnType& type) {
  std::string scratch;
  SqlValue value;
  const absl::Status status = ToSqlValue(datum, type, &scratch, &value);
  Require(status.ok() || absl::IsDataLoss(status), "an error has another code",
          status.ToString());
  std::string used = "what another value left";
  SqlValue again;
  again.kind = SqlValue::Kind::kReal;
  const absl::Status second = ToSqlValue(datum, type, &used, &again);
  Require(second == status, "a value is judged otherwise the second time");
  if (!status.ok()) return;
  Require(Same(value, again), "a value changes the second time");
  const bool bytes = value.kind == SqlValue::Kind::kText ||
                     value.kind == SqlValue::Kind::kBlob;
  Require(!bytes || value.bytes.data() != nullptr,
          "SQLite would take it for "
          "NULL");
  Require(value.kind != SqlValue::Kind::kReal || !std::isnan(value.real),
          "SQLite would store it as NULL");
}

void FuzzType(std::string_view text) {
  const absl::StatusOr<ColumnType> type = ColumnType::Parse(text);
  if (!type.ok()) return;
  const absl::StatusOr<ColumnType> again = ColumnType::Parse(type->Encode());
  Require(again.ok() && again->Encode() == type->Encode(),
          "a type changes when it is written again");
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::set<std::string> seeds;
  const std::vector<Choice>& choices = Choices();
  const auto add = [&](const char* type, Datum::Kind form,
                       const std::string& bytes) {
    const auto chosen =
        std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
          return choice.name == type && choice.form == form;
        });
    seeds.insert(static_cast<char>(chosen - choices.begin()) + bytes);
  };
  for (const Sample& sample : Samples()) {
    for (const std::string& text : sample.texts) {
      add(sample.type, Datum::Kind::kText, text);
    }
    seeds.insert(std::string(1, '\0') + sample.type);
  }
  for (const BinarySample& sample : BinarySamples()) {
    add(sample.type, Datum::Kind::kBinary, sample.Bytes());
  }
  return {seeds.begin(), seeds.end()};
}

}  // namespace sublite::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using sublite::testing::Choices;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  const auto& choice = Choices()[data[0] % Choices().size()];
  sublite::testing::FuzzDatum({choice.form, bytes}, choice.type);
  sublite::testing::FuzzType(bytes);
  return 0;
}
