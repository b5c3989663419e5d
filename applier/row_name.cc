#include "applier/row_name.h"

#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "schema/status.h"
#include "schema/value.h"

namespace sublite {
namespace {

constexpr std::size_t kValueMax = 64;

// The beginning of a text, without half of a character at its end.
std::string_view Beginning(std::string_view text) {
  if (text.size() <= kValueMax) return text;
  std::size_t end = kValueMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end);
}

std::string ValueText(const SqlValue& value) {
  const char* more = value.bytes.size() > kValueMax ? "…" : "";
  switch (value.kind) {
    case SqlValue::Kind::kNull:
      return "NULL";
    case SqlValue::Kind::kInteger:
      return absl::StrCat(value.integer);
    case SqlValue::Kind::kReal:
      return absl::StrCat(value.real);
    case SqlValue::Kind::kText:
      return absl::StrCat("'", View(Beginning(value.bytes)), more, "'");
    case SqlValue::Kind::kBlob:
      return absl::StrCat(
          "x'",
          absl::BytesToHexString(View(value.bytes.substr(0, kValueMax / 2))),
          value.bytes.size() > kValueMax / 2 ? "…" : "", "'");
  }
  return "";
}

}  // namespace

std::string RowName(const TableShape& shape, Tuple row) {
  std::vector<int> key = shape.KeyColumns();
  if (key.empty()) key = shape.IdentityColumns();
  std::string text;
  for (int place : key) {
    SqlValue value;
    std::string scratch;
    if (static_cast<std::size_t>(place) >= row.size() ||
        row[place].is_unchanged() ||
        !ToSqlValue(row[place], shape.columns[place].type, &scratch, &value)
             .ok()) {
      return "";
    }
    absl::StrAppend(&text, text.empty() ? " (row " : ", ",
                    shape.columns[place].name, " = ", ValueText(value));
  }
  return text.empty() ? text : text + ")";
}

std::string RowName(const TableShape& shape, const Message& change) {
  if (const auto* insert = std::get_if<InsertMessage>(&change))
    return RowName(shape, insert->new_tuple);
  if (const auto* del = std::get_if<DeleteMessage>(&change))
    return RowName(shape, del->old_tuple);
  const auto* update = std::get_if<UpdateMessage>(&change);
  if (update == nullptr) return "";
  // The row's name before the change, unless only the new one was sent.
  return RowName(shape, update->old_kind == OldTuple::kNone
                            ? update->new_tuple
                            : update->old_tuple);
}

}  // namespace sublite
