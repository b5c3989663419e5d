// Seeds of the targets that take sequences: every golden capture as raw
// messages, and programs that walk through what transactions can do.
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sequence.h"
#include "tests/wire/golden.h"

namespace sublite::testing {
namespace {

// A little assembler for the programs.
class Program {
 public:
  explicit Program(int options = 0) { Put(options); }
  Program& Do(Op op, const std::vector<int>& operands = {}, int flags = 0) {
    Put(static_cast<int>(op) | flags);
    for (int operand : operands) Put(operand);
    return *this;
  }
  Program& Raw(const std::string& message) {
    Do(Op::kRaw, {static_cast<int>(message.size() & 0xff),
                  static_cast<int>(message.size() >> 8)});
    bytes_ += message;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Put(int byte) { bytes_ += static_cast<char>(byte); }
  std::string bytes_;
};

constexpr std::size_t kRawMax = 0xffff;
constexpr std::size_t kSeedMax = 500;

// A capture in pieces: what a piece lacks of its beginning makes sequences that
// cannot be, which are wanted as well.
void AddCapture(const GoldenCapture& capture, std::set<std::string>* seeds) {
  if (capture.frames.empty()) return;
  const DecodeContext& context = capture.frames.front().context;
  const int options =
      4 - context.protocol_version + (context.parallel_streaming ? 4 : 0) + 8;
  Program program(options);
  for (const GoldenFrame& frame : capture.frames) {
    if (frame.payload.empty() || frame.payload.size() > kRawMax) continue;
    program.Raw(frame.payload);
    if (program.bytes().size() < kSeedMax) continue;
    seeds->insert(program.bytes());
    program = Program(options);
  }
  seeds->insert(program.bytes());
}

std::vector<Program> Plain() {
  return {
      Program()
          .Do(Op::kBegin, {0, 0})
          .Do(Op::kInsert, {0, 5, 1, 2})
          .Do(Op::kUpdate, {0, 0, 0, 0, 0, 5, 2, 9})
          .Do(Op::kDelete, {0, 0, 1, 8, 8})
          .Do(Op::kCommit)
          .Do(Op::kInsert, {1, 1, 2})
          .Do(Op::kUpdate, {1, 0, 1, 2, 0, 3, 9, 0})
          .Do(Op::kDelete, {1, 0, 1, 2, 0})
          .Do(Op::kInsert, {2, 1, 5, 2})
          .Do(Op::kUpdate, {2, 2, 8, 5, 8, 1, 6, 9})
          .Do(Op::kDelete, {2, 0, 8, 6, 8})
          .Do(Op::kInsert, {3, 1, 2})
          .Do(Op::kTruncate, {9})
          .Do(Op::kCommit)
          .Do(Op::kTick, {0}),
      Program(8)
          .Do(Op::kMessage, {0, 1})
          .Do(Op::kMessage, {1, 2})
          .Do(Op::kOrigin, {0})
          .Do(Op::kType)
          .Do(Op::kCommit)
          .Do(Op::kKeepalive, {0x41})
          .Do(Op::kTick, {0x41})
          .Do(Op::kInsert, {4, 1, 2, 3})
          .Do(Op::kReconnect, {2})
          .Do(Op::kInsert, {0, 6, 1, 1})
          .Do(Op::kReconnect, {3}),
      Program()
          .Do(Op::kCatalog, {0x10, 2, 0, 3})
          .Do(Op::kRelation, {0, static_cast<int>(Variant::kWider), 0})
          .Do(Op::kInsert, {0, 5, 1, 2})
          .Do(Op::kCommit)
          .Do(Op::kInsert, {0, 6, 1, 2})
          .Do(Op::kCommit)
          .Do(Op::kRelation, {1, static_cast<int>(Variant::kIdentity), 2})
          .Do(Op::kUpdate, {1, 2, 1, 2, 0, 1, 3, 0})
          .Do(Op::kCatalog, {1, 2, 0, 3})
          .Do(Op::kInsert, {1, 10, 1})
          .Do(Op::kCommit),
  };
}

std::vector<Program> Streamed() {
  return {
      Program()
          .Do(Op::kStreamStart, {0})
          .Do(Op::kInsert, {0x10, 5, 1, 2})
          .Do(Op::kInsert, {0x20, 6, 1, 2})
          .Do(Op::kStreamStop)
          .Do(Op::kStreamStart, {1})
          .Do(Op::kInsert, {0x01, 5, 0xfe})
          .Do(Op::kStreamAbort, {0, 1})
          .Do(Op::kInsert, {0, 7, 1, 1})
          .Do(Op::kStreamCommit, {0})
          .Do(Op::kStreamAbort, {0, 0})
          .Do(Op::kTick, {0}),
      Program(4)
          .Do(Op::kStreamStart, {2})
          .Do(Op::kInsert, {0x12, 5, 0xff, 0xfd})
          .Do(Op::kUpdate, {0x22, 2, 8, 5, 8, 1, 6, 9})
          .Do(Op::kTruncate, {3})
          .Do(Op::kStreamStop)
          .Do(Op::kStreamAbort, {0, 2})
          .Do(Op::kStreamPrepare, {0, 1})
          .Do(Op::kReconnect, {3})
          .Do(Op::kCommitPrepared, {0})
          .Do(Op::kReconnect, {2}),
  };
}

std::vector<Program> PreparedOnes() {
  return {
      Program()
          .Do(Op::kBeginPrepare, {3, 1})
          .Do(Op::kInsert, {0, 5, 1, 2})
          .Do(Op::kRelation, {1, 0, 0})
          .Do(Op::kInsert, {1, 5, 1})
          .Do(Op::kPrepare)
          .Do(Op::kBeginPrepare, {4, 1})
          .Do(Op::kDelete, {0, 0, 1, 8, 8})
          .Do(Op::kPrepare)
          .Do(Op::kInsert, {0, 6, 1, 2})
          .Do(Op::kRollbackPrepared, {1})
          .Do(Op::kCommitPrepared, {0})
          .Do(Op::kReconnect, {2}),
      Program()
          .Do(Op::kPrepare, {1, 1})
          .Do(Op::kCommitPrepared, {0})
          .Do(Op::kRollbackPrepared, {5}),
      // What cannot be.
      Program()
          .Do(Op::kInsert, {0, 5, 1, 2})
          .Do(Op::kStreamStart, {0}, 0x80)
          .Do(Op::kStreamStart, {200}, 0x80)
          .Do(Op::kCommit, {}, 0x80)
          .Do(Op::kInsert, {1, 5, 1}, 0xc0)
          .Do(Op::kInsert, {0, 5, 1, 2, 3, 0}, 0x20)
          .Do(Op::kInsert, {0, 5, 1, 2, 9, 1}, 0x20)
          .Do(Op::kBegin, {0, 0xf0})
          .Do(Op::kDelete, {0, 0, 1, 8, 8})
          .Do(Op::kStreamCommit, {0}, 0x80)
          .Do(Op::kStreamPrepare, {0, 0}, 0x80)
          .Do(Op::kPrepare, {0, 0}, 0x80),
  };
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::set<std::string> seeds;
  for (const GoldenCapture& capture : GoldenCaptures()) {
    AddCapture(capture, &seeds);
  }
  for (const std::vector<Program>& programs :
       {Plain(), Streamed(), PreparedOnes()}) {
    for (const Program& program : programs) seeds.insert(program.bytes());
  }
  return {seeds.begin(), seeds.end()};
}

}  // namespace sublite::testing
