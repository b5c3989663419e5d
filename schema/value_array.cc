#include "schema/value_array.h"

#include <cstddef>

#include "schema/status.h"
#include "schema/value_error.h"
#include "schema/value_json.h"
#include "schema/value_number.h"
#include "schema/value_time.h"

namespace sublite {
namespace {

// PostgreSQL's MAXDIM.
constexpr int kDimensionsMax = 6;

const ColumnType& TextType() {
  static const ColumnType* const kTextType = new ColumnType();
  return *kTextType;
}

// Reads one array text from front to end.
class ArrayReader {
 public:
  ArrayReader(std::string_view text, const ColumnType& type, std::string* json)
      : text_(text),
        delimiter_(type.delimiter),
        element_(type.element == nullptr ? TextType() : *type.element),
        json_(json) {}

  absl::Status Read();

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  absl::Status ReadElement();
  absl::Status ReadQuoted();
  absl::Status ReadUnquoted();
  // Reads the closing braces and the delimiter after an element or an empty
  // array. Sets *finished if the last brace was the outermost one.
  absl::Status ReadSeparator(bool* finished);
  absl::Status AppendScalar(std::string_view text);
  absl::Status AppendNested(std::string_view text);

  const std::string_view text_;
  const char delimiter_;
  const ColumnType& element_;
  std::string* const json_;
  std::size_t at_ = 0;
  int depth_ = 0;
  // The number of dimensions, once the first element has shown it.
  int dimensions_ = 0;
};

absl::Status ArrayReader::Read() {
  bool finished = false;
  while (!finished) {
    if (Peek() == '{') {
      ++at_;
      json_->push_back('[');
      if (++depth_ > kDimensionsMax) {
        return UnexpectedText("no more than six dimensions", at_ - 1);
      }
      if (Peek() != '}') continue;
    } else if (depth_ == 0) {
      return UnexpectedText("the { of an array", at_);
    } else {
      RETURN_IF_ERROR(ReadElement());
    }
    RETURN_IF_ERROR(ReadSeparator(&finished));
  }
  if (at_ != text_.size()) return UnexpectedText("the end of an array", at_);
  return absl::OkStatus();
}

absl::Status ArrayReader::ReadSeparator(bool* finished) {
  while (Peek() == '}' && at_ < text_.size()) {
    ++at_;
    json_->push_back(']');
    if (--depth_ == 0) {
      *finished = true;
      return absl::OkStatus();
    }
  }
  if (at_ == text_.size() || text_[at_] != delimiter_) {
    return UnexpectedText("a delimiter or } in an array", at_);
  }
  ++at_;
  json_->push_back(',');
  return absl::OkStatus();
}

absl::Status ArrayReader::ReadElement() {
  if (dimensions_ == 0) dimensions_ = depth_;
  if (depth_ != dimensions_) return UnexpectedText("{ in an array", at_);
  return Peek() == '"' ? ReadQuoted() : ReadUnquoted();
}

absl::Status ArrayReader::ReadQuoted() {
  const std::size_t begin = at_++;
  bool closed = true;
  std::string_view inner;
  switch (element_.kind) {
    case ValueKind::kInteger:
    case ValueKind::kBoolean:
    case ValueKind::kReal:
    case ValueKind::kNumericNumber:
    case ValueKind::kNumericText:
    case ValueKind::kNumericReal:
    case ValueKind::kMoney:
    case ValueKind::kTimestamptz:
    case ValueKind::kTimetz:
      // None of these has anything to escape: a backslash is refused below.
      closed = SkipQuoted(text_, &at_, &inner);
      if (closed) return AppendScalar(inner);
      break;
    case ValueKind::kJson: {
      const std::size_t json_begin = json_->size();
      closed = AppendUnquoted(text_, &at_, json_);
      if (closed && json_->size() == json_begin) {
        return UnexpectedText("a JSON value in an array", begin);
      }
      break;
    }
    case ValueKind::kArray: {
      // Rare, so that a string of its own does no harm.
      std::string nested;
      closed = AppendUnquoted(text_, &at_, &nested);
      if (closed) return AppendNested(nested);
      break;
    }
    default:
      closed = AppendQuotedAsJsonString(text_, &at_, json_);
      break;
  }
  if (!closed) return UnexpectedText("a closing quote in an array", begin);
  return absl::OkStatus();
}

absl::Status ArrayReader::ReadUnquoted() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '}') {
    // array_out quotes an element that holds one of these.
    if (text_[at_] == '"' || text_[at_] == '\\' || text_[at_] == '{') {
      return UnexpectedText("a quoted array element", at_);
    }
    ++at_;
  }
  const std::string_view element = text_.substr(begin, at_ - begin);
  if (element.empty()) return UnexpectedText("an array element", at_);
  if (element == "NULL") {
    json_->append("null", 4);
    return absl::OkStatus();
  }
  return AppendScalar(element);
}

absl::Status ArrayReader::AppendScalar(std::string_view text) {
  switch (element_.kind) {
    case ValueKind::kInteger:
    case ValueKind::kReal:
    case ValueKind::kNumericNumber:
    case ValueKind::kNumericText:
    case ValueKind::kNumericReal:
      return AppendJsonNumber(text, json_);
    case ValueKind::kMoney:
      return AppendJsonMoney(text, json_);
    case ValueKind::kBoolean:
      if (text != "t" && text != "f") return UnexpectedText("t or f", 0);
      json_->append(text == "t" ? "true" : "false");
      return absl::OkStatus();
    case ValueKind::kTimestamptz:
    case ValueKind::kTimetz: {
      json_->push_back('"');
      absl::Status status = element_.kind == ValueKind::kTimestamptz
                                ? AppendTimestamptz(text, json_)
                                : AppendTimetz(text, json_);
      json_->push_back('"');
      return status;
    }
    case ValueKind::kJson:
      json_->append(text);
      return absl::OkStatus();
    case ValueKind::kArray:
      return AppendNested(text);
    default:
      AppendJsonString(text, json_);
      return absl::OkStatus();
  }
}

absl::Status ArrayReader::AppendNested(std::string_view text) {
  if (!HasArrayBounds(text)) return AppendArrayAsJson(text, element_, json_);
  AppendJsonString(text, json_);
  return absl::OkStatus();
}

}  // namespace

bool HasArrayBounds(std::string_view text) {
  return !text.empty() && text[0] == '[';
}

absl::Status AppendArrayAsJson(std::string_view text, const ColumnType& type,
                               std::string* json) {
  return ArrayReader(text, type, json).Read();
}

}  // namespace sublite
