// A sequence of messages out of a fuzzer's bytes.
//
// The bytes are a little program, so that most inputs are sequences that a
// publisher could send and a changed byte makes another such sequence. The
// first byte is the connection's options, then come operations:
//
//     operation | operands, one byte each and as many as it takes
//
// Missing bytes are zero. An operation's low five bits are its kind (Op), and
//     0x80  loose: the message is made although it cannot come here; without it
//           what is open is closed first, or a transaction is opened, and a
//           choice is made among what there is
//     0x40  the relation of a change is not described first where it is unknown
//     0x20  twist: two further bytes behind the operands; the message's byte at
//           the place of the first is changed by the second (XOR), or the
//           message is cut there if that is zero
// Op::kRaw is followed by a 16-bit length (low byte first) and a message as it
// is on the wire: what the seeds take from the golden captures.
//
// What a message is made of comes from the model of the connection (which
// transaction is open, what has been described), so the target has to hand each
// event to the model before it asks for the next.
#ifndef SUBLITE_TESTS_FUZZ_SEQUENCE_H_
#define SUBLITE_TESTS_FUZZ_SEQUENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "applier/wire/decode.h"
#include "tests/fuzz/fuzz_tables.h"
#include "tests/fuzz/stream_model.h"

namespace sublite::testing {

enum class Op : std::uint8_t {
  kInsert,
  kUpdate,
  kDelete,
  kTruncate,
  kRelation,
  kBegin,
  kCommit,
  kStreamStart,
  kStreamStop,
  kStreamCommit,
  kStreamAbort,
  kBeginPrepare,
  kPrepare,
  kStreamPrepare,
  kCommitPrepared,
  kRollbackPrepared,
  kMessage,
  kOrigin,
  kType,
  kKeepalive,
  kTick,
  kReconnect,
  kCatalog,
  kRaw,
  kCount,  // what is more is taken modulo this
};

// What a copy of a table would find from now on.
struct CatalogAnswer {
  enum class Kind { kRows, kWider, kNotPublished, kLost, kProblem };
  int table = 0;
  Kind kind = Kind::kRows;
  int rows = 9;         // the first so many of FuzzRows
  Xid in_progress = 0;  // in its snapshot; 0: none
  Lsn position{0x100};
};

struct Event {
  enum class Kind { kMessage, kKeepalive, kTick, kReconnect, kCatalog };
  Kind kind = Kind::kMessage;
  std::string message;
  Lsn wal_end;
  bool reply = false;
  bool more = false;    // kTick: frames wait from now on
  int seconds = 0;      // kTick: that passed
  bool finish = false;  // kReconnect: in an orderly way
  bool again = false;   // kReconnect: all of the connection is sent again
  CatalogAnswer catalog;
};

class Sequence {
 public:
  // Both must outlive it. `start`: the position that the connection begins at.
  Sequence(std::string_view input, const StreamModel& model, Lsn start);

  const DecodeContext& context() const { return context_; }
  bool keep_messages() const { return keep_messages_; }

  // None at the end.
  std::optional<Event> Next();

 private:
  using State = StreamModel::State;
  struct Prepared {
    Xid xid;
    std::string gid;
    Lsn end;
  };

  int Byte();
  int At(std::size_t i) const {
    return i < operands_.size() ? operands_[i] : 0;
  }
  void Fetch();
  // What has to come before the operation; "" when nothing has.
  std::string First();
  std::string CloseOpen();
  std::optional<Event> Make();
  std::string MakeMessage();
  std::string MakeChange();
  std::string MakeRelation();
  std::string MakePrepared();
  std::string MakeRaw();
  encode::Values Row(std::size_t first);
  encode::Value Value(int byte, Oid type);
  std::string Text(char c, std::size_t big, std::size_t small, int byte);

  bool stream() const { return model_.state() == State::kStream; }
  bool idle() const { return model_.state() == State::kIdle; }
  bool NeedsIdle() const;
  bool IsChange() const;
  encode::MaybeXid Subxid(int byte) const;
  Xid Xids(int byte) const;
  int Table() const { return (At(0) & 7) % kAllTables; }
  Oid OidOf(int table) const { return FuzzTable(table).oid; }
  Lsn Later(int steps);

  std::string_view input_;
  const StreamModel& model_;
  DecodeContext context_;
  bool keep_messages_ = false;
  Lsn lsn_;
  bool fetched_ = false;
  Op op_ = Op::kInsert;
  bool loose_ = false;
  bool undescribed_ = false;
  bool twist_ = false;
  std::vector<int> operands_;
  std::string raw_;
  int prefixes_ = 0;
  int big_left_ = 3;   // values that fill a spool's memory
  int huge_left_ = 1;  // values larger than what is read from its file at once
  std::vector<Prepared> prepared_;
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_FUZZ_SEQUENCE_H_
