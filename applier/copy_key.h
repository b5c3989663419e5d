// A row's primary key in a form that compares here as PostgreSQL compares it.
//
// Which keys can be compared decides which tables are copied in chunks: those
// of integers, uuids, dates and timestamps (domains over them too). Text
// cannot: its order is that of the publisher's collation.
//
// Pure. Threads: any.
#ifndef SUBLITE_APPLIER_COPY_KEY_H_
#define SUBLITE_APPLIER_COPY_KEY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "schema/type_map.h"
#include "schema/value.h"

namespace sublite {

// The value of one key column. Values of one column compare by number, then by
// bytes:
//   an integer            is the number
//   a uuid                is the text
//   a date or timestamp   is its year as the number (1 BC is 0; infinity is the
//                         largest, -infinity the smallest), and what follows it
struct CopyKeyPart {
  CopyKeyPart() = default;
  CopyKeyPart(std::int64_t integer) : number(integer) {}  // NOLINT: as a value
  CopyKeyPart(std::int64_t year, std::string rest)
      : number(year), text(std::move(rest)) {}

  std::int64_t number = 0;
  std::string text;

  friend bool operator==(const CopyKeyPart& a, const CopyKeyPart& b) {
    return a.number == b.number && a.text == b.text;
  }
  friend bool operator<(const CopyKeyPart& a, const CopyKeyPart& b) {
    return a.number != b.number ? a.number < b.number : a.text < b.text;
  }
};

// The primary key's values in its order.
using CopyKey = std::vector<CopyKeyPart>;

// Whether values of the type can be compared.
bool IsCopyKeyType(const ColumnType& type);

// A value as it is stored (ToSqlValue), of a type that can be compared.
// OutOfRange for NULL, and where it is not what such a type stores.
absl::StatusOr<CopyKeyPart> ToCopyKeyPart(const SqlValue& value,
                                          const ColumnType& type);
// The value as text, which PostgreSQL reads.
std::string CopyKeyText(const CopyKeyPart& part, const ColumnType& type);

// For the file: `5,-7`, `0x61`: the number, and the text in hexadecimal where
// there is one; "" for an empty key. DataLoss for anything else.
std::string FormatCopyKey(const CopyKey& key);
absl::StatusOr<CopyKey> ParseCopyKey(std::string_view text);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_COPY_KEY_H_
