#include "schema/type_map.h"

#include <charconv>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"

namespace sublite {
namespace {

// Domains over domains, and arrays of domains over arrays, deeper than this are
// not met in practice. What lies deeper is text.
constexpr int kDomainDepthMax = 64;
constexpr int kArrayDepthMax = 16;

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

ColumnType TypeFor(std::uint32_t oid, std::int32_t modifier,
                   const PgTypes& types, NumericMode numeric, int array_depth) {
  ColumnType column;
  auto it = types.find(oid);
  for (int depth = 0; it != types.end() && it->second.base != 0; ++depth) {
    if (depth == kDomainDepthMax) return column;
    // The modifier of a domain is the one it was made with, down to the base.
    modifier = it->second.base_modifier;
    it = types.find(it->second.base);
  }
  if (it == types.end()) return column;
  const PgType& type = it->second;
  if (type.is_array) {
    if (array_depth == kArrayDepthMax) return column;
    column.kind = ValueKind::kArray;
    // array_out separates by the element type's own delimiter.
    const auto element = types.find(type.element);
    column.delimiter =
        element == types.end() ? type.delimiter : element->second.delimiter;
    // Elements are JSON numbers with all their digits under every setting.
    column.element = std::make_shared<const ColumnType>(TypeFor(
        type.element, modifier, types, NumericMode::kText, array_depth + 1));
    return column;
  }
  if (type.builtin && type.name == "numeric") {
    return NumericType(modifier, numeric);
  }
  column.kind = ScalarKind(type);
  return column;
}

// Takes `prefix` off the front of *text, if it is there.
bool Consume(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool ConsumeInt(std::string_view* text, int* number) {
  const char* const end = text->data() + text->size();
  const std::from_chars_result result =
      std::from_chars(text->data(), end, *number);
  if (result.ec != std::errc()) return false;
  text->remove_prefix(result.ptr - text->data());
  return true;
}

// Reads one encoded type off the front of *text.
bool ConsumeType(std::string_view* text, int array_depth, ColumnType* type) {
  // The longest name that fits: "numeric-text(" is not "numeric(".
  const std::string_view name = text->substr(0, text->find_first_of("()"));
  const KindFacts* facts = nullptr;
  for (const KindFacts& candidate : kKindFacts) {
    if (name == candidate.encoded) facts = &candidate;
  }
  if (facts == nullptr) return false;
  text->remove_prefix(name.size());
  type->kind = facts->kind;
  if (type->kind == ValueKind::kNumericNumber) {
    return Consume(text, "(") && ConsumeInt(text, &type->precision) &&
           Consume(text, ",") && ConsumeInt(text, &type->scale) &&
           Consume(text, ")");
  }
  if (type->kind != ValueKind::kArray) return true;
  if (array_depth == kArrayDepthMax) return false;
  if (!Consume(text, "(") || text->empty()) return false;
  type->delimiter = text->front();
  text->remove_prefix(1);
  auto element = std::make_shared<ColumnType>();
  if (!Consume(text, ";") ||
      !ConsumeType(text, array_depth + 1, element.get()) ||
      !Consume(text, ")")) {
    return false;
  }
  type->element = std::move(element);
  return true;
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
  return encoded;
}

absl::StatusOr<ColumnType> ColumnType::Parse(std::string_view text) {
  ColumnType type;
  std::string_view rest = text;
  if (!ConsumeType(&rest, 0, &type) || !rest.empty()) {
    return absl::DataLossError(
        "\"" + std::string(text) +
        "\" is no column type that this version of sublite knows: the replica "
        "file is damaged or was written by a newer version");
  }
  return type;
}

ColumnType ColumnTypeFor(std::uint32_t oid, std::int32_t modifier,
                         const PgTypes& types, NumericMode numeric) {
  return TypeFor(oid, modifier, types, numeric, 0);
}

}  // namespace sublite
