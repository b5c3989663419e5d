// Any bytes under any column type: OK or DataLoss, and nothing read or written
// but what is ours. The input's first byte chooses the type.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/binary_samples.h"
#include "tests/schema/samples.h"

namespace sublite {
namespace {

struct Choice {
  ColumnType type;
  Datum::Kind form;
};

// The types of the samples are all kinds and all binary forms that there are.
std::vector<Choice> Choices() {
  std::vector<Choice> choices;
  for (const testing::Sample& sample : testing::Samples()) {
    choices.push_back({*ColumnType::Parse(sample.type), Datum::Kind::kText});
  }
  std::set<std::string> seen;
  for (const testing::BinarySample& sample : testing::BinarySamples()) {
    if (!seen.insert(sample.type).second) continue;
    choices.push_back({*ColumnType::Parse(sample.type), Datum::Kind::kBinary});
  }
  return choices;
}

void RunOne(std::string_view input) {
  static const auto* const kChoices = new std::vector<Choice>(Choices());
  if (input.empty()) return;
  const auto chosen = static_cast<unsigned char>(input[0]);
  const Choice& choice = (*kChoices)[chosen % kChoices->size()];
  const Datum datum{choice.form, input.substr(1)};
  std::string scratch;
  SqlValue value;
  const absl::Status status = ToSqlValue(datum, choice.type, &scratch, &value);
  if (!status.ok() && status.code() != absl::StatusCode::kDataLoss) {
    std::abort();
  }
  // A type read from a damaged file.
  absl::StatusOr<ColumnType> parsed = ColumnType::Parse(input.substr(1));
  if (parsed.ok() &&
      ColumnType::Parse(parsed->Encode())->Encode() != parsed->Encode()) {
    std::abort();
  }
}

}  // namespace
}  // namespace sublite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  sublite::RunOne(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
