// Nanoseconds per value, one benchmark for each kind of text.
#include <string>

#include "benchmark/benchmark.h"
#include "schema/datum.h"
#include "schema/type_map.h"
#include "schema/value.h"
#include "tests/schema/codec.h"

namespace sublite {
namespace {

void Run(benchmark::State& state, const char* encoded,
         const std::string& text) {
  const ColumnType type = testing::TypeOf(encoded);
  Datum datum;
  datum.kind = Datum::Kind::kText;
  datum.bytes = text;
  std::string scratch;
  SqlValue value;
  for (auto _ : state) {
    benchmark::DoNotOptimize(datum);
    if (!ToSqlValue(datum, type, &scratch, &value).ok()) {
      state.SkipWithError("not converted");
    }
    benchmark::DoNotOptimize(value);
  }
  state.SetBytesProcessed(state.iterations() * text.size());
}

BENCHMARK_CAPTURE(Run, int_small, "int", "42");
BENCHMARK_CAPTURE(Run, int_large, "int", "1234567890123456789");
BENCHMARK_CAPTURE(Run, boolean, "bool", "t");
BENCHMARK_CAPTURE(Run, real, "real", "3.141592653589793");
BENCHMARK_CAPTURE(Run, numeric, "numeric(12,2)", "12345.67");
BENCHMARK_CAPTURE(Run, numeric_whole, "numeric(12,2)", "12345.00");
BENCHMARK_CAPTURE(Run, numeric_text, "numeric-text", "12345.6700000000000000");
BENCHMARK_CAPTURE(Run, numeric_real, "numeric-real", "12345.6700000000000000");
BENCHMARK_CAPTURE(Run, money, "money", "$12,345.67");
BENCHMARK_CAPTURE(Run, text, "text", "an ordinary line of text");
BENCHMARK_CAPTURE(Run, timestamptz, "timestamptz",
                  "2024-02-29 12:34:56.789012+00");
BENCHMARK_CAPTURE(Run, timetz, "timetz", "12:34:56.789012+02");
BENCHMARK_CAPTURE(Run, bytea_16, "bytea",
                  "\\x000102030405060708090a0b0c0d0e0f");
BENCHMARK_CAPTURE(Run, bytea_64k, "bytea",
                  "\\x" + std::string(std::size_t{2} << 16, 'a'));
BENCHMARK_CAPTURE(Run, array_int, "array(,;int)", "{1,22,333,4444,55555}");
BENCHMARK_CAPTURE(Run, array_text, "array(,;text)",
                  "{red,\"light green\",\"q\\\"q\",NULL}");
BENCHMARK_CAPTURE(Run, hstore, "hstore",
                  "\"colour\"=>\"red\", \"size\"=>\"12\", \"x\"=>NULL");

}  // namespace
}  // namespace sublite

BENCHMARK_MAIN();
