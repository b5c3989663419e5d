// Every kind of change at every moment of a copy in chunks, ahead of it, in it,
// and across its border.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/chunk_fixture.h"

namespace sublite::testing {
namespace {

// Rows 10 to 60; a composite key is one whose order is that of `id`.
class PipelineChunkChangesTest
    : public ChunkFixture,
      public ::testing::WithParamInterface<std::tuple<char, bool, bool>> {
 protected:
  using Op = std::function<void()>;

  char identity() const { return std::get<0>(GetParam()); }
  bool composite() const { return std::get<1>(GetParam()); }
  bool streamed() const { return std::get<2>(GetParam()); }

  void SetUp() override {
    ChunkFixture::SetUp();
    if (streamed()) {
      publisher_.batch = 7;
      publisher_.lookahead = 30;
      publisher_.stream_per_mille = 500;
    }
    t_ = AddTable(
        "t", identity(),
        composite() ? std::vector<std::string>{"v text", "b int8 k", "a int4 K"}
                    : std::vector<std::string>{"v text", "id int4 k"});
    other_ = AddTable("other", 'd', {"v text k"});
    std::vector<ModelRow> rows;
    for (int id = 10; id <= 60; id += 10) rows.push_back(Row(id, "old"));
    Insert(t_, rows);
  }

  ModelRow Row(int id, const std::string& v) const {
    if (composite()) {
      return {v, std::to_string(id % 20 - 10), std::to_string(id / 20 - 1)};
    }
    return {v, std::to_string(id)};
  }
  std::string Key(int id) const {
    const ModelRow row = Row(id, "");
    return composite() ? absl::StrCat(*row[2], ",", *row[1]) : *row[1];
  }
  int Find(FullXid xid, int id) {
    const ModelRow wanted = Row(id, "");
    const auto& rows = model_.tables()[t_].rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ModelRow values = rows[i].values;
      values[0] = "";
      if (model_.SeesRow(xid, rows[i]) && values == wanted)
        return static_cast<int>(i);
    }
    ADD_FAILURE() << "the model has no row " << id;
    return 0;
  }
  void Add(FullXid xid, int id) {
    EXPECT_TRUE(model_.Insert(xid, t_, Row(id, "new"))) << id;
  }
  void Move(FullXid xid, int from, int to, const std::string& v = "moved") {
    EXPECT_TRUE(model_.Update(xid, t_, Find(xid, from), Row(to, v)))
        << from << " to " << to;
  }
  void Remove(FullXid xid, int id) {
    EXPECT_TRUE(model_.Delete(xid, t_, Find(xid, id))) << id;
  }

  std::vector<Op> Operations() {
    return {
        [&] {
          for (int id : {5, 15, 25, 45, 65})
            Change([&](FullXid xid) { Add(xid, id); });
        },
        [&] {
          Change([&](FullXid xid) {
            for (int id : {10, 20, 30, 40, 50, 60}) Move(xid, id, id, "new");
          });
        },
        [&] {
          for (int id : {10, 30, 60})
            Change([&](FullXid xid) { Remove(xid, id); });
        },
        // Forwards, backwards, and both at once.
        [&] {
          Change([&](FullXid xid) { Move(xid, 10, 35); });
          Change([&](FullXid xid) { Move(xid, 20, 65); });
        },
        [&] {
          Change([&](FullXid xid) { Move(xid, 60, 5); });
          Change([&](FullXid xid) { Move(xid, 30, 15); });
        },
        [&] {
          Change([&](FullXid xid) {
            Move(xid, 10, 79);
            Move(xid, 50, 10);
            Move(xid, 79, 50);
          });
        },
        // One row several times, in one transaction and in several.
        [&] {
          Change([&](FullXid xid) {
            Remove(xid, 10);
            Add(xid, 10);
            Remove(xid, 50);
            Add(xid, 50);
            Move(xid, 50, 51);
          });
          Change([&](FullXid xid) { Move(xid, 51, 11, "once more"); });
          Change([&](FullXid xid) { Move(xid, 11, 51, "and back"); });
          Change([&](FullXid xid) { Remove(xid, 51); });
        },
        // What is undone, and what ends in another order than it began.
        [&] {
          const FullXid first = model_.Begin();
          Move(first, 10, 45);
          const FullXid second = model_.Begin();
          Move(second, 50, 15);
          const FullXid undone = model_.Savepoint(second);
          Remove(second, 20);
          model_.RollbackTo(second, undone);
          model_.Commit(second);
          Insert(other_, {{absl::StrCat("between ", ++others_)}});
          const FullXid third = model_.Begin();
          Remove(third, 40);
          model_.Abort(third);
          model_.Commit(first);
        },
        [&] {
          Change([&](FullXid xid) {
            EXPECT_TRUE(model_.Truncate(xid, {t_}));
            Add(xid, 10);
            Add(xid, 50);
          });
        },
        [&] {
          const FullXid xid = model_.Begin();
          Move(xid, 10, 35);
          Move(xid, 60, 15);
          Remove(xid, 20);
          model_.Prepare(xid, "g");
          Insert(other_, {{absl::StrCat("between ", ++others_)}});
          model_.CommitPrepared(xid);
        },
    };
  }

  int t_ = 0;
  int other_ = 0;
  int others_ = 0;
};

TEST_P(PipelineChunkChangesTest, TheReplicaIsThePublisher) {
  Caught();
  const std::vector<Op> operations = Operations();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (const Moment moment :
         {Moment::kBetween, Moment::kBefore, Moment::kDuring}) {
      for (const int upto : {0, 20, 40, 60}) {
        // Before the first chunk there is nothing to look at.
        if (upto == 0 && moment == Moment::kBetween) continue;
        SCOPED_TRACE(absl::StrCat("operation ", i, ", moment ",
                                  static_cast<int>(moment), " at ", upto));
        Change([&](FullXid xid) {
          EXPECT_TRUE(model_.Truncate(xid, {t_}));
          for (int id = 10; id <= 60; id += 10) {
            EXPECT_TRUE(model_.Insert(xid, t_, Row(id, "old")));
          }
        });
        Caught();
        Write(
            "insert into sublite_requests (kind, argument, at) values "
            "('resync', (select id from sublite_tables where pg_table = 't'), "
            "'')");
        At(moment, upto == 0 ? "" : Key(upto), operations[i]);
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, PipelineChunkChangesTest,
                         ::testing::Values(std::tuple('d', false, false),
                                           std::tuple('d', true, true),
                                           std::tuple('f', false, true),
                                           std::tuple('f', true, false)));

}  // namespace
}  // namespace sublite::testing
