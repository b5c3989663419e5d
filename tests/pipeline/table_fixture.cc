#include "tests/pipeline/table_fixture.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/support/replica_dump.h"
#include "tests/support/status_matchers.h"

namespace sublite::testing {

TableShape MakeShape(char identity, const std::vector<std::string>& columns) {
  TableShape shape;
  shape.pg_schema = "public";
  shape.pg_table = "t";
  shape.name = "t";
  shape.oid = 16384;
  shape.replica_identity = identity;
  int key = 0;
  int in_identity = 0;
  for (const std::string& text : columns) {
    std::istringstream words(text);
    TableColumn column;
    std::string codec;
    std::string flags;
    words >> column.name >> codec >> flags;
    column.pg_name = column.name;
    column.pg_type = codec;
    const auto type = ColumnType::Parse(codec);
    EXPECT_OK(type.status());
    column.type = *type;
    if (flags.find('k') != std::string::npos) column.key_place = ++key;
    if (flags.find('i') != std::string::npos) {
      column.identity_place = ++in_identity;
    }
    column.not_null = flags.find_first_of("ki!") != std::string::npos;
    shape.columns.push_back(std::move(column));
  }
  return shape;
}

void TableFixture::SetUp() {
  path_ = ::testing::TempDir() + "/table_writer.db";
  for (const char* end : {"", "-wal", "-shm", "-journal"}) {
    std::remove((path_ + end).c_str());
  }
  auto opened =
      Database::Open(path_, Database::Mode::kCreate, absl::Seconds(1));
  ASSERT_OK(opened.status());
  database_ = *std::move(opened);
  Execute("pragma journal_mode = wal; pragma synchronous = off");
}

void TableFixture::Make(char identity,
                        const std::vector<std::string>& columns) {
  writer_.reset();
  shape_ = MakeShape(identity, columns);
  Execute("drop table if exists t");
  Execute(CreateTableSql(shape_, shape_.name));
  for (const TableIndex& index : IndexesFor(shape_, true, ".")) {
    Execute(absl::StrCat("create ", index.unique ? "unique " : "", "index \"",
                         index.name, "\" on t (", index.sql_columns, ")"));
  }
  writer_ = std::make_unique<TableWriter>(*database_, shape_, "t");
}

void TableFixture::Execute(const std::string& sql) {
  ASSERT_OK(database_->Execute(sql));
}

std::vector<std::string> TableFixture::Rows() {
  ReplicaReader reader(path_);
  return reader.Rows("t");
}

std::vector<std::string> TableFixture::Plan(const std::string& sql) {
  std::vector<std::string> steps;
  auto explain = database_->Prepare("explain query plan " + sql);
  EXPECT_OK(explain.status());
  while (explain.ok()) {
    const auto row = explain->Step();
    EXPECT_OK(row.status());
    if (!row.ok() || !*row) break;
    steps.emplace_back(explain->Text(3));
  }
  return steps;
}

}  // namespace sublite::testing
