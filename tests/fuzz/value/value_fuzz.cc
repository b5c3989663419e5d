// Any bytes under any column type: OK or DataLoss, and nothing read or written
// but what is ours. The input's first byte chooses the type.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/samples.h"

namespace sublite {
namespace {

// The types of the samples are all kinds there are.
std::vector<ColumnType> Types() {
  std::vector<ColumnType> types;
  for (const testing::Sample& sample : testing::Samples()) {
    absl::StatusOr<ColumnType> type = ColumnType::Parse(sample.type);
    if (!type.ok()) std::abort();
    types.push_back(*type);
  }
  return types;
}

void RunOne(std::string_view input) {
  static const auto* const kTypes = new std::vector<ColumnType>(Types());
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input[0]);
  const ColumnType& type = (*kTypes)[choice % kTypes->size()];
  Datum datum;
  datum.kind = Datum::Kind::kText;
  datum.bytes = input.substr(1);
  std::string scratch;
  SqlValue value;
  const absl::Status status = ToSqlValue(datum, type, &scratch, &value);
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
