#include "schema/value.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "tests/schema/codec.h"

namespace sublite {
namespace {

using testing::Convert;
using testing::TypeOf;

struct Case {
  const char* text;
  const char* expected;
};

template <std::size_t kCount>
void ExpectAll(const char* type, const Case (&cases)[kCount]) {
  for (const Case& c : cases) {
    EXPECT_EQ(Convert(c.text, type), c.expected) << type << ": " << c.text;
  }
}

TEST(Value, Integers) {
  ExpectAll("int", {{"0", "integer 0"},
                    {"-1", "integer -1"},
                    {"4294967295", "integer 4294967295"},
                    {"999999999999999999", "integer 999999999999999999"},
                    {"9007199254740993", "integer 9007199254740993"},
                    {"9223372036854775807", "integer 9223372036854775807"},
                    {"-9223372036854775808", "integer -9223372036854775808"},
                    {"9223372036854775808", "DataLoss"},
                    {"-9223372036854775809", "DataLoss"},
                    {"18446744073709551617", "DataLoss"},
                    {"99999999999999999999", "DataLoss"},
                    {"", "DataLoss"},
                    {"-", "DataLoss"},
                    {"+1", "DataLoss"},
                    {" 1", "DataLoss"},
                    {"1 ", "DataLoss"},
                    {"1.0", "DataLoss"},
                    {"01", "DataLoss"},
                    {"0x10", "DataLoss"},
                    {"1e5", "DataLoss"}});
}

TEST(Value, Booleans) {
  ExpectAll("bool", {{"t", "integer 1"},
                     {"f", "integer 0"},
                     {"", "DataLoss"},
                     {"true", "DataLoss"},
                     {"T", "DataLoss"},
                     {"1", "DataLoss"}});
}

TEST(Value, Reals) {
  ExpectAll("real",
            {{"0.1", "real 0.10000000000000001"},
             {"0", "real 0"},
             {"-0", "real 0"},
             {"5", "real 5"},
             {"-2.5", "real -2.5"},
             {"1e+300", "real 1.0000000000000001e+300"},
             {"1e-07", "real 9.9999999999999995e-08"},
             {"3.4028235e+38", "real 3.4028234999999999e+38"},
             {"1.1754944e-38", "real 1.1754944000000001e-38"},
             {"1e-45", "real 9.9999999999999998e-46"},
             {"5e-324", "real 4.9406564584124654e-324"},
             {"-5e-324", "real -4.9406564584124654e-324"},
             {"2.2250738585072014e-308", "real 2.2250738585072014e-308"},
             {"2.225073858507201e-308", "real 2.2250738585072009e-308"},
             {"1.7976931348623157e+308", "real 1.7976931348623157e+308"},
             {"Infinity", "real inf"},
             {"-Infinity", "real -inf"},
             {"NaN", "text NaN"},
             // Nothing that PostgreSQL printed from a double.
             {"1e+309", "DataLoss"},
             {"1e-400", "DataLoss"},
             {"", "DataLoss"},
             {"-", "DataLoss"},
             {".5", "DataLoss"},
             {"5.", "DataLoss"},
             {"1e", "DataLoss"},
             {"1e+", "DataLoss"},
             {"nan", "DataLoss"},
             {"inf", "DataLoss"},
             {"-NaN", "DataLoss"},
             {"infinity", "DataLoss"},
             {"+1", "DataLoss"},
             {" 1", "DataLoss"},
             {"1 ", "DataLoss"},
             {"0x10", "DataLoss"},
             {"1,5", "DataLoss"}});
}

TEST(Value, NumericsOfFewDigits) {
  ExpectAll("numeric(15,5)", {{"0", "integer 0"},
                              {"0.00000", "integer 0"},
                              {"1.00000", "integer 1"},
                              {"-12.00", "integer -12"},
                              {"12.50", "real 12.5"},
                              {"-0.01", "real -0.01"},
                              {"0.1", "real 0.10000000000000001"},
                              {"9999999999.99999", "real 9999999999.9999905"},
                              {"-9999999999.99999", "real -9999999999.9999905"},
                              {"999999999999999", "integer 999999999999999"},
                              {"0.999999999999999", "real 0.999999999999999"},
                              {"NaN", "text NaN"},
                              {"Infinity", "real inf"},
                              // More digits than the type has.
                              {"1234567890.123456", "DataLoss"},
                              {"9007199254740993.5", "DataLoss"},
                              {"", "DataLoss"},
                              {"-", "DataLoss"},
                              {"1.", "DataLoss"},
                              {".1", "DataLoss"},
                              {"01", "DataLoss"},
                              {"00.1", "DataLoss"},
                              {"1e5", "DataLoss"},
                              {"1,000.00", "DataLoss"},
                              {"$1.00", "DataLoss"},
                              {" 1", "DataLoss"},
                              {"1 ", "DataLoss"}});
  const auto zeros = [](int count) {
    return std::string(static_cast<std::size_t>(count), '0');
  };
  EXPECT_EQ(Convert("123" + zeros(10), "numeric(3,-10)"),
            "integer 1230000000000");
  EXPECT_EQ(Convert("123" + zeros(30), "numeric(3,-30)"), "real 1.23e+32");
  EXPECT_EQ(Convert("1" + zeros(15) + "1" + zeros(30), "numeric(3,-30)"),
            "DataLoss");
  EXPECT_EQ(Convert("0." + zeros(27) + "123", "numeric(3,30)"),
            "real 1.2299999999999999e-28");
  EXPECT_EQ(Convert("-0." + zeros(304) + "125", "numeric(3,307)"),
            "real -1.25e-305");
}

TEST(Value, NumericsAsText) {
  const std::string huge = "1" + std::string(131071, '0') + ".50";
  EXPECT_EQ(Convert(huge, "numeric-text"), "text " + huge);
  ExpectAll("numeric-text", {{"1.10", "text 1.10"},
                             {"-0.00", "text -0.00"},
                             {"NaN", "text NaN"},
                             {"Infinity", "text Infinity"},
                             {"-Infinity", "text -Infinity"}});
}

TEST(Value, NumericsAsReal) {
  ExpectAll(
      "numeric-real",
      {{"1.00", "integer 1"},
       {"1.5", "real 1.5"},
       {"0.000", "integer 0"},
       {"9007199254740993", "integer 9007199254740993"},
       {"-9223372036854775808", "integer -9223372036854775808"},
       {"9223372036854775807", "integer 9223372036854775807"},
       {"9223372036854775808", "real 9.2233720368547758e+18"},
       {"123456789012345678901234567890.5", "real 1.2345678901234568e+29"},
       // The nearest double is whole, and SQLite makes an integer of it.
       {"9007199254740993.5", "integer 9007199254740994"},
       {"-4611686018427387904.25", "integer -4611686018427387904"},
       {"NaN", "text NaN"},
       {"Infinity", "real inf"},
       {"-Infinity", "real -inf"},
       {"1e5", "DataLoss"},
       {"", "DataLoss"}});
  EXPECT_EQ(Convert("1" + std::string(1000, '0'), "numeric-real"), "real inf");
  EXPECT_EQ(Convert("-1" + std::string(1000, '0'), "numeric-real"),
            "real -inf");
  EXPECT_EQ(Convert("-0." + std::string(1000, '0') + "1", "numeric-real"),
            "integer 0");
}

TEST(Value, Money) {
  ExpectAll(
      "money",
      {{"$0.00", "integer 0"},
       {"$1.00", "integer 1"},
       {"$1,234.50", "real 1234.5"},
       {"-$0.01", "real -0.01"},
       {"-$1,000,000.00", "integer -1000000"},
       {"$999,999,999,999.99", "real 999999999999.98999"},
       {"$9,999,999,999,999.99", "real 9999999999999.9902"},
       {"$90,071,992,547,409.93", "text $90,071,992,547,409.93"},
       // Beyond 2^53 cents some doubles still give the cents back.
       {"$377,605,397,320,174.69", "real 377605397320174.69"},
       {"$92,233,720,368,547,758.00", "integer 92233720368547758"},
       {"-$92,233,720,368,547,758.08", "text -$92,233,720,368,547,758.08"},
       {"$92,233,720,368,547,758.07", "text $92,233,720,368,547,758.07"},
       {"$92,233,720,368,547,758.08", "DataLoss"},
       {"$999,999,999,999,999,999.00", "DataLoss"},
       // The double is whole, the amount is not.
       {"$70,368,744,177,664,000.01", "text $70,368,744,177,664,000.01"},
       {"", "DataLoss"},
       {"-", "DataLoss"},
       {"$", "DataLoss"},
       {"$.00", "DataLoss"},
       {"$1", "DataLoss"},
       {"$1.0", "DataLoss"},
       {"$1.000", "DataLoss"},
       {"1.00", "DataLoss"},
       {"$-1.00", "DataLoss"},
       {"1,00 €", "DataLoss"}});
}

TEST(Value, TextStaysAsItIs) {
  for (const char* type : {"text", "char", "citext", "json"}) {
    for (const char* text : {"", "01", "1e5", " x ", "NULL", "{\"a\" :1}",
                             "pad     ", "\xff\xfe", "\t\n\x01", "é🦆"}) {
      EXPECT_EQ(Convert(text, type), std::string("text ") + text) << type;
    }
  }
}

TEST(Value, Bytea) {
  ExpectAll("bytea", {{"\\x", "blob "},
                      {"\\x00ff", "blob 00ff"},
                      {"\\xdeadBEEF", "blob deadbeef"},
                      {"", "DataLoss"},
                      {"\\", "DataLoss"},
                      {"\\x0", "DataLoss"},
                      {"\\x0g", "DataLoss"},
                      {"\\xg0", "DataLoss"},
                      {"\\x\xff\xff", "DataLoss"},
                      {"00ff", "DataLoss"},
                      {"\\000\\377", "DataLoss"}});
}

TEST(Value, TimestampsWithZone) {
  ExpectAll("timestamptz",
            {{"2024-02-29 12:00:00+00", "text 2024-02-29 12:00:00+00:00"},
             {"2024-02-29 12:00:00.5+00", "text 2024-02-29 12:00:00.5+00:00"},
             {"294276-12-31 23:59:59.999999+00",
              "text 294276-12-31 23:59:59.999999+00:00"},
             {"4713-01-01 00:00:00+00 BC", "text 4713-01-01 00:00:00+00:00 BC"},
             {"infinity", "text infinity"},
             {"-infinity", "text -infinity"},
             {"", "DataLoss"},
             {"2024-02-29", "DataLoss"},
             {"2024-02-29 12:00:00", "DataLoss"},
             {"2024-02-29 12:00:00.+00", "DataLoss"},
             {"2024-02-29 12:00:00.1234567+00", "DataLoss"},
             {"2024-02-29 12:00:00+00 AD", "DataLoss"},
             // Other sessions than ours.
             {"2024-02-29 12:00:00+02", "DataLoss"},
             {"2024-02-29 12:00:00+00:00", "DataLoss"},
             {"2024-02-29 12:00:00-00", "DataLoss"},
             {"Thu Feb 29 12:00:00 2024 UTC", "DataLoss"},
             {"29.02.2024 12:00:00 UTC", "DataLoss"},
             {"02/29/2024 12:00:00 UTC", "DataLoss"}});
}

TEST(Value, TimesWithZone) {
  ExpectAll("timetz", {{"12:00:00+02", "text 12:00:00+02:00"},
                       {"12:00:00.5-08", "text 12:00:00.5-08:00"},
                       {"24:00:00+00", "text 24:00:00+00:00"},
                       {"12:34:56+05:30", "text 12:34:56+05:30"},
                       {"00:00:00-15:59:59", "text 00:00:00-15:59:59"},
                       {"12:00:00-00:00:30", "text 12:00:00-00:00:30"},
                       {"", "DataLoss"},
                       {"12:00:00", "DataLoss"},
                       {"12:00:00+2", "DataLoss"},
                       {"12:00:00+02:", "DataLoss"},
                       {"12:00:00+02:00:00:00", "DataLoss"},
                       {"12:00:00+02 BC", "DataLoss"},
                       {"12:00+02", "DataLoss"},
                       {"infinity", "DataLoss"}});
}

TEST(Value, Hstores) {
  ExpectAll("hstore",
            {{"", "text {}"},
             {R"("a"=>"1")", R"(text {"a":"1"})"},
             {R"("a"=>"1", "b"=>NULL, "NULL"=>"NULL")",
              R"(text {"a":"1","b":null,"NULL":"NULL"})"},
             {R"("q\"q"=>"b\\s")", R"(text {"q\"q":"b\\s"})"},
             {R"(""=>"", "=>"=>", ")", R"(text {"":"","=>":", "})"},
             {"\"é🦆\"=>\"\n\x01\"", "text {\"é🦆\":\"\\n\\u0001\"}"},
             {R"("a")", "DataLoss"},
             {R"("a"=>)", "DataLoss"},
             {R"("a"=>")", "DataLoss"},
             {R"("a"=>"\)", "DataLoss"},
             {R"("a"=>1)", "DataLoss"},
             {R"("a"=>NULL,)", "DataLoss"},
             {R"("a"=>NULL "b"=>NULL)", "DataLoss"},
             {R"("a"=>null)", "DataLoss"},
             {R"(a=>1)", "DataLoss"},
             {R"({})", "DataLoss"}});
}

TEST(Value, NullAndTheOtherKindsOfDatum) {
  std::string scratch;
  SqlValue value;
  value.kind = SqlValue::Kind::kText;
  Datum datum;
  ASSERT_TRUE(ToSqlValue(datum, TypeOf("int"), &scratch, &value).ok());
  EXPECT_EQ(value.kind, SqlValue::Kind::kNull);

  datum.kind = Datum::Kind::kUnchanged;
  EXPECT_EQ(ToSqlValue(datum, TypeOf("int"), &scratch, &value).code(),
            absl::StatusCode::kInternal);

  datum.kind = Datum::Kind::kBinary;
  const absl::Status status =
      ToSqlValue(datum, TypeOf("numeric(5,2)"), &scratch, &value);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.ToString().find("numeric(5,2)"), std::string::npos);
}

// A null pointer would be bound as NULL.
TEST(Value, EmptyIsNotNull) {
  std::string scratch;
  SqlValue value;
  Datum datum;
  datum.kind = Datum::Kind::kText;
  ASSERT_TRUE(ToSqlValue(datum, TypeOf("text"), &scratch, &value).ok());
  EXPECT_EQ(value.kind, SqlValue::Kind::kText);
  EXPECT_NE(value.bytes.data(), nullptr);
  datum.bytes = "\\x";
  ASSERT_TRUE(ToSqlValue(datum, TypeOf("bytea"), &scratch, &value).ok());
  EXPECT_EQ(value.kind, SqlValue::Kind::kBlob);
  EXPECT_NE(value.bytes.data(), nullptr);
}

TEST(Value, ScratchIsReusedWithoutTraces) {
  std::string scratch;
  SqlValue value;
  Datum datum;
  datum.kind = Datum::Kind::kText;
  const ColumnType bytea = TypeOf("bytea");
  const ColumnType array = TypeOf("array(,;int)");
  for (int round = 0; round < 3; ++round) {
    datum.bytes = "\\x00112233445566778899aabbccddeeff00112233";
    ASSERT_TRUE(ToSqlValue(datum, bytea, &scratch, &value).ok());
    EXPECT_EQ(value.bytes.size(), 20u);
    datum.bytes = "\\xff";
    ASSERT_TRUE(ToSqlValue(datum, bytea, &scratch, &value).ok());
    EXPECT_EQ(value.bytes, "\xff");
    datum.bytes = "{1}";
    ASSERT_TRUE(ToSqlValue(datum, array, &scratch, &value).ok());
    EXPECT_EQ(value.bytes, "[1]");
  }
}

TEST(Value, ErrorsNameTheOffsetAndNotTheValue) {
  std::string scratch;
  SqlValue value;
  Datum datum;
  datum.kind = Datum::Kind::kText;
  datum.bytes = "123secret";
  for (const char* type :
       {"int", "real", "numeric(5,2)", "numeric-real", "money", "bytea", "bool",
        "timestamptz", "timetz", "hstore", "array(,;int)"}) {
    const absl::Status status =
        ToSqlValue(datum, TypeOf(type), &scratch, &value);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << type;
    EXPECT_EQ(status.ToString().find("secret"), std::string::npos);
    EXPECT_NE(status.ToString().find("at byte"), std::string::npos);
  }
  EXPECT_NE(ToSqlValue(datum, TypeOf("int"), &scratch, &value)
                .ToString()
                .find("at byte 3"),
            std::string::npos);
}

}  // namespace
}  // namespace sublite
