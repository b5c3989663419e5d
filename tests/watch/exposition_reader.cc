#include "tests/watch/exposition_reader.h"

#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sublite::testing {
namespace {

bool IsName(const std::string& name) {
  if (name.empty() || absl::ascii_isdigit(name[0])) return false;
  for (char c : name)
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  return true;
}

class Reader {
 public:
  Exposition Read(const std::string& text) {
    std::size_t at = 0;
    for (int number = 1; at < text.size(); ++number) {
      const std::size_t end = text.find('\n', at);
      line_ = text.substr(at, end - at);
      number_ = number;
      if (end == std::string::npos) {
        Complain("the last line does not end");
        break;
      }
      at = end + 1;
      if (line_.empty() || line_.back() == '\r') {
        Complain("an empty line, or one with a carriage return");
      } else if (line_[0] == '#') {
        Comment();
      } else {
        Sample();
      }
    }
    for (const auto& [name, family] : result_.families) Lint(name, family);
    return result_;
  }

 private:
  void Complain(const std::string& what) {
    result_.complaints.push_back(
        absl::StrCat("line ", number_, " (", line_, "): ", what));
  }

  void Comment() {
    const bool help = absl::StartsWith(line_, "# HELP ");
    if (!help && !absl::StartsWith(line_, "# TYPE "))
      return Complain("neither HELP nor TYPE");
    const std::string rest = line_.substr(7);
    const std::size_t space = rest.find(' ');
    if (space == std::string::npos) return Complain("nothing behind the name");
    const std::string name = rest.substr(0, space);
    const std::string value = rest.substr(space + 1);
    if (!IsName(name)) return Complain("no name");
    if (help) {
      if (result_.families.count(name) != 0) return Complain("HELP again");
      result_.families[name].help = value;
      current_ = name;
      return;
    }
    if (name != current_) return Complain("TYPE without HELP before it");
    Family& family = result_.families[name];
    if (!family.type.empty()) return Complain("TYPE again");
    if (value != "counter" && value != "gauge") return Complain("no type");
    family.type = value;
  }

  // Moves *at past a label's value.
  bool ReadValue(std::size_t* at, std::string* value) {
    while (*at < line_.size() && line_[*at] != '"') {
      char c = line_[(*at)++];
      if (c == '\\') {
        if (*at == line_.size()) return false;
        c = line_[(*at)++];
        if (c == 'n') {
          c = '\n';
        } else if (c != '\\' && c != '"') {
          return false;
        }
      }
      value->push_back(c);
    }
    return (*at)++ < line_.size();
  }

  bool ReadLabels(std::size_t* at, Labels* labels) {
    while (*at < line_.size() && line_[*at] != '}') {
      const std::size_t equals = line_.find("=\"", *at);
      if (equals == std::string::npos) return false;
      const std::string name = line_.substr(*at, equals - *at);
      std::string value;
      *at = equals + 2;
      if (!IsName(name) || !ReadValue(at, &value)) return false;
      if (!labels->emplace(name, value).second) return false;
      if (*at < line_.size() && line_[*at] == ',') ++*at;
    }
    return (*at)++ < line_.size();
  }

  void Sample() {
    const std::size_t name_end = line_.find_first_of("{ ");
    if (name_end == std::string::npos) return Complain("no value");
    const std::string name = line_.substr(0, name_end);
    if (name != current_) return Complain("a sample outside of its family");
    Family& family = result_.families[name];
    if (family.type.empty()) return Complain("a sample before TYPE");
    Labels labels;
    std::size_t at = name_end;
    if (line_[at] == '{' && !ReadLabels(&++at, &labels))
      return Complain("labels that are none");
    double value = 0;
    if (at >= line_.size() || line_[at] != ' ' ||
        !absl::SimpleAtod(line_.substr(at + 1), &value) || std::isnan(value))
      return Complain("a value that is no number");
    if (!family.samples.emplace(labels, value).second)
      Complain("a series that was there already");
  }

  // As promtool's linter.
  void Lint(const std::string& name, const Family& family) {
    line_ = name;
    if (family.help.empty()) Complain("without a text");
    if (!absl::StartsWith(name, "sublite_")) Complain("without the prefix");
    const bool total = absl::EndsWith(name, "_total");
    if (total != (family.type == "counter"))
      Complain("_total is for counters, and for all of them");
    for (const char* unit :
         {"milliseconds", "microseconds", "ms", "us", "minutes", "hours",
          "days", "kilobytes", "megabytes", "kb", "mb", "bits", "percent"}) {
      if (absl::StrContains(absl::StrCat("_", name, "_"),
                            absl::StrCat("_", unit, "_")))
        Complain("a unit that is no base unit");
    }
    for (const char* end : {"_count", "_sum", "_bucket"})
      if (absl::EndsWith(name, end)) Complain("the end of another type");
    std::set<std::vector<std::string>> shapes;
    for (const auto& [labels, value] : family.samples) {
      std::vector<std::string> names;
      for (const auto& [label, unused] : labels) names.push_back(label);
      shapes.insert(names);
      if (family.type == "counter" && value < 0) Complain("below 0");
    }
    if (shapes.size() > 1) Complain("series with different labels");
  }

  Exposition result_;
  std::string line_;
  std::string current_;
  int number_ = 0;
};

}  // namespace

bool Exposition::Has(const std::string& name) const {
  return families.count(name) != 0;
}

double Exposition::Value(const std::string& name, const Labels& labels) const {
  const auto family = families.find(name);
  if (family == families.end()) return std::numeric_limits<double>::quiet_NaN();
  const auto sample = family->second.samples.find(labels);
  return sample == family->second.samples.end()
             ? std::numeric_limits<double>::quiet_NaN()
             : sample->second;
}

double Exposition::Sum(const std::string& name, const Labels& labels) const {
  const auto family = families.find(name);
  if (family == families.end()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const auto& [has, value] : family->second.samples) {
    bool fits = true;
    for (const auto& [label, wanted] : labels) {
      const auto found = has.find(label);
      fits = fits && found != has.end() && found->second == wanted;
    }
    if (fits) sum += value;
  }
  return sum;
}

Exposition ReadExposition(const std::string& text) {
  return Reader().Read(text);
}

}  // namespace sublite::testing
