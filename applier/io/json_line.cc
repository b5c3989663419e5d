#include "applier/io/json_line.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace sublite {

struct JsonObject::Content {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
};

JsonObject::JsonObject() : content_(std::make_unique<Content>()) {}
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

void JsonObject::AddText(std::string_view key, std::string_view value) {
  content_->object[std::string(key)] = std::string(value);
}

void JsonObject::AddInt(std::string_view key, std::int64_t value) {
  content_->object[std::string(key)] = value;
}

void JsonObject::AddReal(std::string_view key, double value) {
  content_->object[std::string(key)] = value;
}

void JsonObject::AddBool(std::string_view key, bool value) {
  content_->object[std::string(key)] = value;
}

void JsonObject::AddNull(std::string_view key) {
  content_->object[std::string(key)] = nullptr;
}

void JsonObject::AddList(std::string_view key, std::vector<JsonObject> list) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (JsonObject& element : list) {
    array.push_back(std::move(element.content_->object));
  }
  content_->object[std::string(key)] = std::move(array);
}

std::string JsonObject::ToLine() const {
  return content_->object.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string JsonObject::ToIndented() const {
  return content_->object.dump(
      2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sublite
