#include "schema/value_binary_search.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "schema/value_binary_number.h"

namespace sublite {
namespace {

constexpr std::uint8_t kOperand = 1;
constexpr std::uint8_t kOperator = 2;
// An operator with its type and the shortest operand behind it.
constexpr std::size_t kItemBytesMin = 2;
constexpr std::size_t kLexemeBytesMin = 3;
// PostgreSQL holds the operands of a query in 1 MiB, and each has a zero byte;
// operators are not many more.
constexpr std::uint32_t kItemsMax = 1 << 22;

enum Operator : std::uint8_t { kNot = 1, kAnd = 2, kOr = 3, kPhrase = 4 };

// By Operator; what binds more tightly has the higher number.
constexpr int kPriorities[] = {0, 4, 2, 1, 3};

// An operand or operator of a tsquery.
struct Item {
  std::uint8_t type = 0;
  std::uint8_t operation = 0;
  std::uint8_t weights = 0;
  bool prefix = false;
  std::int16_t distance = 0;
  std::string_view lexeme;
  // Of an operator with two operands: its left one. The right one, or the only
  // one, is the next item.
  std::size_t left = 0;
};

void AppendLexeme(std::string_view lexeme, std::string* text) {
  text->push_back('\'');
  for (const char c : lexeme) {
    if (c == '\'' || c == '\\') text->push_back(c);
    text->push_back(c);
  }
  text->push_back('\'');
}

bool ReadItem(BinaryReader* in, Item* item) {
  item->type = in->U8();
  if (item->type == kOperand) {
    item->weights = in->U8();
    item->prefix = in->U8() != 0;
    item->lexeme = in->CString();
    return in->ok();
  }
  item->operation = in->U8();
  if (item->operation == kPhrase) item->distance = in->I16();
  return in->ok() && item->type == kOperator && item->operation >= kNot &&
         item->operation <= kPhrase;
}

// Finds the left operands. The items are in prefix notation, so that they are
// found from the end. False if the operators do not have what they need.
bool LinkOperands(std::vector<Item>* items) {
  std::vector<std::size_t> operands;
  for (std::size_t i = items->size(); i-- > 0;) {
    Item& item = (*items)[i];
    const std::size_t needed = item.type == kOperand    ? 0
                               : item.operation == kNot ? 1
                                                        : 2;
    if (operands.size() < needed) return false;
    if (needed == 2) item.left = operands[operands.size() - 2];
    operands.resize(operands.size() - needed);
    operands.push_back(i);
  }
  return operands.size() == 1;
}

void AppendOperand(const Item& item, std::string* text) {
  AppendLexeme(item.lexeme, text);
  if (item.weights == 0 && !item.prefix) return;
  text->push_back(':');
  if (item.prefix) text->push_back('*');
  for (int weight = 3; weight >= 0; --weight) {
    if ((item.weights & (1 << weight)) != 0) text->push_back("DCBA"[weight]);
  }
}

void AppendOperator(const Item& item, std::string* text) {
  if (item.operation == kAnd) {
    text->append(" & ");
  } else if (item.operation == kOr) {
    text->append(" | ");
  } else if (item.distance == 1) {
    text->append(" <-> ");
  } else {
    text->append(" <");
    AppendInteger(item.distance, text);
    text->append("> ");
  }
}

// What is still to be printed, the next on top.
struct Step {
  enum class Kind : std::uint8_t { kItem, kOperator, kClose };
  Kind kind;
  std::size_t item = 0;
  int outer_priority = 0;
  bool right_of_phrase = false;
};

void AppendItems(const std::vector<Item>& items, std::string* text) {
  std::vector<Step> steps = {{Step::Kind::kItem, 0, -1, false}};
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    if (step.kind == Step::Kind::kClose) {
      text->append(" )");
      continue;
    }
    const Item& item = items[step.item];
    if (step.kind == Step::Kind::kOperator) {
      AppendOperator(item, text);
      continue;
    }
    if (item.type == kOperand) {
      AppendOperand(item, text);
      continue;
    }
    const int priority = kPriorities[item.operation];
    // a <-> (b <-> c) is not (a <-> b) <-> c.
    if (priority < step.outer_priority ||
        (item.operation == kPhrase && step.right_of_phrase)) {
      text->append("( ");
      steps.push_back({Step::Kind::kClose});
    }
    const std::size_t next = step.item + 1;
    if (item.operation == kNot) {
      text->push_back('!');
      steps.push_back({Step::Kind::kItem, next, priority, false});
      continue;
    }
    steps.push_back(
        {Step::Kind::kItem, next, priority, item.operation == kPhrase});
    steps.push_back({Step::Kind::kOperator, step.item});
    steps.push_back({Step::Kind::kItem, item.left, priority, false});
  }
}

}  // namespace

void AppendTsvector(BinaryReader* in, std::string* text) {
  const std::uint32_t count = in->U32();
  if (count > in->remaining() / kLexemeBytesMin) return in->Fail();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) text->push_back(' ');
    AppendLexeme(in->CString(), text);
    const int positions = in->U16();
    for (int j = 0; j < positions && in->ok(); ++j) {
      text->push_back(j == 0 ? ':' : ',');
      // Two bits of weight, D to A, and 14 of position.
      const unsigned position = in->U16();
      AppendInteger(position & 0x3FFF, text);
      const unsigned weight = position >> 14;
      if (weight > 0) text->push_back("DCBA"[weight]);
    }
    if (!in->ok()) return;
  }
}

void AppendTsquery(BinaryReader* in, std::string* text) {
  const std::uint32_t count = in->U32();
  if (count > in->remaining() / kItemBytesMin || count > kItemsMax) {
    return in->Fail();
  }
  std::vector<Item> items(count);
  for (Item& item : items) {
    if (!ReadItem(in, &item)) return in->Fail();
  }
  if (items.empty()) return;
  if (!LinkOperands(&items)) return in->Fail();
  AppendItems(items, text);
}

}  // namespace sublite
