// The one codec: a datum as sent to the value that SQLite stores, for copied
// and for streamed rows, text and binary, alike.
//
// Exact or an error: no value is rounded, cut or guessed (setting `numeric =
// real` excepted). Text is expected in the session settings of CONTRACT.md
// section 3; the connection sees to that.
#ifndef SUBLITE_SCHEMA_VALUE_H_
#define SUBLITE_SCHEMA_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "schema/datum.h"
#include "schema/type_map.h"

namespace sublite {

// What is bound to a statement. `bytes` points into the datum or into the
// scratch given to ToSqlValue; for text and blobs its pointer is never null,
// not even where it is empty, since SQLite would bind that as NULL.
struct SqlValue {
  enum class Kind : std::uint8_t { kNull, kInteger, kReal, kText, kBlob };
  Kind kind = Kind::kNull;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view bytes;
};

// Converts `datum` (not kUnchanged) to `*value`. `*scratch` is overwritten
// where the value needs bytes of its own; it must live as long as `*value`, so
// each column of a row needs its own (reused from row to row).
//
// Errors: DataLoss where the text is not what PostgreSQL prints for that type,
// or the bytes not what it sends (it says what was expected and an offset,
// never the value itself); Unimplemented for a binary datum of a type without a
// binary decoder.
absl::Status ToSqlValue(const Datum& datum, const ColumnType& type,
                        std::string* scratch, SqlValue* value);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_VALUE_H_
