#include "applier/copy_key.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "schema/status.h"

namespace sublite {
namespace {

enum class Order { kNone, kNumber, kBytes, kTime };

constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinusInfinity =
    std::numeric_limits<std::int64_t>::min();
constexpr std::string_view kBc = " BC";

Order OrderOf(const ColumnType& type) {
  if (type.kind == ValueKind::kInteger) return Order::kNumber;
  switch (type.form) {
    case BinaryForm::kUuid:
      return Order::kBytes;
    case BinaryForm::kDate:
    case BinaryForm::kTimestamp:
    case BinaryForm::kTimestamptz:
      return Order::kTime;
    default:
      return Order::kNone;
  }
}

absl::Status NoKey() {
  return absl::OutOfRangeError("a value that cannot be compared");
}

// `2024-02-29 12:00:00.5+00:00`, `0044-03-15 BC`. Within a year the text's
// order is that of time: a fraction ends before its trailing zeros, and what
// follows it, an offset that is always the same or nothing, is smaller than a
// digit.
absl::StatusOr<CopyKeyPart> TimePart(std::string_view text) {
  if (text == "infinity") return CopyKeyPart(kInfinity);
  if (text == "-infinity") return CopyKeyPart(kMinusInfinity);
  const std::size_t digits = text.find('-');
  std::int64_t year = 0;
  if (digits == std::string_view::npos || digits < 4 ||
      !absl::ascii_isdigit(text[0]) ||
      !absl::SimpleAtoi(View(text.substr(0, digits)), &year) || year == 0) {
    return NoKey();
  }
  std::string_view rest = text.substr(digits);
  const bool bc =
      rest.size() > kBc.size() && rest.substr(rest.size() - kBc.size()) == kBc;
  if (bc) rest.remove_suffix(kBc.size());
  return CopyKeyPart(bc ? 1 - year : year, std::string(rest));
}

std::string TimeText(const CopyKeyPart& part) {
  if (part.number == kInfinity) return "infinity";
  if (part.number == kMinusInfinity) return "-infinity";
  const bool bc = part.number <= 0;
  return absl::StrCat(
      absl::Dec(bc ? 1 - part.number : part.number, absl::kZeroPad4), part.text,
      bc ? View(kBc) : absl::string_view());
}

}  // namespace

bool IsCopyKeyType(const ColumnType& type) {
  return OrderOf(type) != Order::kNone;
}

absl::StatusOr<CopyKeyPart> ToCopyKeyPart(const SqlValue& value,
                                          const ColumnType& type) {
  const Order order = OrderOf(type);
  const SqlValue::Kind stored = order == Order::kNumber
                                    ? SqlValue::Kind::kInteger
                                    : SqlValue::Kind::kText;
  if (value.kind != stored) return NoKey();
  switch (order) {
    case Order::kNumber:
      return CopyKeyPart(value.integer);
    case Order::kBytes:
      return CopyKeyPart(0, std::string(value.bytes));
    case Order::kTime:
      return TimePart(value.bytes);
    case Order::kNone:
      break;
  }
  return NoKey();
}

std::string CopyKeyText(const CopyKeyPart& part, const ColumnType& type) {
  switch (OrderOf(type)) {
    case Order::kBytes:
      return part.text;
    case Order::kTime:
      return TimeText(part);
    default:
      return absl::StrCat(part.number);
  }
}

std::string FormatCopyKey(const CopyKey& key) {
  return absl::StrJoin(key, ",", [](std::string* out, const CopyKeyPart& part) {
    absl::StrAppend(out, part.number);
    if (!part.text.empty())
      absl::StrAppend(out, "x", absl::BytesToHexString(part.text));
  });
}

absl::StatusOr<CopyKey> ParseCopyKey(std::string_view text) {
  CopyKey key;
  if (text.empty()) return key;
  for (const absl::string_view part : absl::StrSplit(View(text), ',')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits('x', 1));
    CopyKeyPart value;
    const absl::string_view hex = halves.second;
    const bool text_is_missing = hex.empty() && halves.first != part;
    if (!absl::SimpleAtoi(halves.first, &value.number) || text_is_missing ||
        hex.size() % 2 != 0 ||
        !std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit)) {
      return absl::DataLossError(
          absl::StrCat("sublite_copies holds the broken key ", View(text)));
    }
    value.text = absl::HexStringToBytes(hex);
    key.push_back(std::move(value));
  }
  return key;
}

}  // namespace sublite
