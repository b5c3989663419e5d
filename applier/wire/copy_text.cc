#include "applier/wire/copy_text.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// memchr, since most of a copy's time is spent here.
std::size_t Find(std::string_view text, char byte, std::size_t from) {
  if (from >= text.size()) return kNone;
  const void* found = std::memchr(text.data() + from, byte, text.size() - from);
  if (found == nullptr) return kNone;
  return static_cast<std::size_t>(static_cast<const char*>(found) -
                                  text.data());
}

absl::Status RowError(std::size_t offset, absl::string_view text) {
  return absl::DataLossError(
      absl::StrCat("COPY row: offset ", offset, ": ", text));
}

// The value of a digit in base 16, or -1.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads digits of base `base` (8 or 16) from `text` at `*offset`, up to
// `digits_max`, and passes them. The byte is the number's lowest 8 bits, as
// PostgreSQL takes it.
char ReadNumber(std::string_view text, int base, int digits_max,
                std::size_t* offset) {
  int value = 0;
  for (int i = 0; i < digits_max && *offset < text.size(); ++i, ++*offset) {
    const int digit = HexDigit(text[*offset]);
    if (digit < 0 || digit >= base) break;
    value = value * base + digit;
  }
  return static_cast<char>(value & 0xff);
}

// The byte that the escape at `*offset`, behind its backslash, stands for.
// Passes the escape. There is a byte at `*offset`.
char ReadEscape(std::string_view text, std::size_t* offset) {
  const char c = text[*offset];
  if (c >= '0' && c <= '7') return ReadNumber(text, 8, 3, offset);
  ++*offset;
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case 'x':
      // Without a digit it is an x, as every other character is itself.
      if (*offset < text.size() && HexDigit(text[*offset]) >= 0) {
        return ReadNumber(text, 16, 2, offset);
      }
      return c;
    default:
      return c;
  }
}

// Splits a row that has escapes. The caller has seen to it that none is cut off
// by the row's end.
class EscapedRow {
 public:
  EscapedRow(std::string_view row, CopyScratch& scratch)
      : row_(row), unescaped_(scratch.unescaped) {
    unescaped_.clear();
    backslash_ = Find(row_, '\\', 0);
  }

  bool done() const { return done_; }

  Datum Next() {
    const std::size_t begin = offset_;
    std::size_t end = FieldEnd(begin);
    if (backslash_ >= end) return Pass(end, Text(begin, end));
    if (row_.substr(begin, end - begin) == "\\N") {
      FindBackslashFrom(end);
      return Pass(end, {Datum::Kind::kNull, {}});
    }
    return Unescape(begin, end);
  }

 private:
  std::size_t FieldEnd(std::size_t from) const {
    const std::size_t tab = Find(row_, '\t', from);
    return tab == kNone ? row_.size() : tab;
  }

  Datum Text(std::size_t begin, std::size_t end) const {
    return {Datum::Kind::kText, row_.substr(begin, end - begin)};
  }

  // Goes behind the field that ends at `end`.
  Datum Pass(std::size_t end, Datum datum) {
    done_ = end == row_.size();
    offset_ = end + 1;
    return datum;
  }

  void FindBackslashFrom(std::size_t from) {
    if (backslash_ < from) backslash_ = Find(row_, '\\', from);
  }

  Datum Unescape(std::size_t begin, std::size_t end) {
    // A bytea is `\\x` and digits: one escape, and it stands for the byte
    // behind it, so the field is a view from there.
    if (backslash_ == begin && row_[begin + 1] == '\\') {
      FindBackslashFrom(begin + 2);
      if (backslash_ >= end) return Pass(end, Text(begin + 1, end));
      backslash_ = begin;
    }
    // No field grows, so views into this stay valid while it fills.
    if (unescaped_.empty()) unescaped_.reserve(row_.size());
    const std::size_t start = unescaped_.size();
    while (backslash_ < end) {
      unescaped_.append(row_, begin, backslash_ - begin);
      begin = backslash_ + 1;
      unescaped_.push_back(ReadEscape(row_, &begin));
      // A tab behind a backslash is data, not the end of the field.
      if (begin > end) end = FieldEnd(begin);
      FindBackslashFrom(begin);
    }
    unescaped_.append(row_, begin, end - begin);
    return Pass(
        end, {Datum::Kind::kText, std::string_view(unescaped_).substr(start)});
  }

  const std::string_view row_;
  std::string& unescaped_;
  std::size_t offset_ = 0;
  std::size_t backslash_ = 0;  // the first one at or behind offset_, or kNone
  bool done_ = false;
};

bool EndsInsideEscape(std::string_view row) {
  const std::size_t last = row.find_last_not_of('\\');
  const std::size_t backslashes =
      last == kNone ? row.size() : row.size() - 1 - last;
  return backslashes % 2 == 1;
}

// Where a newline stands that is not data (behind a backslash), or kNone.
std::size_t FindBareNewline(std::string_view row) {
  for (std::size_t at = Find(row, '\n', 0); at != kNone;
       at = Find(row, '\n', at + 1)) {
    if (!EndsInsideEscape(row.substr(0, at))) return at;
  }
  return kNone;
}

void SplitPlainRow(std::string_view row, std::vector<Datum>& tuple) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t tab = Find(row, '\t', begin);
    if (tab == kNone) {
      tuple.push_back({Datum::Kind::kText, row.substr(begin)});
      return;
    }
    tuple.push_back({Datum::Kind::kText, row.substr(begin, tab - begin)});
    begin = tab + 1;
  }
}

}  // namespace

absl::StatusOr<Tuple> ParseCopyRow(std::string_view row, std::size_t columns,
                                   CopyScratch& scratch) {
  if (!row.empty() && row.back() == '\n') row.remove_suffix(1);
  scratch.tuple.clear();
  const bool escapes = Find(row, '\\', 0) != kNone;
  if (escapes && EndsInsideEscape(row)) {
    return RowError(row.size() - 1, "the row ends inside an escape");
  }
  if (const std::size_t at = FindBareNewline(row); at != kNone) {
    return RowError(at, "newline inside a row");
  }
  if (row == "\\.") {
    return RowError(0, "end-of-data marker instead of a row");
  }
  if (columns == 0 && row.empty()) return Tuple();
  if (escapes) {
    EscapedRow escaped(row, scratch);
    while (!escaped.done()) scratch.tuple.push_back(escaped.Next());
  } else {
    SplitPlainRow(row, scratch.tuple);
  }
  if (scratch.tuple.size() != columns) {
    return RowError(row.size(), absl::StrCat(scratch.tuple.size(),
                                             " columns instead of ", columns));
  }
  return Tuple(scratch.tuple);
}

}  // namespace sublite
