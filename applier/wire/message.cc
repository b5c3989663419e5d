#include "applier/wire/message.h"

#include <cstddef>

namespace sublite {
namespace {

struct Kind {
  char first_byte;
  std::string_view name;
};

// In the order of the alternatives of Message.
constexpr Kind kKinds[] = {
    {'B', "Begin"},           {'M', "Message"},
    {'C', "Commit"},          {'O', "Origin"},
    {'R', "Relation"},        {'Y', "Type"},
    {'I', "Insert"},          {'U', "Update"},
    {'D', "Delete"},          {'T', "Truncate"},
    {'S', "Stream Start"},    {'E', "Stream Stop"},
    {'c', "Stream Commit"},   {'A', "Stream Abort"},
    {'b', "Begin Prepare"},   {'P', "Prepare"},
    {'K', "Commit Prepared"}, {'r', "Rollback Prepared"},
    {'p', "Stream Prepare"},
};
static_assert(std::size(kKinds) == std::variant_size_v<Message>);

}  // namespace

std::string_view MessageName(const Message& message) {
  return kKinds[message.index()].name;
}

std::string_view MessageName(char first_byte) {
  for (const Kind& kind : kKinds) {
    if (kind.first_byte == first_byte) return kind.name;
  }
  return "";
}

}  // namespace sublite
