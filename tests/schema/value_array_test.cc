#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/schema/codec.h"

namespace sublite {
namespace {

using testing::Convert;

struct Case {
  const char* element;
  const char* text;
  const char* json;
};

// Texts on the left are what array_out prints.
const Case kCases[] = {
    {"int", "{}", "[]"},
    {"int", "{NULL}", "[null]"},
    {"int", "{1,-2,NULL}", "[1,-2,null]"},
    {"int", "{9223372036854775807,-9223372036854775808}",
     "[9223372036854775807,-9223372036854775808]"},
    {"int", "{{1,2},{3,4}}", "[[1,2],[3,4]]"},
    {"int", "{{{1},{2}},{{3},{4}}}", "[[[1],[2]],[[3],[4]]]"},
    {"int", "{{{{{{1}}}}}}", "[[[[[[1]]]]]]"},
    {"real", "{0.1,NaN,-Infinity}", R"([0.1,"NaN","-Infinity"])"},
    {"real", "{0.1,1e+300,-1e-07,Infinity,-0}",
     R"([0.1,1e+300,-1e-07,"Infinity",-0])"},
    {"numeric-text", "{1.10,-0.00,NaN,123456789012345678901234567890.000}",
     R"([1.10,-0.00,"NaN",123456789012345678901234567890.000])"},
    {"numeric(10,2)", "{1.00,2.50}", "[1.00,2.50]"},
    {"numeric-real", "{1.00}", "[1.00]"},
    {"bool", "{t,f,NULL}", "[true,false,null]"},
    {"text", R"({"","NULL",NULL,"a,b","q\"q","b\\s","{}"," lead",é🦆,[1]})",
     R"(["","NULL",null,"a,b","q\"q","b\\s","{}"," lead","é🦆","[1]"])"},
    {"text", "{\"tab\tnl\n\",\x01\x7f}",
     R"(["tab\tnl\n","\u0001)"
     "\x7f\"]"},
    {"text", "{null,Null}", R"(["null","Null"])"},
    {"text", R"({{a,b},{c,NULL}})", R"([["a","b"],["c",null]])"},
    {"text", R"({{"{x}"}})", R"([["{x}"]])"},
    {"text", "{\xff\xfe}", "[\"\xff\xfe\"]"},
    {"char", R"({"a   ","b   "})", R"(["a   ","b   "])"},
    {"citext", "{Ab}", R"(["Ab"])"},
    {"json",
     R"({"{\"a\":1.50,\"b\":[null,\"x\"]}","\"str\"",12,null,"[1,[2]]"})",
     R"([{"a":1.50,"b":[null,"x"]},"str",12,null,[1,[2]]])"},
    {"json", R"({"{\"z\": 1}",true,NULL,"\"a\\\\b\\\"c\""})",
     R"([{"z": 1},true,null,"a\\b\"c"])"},
    {"bytea", R"({"\\x00ff","\\x",NULL})", R"(["\\x00ff","\\x",null])"},
    {"timestamptz", R"({"2024-01-01 00:00:00.5+00",-infinity})",
     R"(["2024-01-01 00:00:00.5+00:00","-infinity"])"},
    {"timestamptz", R"({"0044-03-15 00:00:00+00 BC"})",
     R"(["0044-03-15 00:00:00+00:00 BC"])"},
    {"timetz", "{12:00:00+02,12:34:56+05:30}",
     R"(["12:00:00+02:00","12:34:56+05:30"])"},
    {"text", "{2024-01-01,infinity,\"0044-03-15 BC\"}",
     R"(["2024-01-01","infinity","0044-03-15 BC"])"},
    {"text", R"x({"(1,\"x y\")",NULL,"(,\"\")"})x",
     R"x(["(1,\"x y\")",null,"(,\"\")"])x"},
    {"money", R"({"$1,234.50",$0.00,-$0.01,NULL})",
     "[1234.50,0.00,-0.01,null]"},
    {"money", R"({"-$92,233,720,368,547,758.08"})", "[-92233720368547758.08]"},
    {"hstore", R"({"\"a\"=>\"1\""})", R"(["\"a\"=>\"1\""])"},
    // Arrays within domains.
    {"array(,;int)", R"({"{1,2}","{}",NULL,"[0:1]={3,4}"})",
     R"([[1,2],[],null,"[0:1]={3,4}"])"},
    {"array(,;text)", R"({"{\"a\\\\b\",\"c,d\"}"})", R"([["a\\b","c,d"]])"},
    {"array(,;array(,;int))", R"({"{\"{1}\"}"})", "[[[1]]]"},
};

TEST(ValueArray, BecomesJson) {
  for (const Case& c : kCases) {
    const std::string type = std::string("array(,;") + c.element + ")";
    EXPECT_EQ(Convert(c.text, type), std::string("text ") + c.json)
        << c.element << " " << c.text;
  }
}

TEST(ValueArray, OtherDelimiters) {
  EXPECT_EQ(Convert("{(1,1),(0,0);(2,2),(1,1)}", "array(;;text)"),
            R"x(text ["(1,1),(0,0)","(2,2),(1,1)"])x");
  EXPECT_EQ(Convert("{NULL;(1,1),(0,0)}", "array(;;text)"),
            R"x(text [null,"(1,1),(0,0)"])x");
}

TEST(ValueArray, OtherLowerBoundsKeepTheirText) {
  for (const char* text :
       {"[0:2]={1,2,3}", "[2:2][-1:0]={{1,2}}", "[0:0]={NULL}"}) {
    EXPECT_EQ(Convert(text, "array(,;int)"), std::string("text ") + text);
  }
}

TEST(ValueArray, DeepTypes) {
  std::string type = "int";
  std::string json = "1";
  std::string text = "1";
  for (int i = 0; i < 6; ++i) {
    type = absl::StrCat("array(,;", type, ")");
    json = absl::StrCat("[", json, "]");
    // What array_out does to an element with braces.
    std::string quoted;
    for (char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    text = i == 0 ? absl::StrCat("{", text, "}")
                  : absl::StrCat("{\"", quoted, "\"}");
  }
  EXPECT_EQ(Convert(text, type), "text " + json);
}

TEST(ValueArray, MalformedTextIsDataLoss) {
  struct Malformed {
    const char* element;
    const char* text;
  };
  for (const Malformed& m : {Malformed{"int", ""},
                             {"int", "1"},
                             {"int", "{"},
                             {"int", "}"},
                             {"int", "{1"},
                             {"int", "{1,"},
                             {"int", "{1,}"},
                             {"int", "{,1}"},
                             {"int", "{1,,2}"},
                             {"int", "{1}}"},
                             {"int", "{1}x"},
                             {"int", "{1} "},
                             {"int", "{1};"},
                             {"int", "{ 1}"},
                             {"int", "{a}"},
                             {"int", "{01}"},
                             {"int", "{1,{2}}"},
                             {"int", "{{1},2}"},
                             {"int", "{{1}{2}}"},
                             {"int", "{{{{{{{1}}}}}}}"},
                             {"int", "{\"1}"},
                             {"int", "{1\\}"},
                             {"real", "{0.}"},
                             {"real", "{1e}"},
                             {"real", "{.5}"},
                             {"real", "{nan}"},
                             {"numeric-text", "{1,5.}"},
                             {"bool", "{true}"},
                             {"text", "{\"}"},
                             {"text", "{\"a\\"},
                             {"text", "{a\"b}"},
                             {"text", "{a{b}"},
                             {"text", "{\"a\"b}"},
                             {"json", "{\"\"}"},
                             {"json", "{\"1}"},
                             {"money", "{1.00}"},
                             {"timestamptz", "{2024-01-01}"},
                             {"timestamptz", "{\"2024-01-01\\\"\"}"},
                             {"timetz", "{12:00:00}"},
                             {"array(,;int)", "{\"{a}\"}"},
                             {"array(,;int)", "{1}"},
                             {"array(,;int)", "{\"{1\"}"}}) {
    const std::string type = std::string("array(,;") + m.element + ")";
    EXPECT_EQ(Convert(m.text, type), "DataLoss") << m.element << " " << m.text;
  }
  EXPECT_EQ(Convert(std::string(1000000, '{'), "array(,;int)"), "DataLoss");
}

}  // namespace
}  // namespace sublite
