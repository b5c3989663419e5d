#include "applier/wire/copy_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sublite {
namespace {

using ::sublite::testing::StatusIs;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

// The row's columns as text, "<NULL>" for NULL; or its error.
std::vector<std::string> Parse(const std::string& row, std::size_t columns) {
  CopyScratch scratch;
  const absl::StatusOr<Tuple> tuple = ParseCopyRow(row, columns, scratch);
  if (!tuple.ok()) return {std::string(tuple.status().message())};
  std::vector<std::string> texts;
  for (const Datum& datum : *tuple) {
    EXPECT_TRUE(datum.is_null() || datum.kind == Datum::Kind::kText);
    texts.emplace_back(datum.is_null() ? "<NULL>" : datum.bytes);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(CopyTextTest, SplitsAtTabs) {
  EXPECT_EQ(Parse("1\tone\t\n", 3), (Texts{"1", "one", ""}));
  EXPECT_EQ(Parse("1\tone\t", 3), (Texts{"1", "one", ""}));
  EXPECT_EQ(Parse("\t\t\n", 3), (Texts{"", "", ""}));
  EXPECT_EQ(Parse("only\n", 1), Texts{"only"});
  EXPECT_EQ(Parse("\n", 1), Texts{""});
  EXPECT_EQ(Parse("", 1), Texts{""});
}

TEST(CopyTextTest, ARelationWithoutColumnsHasEmptyRows) {
  EXPECT_EQ(Parse("\n", 0), Texts{});
  EXPECT_EQ(Parse("", 0), Texts{});
  EXPECT_EQ(Parse("x\n", 0),
            Texts{"COPY row: offset 1: 1 columns instead of 0"});
}

TEST(CopyTextTest, NullIsBackslashNAloneInItsField) {
  EXPECT_EQ(Parse("\\N\n", 1), Texts{"<NULL>"});
  EXPECT_EQ(Parse("\\N\t\\N\tx\t\\N\n", 4),
            (Texts{"<NULL>", "<NULL>", "x", "<NULL>"}));
  // In PostgreSQL a backslash and any other byte is that byte; the text \N
  // itself comes as \\N.
  EXPECT_EQ(Parse("\\Nx\tx\\N\t\\\\N\n", 3), (Texts{"Nx", "xN", "\\N"}));
  EXPECT_EQ(Parse("N\tNULL\t\n", 3), (Texts{"N", "NULL", ""}));
}

// The table "backslash sequences" of the documentation of COPY, with what
// surrounds it: digits that end a number, and bytes that mean nothing special.
TEST(CopyTextTest, DecodesTheDocumentedEscapes) {
  const std::pair<const char*, std::string> cases[] = {
      {"\\b", "\b"},
      {"\\f", "\f"},
      {"\\n", "\n"},
      {"\\r", "\r"},
      {"\\t", "\t"},
      {"\\v", "\v"},
      {"\\\\", "\\"},
      {"\\101", "A"},
      {"\\1012", "A2"},
      {"\\60", "0"},
      {"\\7", "\a"},
      {"\\78", "\a8"},
      {"\\08", std::string("\0", 1) + "8"},
      {"\\303\\251", "é"},
      {"\\777", "\xff"},
      {"\\x41", "A"},
      {"\\x414", "A4"},
      {"\\xA", "\n"},
      {"\\xag", "\ng"},
      {"\\xfF", "\xff"},
      {"\\x", "x"},
      {"\\xg", "xg"},
      {"\\a", "a"},
      {"\\8", "8"},
      {"\\.", "."},  // not alone in the row, see below
      {"\\\"", "\""},
      {"\\é", "é"},
      {"\\\n", "\n"},
      {"a\\tb\\nc\\\\d", "a\tb\nc\\d"},
      {"\\\\x0001ff", "\\x0001ff"},  // a bytea
      {"\\\\\\\\", "\\\\"},
      {"\\\\a\\\\", "\\a\\"},
  };
  for (const auto& [field, text] : cases) {
    // Alone between others, first, and last.
    const std::string f = field;
    EXPECT_EQ(Parse(absl::StrCat("x\t", f, "\ty\n"), 3),
              (Texts{"x", text, "y"}))
        << f;
    EXPECT_EQ(Parse(absl::StrCat(f, "\ty\n"), 2), (Texts{text, "y"})) << f;
    EXPECT_EQ(Parse(absl::StrCat("x\t", f, "\n"), 2), (Texts{"x", text})) << f;
    EXPECT_EQ(Parse(absl::StrCat(f, "\t", f, "\n"), 2), (Texts{text, text}))
        << f;
  }
}

TEST(CopyTextTest, ATabBehindABackslashIsData) {
  EXPECT_EQ(Parse("a\\\tb\tc\n", 2), (Texts{"a\tb", "c"}));
  EXPECT_EQ(Parse("\\\t\t\\\t\n", 2), (Texts{"\t", "\t"}));
  EXPECT_EQ(Parse("a\\\\\tb\n", 2), (Texts{"a\\", "b"}));
  EXPECT_EQ(Parse("\\\\\tb\n", 2), (Texts{"\\", "b"}));
  EXPECT_EQ(Parse("\\\\\\\tb\n", 1), (Texts{"\\\tb"}));
  EXPECT_EQ(Parse("\\\\\\N\tb\n", 2), (Texts{"\\N", "b"}));
}

TEST(CopyTextTest, PlainFieldsAndByteaAreViewsIntoTheRow) {
  const std::string row = "plain\t\\\\x00ff\tesc\\taped\tmore\n";
  CopyScratch scratch;
  ASSERT_OK_AND_ASSIGN(const Tuple tuple, ParseCopyRow(row, 4, scratch));
  EXPECT_EQ(tuple[0].bytes.data(), row.data());
  EXPECT_EQ(tuple[1].bytes.data(), row.data() + 7);
  EXPECT_EQ(tuple[1].bytes, "\\x00ff");
  EXPECT_EQ(tuple[2].bytes, "esc\taped");
  EXPECT_EQ(tuple[3].bytes.data(), row.data() + row.find("more"));
}

TEST(CopyTextTest, ScratchIsReusedAcrossRows) {
  CopyScratch scratch;
  const std::string first = "a\\tb\tc\\nd\n";
  ASSERT_OK(ParseCopyRow(first, 2, scratch).status());
  const std::string second = "x\t\\\\\\\\\ty\n";
  ASSERT_OK_AND_ASSIGN(const Tuple tuple, ParseCopyRow(second, 3, scratch));
  EXPECT_EQ(tuple[0].bytes, "x");
  EXPECT_EQ(tuple[1].bytes, "\\\\");
  EXPECT_EQ(tuple[2].bytes, "y");
}

TEST(CopyTextTest, ManyEscapedFieldsKeepTheirViews) {
  std::string row;
  Texts expected;
  for (int i = 0; i < 1600; ++i) {
    row += "\\t" + std::to_string(i) + "\\n\t";
    expected.push_back("\t" + std::to_string(i) + "\n");
  }
  row.back() = '\n';
  EXPECT_EQ(Parse(row, 1600), expected);
}

TEST(CopyTextTest, RefusesAnotherNumberOfColumns) {
  CopyScratch scratch;
  EXPECT_THAT(
      ParseCopyRow("a\tb\n", 3, scratch),
      StatusIs(kDataLoss, "COPY row: offset 3: 2 columns instead of 3"));
  EXPECT_THAT(ParseCopyRow("a\t\\\\b\n", 1, scratch),
              StatusIs(kDataLoss, HasSubstr("2 columns instead of 1")));
}

TEST(CopyTextTest, RefusesAnEscapeThatIsCutOff) {
  CopyScratch scratch;
  for (const char* row : {"\\", "\\\n", "a\\\n", "a\tb\\", "\\\\\\\n"}) {
    EXPECT_THAT(ParseCopyRow(row, 1, scratch),
                StatusIs(kDataLoss, HasSubstr("the row ends inside an escape")))
        << row;
  }
}

TEST(CopyTextTest, RefusesMoreThanOneRow) {
  CopyScratch scratch;
  for (const char* row : {"a\nb\n", "\n\n", "a\\\\\nb\n", "\\t\nb"}) {
    EXPECT_THAT(ParseCopyRow(row, 1, scratch),
                StatusIs(kDataLoss, HasSubstr("newline inside a row")))
        << row;
  }
  EXPECT_THAT(ParseCopyRow("\\.\n", 1, scratch),
              StatusIs(kDataLoss, HasSubstr("end-of-data marker")));
}

// What a server's COPY TO writes, and nothing else, for any text: the writer is
// CopyAttributeOutText in a few lines.
std::string CopyOut(const std::string& text) {
  static constexpr std::string_view kSpecial = "\b\f\n\r\t\v\\";
  static constexpr std::string_view kEscapes = "bfnrtv\\";
  std::string out;
  for (const char c : text) {
    const std::size_t at = kSpecial.find(c);
    if (at == std::string_view::npos) {
      out += c;
    } else {
      out += '\\';
      out += kEscapes[at];
    }
  }
  return out;
}

TEST(CopyTextTest, ReadsBackWhatCopyWrites) {
  // All texts of up to four of these bytes, in the middle of a row.
  const std::string alphabet = "\\\t\nNx7a";
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == 4) break;
    for (const char c : alphabet) texts.push_back(texts[i] + c);
  }
  EXPECT_EQ(texts.size(), 2801u);
  for (const std::string& text : texts) {
    const std::string out = CopyOut(text);
    EXPECT_EQ(Parse(absl::StrCat(out, "\t", out, "\t\\N\n"), 3),
              (Texts{text, text, "<NULL>"}));
  }
}

}  // namespace
}  // namespace sublite
