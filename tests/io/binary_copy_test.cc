// Reading a table in binary form, and when it comes as text after all.
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "applier/wire/copy_rows.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BinaryCopyTest : public PublisherTest {
 protected:
  // Each row's fields in hexadecimal, as SQL gives them below: "-" for NULL.
  std::vector<std::string> Read(const CopyRequest& request) {
    auto reader = publisher_->ReadTable("public", "t", {"pub"}, request);
    EXPECT_OK(reader.status());
    std::vector<std::string> rows;
    if (!reader.ok()) return rows;
    form_ = (*reader)->form();
    CopyRows parser(form_, (*reader)->table().columns.size());
    std::string_view message;
    while (true) {
      const absl::StatusOr<bool> more = (*reader)->Next(&message);
      EXPECT_OK(more.status());
      if (!more.ok() || !*more) break;
      Tuple row;
      const absl::StatusOr<bool> has_row = parser.Parse(message, &row);
      EXPECT_OK(has_row.status());
      if (!has_row.ok()) break;
      if (*has_row) rows.push_back(Hex(row));
    }
    EXPECT_OK(parser.End());
    return rows;
  }
  static std::string Hex(Tuple row) {
    std::string text;
    for (const Datum& datum : row) {
      EXPECT_NE(datum.kind, Datum::Kind::kUnchanged);
      absl::StrAppend(&text, text.empty() ? "" : " ",
                      datum.is_null()
                          ? "-"
                          : absl::BytesToHexString(std::string(datum.bytes)));
    }
    return text;
  }
  static CopyRequest Binary() {
    CopyRequest request;
    request.binary = true;
    return request;
  }
  void Publish(const std::string& sql) {
    Sql(absl::StrCat(sql, "; CREATE PUBLICATION pub FOR TABLE t"));
    publisher_ = Connected();
  }

  std::unique_ptr<LibpqPublisher> publisher_;
  CopyForm form_ = CopyForm::kText;
};

// What the server's own send functions give.
TEST_F(BinaryCopyTest, RowsAreWhatTheSendFunctionsSend) {
  Publish(
      "CREATE TABLE t (id bigint PRIMARY KEY, v text, n numeric, b bytea,"
      " a int[], at timestamptz);"
      "INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN NULL ELSE repeat('é', i)"
      " END, i / 7.0, decode(lpad(to_hex(i), 6, '0'), 'hex'), ARRAY[i, NULL],"
      " 'epoch'::timestamptz + i * interval '1 day'"
      " FROM generate_series(1, 50) i");
  ASSERT_OK_AND_ASSIGN(
      const auto expected,
      session_->Exec(
          "SELECT concat_ws(' ', encode(int8send(id), 'hex'),"
          " coalesce(encode(textsend(v), 'hex'), '-'),"
          " encode(numeric_send(n), 'hex'), encode(b, 'hex'),"
          " encode(array_send(a), 'hex'), encode(timestamptz_send(at), 'hex'))"
          " FROM t ORDER BY id"));
  std::vector<std::string> wanted;
  for (const auto& row : expected) wanted.push_back(*row[0]);
  ASSERT_EQ(wanted.size(), 50u);
  EXPECT_EQ(Read(Binary()), wanted);
  EXPECT_EQ(form_, CopyForm::kBinary);

  CopyRequest part = Binary();
  part.after = {"47"};
  part.limit = 2;
  EXPECT_THAT(Read(part), ElementsAre(wanted[47], wanted[48]));
  EXPECT_EQ(form_, CopyForm::kBinary);
  part.after = {"50"};
  EXPECT_THAT(Read(part), IsEmpty());

  Read(CopyRequest());
  EXPECT_EQ(form_, CopyForm::kText);
}

TEST_F(BinaryCopyTest, AnEmptyTable) {
  Publish("CREATE TABLE t (id int PRIMARY KEY)");
  EXPECT_THAT(Read(Binary()), IsEmpty());
  EXPECT_EQ(form_, CopyForm::kBinary);
}

TEST_F(BinaryCopyTest, RowsWithoutColumns) {
  Publish("CREATE TABLE t (); INSERT INTO t DEFAULT VALUES");
  EXPECT_THAT(Read(Binary()), ElementsAre(""));
}

TEST_F(BinaryCopyTest, ATypeWithoutADecoderComesAsText) {
  Publish(
      "CREATE TABLE t (id int PRIMARY KEY, r regclass);"
      "INSERT INTO t VALUES (1, 'pg_class')");
  EXPECT_THAT(Read(Binary()), ElementsAre(absl::StrCat(
                                  "31 ", absl::BytesToHexString("pg_class"))));
  EXPECT_EQ(form_, CopyForm::kText);
}

// COPY refuses it in binary form; the stream sends its text.
TEST_F(BinaryCopyTest, ATypeWithoutASendFunctionComesAsText) {
  Publish(
      "CREATE TABLE t (id int PRIMARY KEY, a aclitem);"
      "INSERT INTO t VALUES (1, 'postgres=r/postgres')");
  EXPECT_THAT(Read(Binary()),
              ElementsAre(absl::StrCat(
                  "31 ", absl::BytesToHexString("postgres=r/postgres"))));
  EXPECT_EQ(form_, CopyForm::kText);
}

}  // namespace
}  // namespace sublite::testing
