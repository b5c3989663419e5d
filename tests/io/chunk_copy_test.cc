// Reading a part of a table: by the order of its primary key, from an index.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "applier/copy_key.h"
#include "applier/io/libpq_copy.h"
#include "schema/value.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ChunkCopyTest : public PublisherTest {
 protected:
  // The rows' first two columns, as they come.
  std::vector<std::string> Read(LibpqPublisher& publisher,
                                const CopyRequest& range) {
    auto reader = publisher.ReadTable("public", "t", {"pub"}, range);
    EXPECT_OK(reader.status());
    std::vector<std::string> rows;
    if (!reader.ok()) return rows;
    table_ = (*reader)->table();
    types_ = (*reader)->types();
    std::string_view row;
    while (true) {
      const absl::StatusOr<bool> more = (*reader)->Next(&row);
      EXPECT_OK(more.status());
      if (!more.ok() || !*more) return rows;
      rows.emplace_back(row.substr(0, row.size() - 1));
    }
  }

  // All rows, `limit` at a time; the key is the first `columns` values.
  std::vector<std::string> ReadAll(LibpqPublisher& publisher,
                                   std::int64_t limit, std::size_t columns) {
    std::vector<std::string> all;
    CopyRequest range;
    range.limit = limit;
    while (true) {
      const std::vector<std::string> rows = Read(publisher, range);
      EXPECT_LE(rows.size(), static_cast<std::size_t>(limit));
      all.insert(all.end(), rows.begin(), rows.end());
      if (rows.size() < static_cast<std::size_t>(limit)) return all;
      range.after.clear();
      std::string_view rest = rows.back();
      for (std::size_t i = 0; i < columns; ++i) {
        const std::size_t end = std::min(rest.find('\t'), rest.size());
        range.after.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  }

  std::vector<std::string> Ordered(const std::string& select) {
    std::vector<std::string> rows;
    auto result = session_->Exec(select);
    EXPECT_OK(result.status());
    if (!result.ok()) return rows;
    for (const auto& row : *result) {
      rows.push_back(
          absl::StrJoin(row, "\t", [](std::string* out, const auto& value) {
            out->append(value.value_or("\\N"));
          }));
    }
    return rows;
  }

  // How a chunk of the table that was read last is found.
  std::string Plan(const CopyRequest& range) {
    return absl::StrJoin(
        Ordered(absl::StrCat("SET enable_seqscan = off; SET enable_sort = off;"
                             " SET enable_bitmapscan = off; SET jit = off;"
                             " EXPLAIN (COSTS OFF) ",
                             SelectRows(table_, range))),
        "\n");
  }

  // The rows' first column as what is compared here, in the order of the rows.
  std::vector<CopyKeyPart> Parts(const std::vector<std::string>& rows) const {
    const ColumnType type =
        ColumnTypeFor(table_.columns[0].type, table_.columns[0].type_modifier,
                      types_, NumericMode::kAuto);
    EXPECT_TRUE(IsCopyKeyType(type));
    std::vector<CopyKeyPart> parts;
    for (const std::string& row : rows) {
      const std::string text = row.substr(0, row.find('\t'));
      std::string scratch;
      SqlValue value;
      EXPECT_OK(ToSqlValue({Datum::Kind::kText, text}, type, &scratch, &value));
      const absl::StatusOr<CopyKeyPart> part = ToCopyKeyPart(value, type);
      EXPECT_OK(part.status());
      parts.push_back(part.value_or(CopyKeyPart()));
    }
    return parts;
  }

  PublishedTable table_;
  PgTypes types_;
};

TEST_F(ChunkCopyTest, ASingleKey) {
  Sql("CREATE TABLE t (id bigint PRIMARY KEY, v text);"
      "INSERT INTO t SELECT i, 'v' || i FROM generate_series(-20, 20) i;"
      "INSERT INTO t VALUES (9223372036854775807, 'most'), "
      "(-9223372036854775808, 'least');"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  EXPECT_THAT(Read(*publisher, {{}, 2}),
              ElementsAre("-9223372036854775808\tleast", "-20\tv-20"));
  EXPECT_THAT(Read(*publisher, {{"-2"}, 3}),
              ElementsAre("-1\tv-1", "0\tv0", "1\tv1"));
  EXPECT_THAT(Read(*publisher, {{"19"}, 3}),
              ElementsAre("20\tv20", "9223372036854775807\tmost"));
  EXPECT_THAT(Read(*publisher, {{"9223372036854775807"}, 3}), IsEmpty());
  for (const std::int64_t limit : {1, 7, 43, 44}) {
    EXPECT_EQ(ReadAll(*publisher, limit, 1),
              Ordered("SELECT id::text, v FROM t ORDER BY t.id"));
  }
}

TEST_F(ChunkCopyTest, OidsAreNotSigned) {
  Sql("CREATE TABLE t (id oid PRIMARY KEY);"
      "INSERT INTO t VALUES (4294967295), (1), (2147483648), (2147483647);"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  EXPECT_THAT(ReadAll(*publisher, 1, 1),
              ElementsAre("1", "2147483647", "2147483648", "4294967295"));
}

TEST_F(ChunkCopyTest, ACompositeKey) {
  Sql("CREATE DOMAIN small AS smallint;"
      "CREATE TABLE t (\"A b\" int, b small, v text, PRIMARY KEY (\"A b\", b));"
      "INSERT INTO t SELECT a, b, a * b FROM generate_series(-3, 3) a, "
      "generate_series(-3, 3) b;"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  EXPECT_THAT(Read(*publisher, {{"-1", "2"}, 3}),
              ElementsAre("-1\t3\t-3", "0\t-3\t0", "0\t-2\t0"));
  for (const std::int64_t limit : {1, 5, 7, 100}) {
    EXPECT_EQ(ReadAll(*publisher, limit, 2),
              Ordered("SELECT \"A b\"::text, b::text, v FROM t ORDER BY "
                      "t.\"A b\", t.b"));
  }
}

// PostgreSQL's order and ours have to be the same, and it has to read what a
// copy goes on behind.
TEST_F(ChunkCopyTest, KeysThatAreNoNumbers) {
  const struct {
    const char* type;
    const char* random;
    const char* special;
  } kCases[] = {
      {"uuid", "md5(i::text)::uuid",
       "('00000000-0000-0000-0000-000000000000'),"
       "('ffffffff-ffff-ffff-ffff-ffffffffffff')"},
      {"date", "date '2024-01-01' + (i * 7919 % 20000 - 10000) * 100",
       "('infinity'), ('-infinity'), ('4714-11-24 BC'), ('5874897-12-31'),"
       "('0001-01-01'), ('0001-12-31 BC'), ('0002-01-01 BC'), ('9999-12-31'),"
       "('10000-01-01')"},
      {"timestamp",
       "timestamp '2024-01-01' + i * 7919 % 2000 * interval '0.1 s'",
       "('infinity'), ('-infinity'), ('4714-11-24 00:00:00 BC'),"
       "('294276-12-31 23:59:59.999999'), ('0044-03-15 12:00:00 BC'),"
       "('0044-03-15 12:00:00.5 BC'), ('0043-03-15 12:00:00 BC')"},
      {"timestamptz",
       "timestamptz '1999-12-31 22:00-02:30' + i * 7919 % 2000 *"
       " interval '0.000011 s'",
       "('infinity'), ('-infinity'), ('4714-11-24 00:00:00+00 BC'),"
       "('294276-12-31 23:59:59.999999+00'), ('0001-12-31 23:59:59+00 BC')"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.type);
    Sql(absl::StrCat(
        "CREATE TABLE t (id ", c.type, " PRIMARY KEY, v text);",
        "INSERT INTO t SELECT DISTINCT ", c.random,
        " FROM generate_series(1, 500) i; INSERT INTO t VALUES ", c.special,
        "; UPDATE t SET v = id; CREATE PUBLICATION pub FOR TABLE t"));
    auto publisher = Connected();
    ASSERT_OK_AND_ASSIGN(
        const auto ordered,
        session_->Exec("SET datestyle = 'ISO'; SET timezone = 'UTC';"
                       " SELECT id::text FROM t ORDER BY t.id"));
    ASSERT_GT(ordered.size(), 100u);
    for (const std::int64_t limit : {7, 1000}) {
      const std::vector<std::string> rows = ReadAll(*publisher, limit, 1);
      ASSERT_EQ(rows.size(), ordered.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        EXPECT_EQ(rows[i].substr(0, rows[i].find('\t')), *ordered[i][0]);
      const std::vector<CopyKeyPart> parts = Parts(rows);
      for (std::size_t i = 0; i + 1 < parts.size(); ++i)
        EXPECT_TRUE(parts[i] < parts[i + 1]) << rows[i] << " " << rows[i + 1];
      CopyRequest part;
      part.limit = 1;
      const ColumnType type =
          ColumnTypeFor(table_.columns[0].type, -1, types_, NumericMode::kAuto);
      for (std::size_t i = 0; i + 1 < rows.size(); i += 50) {
        part.after = {CopyKeyText(parts[i], type)};
        EXPECT_THAT(Read(*publisher, part), ElementsAre(rows[i + 1]));
      }
    }
    Sql("DROP PUBLICATION pub; DROP TABLE t");
  }
}

// The key's order is not that of the columns.
TEST_F(ChunkCopyTest, TheKeysOwnOrder) {
  Sql("CREATE TABLE t (a int, b int, PRIMARY KEY (b, a));"
      "INSERT INTO t VALUES (1, 9), (2, 8), (3, 8);"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  EXPECT_THAT(Read(*publisher, {{}, 2}), ElementsAre("2\t8", "3\t8"));
  EXPECT_THAT(Read(*publisher, {{"8", "2"}, 2}), ElementsAre("3\t8", "1\t9"));
}

TEST_F(ChunkCopyTest, ARowFilter) {
  if (!Since(15)) GTEST_SKIP() << "row filters came with 15";
  Sql("CREATE TABLE t (id int PRIMARY KEY, v int);"
      "INSERT INTO t SELECT i, i % 3 FROM generate_series(-10, 10) i;"
      "CREATE PUBLICATION pub FOR TABLE t WHERE (id < -5 OR id > 5)");
  auto publisher = Connected();
  EXPECT_THAT(Read(*publisher, {{"-7"}, 2}), ElementsAre("-6\t0", "6\t0"));
  EXPECT_EQ(ReadAll(*publisher, 3, 1),
            Ordered("SELECT id::text, v::text FROM t WHERE abs(id) > 5 ORDER "
                    "BY t.id"));
}

TEST_F(ChunkCopyTest, APartitionedTable) {
  if (!Since(13)) GTEST_SKIP() << "publish_via_partition_root came with 13";
  Sql("CREATE TABLE t (a int, b int, PRIMARY KEY (b, a)) PARTITION BY HASH "
      "(a);"
      "CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER "
      "0);"
      "CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER "
      "1);"
      "CREATE TABLE t2 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER "
      "2);"
      "INSERT INTO t SELECT i, i % 5 FROM generate_series(-500, 500) i;"
      "ANALYZE t;"
      "CREATE PUBLICATION pub FOR TABLE t WITH (publish_via_partition_root)");
  auto publisher = Connected();
  const std::vector<std::string> ordered =
      Ordered("SELECT a::text, b::text FROM t ORDER BY t.b, t.a");
  EXPECT_THAT(ordered, ::testing::SizeIs(1001));
  std::vector<std::string> all;
  CopyRequest range;
  range.limit = 300;
  for (int i = 0; i < 4; ++i) {
    const std::vector<std::string> rows = Read(*publisher, range);
    all.insert(all.end(), rows.begin(), rows.end());
    ASSERT_FALSE(rows.empty());
    const std::size_t tab = rows.back().find('\t');
    range.after = {rows.back().substr(tab + 1), rows.back().substr(0, tab)};
  }
  EXPECT_EQ(all, ordered);
  EXPECT_THAT(Plan(range),
              AllOf(HasSubstr("Index"), Not(HasSubstr("Sort  ")),
                    Not(HasSubstr("Seq Scan")), HasSubstr("Merge Append")));
}

// A part costs a part: it is read from the index, from its first row on.
TEST_F(ChunkCopyTest, FromTheKeysIndex) {
  Sql("CREATE TABLE t (a int, b int, v text, PRIMARY KEY (a, b));"
      "INSERT INTO t SELECT i % 10, i, repeat('x', 100) FROM "
      "generate_series(1, 20000) i;"
      "CREATE INDEX ON t (a); CREATE INDEX ON t (b);"
      "CREATE PUBLICATION pub FOR TABLE t");
  auto publisher = Connected();
  // Whether there are statistics or not.
  for (const char* before : {"SELECT 1", "ANALYZE t"}) {
    Sql(before);
    for (const CopyRequest& range :
         {CopyRequest{{}, 100}, CopyRequest{{"3", "9"}, 100},
          CopyRequest{{"9", "19000"}, 20000}}) {
      Read(*publisher, range);
      EXPECT_THAT(Plan(range),
                  AllOf(HasSubstr("using t_pkey"), Not(HasSubstr("Sort")),
                        Not(HasSubstr("Seq Scan"))));
      if (!range.after.empty()) {
        EXPECT_THAT(Plan(range), HasSubstr("Index Cond: (ROW(a, b) >"));
      }
    }
  }
}

}  // namespace
}  // namespace sublite::testing
