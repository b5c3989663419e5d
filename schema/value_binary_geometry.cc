#include "schema/value_binary_geometry.h"

#include <cstddef>
#include <cstdint>

#include "schema/value_float.h"

namespace sublite {
namespace {

constexpr std::size_t kPointBytes = 16;

void AppendPoints(BinaryReader* in, std::size_t count, std::string* text) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text->push_back(',');
    AppendPoint(in, text);
  }
}

// A count, and that many points.
void AppendCountedPoints(BinaryReader* in, std::string* text) {
  const std::uint32_t count = in->U32();
  if (count > in->remaining() / kPointBytes) return in->Fail();
  AppendPoints(in, count, text);
}

}  // namespace

void AppendPoint(BinaryReader* in, std::string* text) {
  text->push_back('(');
  AppendFloat8(in->F64(), text);
  text->push_back(',');
  AppendFloat8(in->F64(), text);
  text->push_back(')');
}

void AppendLine(BinaryReader* in, std::string* text) {
  text->push_back('{');
  AppendFloat8(in->F64(), text);
  text->push_back(',');
  AppendFloat8(in->F64(), text);
  text->push_back(',');
  AppendFloat8(in->F64(), text);
  text->push_back('}');
}

void AppendLseg(BinaryReader* in, std::string* text) {
  text->push_back('[');
  AppendPoints(in, 2, text);
  text->push_back(']');
}

void AppendBox(BinaryReader* in, std::string* text) {
  AppendPoints(in, 2, text);
}

void AppendPath(BinaryReader* in, std::string* text) {
  const std::uint8_t closed = in->U8();
  if (closed > 1) return in->Fail();
  text->push_back(closed == 1 ? '(' : '[');
  AppendCountedPoints(in, text);
  text->push_back(closed == 1 ? ')' : ']');
}

void AppendPolygon(BinaryReader* in, std::string* text) {
  text->push_back('(');
  AppendCountedPoints(in, text);
  text->push_back(')');
}

void AppendCircle(BinaryReader* in, std::string* text) {
  text->push_back('<');
  AppendPoint(in, text);
  text->push_back(',');
  AppendFloat8(in->F64(), text);
  text->push_back('>');
}

}  // namespace sublite
