// A set of transaction ids for subtransactions that were rolled back: a client
// may roll back hundreds of thousands of savepoints in one transaction.
//
// Ids of one transaction are given out almost one after another, so a word of
// eight bytes holds 32 neighbours: a quarter of a byte for an id where all were
// rolled back, eight bytes where every one is alone. Insert appends; Contains
// sorts when something was inserted out of order. Threads: one.
#ifndef SUBLITE_APPLIER_XID_SET_H_
#define SUBLITE_APPLIER_XID_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "applier/wire/message.h"

namespace sublite {

class XidSet {
 public:
  void Insert(Xid xid) {
    const Word word{xid / kBits, 1u << (xid % kBits)};
    if (!words_.empty() && words_.back().place == word.place) {
      words_.back().bits |= word.bits;
      return;
    }
    if (words_.size() == words_.capacity()) {
      // Before it grows: words that came twice become one.
      Sort();
      words_.reserve(std::max<std::size_t>(16, 2 * words_.size()));
    }
    if (!words_.empty() && words_.back().place > word.place) sorted_ = false;
    words_.push_back(word);
  }

  bool Contains(Xid xid) {
    if (words_.empty()) return false;
    Sort();
    const auto found = std::lower_bound(
        words_.begin(), words_.end(), xid / kBits,
        [](const Word& word, Xid place) { return word.place < place; });
    return found != words_.end() && found->place == xid / kBits &&
           (found->bits >> (xid % kBits) & 1u) != 0;
  }

  bool empty() const { return words_.empty(); }
  std::size_t memory_bytes() const { return words_.capacity() * sizeof(Word); }

 private:
  static constexpr Xid kBits = 32;
  struct Word {
    Xid place = 0;           // the ids from place * 32 on
    std::uint32_t bits = 0;  // which of them
  };

  void Sort() {
    if (sorted_) return;
    std::sort(words_.begin(), words_.end(),
              [](const Word& a, const Word& b) { return a.place < b.place; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < words_.size(); ++i) {
      if (words_[i].place == words_[last].place) {
        words_[last].bits |= words_[i].bits;
      } else {
        words_[++last] = words_[i];
      }
    }
    words_.resize(last + 1);
    sorted_ = true;
  }

  std::vector<Word> words_;
  bool sorted_ = true;
};

}  // namespace sublite

#endif  // SUBLITE_APPLIER_XID_SET_H_
