// JSON text for machines: log lines, `status --json`.
//
// A small face on nlohmann-json, so that its header is compiled once. Keys come
// out in the order of the calls. Text that is not UTF-8 is shown with U+FFFD in
// place of the bad bytes. Pure; a value owns what was put into it.
#ifndef SUBLITE_APPLIER_IO_JSON_LINE_H_
#define SUBLITE_APPLIER_IO_JSON_LINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sublite {

class JsonObject {
 public:
  JsonObject();
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  void AddText(std::string_view key, std::string_view value);
  void AddInt(std::string_view key, std::int64_t value);
  void AddReal(std::string_view key, double value);
  void AddBool(std::string_view key, bool value);
  void AddNull(std::string_view key);
  void AddList(std::string_view key, std::vector<JsonObject> list);

  // On one line, without a newline; or indented by two spaces.
  std::string ToLine() const;
  std::string ToIndented() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_IO_JSON_LINE_H_
