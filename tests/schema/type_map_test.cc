#include "schema/type_map.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace sublite {
namespace {

// pg_type, built up by hand.
class Catalog {
 public:
  std::uint32_t Builtin(const std::string& name) {
    PgType type;
    type.name = name;
    type.builtin = true;
    return Add(type);
  }

  std::uint32_t User(const std::string& name, const std::string& extension) {
    PgType type;
    type.name = name;
    type.extension = extension;
    return Add(type);
  }

  std::uint32_t Array(std::uint32_t element) {
    PgType type;
    type.name = "_" + types_[element].name;
    type.builtin = types_[element].builtin;
    type.is_array = true;
    type.element = element;
    type.delimiter = types_[element].delimiter;
    return Add(type);
  }

  std::uint32_t Domain(std::uint32_t base, std::int32_t modifier = -1) {
    PgType type;
    type.name = "d";
    type.base = base;
    type.base_modifier = modifier;
    type.delimiter = types_[base].delimiter;
    return Add(type);
  }

  std::uint32_t Add(PgType type) {
    type.oid = next_++;
    const std::uint32_t oid = type.oid;
    types_[oid] = std::move(type);
    return oid;
  }

  PgType& operator[](std::uint32_t oid) { return types_[oid]; }

  ColumnType Column(std::uint32_t oid, std::int32_t modifier = -1,
                    NumericMode numeric = NumericMode::kAuto) const {
    return ColumnTypeFor(oid, modifier, types_, numeric);
  }

  std::string Declared(const std::string& builtin) {
    return Column(Builtin(builtin)).Declaration();
  }

  std::string Encoded(std::uint32_t oid, std::int32_t modifier = -1,
                      NumericMode numeric = NumericMode::kAuto) const {
    return Column(oid, modifier, numeric).Encode();
  }

 private:
  std::uint32_t next_ = 10000;
  PgTypes types_;
};

std::int32_t NumericModifier(int precision, int scale) {
  return ((precision << 16) | (scale & 0x7FF)) + 4;
}

TEST(TypeMap, DeclaresBuiltinTypes) {
  Catalog catalog;
  for (const char* name : {"int2", "int4", "int8", "oid"}) {
    EXPECT_EQ(catalog.Declared(name), "INTEGER") << name;
  }
  for (const char* name : {"float4", "float8"}) {
    EXPECT_EQ(catalog.Declared(name), "REAL") << name;
  }
  EXPECT_EQ(catalog.Declared("bool"), "BOOLEAN");
  EXPECT_EQ(catalog.Declared("money"), "NUMERIC");
  EXPECT_EQ(catalog.Declared("numeric"), "TEXT");
  EXPECT_EQ(catalog.Declared("bpchar"), "TEXT COLLATE RTRIM");
  EXPECT_EQ(catalog.Declared("bytea"), "BLOB");
  for (const char* name :
       {"text",      "varchar", "name",      "char",        "xml",
        "json",      "jsonb",   "uuid",      "date",        "time",
        "timestamp", "timetz",  "interval",  "timestamptz", "int2vector",
        "oidvector", "xid",     "xid8",      "cid",         "regclass",
        "regtype",   "pg_lsn",  "int4range", "point",       "inet",
        "bit",       "varbit",  "tsvector",  "jsonpath",    "txid_snapshot"}) {
    EXPECT_EQ(catalog.Declared(name), "TEXT") << name;
  }
  EXPECT_EQ(catalog.Encoded(catalog.Builtin("jsonb")), "json@versioned-text");
  EXPECT_EQ(catalog.Encoded(catalog.Builtin("timestamptz")),
            "timestamptz@timestamptz");
  EXPECT_EQ(catalog.Encoded(catalog.Builtin("timetz")), "timetz@timetz");
  EXPECT_EQ(catalog.Encoded(catalog.Builtin("timestamp")), "text@timestamp");
}

TEST(TypeMap, NamesOfUsersMeanNothing) {
  Catalog catalog;
  for (const char* name : {"int4", "bool", "numeric", "money", "bytea",
                           "bpchar", "citext", "hstore", "printer_kind"}) {
    EXPECT_EQ(catalog.Encoded(catalog.User(name, "")), "text") << name;
    EXPECT_EQ(catalog.Encoded(catalog.User(name, "other")), "text") << name;
  }
  EXPECT_EQ(catalog.Encoded(catalog.Builtin("citext")), "text");
  // Another type of the same extension.
  EXPECT_EQ(catalog.Encoded(catalog.User("ghstore", "hstore")), "text");
}

TEST(TypeMap, KnowsExtensions) {
  Catalog catalog;
  EXPECT_EQ(catalog.Column(catalog.User("citext", "citext")).Declaration(),
            "TEXT COLLATE NOCASE");
  const ColumnType hstore = catalog.Column(catalog.User("hstore", "hstore"));
  EXPECT_EQ(hstore.Declaration(), "TEXT");
  EXPECT_EQ(hstore.kind, ValueKind::kHstore);
}

TEST(TypeMap, UnknownOidsAreText) {
  const Catalog catalog;
  EXPECT_EQ(catalog.Encoded(4711), "text");
}

TEST(TypeMap, Numeric) {
  Catalog catalog;
  const std::uint32_t numeric = catalog.Builtin("numeric");
  const auto declared = [&](int precision, int scale,
                            NumericMode mode = NumericMode::kAuto) {
    return catalog.Column(numeric, NumericModifier(precision, scale), mode)
        .Declaration();
  };
  EXPECT_EQ(declared(15, 5), "NUMERIC(15,5)");
  EXPECT_EQ(declared(5, 0), "NUMERIC(5,0)");
  EXPECT_EQ(declared(1, 1), "NUMERIC(1,1)");
  EXPECT_EQ(declared(3, 5), "NUMERIC(3,5)");
  EXPECT_EQ(declared(2, -3), "NUMERIC(2,-3)");
  EXPECT_EQ(declared(16, 2), "TEXT");
  EXPECT_EQ(declared(1000, 1000), "TEXT");
  // Where 15 digits do not survive a double.
  EXPECT_EQ(declared(3, 307), "NUMERIC(3,307)");
  EXPECT_EQ(declared(3, 308), "TEXT");
  EXPECT_EQ(declared(15, -293), "NUMERIC(15,-293)");
  EXPECT_EQ(declared(15, -294), "TEXT");
  EXPECT_EQ(declared(15, -1000), "TEXT");
  EXPECT_EQ(declared(15, 1000), "TEXT");

  EXPECT_EQ(declared(5, 2, NumericMode::kText), "TEXT");
  EXPECT_EQ(declared(5, 2, NumericMode::kReal), "NUMERIC");
  EXPECT_EQ(catalog.Encoded(numeric, -1, NumericMode::kReal),
            "numeric-real@numeric");
  EXPECT_EQ(catalog.Encoded(numeric, -1, NumericMode::kText),
            "numeric-text@numeric");
  EXPECT_EQ(catalog.Encoded(numeric), "numeric-text@numeric");
}

TEST(TypeMap, LooksThroughDomains) {
  Catalog catalog;
  const std::uint32_t numeric = catalog.Builtin("numeric");
  const std::uint32_t narrow = catalog.Domain(numeric, NumericModifier(9, 3));
  EXPECT_EQ(catalog.Encoded(narrow), "numeric(9,3)@numeric");
  EXPECT_EQ(catalog.Encoded(catalog.Domain(narrow)), "numeric(9,3)@numeric");
  EXPECT_EQ(catalog.Encoded(catalog.Domain(numeric)), "numeric-text@numeric");
  // The column's own modifier says nothing of a domain.
  EXPECT_EQ(catalog.Encoded(narrow, NumericModifier(20, 1)),
            "numeric(9,3)@numeric");
  const std::uint32_t padded = catalog.Domain(catalog.Builtin("bpchar"), 7);
  EXPECT_EQ(catalog.Column(padded).Declaration(), "TEXT COLLATE RTRIM");
  const std::uint32_t caseless =
      catalog.Domain(catalog.User("citext", "citext"));
  EXPECT_EQ(catalog.Column(caseless).Declaration(), "TEXT COLLATE NOCASE");
  EXPECT_EQ(catalog.Encoded(catalog.Domain(4711)), "text");
}

TEST(TypeMap, Arrays) {
  Catalog catalog;
  const std::uint32_t int4 = catalog.Builtin("int4");
  EXPECT_EQ(catalog.Encoded(catalog.Array(int4)), "array(,;int@int4)@array");
  EXPECT_EQ(catalog.Column(catalog.Array(int4)).Declaration(), "TEXT");
  const std::uint32_t box = catalog.Builtin("box");
  catalog[box].delimiter = ';';
  EXPECT_EQ(catalog.Encoded(catalog.Array(box)), "array(;;text@box)@array");
  const std::uint32_t boxes = catalog.Array(box);
  catalog[boxes].delimiter = ',';
  EXPECT_EQ(catalog.Encoded(boxes), "array(;;text@box)@array");
  const std::uint32_t box_domain = catalog.Domain(box);
  EXPECT_EQ(catalog.Encoded(catalog.Array(box_domain)),
            "array(;;text@box)@array");
  // An array, and a domain over it, and an array of that.
  const std::uint32_t pairs = catalog.Domain(catalog.Array(int4));
  EXPECT_EQ(catalog.Encoded(pairs), "array(,;int@int4)@array");
  EXPECT_EQ(catalog.Encoded(catalog.Array(pairs)),
            "array(,;array(,;int@int4)@array)@array");
  EXPECT_EQ(catalog.Encoded(catalog.Array(catalog.Domain(int4))),
            "array(,;int@int4)@array");
  // Elements keep all their digits whatever the setting says.
  const std::uint32_t numerics = catalog.Array(catalog.Builtin("numeric"));
  for (NumericMode mode :
       {NumericMode::kAuto, NumericMode::kText, NumericMode::kReal}) {
    EXPECT_EQ(catalog.Encoded(numerics, NumericModifier(5, 2), mode),
              "array(,;numeric-text@numeric)@array");
  }
}

TEST(TypeMap, CyclesEnd) {
  Catalog catalog;
  const std::uint32_t domain = catalog.Domain(0);
  catalog[domain].base = domain;
  EXPECT_EQ(catalog.Encoded(domain), "text");
  const std::uint32_t array = catalog.Array(domain);
  catalog[array].element = array;
  const ColumnType type = catalog.Column(array);
  ASSERT_TRUE(ColumnType::Parse(type.Encode()).ok());
}

TEST(TypeMap, BinaryFormsOfBuiltinTypes) {
  Catalog catalog;
  const auto encoded = [&](const char* name, int server_version) {
    PgType type;
    type.name = name;
    type.builtin = true;
    type.server_version = server_version;
    return catalog.Encoded(catalog.Add(type));
  };
  EXPECT_EQ(encoded("int4", 140000), "int@int4");
  EXPECT_EQ(encoded("cidr", 180000), "text@inet");
  EXPECT_EQ(encoded("char", 140000), "text@char");
  EXPECT_EQ(encoded("char", 150000), "text@octal-char");
  EXPECT_EQ(encoded("interval", 160000), "text@finite-interval");
  EXPECT_EQ(encoded("interval", 170000), "text@interval");
  EXPECT_EQ(encoded("pg_lsn", 180000), "text@pg_lsn");
  // Not known, or not yet.
  EXPECT_EQ(encoded("interval", 0), "text");
  EXPECT_EQ(encoded("pg_lsn", 190000), "text");
  EXPECT_EQ(encoded("regclass", 150000), "text");
}

TEST(TypeMap, BinaryFormsOfMadeTypes) {
  Catalog catalog;
  const auto add = [&](char kind, std::vector<std::uint32_t> parts) {
    PgType type;
    type.name = "made";
    type.kind = kind;
    if (kind == 'r' || kind == 'm') {
      type.subtype = parts[0];
    } else {
      type.fields = std::move(parts);
    }
    return catalog.Add(type);
  };
  const std::uint32_t int4 = catalog.Builtin("int4");
  const std::uint32_t regclass = catalog.Builtin("regclass");
  EXPECT_EQ(catalog.Encoded(add('e', {})), "text@text");
  const std::uint32_t range = add('r', {int4});
  EXPECT_EQ(catalog.Encoded(range), "text@range(10000;int@int4)");
  EXPECT_EQ(catalog.Encoded(add('m', {range})),
            "text@multirange(10003;text@range(10000;int@int4))");
  EXPECT_EQ(catalog.Encoded(add('m', {int4})), "text");
  // A field's own OID is what the value names, a domain's too.
  const std::uint32_t domain = catalog.Domain(int4);
  EXPECT_EQ(catalog.Encoded(add('c', {int4, domain})),
            "text@record(10000;int@int4,10006;int@int4)");
  EXPECT_EQ(catalog.Encoded(add('c', {})), "text@record()");
  // What holds a type without a decoder has none.
  EXPECT_EQ(catalog.Encoded(add('c', {int4, regclass})), "text");
  EXPECT_EQ(catalog.Encoded(add('r', {regclass})), "text");
  EXPECT_EQ(catalog.Encoded(add('r', {4711})), "text");
  EXPECT_EQ(catalog.Encoded(catalog.Array(regclass)), "array(,;text)");

  EXPECT_EQ(catalog.Encoded(catalog.User("citext", "citext")), "citext@text");
  EXPECT_EQ(catalog.Encoded(catalog.User("hstore", "hstore")), "hstore@hstore");
  EXPECT_EQ(catalog.Encoded(catalog.User("int4", "")), "text");
}

TEST(TypeMap, TypesThatSendNothing) {
  Catalog catalog;
  PgType type;
  type.name = "aclitem";
  type.builtin = true;
  type.sends = false;
  const std::uint32_t aclitem = catalog.Add(type);
  EXPECT_EQ(catalog.Encoded(aclitem), "text@text-only");
  EXPECT_TRUE(HasBinaryDecoder(catalog.Column(aclitem)));
  // array_send would fail at the publisher.
  EXPECT_EQ(catalog.Encoded(catalog.Array(aclitem)), "array(,;text@text-only)");
  EXPECT_FALSE(HasBinaryDecoder(catalog.Column(catalog.Array(aclitem))));
}

TEST(TypeMap, BinaryFormsEnd) {
  Catalog catalog;
  // A row type in itself, and one that would be written out 2^30 times.
  const std::uint32_t cycle = catalog.Builtin("cycle");
  catalog[cycle].kind = 'c';
  catalog[cycle].fields = {cycle};
  EXPECT_EQ(catalog.Encoded(cycle), "text");
  std::uint32_t inner = catalog.Builtin("int4");
  for (int i = 0; i < 14; ++i) {
    PgType type;
    type.name = "twice";
    type.kind = 'c';
    type.fields = {inner, inner};
    inner = catalog.Add(type);
  }
  EXPECT_EQ(catalog.Encoded(inner), "text");
}

TEST(TypeMap, SameStored) {
  const auto same = [](const char* a, const char* b) {
    return SameStored(*ColumnType::Parse(a), *ColumnType::Parse(b));
  };
  EXPECT_TRUE(same("int@int4", "int"));
  EXPECT_TRUE(same("text@interval", "text@finite-interval"));
  EXPECT_TRUE(same("array(,;int@int4)@array", "array(,;int)"));
  EXPECT_TRUE(same("text@record(23;int@int4)", "text"));
  EXPECT_TRUE(same("text@record(1186;text@interval)",
                   "text@record(1186;text@finite-interval)"));
  EXPECT_FALSE(same("text@record(23;int@int4)",
                    "text@record(23;int@int4,25;text@text)"));
  EXPECT_FALSE(same("text@record(23;int@int4)", "text@record(26;int@int4)"));
  EXPECT_FALSE(same("int@int4", "text@int4"));
  EXPECT_FALSE(same("numeric(5,2)", "numeric(5,3)"));
  EXPECT_FALSE(same("array(,;int)", "array(,;bool)"));
  EXPECT_FALSE(same("array(,;int)", "array(;;int)"));
}

TEST(TypeMap, EncodingReadsBack) {
  for (const char* text : {"int",
                           "bool",
                           "real",
                           "numeric(12,2)",
                           "numeric(2,-3)",
                           "numeric-text",
                           "numeric-real",
                           "money",
                           "text",
                           "char",
                           "citext",
                           "bytea",
                           "timestamptz",
                           "timetz",
                           "json",
                           "hstore",
                           "array(,;int)",
                           "array(;;text)",
                           "array((;bool)",
                           "array();array(,;timetz))",
                           "int@int4",
                           "text@record()",
                           "text@record(23;int@int4,25;text@text)",
                           "text@range(23;int@int4)",
                           "text@multirange(3904;text@range(23;int@int4))",
                           "array(@;text@inet)@array",
                           "array();text@record(25;text))@array"}) {
    absl::StatusOr<ColumnType> type = ColumnType::Parse(text);
    ASSERT_TRUE(type.ok()) << text;
    EXPECT_EQ(type->Encode(), text);
    EXPECT_TRUE(*type == *ColumnType::Parse(type->Encode()));
  }
  EXPECT_FALSE(*ColumnType::Parse("int") == *ColumnType::Parse("bool"));
  EXPECT_FALSE(*ColumnType::Parse("numeric(5,2)") ==
               *ColumnType::Parse("numeric(5,3)"));
}

TEST(TypeMap, DamagedEncodingIsDataLoss) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "array(,;";
  std::string deep_rows;
  for (int i = 0; i < 100000; ++i) deep_rows += "text@record(1;";
  for (const std::string& text : {std::string(),
                                  std::string("integer"),
                                  std::string("int "),
                                  std::string("int()"),
                                  std::string("numeric"),
                                  std::string("numeric("),
                                  std::string("numeric(5"),
                                  std::string("numeric(5,"),
                                  std::string("numeric(5,2"),
                                  std::string("numeric(5,2))"),
                                  std::string("numeric(99999999999,2)"),
                                  std::string("numeric-text(1)"),
                                  std::string("array"),
                                  std::string("array("),
                                  std::string("array(,"),
                                  std::string("array(,;"),
                                  std::string("array(,;)"),
                                  std::string("array(,;int"),
                                  std::string("array(,;int))"),
                                  std::string("int@"),
                                  std::string("int@int"),
                                  std::string("int@int4()"),
                                  std::string("int@array"),
                                  std::string("@int4"),
                                  std::string("text@range"),
                                  std::string("text@range()"),
                                  std::string("text@range(int)"),
                                  std::string("text@range(23;int"),
                                  std::string("text@range(23;int,23;int)"),
                                  std::string("text@record"),
                                  std::string("text@record("),
                                  std::string("text@record(-1;int)"),
                                  std::string("text@record(4294967296;int)"),
                                  std::string("text@record(23;int,)"),
                                  std::string("text@record(23;int))"),
                                  deep,
                                  deep_rows}) {
    EXPECT_EQ(ColumnType::Parse(text).status().code(),
              absl::StatusCode::kDataLoss)
        << text.substr(0, 50);
  }
}

}  // namespace
}  // namespace sublite
