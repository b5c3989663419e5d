#include "schema/type_map.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "schema/binary_form.h"

namespace sublite {
namespace {

// Domains over domains, and arrays of domains over arrays, deeper than this are
// not met in practice. What lies deeper is text.
constexpr int kDomainDepthMax = 64;
constexpr int kArrayDepthMax = 16;
// A composite type with more parts than this, those of its parts included, has
// no binary decoder.
constexpr int kPartsMax = 2000;

// A double gives every decimal of this many digits back, as long as it is a
// normal number.
constexpr int kDoubleDigits = 15;
constexpr int kDoubleExponentMax = 308;
constexpr int kDoubleScaleMax = 307;

// typmod of numeric: ((precision << 16) | (scale & 0x7ff)) + VARHDRSZ.
constexpr std::int32_t kModifierOffset = 4;

struct KindFacts {
  ValueKind kind;
  const char* encoded;
  const char* declared_type;
  const char* collation;  // "" is BINARY
};

// By ValueKind. kNumericNumber and kArray have arguments of their own.
constexpr KindFacts kKindFacts[] = {
    {ValueKind::kInteger, "int", "INTEGER", ""},
    {ValueKind::kBoolean, "bool", "BOOLEAN", ""},
    {ValueKind::kReal, "real", "REAL", ""},
    {ValueKind::kNumericNumber, "numeric", "NUMERIC", ""},
    {ValueKind::kNumericText, "numeric-text", "TEXT", ""},
    {ValueKind::kNumericReal, "numeric-real", "NUMERIC", ""},
    {ValueKind::kMoney, "money", "NUMERIC", ""},
    {ValueKind::kText, "text", "TEXT", ""},
    {ValueKind::kPaddedText, "char", "TEXT", "RTRIM"},
    {ValueKind::kCaselessText, "citext", "TEXT", "NOCASE"},
    {ValueKind::kBytea, "bytea", "BLOB", ""},
    {ValueKind::kTimestamptz, "timestamptz", "TEXT", ""},
    {ValueKind::kTimetz, "timetz", "TEXT", ""},
    {ValueKind::kJson, "json", "TEXT", ""},
    {ValueKind::kArray, "array", "TEXT", ""},
    {ValueKind::kHstore, "hstore", "TEXT", ""},
};

constexpr bool IsIndexedByKind() {
  std::size_t index = 0;
  for (const KindFacts& facts : kKindFacts) {
    if (static_cast<std::size_t>(facts.kind) != index++) return false;
  }
  return index == static_cast<std::size_t>(ValueKind::kHstore) + 1;
}
static_assert(IsIndexedByKind(), "FactsOf indexes kKindFacts by ValueKind");

const KindFacts& FactsOf(ValueKind kind) {
  return kKindFacts[static_cast<std::size_t>(kind)];
}

// Types of pg_catalog that are not plain text.
struct BuiltinType {
  const char* name;
  ValueKind kind;
};

constexpr BuiltinType kBuiltinTypes[] = {
    {"int2", ValueKind::kInteger},
    {"int4", ValueKind::kInteger},
    {"int8", ValueKind::kInteger},
    {"oid", ValueKind::kInteger},
    {"bool", ValueKind::kBoolean},
    {"float4", ValueKind::kReal},
    {"float8", ValueKind::kReal},
    {"money", ValueKind::kMoney},
    {"bpchar", ValueKind::kPaddedText},
    {"bytea", ValueKind::kBytea},
    {"timestamptz", ValueKind::kTimestamptz},
    {"timetz", ValueKind::kTimetz},
    {"json", ValueKind::kJson},
    {"jsonb", ValueKind::kJson},
};

ColumnType NumericType(std::int32_t modifier, NumericMode numeric) {
  ColumnType type;
  type.kind = ValueKind::kNumericText;
  if (numeric == NumericMode::kReal) type.kind = ValueKind::kNumericReal;
  if (numeric != NumericMode::kAuto || modifier < kModifierOffset) return type;
  const std::int32_t packed = modifier - kModifierOffset;
  const int precision = packed >> 16;
  const int scale = ((packed & 0x7FF) ^ 0x400) - 0x400;
  // A scale like 400 reaches beyond a double's normal numbers, where its 15
  // digits do not hold: those few columns keep the text.
  if (precision > kDoubleDigits || scale > kDoubleScaleMax ||
      precision - scale > kDoubleExponentMax) {
    return type;
  }
  type.kind = ValueKind::kNumericNumber;
  type.precision = precision;
  type.scale = scale;
  return type;
}

ValueKind ScalarKind(const PgType& type) {
  if (type.extension == "citext" && type.name == "citext") {
    return ValueKind::kCaselessText;
  }
  if (type.extension == "hstore" && type.name == "hstore") {
    return ValueKind::kHstore;
  }
  if (!type.builtin) return ValueKind::kText;
  for (const BuiltinType& builtin : kBuiltinTypes) {
    if (type.name == builtin.name) return builtin.kind;
  }
  return ValueKind::kText;
}

bool IsDecodable(BinaryForm form) {
  return form != BinaryForm::kNone && form != BinaryForm::kTextOnly;
}

// One column's way through the types.
class TypeFinder {
 public:
  explicit TypeFinder(const PgTypes& types) : types_(types) {}

  ColumnType Find(std::uint32_t oid, std::int32_t modifier, NumericMode numeric,
                  int depth);

 private:
  // Array, range, multirange and row types send what their parts' types send,
  // and fail at the publisher where those send nothing.
  bool AddPart(std::uint32_t oid, int depth, ColumnType* type);
  BinaryForm FindForm(const PgType& type, int depth, ColumnType* column);

  const PgTypes& types_;
  int parts_ = 0;
};

bool TypeFinder::AddPart(std::uint32_t oid, int depth, ColumnType* type) {
  if (depth == kArrayDepthMax || ++parts_ > kPartsMax) return false;
  TypePart part;
  part.oid = oid;
  part.type = Find(oid, -1, NumericMode::kText, depth + 1);
  if (!IsDecodable(part.type.form)) return false;
  type->parts.push_back(std::move(part));
  return true;
}

BinaryForm TypeFinder::FindForm(const PgType& type, int depth,
                                ColumnType* column) {
  if (!type.sends) return BinaryForm::kTextOnly;
  if (type.is_array) {
    return IsDecodable(column->element->form) ? BinaryForm::kArray
                                              : BinaryForm::kNone;
  }
  switch (type.kind) {
    case 'e':
      return BinaryForm::kText;
    case 'r':
      return AddPart(type.subtype, depth, column) ? BinaryForm::kRange
                                                  : BinaryForm::kNone;
    case 'm':
      return AddPart(type.subtype, depth, column) &&
                     column->parts[0].type.form == BinaryForm::kRange
                 ? BinaryForm::kMultirange
                 : BinaryForm::kNone;
    case 'c':
      for (const std::uint32_t field : type.fields) {
        if (!AddPart(field, depth, column)) return BinaryForm::kNone;
      }
      return BinaryForm::kRecord;
    default:
      break;
  }
  if (column->kind == ValueKind::kCaselessText) return BinaryForm::kText;
  if (column->kind == ValueKind::kHstore) return BinaryForm::kHstore;
  return type.builtin ? BuiltinForm(type.name, type.server_version)
                      : BinaryForm::kNone;
}

ColumnType TypeFinder::Find(std::uint32_t oid, std::int32_t modifier,
                            NumericMode numeric, int depth) {
  ColumnType column;
  auto it = types_.find(oid);
  for (int domains = 0; it != types_.end() && it->second.base != 0; ++domains) {
    if (domains == kDomainDepthMax) return column;
    // The modifier of a domain is the one it was made with, down to the base.
    modifier = it->second.base_modifier;
    it = types_.find(it->second.base);
  }
  if (it == types_.end()) return column;
  const PgType& type = it->second;
  if (type.is_array) {
    if (depth == kArrayDepthMax) return column;
    column.kind = ValueKind::kArray;
    // array_out separates by the element type's own delimiter.
    const auto element = types_.find(type.element);
    column.delimiter =
        element == types_.end() ? type.delimiter : element->second.delimiter;
    // Elements are JSON numbers with all their digits under every setting.
    column.element = std::make_shared<const ColumnType>(
        Find(type.element, modifier, NumericMode::kText, depth + 1));
  } else if (type.builtin && type.name == "numeric") {
    column = NumericType(modifier, numeric);
  } else {
    column.kind = ScalarKind(type);
  }
  column.form = FindForm(type, depth, &column);
  if (!HasBinaryDecoder(column)) column.parts.clear();
  return column;
}

// Takes `prefix` off the front of *text, if it is there.
bool Consume(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

template <typename Integer>
bool ConsumeInt(std::string_view* text, Integer* number) {
  const char* const end = text->data() + text->size();
  const std::from_chars_result result =
      std::from_chars(text->data(), end, *number);
  if (result.ec != std::errc()) return false;
  text->remove_prefix(result.ptr - text->data());
  return true;
}

// Reads encoded types from front to end.
class TypeReader {
 public:
  explicit TypeReader(std::string_view text) : text_(text) {}

  bool ReadType(int depth, ColumnType* type);
  bool finished() const { return text_.empty(); }

 private:
  // What stands before the next mark.
  std::string_view ReadName();
  bool ReadArguments(int depth, ColumnType* type);
  bool ReadForm(int depth, ColumnType* type);
  bool ReadFields(int depth, ColumnType* type);
  bool ReadPart(int depth, ColumnType* type);

  std::string_view text_;
};

std::string_view TypeReader::ReadName() {
  const std::string_view name = text_.substr(0, text_.find_first_of("()@,;"));
  text_.remove_prefix(name.size());
  return name;
}

bool TypeReader::ReadType(int depth, ColumnType* type) {
  if (depth > kArrayDepthMax) return false;
  const std::string_view name = ReadName();
  const KindFacts* facts = nullptr;
  for (const KindFacts& candidate : kKindFacts) {
    if (name == candidate.encoded) facts = &candidate;
  }
  if (facts == nullptr) return false;
  type->kind = facts->kind;
  return ReadArguments(depth, type) &&
         (!Consume(&text_, "@") || ReadForm(depth, type));
}

bool TypeReader::ReadArguments(int depth, ColumnType* type) {
  if (type->kind == ValueKind::kNumericNumber) {
    return Consume(&text_, "(") && ConsumeInt(&text_, &type->precision) &&
           Consume(&text_, ",") && ConsumeInt(&text_, &type->scale) &&
           Consume(&text_, ")");
  }
  if (type->kind != ValueKind::kArray) return true;
  if (!Consume(&text_, "(") || text_.empty()) return false;
  type->delimiter = text_.front();
  text_.remove_prefix(1);
  auto element = std::make_shared<ColumnType>();
  if (!Consume(&text_, ";") || !ReadType(depth + 1, element.get()) ||
      !Consume(&text_, ")")) {
    return false;
  }
  type->element = std::move(element);
  return true;
}

bool TypeReader::ReadForm(int depth, ColumnType* type) {
  if (!FormNamed(ReadName(), &type->form)) return false;
  switch (type->form) {
    case BinaryForm::kRange:
    case BinaryForm::kMultirange:
      return Consume(&text_, "(") && ReadPart(depth, type) &&
             Consume(&text_, ")");
    case BinaryForm::kRecord:
      return Consume(&text_, "(") &&
             (Consume(&text_, ")") || ReadFields(depth, type));
    case BinaryForm::kArray:
      return type->element != nullptr;
    default:
      return true;
  }
}

bool TypeReader::ReadFields(int depth, ColumnType* type) {
  do {
    if (!ReadPart(depth, type)) return false;
  } while (Consume(&text_, ","));
  return Consume(&text_, ")");
}

bool TypeReader::ReadPart(int depth, ColumnType* type) {
  TypePart& part = type->parts.emplace_back();
  return ConsumeInt(&text_, &part.oid) && Consume(&text_, ";") &&
         ReadType(depth + 1, &part.type);
}

}  // namespace

std::string ColumnType::DeclaredType() const {
  std::string declared = FactsOf(kind).declared_type;
  if (kind == ValueKind::kNumericNumber) {
    declared +=
        "(" + std::to_string(precision) + "," + std::to_string(scale) + ")";
  }
  return declared;
}

std::string ColumnType::Declaration() const {
  std::string declaration = DeclaredType();
  const std::string_view collation = FactsOf(kind).collation;
  if (!collation.empty()) declaration.append(" COLLATE ").append(collation);
  return declaration;
}

std::string ColumnType::Encode() const {
  std::string encoded = FactsOf(kind).encoded;
  if (kind == ValueKind::kNumericNumber) {
    encoded +=
        "(" + std::to_string(precision) + "," + std::to_string(scale) + ")";
  } else if (kind == ValueKind::kArray) {
    encoded += '(';
    encoded += delimiter;
    encoded += ';';
    encoded += element == nullptr ? ColumnType().Encode() : element->Encode();
    encoded += ')';
  }
  if (!HasBinaryDecoder(*this)) return encoded;
  encoded.append("@").append(FormName(form));
  if (parts.empty() && form != BinaryForm::kRecord) return encoded;
  char separator = '(';
  for (const TypePart& part : parts) {
    encoded += separator;
    encoded += std::to_string(part.oid) + ";" + part.type.Encode();
    separator = ',';
  }
  encoded += parts.empty() ? "()" : ")";
  return encoded;
}

absl::StatusOr<ColumnType> ColumnType::Parse(std::string_view text) {
  ColumnType type;
  TypeReader reader(text);
  if (!reader.ReadType(0, &type) || !reader.finished()) {
    return absl::DataLossError(
        "\"" + std::string(text) +
        "\" is no column type that this version of sublite knows: the replica "
        "file is damaged or was written by a newer version");
  }
  return type;
}

bool SameStored(const ColumnType& a, const ColumnType& b) {
  if (a.kind != b.kind || a.precision != b.precision || a.scale != b.scale ||
      a.delimiter != b.delimiter) {
    return false;
  }
  if (a.element != nullptr && b.element != nullptr &&
      !SameStored(*a.element, *b.element)) {
    return false;
  }
  // A row type that gets another field gets another text. One without a decoder
  // has no fields to compare.
  if (a.form != BinaryForm::kRecord || b.form != BinaryForm::kRecord) {
    return true;
  }
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(),
                    b.parts.end(), [](const TypePart& x, const TypePart& y) {
                      return x.oid == y.oid && SameStored(x.type, y.type);
                    });
}

ColumnType ColumnTypeFor(std::uint32_t oid, std::int32_t modifier,
                         const PgTypes& types, NumericMode numeric) {
  return TypeFinder(types).Find(oid, modifier, numeric, 0);
}

}  // namespace sublite
