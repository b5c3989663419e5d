#include "schema/value_binary.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "schema/binary_form.h"
#include "schema/value_binary_container.h"
#include "schema/value_binary_geometry.h"
#include "schema/value_binary_network.h"
#include "schema/value_binary_number.h"
#include "schema/value_binary_reader.h"
#include "schema/value_binary_search.h"
#include "schema/value_binary_time.h"
#include "schema/value_error.h"
#include "schema/value_float.h"

namespace sublite {
namespace {

constexpr std::size_t kUuidBytes = 16;
constexpr std::size_t kMacaddrBytes = 6;
constexpr std::size_t kMacaddr8Bytes = 8;

void AppendHexBytes(std::string_view bytes, std::string* text) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    text->push_back(kHex[byte >> 4]);
    text->push_back(kHex[byte & 0xF]);
  }
}

void AppendBool(BinaryReader* in, std::string* text) {
  const std::uint8_t byte = in->U8();
  if (byte > 1) return in->Fail();
  text->push_back(byte == 1 ? 't' : 'f');
}

void AppendVersionedText(BinaryReader* in, std::string* text) {
  if (in->U8() != 1) return in->Fail();
  text->append(in->Rest());
}

void AppendChar(BinaryReader* in, bool octal, std::string* text) {
  const std::uint8_t byte = in->U8();
  if (byte == 0) return;
  if (!octal || byte < 0x80) {
    text->push_back(static_cast<char>(byte));
    return;
  }
  text->push_back('\\');
  for (const int shift : {6, 3, 0}) {
    text->push_back(static_cast<char>('0' + (byte >> shift & 7)));
  }
}

void AppendUuid(BinaryReader* in, std::string* text) {
  const std::string_view bytes = in->Take(kUuidBytes);
  if (!in->ok()) return;
  std::size_t at = 0;
  for (const std::size_t size : {4, 2, 2, 2, 6}) {
    if (at > 0) text->push_back('-');
    AppendHexBytes(bytes.substr(at, size), text);
    at += size;
  }
}

void AppendBits(BinaryReader* in, std::string* text) {
  const std::uint64_t count = in->U32();
  const std::string_view bytes = in->Take((count + 7) / 8);
  if (!in->ok()) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i / 8]);
    text->push_back((byte & (0x80 >> i % 8)) != 0 ? '1' : '0');
  }
}

void AppendPgLsn(BinaryReader* in, std::string* text) {
  for (const char* behind : {"/", ""}) {
    char digits[8];
    char* end =
        std::to_chars(digits, digits + sizeof(digits), in->U32(), 16).ptr;
    for (char* digit = digits; digit != end; ++digit) {
      if (*digit >= 'a') *digit = static_cast<char>(*digit - 'a' + 'A');
    }
    text->append(digits, static_cast<std::size_t>(end - digits));
    text->append(behind);
  }
}

void AppendTid(BinaryReader* in, std::string* text) {
  text->push_back('(');
  AppendInteger(in->U32(), text);
  text->push_back(',');
  AppendInteger(in->U16(), text);
  text->push_back(')');
}

void AppendSnapshot(BinaryReader* in, std::string* text) {
  const std::uint32_t count = in->U32();
  AppendInteger(in->U64(), text);
  text->push_back(':');
  AppendInteger(in->U64(), text);
  text->push_back(':');
  if (count > in->remaining() / sizeof(std::uint64_t)) return in->Fail();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) text->push_back(',');
    AppendInteger(in->U64(), text);
  }
}

// The forms that are a number or stand for themselves. False if `form` is
// another one.
bool AppendPlain(BinaryForm form, BinaryReader* in, std::string* text) {
  switch (form) {
    case BinaryForm::kText:
      text->append(in->Rest());
      return true;
    case BinaryForm::kVersionedText:
      AppendVersionedText(in, text);
      return true;
    case BinaryForm::kChar:
    case BinaryForm::kOctalChar:
      AppendChar(in, form == BinaryForm::kOctalChar, text);
      return true;
    case BinaryForm::kBool:
      AppendBool(in, text);
      return true;
    case BinaryForm::kInt2:
      AppendInteger(in->I16(), text);
      return true;
    case BinaryForm::kInt4:
      AppendInteger(in->I32(), text);
      return true;
    case BinaryForm::kInt8:
      AppendInteger(in->I64(), text);
      return true;
    case BinaryForm::kUint4:
      AppendInteger(in->U32(), text);
      return true;
    case BinaryForm::kUint8:
      AppendInteger(in->U64(), text);
      return true;
    case BinaryForm::kFloat4:
      AppendFloat4(in->F32(), text);
      return true;
    case BinaryForm::kFloat8:
      AppendFloat8(in->F64(), text);
      return true;
    case BinaryForm::kNumeric:
      AppendNumeric(in, text);
      return true;
    case BinaryForm::kMoney:
      AppendMoney(in, text);
      return true;
    case BinaryForm::kBytea:
      text->append("\\x");
      AppendHexBytes(in->Rest(), text);
      return true;
    case BinaryForm::kUuid:
      AppendUuid(in, text);
      return true;
    default:
      return false;
  }
}

bool AppendTimeForm(BinaryForm form, BinaryReader* in, std::string* text) {
  switch (form) {
    case BinaryForm::kDate:
      AppendDate(in, text);
      return true;
    case BinaryForm::kTime:
      AppendTime(in, text);
      return true;
    case BinaryForm::kTimetz:
      AppendTimetzText(in, text);
      return true;
    case BinaryForm::kTimestamp:
      AppendTimestamp(in, "", text);
      return true;
    case BinaryForm::kTimestamptz:
      AppendTimestamp(in, "+00", text);
      return true;
    case BinaryForm::kInterval:
      AppendInterval(in, true, text);
      return true;
    case BinaryForm::kFiniteInterval:
      AppendInterval(in, false, text);
      return true;
    default:
      return false;
  }
}

bool AppendGeometry(BinaryForm form, BinaryReader* in, std::string* text) {
  switch (form) {
    case BinaryForm::kPoint:
      AppendPoint(in, text);
      return true;
    case BinaryForm::kLine:
      AppendLine(in, text);
      return true;
    case BinaryForm::kLseg:
      AppendLseg(in, text);
      return true;
    case BinaryForm::kBox:
      AppendBox(in, text);
      return true;
    case BinaryForm::kPath:
      AppendPath(in, text);
      return true;
    case BinaryForm::kPolygon:
      AppendPolygon(in, text);
      return true;
    case BinaryForm::kCircle:
      AppendCircle(in, text);
      return true;
    default:
      return false;
  }
}

bool AppendOther(BinaryForm form, BinaryReader* in, std::string* text) {
  switch (form) {
    case BinaryForm::kBits:
      AppendBits(in, text);
      return true;
    case BinaryForm::kInet:
      AppendInet(in, text);
      return true;
    case BinaryForm::kMacaddr:
      AppendMacaddr(in, kMacaddrBytes, text);
      return true;
    case BinaryForm::kMacaddr8:
      AppendMacaddr(in, kMacaddr8Bytes, text);
      return true;
    case BinaryForm::kTsvector:
      AppendTsvector(in, text);
      return true;
    case BinaryForm::kTsquery:
      AppendTsquery(in, text);
      return true;
    case BinaryForm::kPgLsn:
      AppendPgLsn(in, text);
      return true;
    case BinaryForm::kTid:
      AppendTid(in, text);
      return true;
    case BinaryForm::kSnapshot:
      AppendSnapshot(in, text);
      return true;
    case BinaryForm::kInt2Vector:
      AppendInt2Vector(in, text);
      return true;
    case BinaryForm::kOidVector:
      AppendOidVector(in, text);
      return true;
    case BinaryForm::kHstore:
      AppendHstoreText(in, text);
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status AppendBinaryAsText(std::string_view bytes, const ColumnType& type,
                                std::string* text) {
  switch (type.form) {
    case BinaryForm::kArray:
      return AppendArrayText(bytes, type, text);
    case BinaryForm::kRange:
      return AppendRangeText(bytes, type, text);
    case BinaryForm::kMultirange:
      return AppendMultirangeText(bytes, type, text);
    case BinaryForm::kRecord:
      return AppendRecordText(bytes, type, text);
    default:
      break;
  }
  BinaryReader in(bytes);
  const bool known = AppendPlain(type.form, &in, text) ||
                     AppendTimeForm(type.form, &in, text) ||
                     AppendGeometry(type.form, &in, text) ||
                     AppendOther(type.form, &in, text);
  if (known && in.AtEnd()) return absl::OkStatus();
  return UnexpectedText(FormExpected(type.form), in.offset());
}

bool BinaryToSqlValue(std::string_view bytes, const ColumnType& type,
                      SqlValue* value) {
  BinaryReader in(bytes);
  switch (type.kind) {
    case ValueKind::kInteger:
      value->kind = SqlValue::Kind::kInteger;
      if (type.form == BinaryForm::kInt2) {
        value->integer = in.I16();
      } else if (type.form == BinaryForm::kInt4) {
        value->integer = in.I32();
      } else if (type.form == BinaryForm::kInt8) {
        value->integer = in.I64();
      } else if (type.form == BinaryForm::kUint4) {
        value->integer = in.U32();
      } else {
        return false;
      }
      return in.AtEnd();
    case ValueKind::kReal:
      // The text of a double is its own; that of a float4 is another number.
      if (type.form != BinaryForm::kFloat8) return false;
      value->kind = SqlValue::Kind::kReal;
      value->real = in.F64();
      if (value->real == 0) value->real = 0;  // not -0
      return in.AtEnd() && !std::isnan(value->real);
    case ValueKind::kBytea:
      if (type.form != BinaryForm::kBytea) return false;
      value->kind = SqlValue::Kind::kBlob;
      value->bytes = bytes;
      return true;
    case ValueKind::kText:
    case ValueKind::kPaddedText:
    case ValueKind::kCaselessText:
    case ValueKind::kJson:
      value->kind = SqlValue::Kind::kText;
      value->bytes = bytes;
      if (type.form == BinaryForm::kText) return true;
      if (type.form != BinaryForm::kVersionedText || in.U8() != 1) return false;
      value->bytes = in.Rest();
      return true;
    default:
      return false;
  }
}

}  // namespace sublite
