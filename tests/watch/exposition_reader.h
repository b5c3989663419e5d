// Reads Prometheus's text format (0.0.4), and holds it to what promtool's lint
// asks for: an independent, strict reader for tests.
//
// Complaints are texts, one a breach, with the line. Refused: a sample before
// its HELP and TYPE, a family that comes twice or in pieces, a series that
// comes twice, names and labels that are none, escapes that do not exist,
// values that are no numbers, a last line without its end, a counter without
// `_total` or a gauge with it, a name without the prefix `sublite_`, a unit
// that is no base unit.
#ifndef SUBLITE_TESTS_WATCH_EXPOSITION_READER_H_
#define SUBLITE_TESTS_WATCH_EXPOSITION_READER_H_

#include <map>
#include <string>
#include <vector>

namespace sublite::testing {

using Labels = std::map<std::string, std::string>;

struct Family {
  std::string help;
  std::string type;
  std::map<Labels, double> samples;
};

struct Exposition {
  std::map<std::string, Family> families;
  std::vector<std::string> complaints;

  // The one sample with exactly these labels; NaN, which equals nothing, where
  // there is none.
  double Value(const std::string& name, const Labels& labels = {}) const;
  // The sum over all samples that have these labels, NaN without the family.
  double Sum(const std::string& name, const Labels& labels = {}) const;
  bool Has(const std::string& name) const;
};

Exposition ReadExposition(const std::string& text);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_WATCH_EXPOSITION_READER_H_
