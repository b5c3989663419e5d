#include "tests/schema/codec.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "schema/datum.h"

namespace sublite::testing {

ColumnType TypeOf(std::string_view encoded) {
  absl::StatusOr<ColumnType> type = ColumnType::Parse(encoded);
  if (!type.ok()) {
    std::fprintf(stderr, "%s\n", type.status().ToString().c_str());
    std::abort();
  }
  return *type;
}

std::string ShowValue(const SqlValue& value) {
  switch (value.kind) {
    case SqlValue::Kind::kNull:
      return "null";
    case SqlValue::Kind::kInteger:
      return "integer " + std::to_string(value.integer);
    case SqlValue::Kind::kReal: {
      char text[40];
      std::snprintf(text, sizeof(text), "real %.17g", value.real);
      return text;
    }
    case SqlValue::Kind::kText:
      return "text " + std::string(value.bytes);
    case SqlValue::Kind::kBlob: {
      std::string text = "blob ";
      for (unsigned char byte : value.bytes) {
        char hex[3];
        std::snprintf(hex, sizeof(hex), "%02x", byte);
        text += hex;
      }
      return text;
    }
  }
  return "?";
}

std::string ShowBits(const SqlValue& value) {
  if (value.kind != SqlValue::Kind::kReal) return ShowValue(value);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value.real, sizeof(bits));
  char text[32];
  std::snprintf(text, sizeof(text), "real %016llx",
                static_cast<unsigned long long>(bits));
  return text;
}

std::string Convert(std::string_view text, const ColumnType& type) {
  Datum datum;
  datum.kind = Datum::Kind::kText;
  datum.bytes = text;
  std::string scratch;
  SqlValue value;
  const absl::Status status = ToSqlValue(datum, type, &scratch, &value);
  if (status.ok()) return ShowValue(value);
  return absl::StatusCodeToString(status.code()) == "DATA_LOSS"
             ? "DataLoss"
             : status.ToString();
}

std::string Convert(std::string_view text, std::string_view encoded_type) {
  return Convert(text, TypeOf(encoded_type));
}

}  // namespace sublite::testing
