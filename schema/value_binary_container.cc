#include "schema/value_binary_container.h"

#include <cstddef>
#include <cstdint>

#include "schema/binary_form.h"
#include "schema/status.h"
#include "schema/value_binary.h"
#include "schema/value_binary_number.h"
#include "schema/value_error.h"

namespace sublite {
namespace {

// PostgreSQL's MAXDIM.
constexpr int kDimensionsMax = 6;
// The length of an element.
constexpr std::size_t kElementBytesMin = 4;

// range_get_flags.
constexpr std::uint8_t kEmpty = 0x01;
constexpr std::uint8_t kLowerInclusive = 0x02;
constexpr std::uint8_t kUpperInclusive = 0x04;
constexpr std::uint8_t kLowerInfinite = 0x08;
constexpr std::uint8_t kUpperInfinite = 0x10;

absl::Status Malformed(const ColumnType& type, const BinaryReader& in) {
  return UnexpectedText(FormExpected(type.form), in.offset());
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool IsNull(std::string_view text) {
  return text.size() == 4 && (text[0] | 0x20) == 'n' &&
         (text[1] | 0x20) == 'u' && (text[2] | 0x20) == 'l' &&
         (text[3] | 0x20) == 'l';
}

bool Contains(std::string_view text, std::string_view marks) {
  for (const char c : text) {
    if (IsSpace(c) || marks.find(c) != std::string_view::npos) return true;
  }
  return false;
}

// Appends `value` between double quotes. `escape` 0: a mark stands for itself
// where it is doubled.
void AppendQuoted(std::string_view value, char escape, std::string* text) {
  text->push_back('"');
  for (const char c : value) {
    if (c == '"' || c == '\\') text->push_back(escape == 0 ? c : escape);
    text->push_back(c);
  }
  text->push_back('"');
}

// Ranges and rows quote alike but for the marks.
void AppendDoubling(std::string_view value, std::string_view marks,
                    std::string* text) {
  if (value.empty() || Contains(value, marks)) {
    AppendQuoted(value, 0, text);
  } else {
    text->append(value);
  }
}

// The front of what array_send sends, and how far the elements have come.
class ArrayShape {
 public:
  bool Read(BinaryReader* in);

  std::uint64_t elements() const { return elements_; }
  void AppendBounds(std::string* text) const;
  // What stands between elements: braces where a dimension begins or ends.
  void AppendOpening(std::string* text) const;
  // Moves on to the next element.
  void AppendSeparator(char delimiter, std::string* text);

 private:
  int dimensions_ = 0;
  std::int64_t sizes_[kDimensionsMax] = {};
  std::int64_t lower_[kDimensionsMax] = {};
  std::int64_t at_[kDimensionsMax] = {};
  std::uint64_t elements_ = 0;
};

bool ArrayShape::Read(BinaryReader* in) {
  const std::uint32_t dimensions = in->U32();
  const std::uint32_t has_null = in->U32();
  in->U32();  // the element type, which the column's type says too
  if (dimensions > kDimensionsMax || has_null > 1) return false;
  dimensions_ = static_cast<int>(dimensions);
  elements_ = dimensions_ == 0 ? 0 : 1;
  for (int i = 0; i < dimensions_; ++i) {
    sizes_[i] = in->I32();
    lower_[i] = in->I32();
    if (sizes_[i] < 0) return false;
    // Checked each time, so that the product cannot overflow.
    elements_ *= static_cast<std::uint64_t>(sizes_[i]);
    if (elements_ > in->remaining()) return false;
  }
  return in->ok() && elements_ <= in->remaining() / kElementBytesMin;
}

void ArrayShape::AppendBounds(std::string* text) const {
  bool needed = false;
  for (int i = 0; i < dimensions_; ++i) needed = needed || lower_[i] != 1;
  if (!needed) return;
  for (int i = 0; i < dimensions_; ++i) {
    text->push_back('[');
    AppendInteger(lower_[i], text);
    text->push_back(':');
    AppendInteger(lower_[i] + sizes_[i] - 1, text);
    text->push_back(']');
  }
  text->push_back('=');
}

void ArrayShape::AppendOpening(std::string* text) const {
  text->append(static_cast<std::size_t>(dimensions_), '{');
}

void ArrayShape::AppendSeparator(char delimiter, std::string* text) {
  int dimension = dimensions_ - 1;
  while (dimension >= 0 && ++at_[dimension] == sizes_[dimension]) {
    at_[dimension--] = 0;
    text->push_back('}');
  }
  if (dimension < 0) return;
  text->push_back(delimiter);
  text->append(static_cast<std::size_t>(dimensions_ - 1 - dimension), '{');
}

void AppendArrayElement(std::string_view element, char delimiter,
                        std::string* text) {
  const char marks[] = {'"', '\\', '{', '}', delimiter};
  if (element.empty() || IsNull(element) ||
      Contains(element, std::string_view(marks, sizeof(marks)))) {
    AppendQuoted(element, '\\', text);
  } else {
    text->append(element);
  }
}

absl::Status AppendBound(BinaryReader* in, const ColumnType& type,
                         std::string* text) {
  const std::string_view bytes = in->Counted();
  if (!in->ok()) return Malformed(type, *in);
  std::string bound;
  RETURN_IF_ERROR(AppendBinaryAsText(bytes, type.parts[0].type, &bound));
  AppendDoubling(bound, "\"\\()[],", text);
  return absl::OkStatus();
}

// One dimension without NULL, of elements of `size` bytes.
template <typename Append>
void AppendVector(BinaryReader* in, std::size_t size, std::string* text,
                  Append append) {
  ArrayShape shape;
  if (!shape.Read(in)) return in->Fail();
  for (std::uint64_t i = 0; i < shape.elements(); ++i) {
    const std::string_view bytes = in->Counted();
    if (bytes.size() != size) return in->Fail();
    if (i > 0) text->push_back(' ');
    append(BinaryReader(bytes));
  }
}

}  // namespace

absl::Status AppendArrayText(std::string_view bytes, const ColumnType& type,
                             std::string* text) {
  BinaryReader in(bytes);
  ArrayShape shape;
  if (!shape.Read(&in)) return Malformed(type, in);
  if (shape.elements() == 0) {
    if (!in.AtEnd()) return Malformed(type, in);
    text->append("{}");
    return absl::OkStatus();
  }
  shape.AppendBounds(text);
  shape.AppendOpening(text);
  std::string element;
  for (std::uint64_t i = 0; i < shape.elements(); ++i) {
    bool null = false;
    const std::string_view element_bytes = in.Counted(&null);
    if (!in.ok()) return Malformed(type, in);
    if (null) {
      text->append("NULL");
    } else {
      element.clear();
      RETURN_IF_ERROR(
          AppendBinaryAsText(element_bytes, *type.element, &element));
      AppendArrayElement(element, type.delimiter, text);
    }
    shape.AppendSeparator(type.delimiter, text);
  }
  return in.AtEnd() ? absl::OkStatus() : Malformed(type, in);
}

absl::Status AppendRangeText(std::string_view bytes, const ColumnType& type,
                             std::string* text) {
  BinaryReader in(bytes);
  const std::uint8_t flags = in.U8();
  constexpr std::uint8_t kKnown = kEmpty | kLowerInclusive | kUpperInclusive |
                                  kLowerInfinite | kUpperInfinite;
  if (!in.ok() || (flags & ~kKnown) != 0) return Malformed(type, in);
  if ((flags & kEmpty) != 0) {
    text->append("empty");
    return in.AtEnd() ? absl::OkStatus() : Malformed(type, in);
  }
  text->push_back((flags & kLowerInclusive) != 0 ? '[' : '(');
  if ((flags & kLowerInfinite) == 0) {
    RETURN_IF_ERROR(AppendBound(&in, type, text));
  }
  text->push_back(',');
  if ((flags & kUpperInfinite) == 0) {
    RETURN_IF_ERROR(AppendBound(&in, type, text));
  }
  text->push_back((flags & kUpperInclusive) != 0 ? ']' : ')');
  return in.AtEnd() ? absl::OkStatus() : Malformed(type, in);
}

absl::Status AppendMultirangeText(std::string_view bytes,
                                  const ColumnType& type, std::string* text) {
  BinaryReader in(bytes);
  const std::uint32_t count = in.U32();
  if (count > in.remaining() / kElementBytesMin) return Malformed(type, in);
  text->push_back('{');
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) text->push_back(',');
    const std::string_view range = in.Counted();
    if (!in.ok()) return Malformed(type, in);
    RETURN_IF_ERROR(AppendBinaryAsText(range, type.parts[0].type, text));
  }
  text->push_back('}');
  return in.AtEnd() ? absl::OkStatus() : Malformed(type, in);
}

absl::Status AppendRecordText(std::string_view bytes, const ColumnType& type,
                              std::string* text) {
  BinaryReader in(bytes);
  if (in.U32() != type.parts.size()) return Malformed(type, in);
  text->push_back('(');
  std::string field;
  bool first = true;
  for (const TypePart& part : type.parts) {
    if (!first) text->push_back(',');
    first = false;
    // ALTER TYPE may have changed the fields since the type was looked up.
    if (in.U32() != part.oid) return Malformed(type, in);
    bool null = false;
    const std::string_view field_bytes = in.Counted(&null);
    if (!in.ok()) return Malformed(type, in);
    if (null) continue;
    field.clear();
    RETURN_IF_ERROR(AppendBinaryAsText(field_bytes, part.type, &field));
    AppendDoubling(field, "\"\\(),", text);
  }
  text->push_back(')');
  return in.AtEnd() ? absl::OkStatus() : Malformed(type, in);
}

void AppendHstoreText(BinaryReader* in, std::string* text) {
  const std::uint32_t count = in->U32();
  if (count > in->remaining() / (2 * kElementBytesMin)) return in->Fail();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) text->append(", ");
    AppendQuoted(in->Counted(), '\\', text);
    text->append("=>");
    bool null = false;
    const std::string_view value = in->Counted(&null);
    if (null) {
      text->append("NULL");
    } else {
      AppendQuoted(value, '\\', text);
    }
  }
}

void AppendInt2Vector(BinaryReader* in, std::string* text) {
  AppendVector(in, sizeof(std::int16_t), text, [text](BinaryReader element) {
    AppendInteger(element.I16(), text);
  });
}

void AppendOidVector(BinaryReader* in, std::string* text) {
  AppendVector(in, sizeof(std::uint32_t), text, [text](BinaryReader element) {
    AppendInteger(element.U32(), text);
  });
}

}  // namespace sublite
