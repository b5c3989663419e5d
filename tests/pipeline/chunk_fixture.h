// What the tests of copies in chunks share: tables with rows 10, 20, … that are
// copied two rows at a time, and the moments at which something happens to
// them.
#ifndef SUBLITE_TESTS_PIPELINE_CHUNK_FIXTURE_H_
#define SUBLITE_TESTS_PIPELINE_CHUNK_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/pipeline/pipeline_fixture.h"

namespace sublite::testing {

class ChunkFixture : public PipelineFixture {
 protected:
  // When a change happens; the stream brings it after that.
  enum class Moment {
    kBetween,  // the stream brings it before the next chunk is read
    kBefore,   // the next chunk sees it
    kDuring,   // the next chunk does not see it
  };

  void SetUp() override;

  std::string State(const std::string& table);
  // As far as the copy has come, for a reader of the file; "" without a copy.
  std::string Upto();
  // How many reads began at the table's first row; -1 if one took all of it.
  int Beginnings() const;

  // Nothing of a copy is left, and all is as at the publisher.
  void ExpectClean();

  // t (id, v), with rows 10, 20, … up to 10 * rows.
  int AddTens(int rows, char identity = 'd', const std::string& v = "v text");

  // In a transaction of its own.
  void Change(const std::function<void(FullXid)>& change);
  void Update(int table, const std::string& id, const ModelRow& row);
  void Delete(int table, const std::string& id);

  // Follows, with one `change` at a moment when rows up to the key `upto` are
  // copied.
  void Meanwhile(Moment moment, const std::string& upto,
                 const std::function<void()>& change);
  // The same, and the copy has to come to an end.
  void At(Moment moment, const std::string& upto,
          const std::function<void()>& change);
};

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_PIPELINE_CHUNK_FIXTURE_H_
