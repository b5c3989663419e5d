#include "schema/value_hstore.h"

#include <cstddef>

#include "schema/value_error.h"
#include "schema/value_json.h"

namespace sublite {
namespace {

// Moves *at past `expected`, if that is what stands there.
bool Consume(std::string_view text, std::string_view expected,
             std::size_t* at) {
  if (text.compare(*at, expected.size(), expected) != 0) return false;
  *at += expected.size();
  return true;
}

}  // namespace

absl::Status AppendHstoreAsJson(std::string_view text, std::string* json) {
  json->push_back('{');
  std::size_t at = 0;
  while (at < text.size()) {
    if (at > 0) {
      if (!Consume(text, ", ", &at)) {
        return UnexpectedText("a comma between hstore pairs", at);
      }
      json->push_back(',');
    }
    if (!Consume(text, "\"", &at) ||
        !AppendQuotedAsJsonString(text, &at, json)) {
      return UnexpectedText("a quoted hstore key", at);
    }
    json->push_back(':');
    if (at > text.size() || !Consume(text, "=>", &at)) {
      return UnexpectedText("=> after an hstore key", at);
    }
    if (Consume(text, "NULL", &at)) {
      json->append("null", 4);
    } else if (!Consume(text, "\"", &at) ||
               !AppendQuotedAsJsonString(text, &at, json)) {
      return UnexpectedText("NULL or a quoted hstore value", at);
    }
  }
  json->push_back('}');
  return absl::OkStatus();
}

}  // namespace sublite
