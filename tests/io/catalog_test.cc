// What the catalogs say (schema/relation.h), on whatever server the test runs
// with.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/io/publisher_fixture.h"

namespace sublite::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CatalogTest : public PublisherTest {
 protected:
  void SetUp() override {
    PublisherTest::SetUp();
    publisher_ = Connected();
  }
  void TearDown() override {
    publisher_.reset();
    PublisherTest::TearDown();
  }

  Publications Read(const std::vector<std::string>& names = {"pub"}) {
    absl::StatusOr<Publications> read = publisher_->ReadPublications(names);
    EXPECT_OK(read);
    return read.ok() ? *std::move(read) : Publications();
  }
  PublishedTable Table(const std::string& full_name,
                       const std::vector<std::string>& names = {"pub"}) {
    for (PublishedTable& table : Read(names).tables) {
      if (table.FullName() == full_name) return table;
    }
    ADD_FAILURE() << full_name << " is not published";
    return {};
  }
  static std::vector<std::string> Names(const Publications& publications) {
    std::vector<std::string> names;
    for (const PublishedTable& table : publications.tables) {
      names.push_back(table.FullName());
    }
    return names;
  }
  static std::vector<std::string> Columns(const PublishedTable& table) {
    std::vector<std::string> names;
    for (const PublishedColumn& column : table.columns) {
      names.push_back(column.name);
    }
    return names;
  }
  static std::vector<std::string> Indexes(const PublishedTable& table) {
    std::vector<std::string> all;
    for (const PublishedIndex& index : table.indexes) {
      all.push_back(absl::StrCat(index.name, "(",
                                 absl::StrJoin(index.columns, ","), ")"));
    }
    return all;
  }

  std::unique_ptr<LibpqPublisher> publisher_;
};

TEST_F(CatalogTest, MissingAndEmptyPublications) {
  Sql("CREATE PUBLICATION empty; CREATE PUBLICATION \"Pub,\"\"two'\"");
  const Publications read =
      Read({"nothere", "empty", "Pub,\"two'", "'; DROP TABLE x; --"});
  EXPECT_THAT(read.tables, IsEmpty());
  EXPECT_THAT(read.missing, ElementsAre("nothere", "'; DROP TABLE x; --"));
  EXPECT_THAT(Read({}).tables, IsEmpty());
}

TEST_F(CatalogTest, ColumnsAsTheCatalogHasThem) {
  Sql("CREATE TABLE t (id int PRIMARY KEY, gone int, n numeric(5,2) NOT NULL,"
      " s varchar(7), tz timestamptz(3)); ALTER TABLE t DROP COLUMN gone;"
      "CREATE PUBLICATION pub FOR TABLE t");
  const PublishedTable t = Table("public.t");
  ASSERT_THAT(Columns(t), ElementsAre("id", "n", "s", "tz"));
  EXPECT_EQ(t.columns[0].type, 23u);
  EXPECT_EQ(t.columns[0].type_modifier, -1);
  EXPECT_TRUE(t.columns[0].not_null);
  EXPECT_EQ(t.columns[0].attnum, 1);
  EXPECT_EQ(t.columns[1].type, 1700u);
  EXPECT_EQ(t.columns[1].type_modifier, ((5 << 16) | 2) + 4);
  EXPECT_EQ(t.columns[1].type_text, "numeric(5,2)");
  EXPECT_TRUE(t.columns[1].not_null);
  EXPECT_EQ(t.columns[1].attnum, 3);
  EXPECT_EQ(t.columns[2].type_text, "character varying(7)");
  EXPECT_FALSE(t.columns[2].not_null);
  EXPECT_EQ(t.columns[3].type_text, "timestamp(3) with time zone");
  EXPECT_EQ(t.relkind, 'r');
  EXPECT_EQ(t.replica_identity, 'd');
  EXPECT_EQ(t.row_filter, "");
  EXPECT_EQ(t.problem, "");
  EXPECT_TRUE(t.publishes_update_or_delete);
  EXPECT_EQ(absl::StrCat(t.oid), Scalar("SELECT 't'::regclass::oid"));
}

TEST_F(CatalogTest, TypesAreClosedOverDomainsAndArrays) {
  Sql("CREATE EXTENSION citext; CREATE SCHEMA app;"
      "CREATE TYPE app.mood AS ENUM ('a'); CREATE TYPE mood AS ENUM ('b');"
      "CREATE DOMAIN moods AS app.mood[]; CREATE DOMAIN deep AS moods;"
      "CREATE DOMAIN money2 AS numeric(9,2);"
      "CREATE TABLE t (a deep, b money2[], c citext[], d int2vector,"
      " e point, f mood, g app.mood, h box[]);"
      "CREATE PUBLICATION pub FOR TABLE t");
  const Publications read = Read();
  ASSERT_THAT(Names(read), ElementsAre("public.t"));
  const auto type = [&](const std::string& name) {
    for (const auto& [oid, t] : read.types) {
      if (t.name == name) return t;
    }
    ADD_FAILURE() << "no type " << name;
    return PgType();
  };
  EXPECT_EQ(type("deep").base, type("moods").oid);
  EXPECT_EQ(type("moods").base, type("_mood").oid);
  EXPECT_TRUE(type("_mood").is_array);
  EXPECT_FALSE(read.types.at(type("_mood").element).builtin);
  EXPECT_EQ(type("_money2").element, type("money2").oid);
  EXPECT_EQ(type("money2").base, 1700u);
  EXPECT_EQ(type("money2").base_modifier, ((9 << 16) | 2) + 4);
  EXPECT_TRUE(type("numeric").builtin);
  EXPECT_EQ(type("citext").extension, "citext");
  EXPECT_FALSE(type("citext").builtin);
  EXPECT_TRUE(type("_citext").is_array);
  EXPECT_FALSE(type("int2vector").is_array);
  EXPECT_EQ(type("int2vector").element, 0u);
  EXPECT_FALSE(type("point").is_array);
  EXPECT_EQ(type("_box").delimiter, ';');
  const PublishedTable& t = read.tables[0];
  EXPECT_EQ(t.columns[0].type_text, "deep");
  EXPECT_EQ(t.columns[1].type_text, "money2[]");
  EXPECT_EQ(t.columns[5].type_text, "mood");
  EXPECT_EQ(t.columns[6].type_text, "app.mood");
  if (Since(11)) {
    Sql("CREATE TABLE u (a money2[][])");  // domains in arrays came with 11
  }
}

// What binary values are made of: see ColumnTypeFor.
TEST_F(CatalogTest, TypesAreClosedOverTheirParts) {
  Sql("CREATE DOMAIN small AS int; CREATE TYPE inner_row AS (x small, y text);"
      "CREATE TYPE outer_row AS (a inner_row, gone int, b inner_row[]);"
      "ALTER TYPE outer_row DROP ATTRIBUTE gone;"
      "CREATE TYPE span AS RANGE (subtype = interval);"
      "CREATE TYPE mood AS ENUM ('a');"
      "CREATE TABLE t (a outer_row, b span, c mood, d aclitem, e regclass);"
      "CREATE PUBLICATION pub FOR TABLE t");
  if (Since(14)) Sql("ALTER TABLE t ADD COLUMN f int4multirange");
  const Publications read = Read();
  ASSERT_THAT(Names(read), ElementsAre("public.t"));
  const std::vector<PublishedColumn>& columns = read.tables[0].columns;
  const auto encoded = [&](int column) {
    return ColumnTypeFor(columns[column].type, -1, read.types,
                         NumericMode::kAuto)
        .Encode();
  };
  const std::string small = Scalar("SELECT 'small'::regtype::oid");
  const std::string inner = Scalar("SELECT 'inner_row'::regtype::oid");
  const std::string inners = Scalar("SELECT 'inner_row[]'::regtype::oid");
  const std::string row =
      absl::StrCat("text@record(", small, ";int@int4,25;text@text)");
  EXPECT_EQ(encoded(0), absl::StrCat("text@record(", inner, ";", row, ",",
                                     inners, ";array(,;", row, ")@array)"));
  EXPECT_EQ(encoded(1), absl::StrCat("text@range(1186;text@",
                                     Since(17) ? "" : "finite-", "interval)"));
  EXPECT_EQ(encoded(2), "text@text");
  EXPECT_EQ(encoded(3), "text@text-only");
  EXPECT_EQ(encoded(4), "text");
  if (Since(14)) {
    EXPECT_EQ(encoded(5), "text@multirange(3904;text@range(23;int@int4))");
  }
}

TEST_F(CatalogTest, KeysAndIndexes) {
  Sql("CREATE TABLE t (a int, b text, c int NOT NULL, d int,"
      " PRIMARY KEY (b, a));"
      "CREATE UNIQUE INDEX ident ON t (c); CREATE INDEX two ON t (d, a DESC);"
      "CREATE INDEX partial ON t (d) WHERE d > 0;"
      "CREATE INDEX expression ON t ((d + 1)); CREATE INDEX h ON t USING hash "
      "(d); ALTER TABLE t REPLICA IDENTITY USING INDEX ident;"
      "CREATE TABLE f (a int); ALTER TABLE f REPLICA IDENTITY FULL;"
      "CREATE TABLE n (a int PRIMARY KEY); ALTER TABLE n REPLICA IDENTITY "
      "NOTHING; CREATE PUBLICATION pub FOR ALL TABLES");
  const PublishedTable t = Table("public.t");
  EXPECT_THAT(t.primary_key, ElementsAre("b", "a"));
  EXPECT_EQ(t.replica_identity, 'i');
  EXPECT_THAT(t.identity_index, ElementsAre("c"));
  EXPECT_THAT(Indexes(t), ElementsAre("two(d,a)"));
  EXPECT_EQ(Table("public.f").replica_identity, 'f');
  EXPECT_THAT(Table("public.f").primary_key, IsEmpty());
  EXPECT_EQ(Table("public.n").replica_identity, 'n');
  EXPECT_THAT(Table("public.n").primary_key, ElementsAre("a"));
  EXPECT_THAT(Table("public.n").identity_index, IsEmpty());
  if (Since(11)) {
    Sql("CREATE TABLE inc (a int, b int, PRIMARY KEY (a) INCLUDE (b));"
        "CREATE INDEX inc2 ON inc (b) INCLUDE (a)");
    EXPECT_THAT(Table("public.inc").primary_key, ElementsAre("a"));
    EXPECT_THAT(Indexes(Table("public.inc")), IsEmpty());
  }
}

// A deferrable key counts as none, but its index still helps.
TEST_F(CatalogTest, DeferrablePrimaryKeyCountsAsNone) {
  Sql("CREATE TABLE t (a int, PRIMARY KEY (a) DEFERRABLE);"
      "CREATE PUBLICATION pub FOR TABLE t");
  const PublishedTable t = Table("public.t");
  EXPECT_THAT(t.primary_key, IsEmpty());
  EXPECT_THAT(Indexes(t), ElementsAre("t_pkey(a)"));
  EXPECT_TRUE(t.columns[0].not_null);
}

TEST_F(CatalogTest, InvalidIndexesAreLeftOut) {
  Sql("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (1);"
      "CREATE PUBLICATION pub FOR TABLE t WITH (publish = 'insert')");
  EXPECT_FALSE(
      session_->Exec("CREATE UNIQUE INDEX CONCURRENTLY broken ON t (a)").ok());
  EXPECT_THAT(Indexes(Table("public.t")), IsEmpty());
  EXPECT_FALSE(Table("public.t").publishes_update_or_delete);
}

// The same state gives the same texts, however it is read; another history
// another.
TEST_F(CatalogTest, PublishedAsAttributesAndStorage) {
  Sql("CREATE TABLE t (a int PRIMARY KEY, v text); CREATE TABLE u (a int);"
      "INSERT INTO t VALUES (1, 'x'); CREATE PUBLICATION pub FOR TABLE t, u;"
      "CREATE PUBLICATION every FOR ALL TABLES");
  const PublishedTable first = Table("public.t");
  ASSERT_OK_AND_ASSIGN(auto reader,
                       publisher_->ReadTable("public", "t", {"pub"}, {}));
  EXPECT_NE(first.published_as, "");
  EXPECT_EQ(reader->table().published_as, first.published_as);
  EXPECT_EQ(reader->table().attributes, first.attributes);
  EXPECT_EQ(reader->table().storage, first.storage);
  reader.reset();
  EXPECT_NE(Table("public.t", {"every"}).published_as, first.published_as);
  EXPECT_EQ(Table("public.t", {"pub", "every"}).published_as,
            Table("public.t", {"every", "pub"}).published_as);

  Sql("UPDATE t SET v = 'y'; ANALYZE t");
  Sql("VACUUM t");
  EXPECT_EQ(Table("public.t").published_as, first.published_as);
  EXPECT_EQ(Table("public.t").attributes, first.attributes);
  EXPECT_EQ(Table("public.t").storage, first.storage);
  Sql("ALTER PUBLICATION pub DROP TABLE t; ALTER PUBLICATION pub ADD TABLE t");
  EXPECT_NE(Table("public.t").published_as, first.published_as);
  Sql("ALTER TABLE t ALTER v TYPE text USING v || '!'");
  EXPECT_NE(Table("public.t").attributes, first.attributes);
  EXPECT_NE(Table("public.t").storage, first.storage);
}

TEST_F(CatalogTest, PublishedActionsOfSeveralPublications) {
  Sql("CREATE TABLE t (a int PRIMARY KEY); CREATE PUBLICATION ins FOR TABLE t "
      "WITH (publish = 'insert,truncate'); CREATE PUBLICATION del FOR TABLE t "
      "WITH (publish = 'delete')");
  EXPECT_FALSE(Table("public.t", {"ins"}).publishes_update_or_delete);
  EXPECT_TRUE(Table("public.t", {"ins", "del"}).publishes_update_or_delete);
  EXPECT_THAT(Names(Read({"ins", "del"})), ElementsAre("public.t"));
}

TEST_F(CatalogTest, OddNames) {
  Sql("CREATE SCHEMA \"we.ird\"; CREATE TABLE \"we.ird\".\"x\"\"; DROP TABLE "
      "y; --\" (\"a\"\") ; --\" int PRIMARY KEY, \"'\" text, \"\\\" int,"
      " \"\xc3\xa9\" int); CREATE TABLE \"select\" (\"from\" int);"
      "CREATE PUBLICATION \"Pub,\"\"two'\" FOR ALL TABLES");
  const Publications read = Read({"Pub,\"two'"});
  EXPECT_THAT(Names(read),
              ElementsAre("public.select", "we.ird.x\"; DROP TABLE y; --"));
  EXPECT_THAT(Columns(read.tables[1]),
              ElementsAre("a\") ; --", "'", "\\", "\xc3\xa9"));
  EXPECT_THAT(read.tables[1].primary_key, ElementsAre("a\") ; --"));
}

TEST_F(CatalogTest, TableWithoutColumns) {
  Sql("CREATE TABLE nothing (); CREATE PUBLICATION pub FOR ALL TABLES");
  EXPECT_THAT(Columns(Table("public.nothing")), IsEmpty());
}

TEST_F(CatalogTest, EstimatedRows) {
  Sql("CREATE TABLE t (a int); CREATE PUBLICATION pub FOR TABLE t");
  EXPECT_EQ(Table("public.t").estimated_rows, -1);
  Sql("INSERT INTO t SELECT generate_series(1, 500); ANALYZE t");
  EXPECT_EQ(Table("public.t").estimated_rows, 500);
}

TEST_F(CatalogTest, GeneratedColumns) {
  if (!Since(12)) GTEST_SKIP();
  Sql("CREATE TABLE t (a int PRIMARY KEY, g int GENERATED ALWAYS AS (a * 2) "
      "STORED, b int); CREATE PUBLICATION pub FOR TABLE t");
  EXPECT_THAT(Columns(Table("public.t")), ElementsAre("a", "b"));
  if (!Since(18)) return;
  Sql("CREATE PUBLICATION gen FOR TABLE t WITH (publish_generated_columns = "
      "stored)");
  EXPECT_THAT(Columns(Table("public.t", {"gen"})), ElementsAre("a", "g", "b"));
  EXPECT_THAT(Table("public.t", {"pub", "gen"}).problem, HasSubstr("columns"));
}

TEST_F(CatalogTest, NotNullThatIsNotValid) {
  if (!Since(18)) GTEST_SKIP();
  Sql("CREATE TABLE t (a int, b int NOT NULL); INSERT INTO t VALUES (NULL, 1);"
      "ALTER TABLE t ADD CONSTRAINT nn NOT NULL a NOT VALID;"
      "CREATE PUBLICATION pub FOR TABLE t");
  EXPECT_FALSE(Table("public.t").columns[0].not_null);
  EXPECT_TRUE(Table("public.t").columns[1].not_null);
}

// C039.
TEST_F(CatalogTest, ColumnLists) {
  if (!Since(15)) GTEST_SKIP();
  Sql("CREATE TABLE t (id int PRIMARY KEY, x int, y int);"
      "CREATE INDEX xy ON t (x, y); CREATE INDEX ix ON t (x);"
      "CREATE PUBLICATION a FOR TABLE t (x, id);"
      "CREATE PUBLICATION b FOR TABLE t (id, y);"
      "CREATE PUBLICATION whole FOR TABLE t;"
      "CREATE PUBLICATION named FOR TABLE t (y, x, id);"
      "CREATE PUBLICATION keyless FOR TABLE t (x) WITH (publish = 'insert')");
  EXPECT_THAT(Columns(Table("public.t", {"a"})), ElementsAre("id", "x"));
  EXPECT_THAT(Table("public.t", {"a"}).primary_key, ElementsAre("id"));
  EXPECT_THAT(Indexes(Table("public.t", {"a"})), ElementsAre("ix(x)"));
  EXPECT_THAT(Table("public.t", {"a", "b"}).problem,
              AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")));
  EXPECT_EQ(Table("public.t", {"whole", "named"}).problem, "");
  EXPECT_THAT(Table("public.t", {"whole", "a"}).problem, HasSubstr("column"));
  EXPECT_THAT(Table("public.t", {"keyless"}).primary_key, IsEmpty());
  EXPECT_THAT(Columns(Table("public.t", {"keyless"})), ElementsAre("x"));
}

TEST_F(CatalogTest, RowFiltersAreJoined) {
  if (!Since(15)) GTEST_SKIP();
  Sql("CREATE TABLE t (id int PRIMARY KEY, o text);"
      "CREATE PUBLICATION a FOR TABLE t WHERE (id > 5);"
      "CREATE PUBLICATION b FOR TABLE t WHERE (id < 2);"
      "CREATE PUBLICATION same FOR TABLE t WHERE (id > 5);"
      "CREATE PUBLICATION whole FOR ALL TABLES");
  EXPECT_EQ(Table("public.t", {"a"}).row_filter, "(id > 5)");
  EXPECT_EQ(Table("public.t", {"a", "b"}).row_filter,
            "((id > 5)) OR ((id < 2))");
  EXPECT_EQ(Table("public.t", {"a", "same"}).row_filter, "(id > 5)");
  EXPECT_EQ(Table("public.t", {"a", "whole"}).row_filter, "");
}

TEST_F(CatalogTest, SchemasAndTables) {
  if (!Since(15)) GTEST_SKIP();
  Sql("CREATE SCHEMA app; CREATE TABLE app.t (id int); CREATE TABLE u (id int);"
      "CREATE PUBLICATION pub FOR TABLES IN SCHEMA app, TABLE u");
  EXPECT_THAT(Names(Read()), ElementsAre("app.t", "public.u"));
}

TEST_F(CatalogTest, PartitionsByRootAndByLeaf) {
  if (!Since(13)) GTEST_SKIP();
  Sql("CREATE TABLE ev (id int, k text, PRIMARY KEY (id, k)) PARTITION BY LIST "
      "(k); CREATE TABLE ev_a PARTITION OF ev FOR VALUES IN ('a');"
      "CREATE TABLE ev_bc PARTITION OF ev FOR VALUES IN ('b', 'c') PARTITION "
      "BY LIST (k); CREATE TABLE ev_b PARTITION OF ev_bc FOR VALUES IN ('b');"
      "CREATE INDEX ev_k ON ev (k);"
      "INSERT INTO ev SELECT i, 'a' FROM generate_series(1, 30) i;"
      "INSERT INTO ev VALUES (1, 'b'); ANALYZE ev; ANALYZE ev_a; ANALYZE ev_b;"
      "CREATE PUBLICATION root FOR TABLE ev WITH (publish_via_partition_root);"
      "CREATE PUBLICATION leaf FOR TABLE ev;"
      "CREATE PUBLICATION one FOR TABLE ev_a;"
      "CREATE PUBLICATION middle FOR TABLE ev_bc WITH "
      "(publish_via_partition_root)");
  EXPECT_THAT(Names(Read({"root"})), ElementsAre("public.ev"));
  const PublishedTable root = Table("public.ev", {"root"});
  EXPECT_EQ(root.relkind, 'p');
  EXPECT_THAT(root.primary_key, ElementsAre("id", "k"));
  EXPECT_THAT(Indexes(root), ElementsAre("ev_k(k)"));
  EXPECT_EQ(root.estimated_rows, 31);
  EXPECT_THAT(Names(Read({"leaf"})), ElementsAre("public.ev_a", "public.ev_b"));
  EXPECT_EQ(Table("public.ev_a", {"leaf"}).relkind, 'r');
  // Whatever else lists a partition, the root stands for it.
  EXPECT_THAT(Names(Read({"root", "leaf"})), ElementsAre("public.ev"));
  EXPECT_THAT(Names(Read({"one", "root"})), ElementsAre("public.ev"));
  EXPECT_THAT(Names(Read({"middle", "root"})), ElementsAre("public.ev"));
  EXPECT_THAT(Names(Read({"middle", "leaf"})),
              ElementsAre("public.ev_a", "public.ev_bc"));
}

TEST_F(CatalogTest, ManyTables) {
  Sql("DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE TABLE t%s (id "
      "int PRIMARY KEY, v text)', i); END LOOP; END $$;"
      "CREATE PUBLICATION pub FOR ALL TABLES");
  absl::StatusOr<Publications> read;
  const absl::Duration took =
      Measure([&] { read = publisher_->ReadPublications({"pub"}); });
  ASSERT_OK(read);
  EXPECT_EQ(read->tables.size(), 300u);
  EXPECT_TRUE(
      std::is_sorted(read->tables.begin(), read->tables.end(),
                     [](const PublishedTable& a, const PublishedTable& b) {
                       return a.pg_table < b.pg_table;
                     }));
  EXPECT_LT(took, absl::Seconds(5));
}

TEST_F(CatalogTest, ManyTablesPrivileges) {
  // Nothing but LOGIN and REPLICATION is needed to read the catalogs.
  Sql("CREATE ROLE catalog_reader LOGIN REPLICATION;"
      "CREATE TABLE t (id int); CREATE PUBLICATION pub FOR TABLE t");
  {
    auto publisher = Connected(Conninfo() + " user=catalog_reader");
    EXPECT_THAT(publisher->ReadPublications({"pub"}), IsOk());
    EXPECT_THAT(publisher->ReadWriters(1259), IsOk());
    EXPECT_OK(publisher->CreateSlot({"catalog_slot", false, false}, nullptr));
    EXPECT_OK(publisher->DropSlot("catalog_slot"));
  }
  Sql("DROP ROLE catalog_reader");
}

TEST_F(CatalogTest, WritersHoldLocks) {
  Sql("CREATE TABLE t (id int PRIMARY KEY)");
  std::uint32_t oid = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(Scalar("SELECT 't'::regclass::oid::text"), &oid));
  EXPECT_THAT(publisher_->ReadWriters(oid), IsOkAndHolds(IsEmpty()));

  ASSERT_OK_AND_ASSIGN(auto reader, server().Connect(database_));
  ASSERT_OK(reader->Exec("BEGIN; SELECT * FROM t FOR UPDATE"));
  ASSERT_OK_AND_ASSIGN(auto indexer, server().Connect(database_));
  ASSERT_OK(
      indexer->Exec("BEGIN; LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE"));
  EXPECT_THAT(publisher_->ReadWriters(oid), IsOkAndHolds(IsEmpty()));

  ASSERT_OK_AND_ASSIGN(auto writer, server().Connect(database_));
  ASSERT_OK(writer->Exec("BEGIN; INSERT INTO t VALUES (1)"));
  ASSERT_OK_AND_ASSIGN(const std::string pid,
                       writer->Scalar("SELECT pg_backend_pid()::text"));
  EXPECT_THAT(publisher_->ReadWriters(oid),
              IsOkAndHolds(ElementsAre(HasSubstr(pid + " "))));
  ASSERT_OK(writer->Exec("PREPARE TRANSACTION 'w'"));
  EXPECT_THAT(publisher_->ReadWriters(oid),
              IsOkAndHolds(ElementsAre(HasSubstr("prepared"))));
  ASSERT_OK(writer->Exec("COMMIT PREPARED 'w'"));
  EXPECT_THAT(publisher_->ReadWriters(oid), IsOkAndHolds(IsEmpty()));
  ASSERT_OK(reader->Exec("COMMIT"));
  ASSERT_OK(indexer->Exec("COMMIT"));
  ASSERT_OK(writer->Exec("BEGIN; TRUNCATE t"));
  EXPECT_THAT(publisher_->ReadWriters(oid),
              IsOkAndHolds(ElementsAre(HasSubstr(pid + " "))));
}

TEST_F(CatalogTest, WritersOfPartitionsCount) {
  if (!Since(13)) GTEST_SKIP();
  Sql("CREATE TABLE p (id int) PARTITION BY RANGE (id); CREATE TABLE p1 "
      "PARTITION OF p FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);"
      "CREATE TABLE p11 PARTITION OF p1 FOR VALUES FROM (0) TO (5)");
  std::uint32_t oid = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(Scalar("SELECT 'p'::regclass::oid::text"), &oid));
  ASSERT_OK_AND_ASSIGN(auto writer, server().Connect(database_));
  ASSERT_OK(writer->Exec("BEGIN; INSERT INTO p11 VALUES (1)"));
  ASSERT_OK_AND_ASSIGN(const auto writers, publisher_->ReadWriters(oid));
  EXPECT_EQ(writers.size(), 1u);
}

}  // namespace
}  // namespace sublite::testing
