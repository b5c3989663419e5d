#include "schema/sql_value_json.h"

#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "schema/status.h"
#include "schema/value_float.h"
#include "schema/value_json.h"

namespace sublite {

void AppendTextAsJson(std::string_view text, std::string* json) {
  AppendJsonString(text, json);
}

void AppendSqlValueAsJson(const SqlValue& value, std::string* json) {
  switch (value.kind) {
    case SqlValue::Kind::kNull:
      json->append("null");
      return;
    case SqlValue::Kind::kInteger:
      absl::StrAppend(json, value.integer);
      return;
    case SqlValue::Kind::kReal: {
      const char* quote = std::isfinite(value.real) ? "" : "\"";
      json->append(quote);
      AppendFloat8(value.real, json);
      json->append(quote);
      return;
    }
    case SqlValue::Kind::kText:
      AppendJsonString(value.bytes, json);
      return;
    case SqlValue::Kind::kBlob:
      absl::StrAppend(json, "\"\\\\x",
                      absl::BytesToHexString(View(value.bytes)), "\"");
      return;
  }
}

}  // namespace sublite
