#include "schema/value.h"

#include <array>
#include <cstddef>

#include "schema/status.h"
#include "schema/value_array.h"
#include "schema/value_binary.h"
#include "schema/value_error.h"
#include "schema/value_hstore.h"
#include "schema/value_number.h"
#include "schema/value_time.h"

namespace sublite {
namespace {

constexpr unsigned char kNoHexDigit = 0xFF;

constexpr std::array<unsigned char, 256> MakeHexDigits() {
  std::array<unsigned char, 256> digits = {};
  for (unsigned char& digit : digits) digit = kNoHexDigit;
  for (unsigned char i = 0; i < 10; ++i) digits['0' + i] = i;
  for (unsigned char i = 0; i < 6; ++i) {
    digits['a' + i] = static_cast<unsigned char>(10 + i);
    digits['A' + i] = static_cast<unsigned char>(10 + i);
  }
  return digits;
}

constexpr std::array<unsigned char, 256> kHexDigits = MakeHexDigits();

// SQLite takes a null pointer for NULL, whatever the length says.
std::string_view NeverNull(std::string_view bytes) {
  return bytes.data() == nullptr ? std::string_view("") : bytes;
}

void SetText(std::string_view text, SqlValue* value) {
  value->kind = SqlValue::Kind::kText;
  value->bytes = NeverNull(text);
}

absl::Status BooleanToSqlValue(std::string_view text, SqlValue* value) {
  if (text != "t" && text != "f") return UnexpectedText("t or f", 0);
  value->kind = SqlValue::Kind::kInteger;
  value->integer = text == "t" ? 1 : 0;
  return absl::OkStatus();
}

absl::Status ByteaToSqlValue(std::string_view text, std::string* scratch,
                             SqlValue* value) {
  if (text.substr(0, 2) != "\\x") {
    return UnexpectedText("\\x (bytea_output hex)", 0);
  }
  text.remove_prefix(2);
  if (text.size() % 2 != 0) {
    return UnexpectedText("an even number of hex digits", text.size() + 2);
  }
  const std::size_t size = text.size() / 2;
  // Never shrunk: growing again would fill the bytes with zeros first.
  if (scratch->size() < size) scratch->resize(size);
  char* const bytes = &(*scratch)[0];
  unsigned char seen = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned char high =
        kHexDigits[static_cast<unsigned char>(text[2 * i])];
    const unsigned char low =
        kHexDigits[static_cast<unsigned char>(text[2 * i + 1])];
    seen |= high | low;
    bytes[i] = static_cast<char>((high << 4) | low);
  }
  if (seen > 0xF) {
    return UnexpectedText("hex digits",
                          text.find_first_not_of("0123456789abcdefABCDEF") + 2);
  }
  value->kind = SqlValue::Kind::kBlob;
  value->bytes = std::string_view(bytes, size);
  return absl::OkStatus();
}

// For the kinds whose stored text is not the text sent.
template <typename Append>
absl::Status RewriteToSqlValue(std::string* scratch, SqlValue* value,
                               Append append) {
  scratch->clear();
  absl::Status status = append(scratch);
  if (status.ok()) SetText(*scratch, value);
  return status;
}

absl::Status TextToSqlValue(std::string_view text, const ColumnType& type,
                            std::string* scratch, SqlValue* value) {
  switch (type.kind) {
    case ValueKind::kInteger:
      value->kind = SqlValue::Kind::kInteger;
      return ParseInteger(text, &value->integer);
    case ValueKind::kBoolean:
      return BooleanToSqlValue(text, value);
    case ValueKind::kReal:
      return RealToSqlValue(text, value);
    case ValueKind::kNumericNumber:
      return NumericToSqlValue(text, value);
    case ValueKind::kNumericReal:
      return NumericToNearestSqlValue(text, value);
    case ValueKind::kMoney:
      return MoneyToSqlValue(text, value);
    case ValueKind::kNumericText:
    case ValueKind::kText:
    case ValueKind::kPaddedText:
    case ValueKind::kCaselessText:
    case ValueKind::kJson:
      SetText(text, value);
      return absl::OkStatus();
    case ValueKind::kBytea:
      return ByteaToSqlValue(text, scratch, value);
    case ValueKind::kTimestamptz:
      return RewriteToSqlValue(scratch, value, [text](std::string* out) {
        return AppendTimestamptz(text, out);
      });
    case ValueKind::kTimetz:
      return RewriteToSqlValue(scratch, value, [text](std::string* out) {
        return AppendTimetz(text, out);
      });
    case ValueKind::kArray:
      if (HasArrayBounds(text)) {
        SetText(text, value);
        return absl::OkStatus();
      }
      return RewriteToSqlValue(scratch, value, [text, &type](std::string* out) {
        return AppendArrayAsJson(text, type, out);
      });
    case ValueKind::kHstore:
      return RewriteToSqlValue(scratch, value, [text](std::string* out) {
        return AppendHstoreAsJson(text, out);
      });
  }
  return absl::InternalError("a column type without a codec");
}

// True if TextToSqlValue may write to its scratch what it makes of the text.
bool IsRewritten(ValueKind kind) {
  return kind == ValueKind::kBytea || kind == ValueKind::kTimestamptz ||
         kind == ValueKind::kTimetz || kind == ValueKind::kArray ||
         kind == ValueKind::kHstore;
}

absl::Status BinaryDatumToSqlValue(std::string_view bytes,
                                   const ColumnType& type, std::string* scratch,
                                   SqlValue* value) {
  if (type.form == BinaryForm::kNone || type.form == BinaryForm::kTextOnly) {
    return absl::UnimplementedError(
        "no decoder for the binary form of a column stored as " +
        type.Encode());
  }
  if (BinaryToSqlValue(bytes, type, value)) {
    value->bytes = NeverNull(value->bytes);
    return absl::OkStatus();
  }
  std::string own;
  std::string* const text = IsRewritten(type.kind) ? &own : scratch;
  text->clear();
  RETURN_IF_ERROR(AppendBinaryAsText(bytes, type, text));
  RETURN_IF_ERROR(TextToSqlValue(*text, type, scratch, value));
  // Some texts are stored as they are, such as arrays with bounds.
  if (value->bytes.data() == own.data()) {
    *scratch = own;
    value->bytes = *scratch;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ToSqlValue(const Datum& datum, const ColumnType& type,
                        std::string* scratch, SqlValue* value) {
  switch (datum.kind) {
    case Datum::Kind::kText:
      return TextToSqlValue(datum.bytes, type, scratch, value);
    case Datum::Kind::kNull:
      value->kind = SqlValue::Kind::kNull;
      return absl::OkStatus();
    case Datum::Kind::kBinary:
      return BinaryDatumToSqlValue(datum.bytes, type, scratch, value);
    case Datum::Kind::kUnchanged:
      break;
  }
  return absl::InternalError("an unchanged column has no value to convert");
}

}  // namespace sublite
