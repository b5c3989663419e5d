// The only places where an identifier or a literal becomes SQL text.
//
// Inputs are names as the catalogs hold them (UTF-8, any byte but NUL). Outputs
// are safe to paste into a statement of the named dialect. SQLite and
// PostgreSQL quote identifiers alike: in double quotes, each inner one doubled.
#ifndef SUBLITE_SCHEMA_IDENTIFIER_H_
#define SUBLITE_SCHEMA_IDENTIFIER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sublite {

// "a""b" for a"b; for SQLite and for PostgreSQL.
std::string QuoteIdentifier(std::string_view name);

// 'it''s' for it's; E'..' is never needed since PostgreSQL sessions here run
// with standard_conforming_strings on, and START_REPLICATION's grammar has no
// escapes at all.
std::string QuoteLiteral(std::string_view text);

// The value of START_REPLICATION's publication_names: identifiers quoted and
// joined with commas ("a","b""c"), not yet a literal. pgoutput splits it by
// SplitIdentifierString.
std::string QuoteIdentifierList(const std::vector<std::string>& names);

// Lower-cases ASCII letters only, as SQLite does when it compares names.
std::string FoldForSqlite(std::string_view name);

// A legal slot name (lower-case letters, digits, underscore, at most 63 bytes)
// made from any text: `sublite_` + the text with every other character turned
// into `_`.
std::string DefaultSlotName(std::string_view database_path);

// The SQLite name of a publisher table by CONTRACT.md section 2, unless the
// configuration names it otherwise.
std::string SqliteTableName(std::string_view pg_schema,
                            std::string_view pg_table,
                            std::string_view separator);

// SQLite column names for `names`, in order: a name that equals an earlier one
// but for ASCII case takes the suffix `_2`,
// `_3`, … (the first that is free).
std::vector<std::string> SqliteColumnNames(
    const std::vector<std::string>& names);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_IDENTIFIER_H_
