// The facts of each BinaryForm: its name in the file, its name in errors, and
// the types of pg_catalog that have it.
//
// Facts relied on: the *send functions of PostgreSQL 14 to 18.
#ifndef SUBLITE_SCHEMA_BINARY_FORM_H_
#define SUBLITE_SCHEMA_BINARY_FORM_H_

#include <string_view>

#include "schema/type_map.h"

namespace sublite {

// The name that ColumnType::Encode gives it; "" for kNone.
std::string_view FormName(BinaryForm form);

// The form of that name. False if there is none.
bool FormNamed(std::string_view name, BinaryForm* form);

// "a date in binary form", for what is expected where the bytes are none.
const char* FormExpected(BinaryForm form);

// The form of the type `name` of pg_catalog, if it is one that needs no other
// type's facts; kNone where it has none, or another one in each server version
// and the version is not known.
BinaryForm BuiltinForm(std::string_view name, int server_version);

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_BINARY_FORM_H_
