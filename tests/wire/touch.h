// Reads every byte that a decoded message gives, so that a sanitizer sees a
// view that points outside of its frame.
#ifndef SUBLITE_TESTS_WIRE_TOUCH_H_
#define SUBLITE_TESTS_WIRE_TOUCH_H_

#include <cstdint>
#include <string_view>
#include <variant>

#include "applier/wire/message.h"

namespace sublite::testing {

class Toucher {
 public:
  std::uint64_t sum() const { return sum_; }

  void Bytes(std::string_view bytes) {
    for (const char byte : bytes)
      sum_ = sum_ * 31 + static_cast<unsigned>(byte);
  }
  void Row(Tuple tuple) {
    for (const Datum& datum : tuple) Bytes(datum.bytes);
  }

  void operator()(const LogicalMessage& m) {
    Bytes(m.prefix), Bytes(m.content);
  }
  void operator()(const OriginMessage& m) { Bytes(m.name); }
  void operator()(const RelationMessage& m) {
    Bytes(m.pg_namespace), Bytes(m.name);
    for (const RelationColumn& column : m.columns) Bytes(column.name);
  }
  void operator()(const TypeMessage& m) {
    Bytes(m.pg_namespace), Bytes(m.name);
  }
  void operator()(const InsertMessage& m) { Row(m.new_tuple); }
  void operator()(const UpdateMessage& m) {
    Row(m.old_tuple), Row(m.new_tuple);
  }
  void operator()(const DeleteMessage& m) { Row(m.old_tuple); }
  void operator()(const TruncateMessage& m) {
    for (const Oid relation : m.relations) sum_ += relation;
  }
  void operator()(const BeginPrepareMessage& m) { Bytes(m.gid); }
  void operator()(const PrepareMessage& m) { Bytes(m.gid); }
  void operator()(const CommitPreparedMessage& m) { Bytes(m.gid); }
  void operator()(const RollbackPreparedMessage& m) { Bytes(m.gid); }
  void operator()(const StreamPrepareMessage& m) { Bytes(m.gid); }
  // The others hold numbers only.
  template <typename Numbers>
  void operator()(const Numbers&) {}

 private:
  std::uint64_t sum_ = 0;
};

inline std::uint64_t Touch(const Message& message) {
  Toucher toucher;
  std::visit(toucher, message);
  return toucher.sum();
}

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_WIRE_TOUCH_H_
