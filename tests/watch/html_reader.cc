#include "tests/watch/html_reader.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sublite::testing {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& document) : text_(document) {}

  Html Read() {
    constexpr char kDoctype[] = "<!DOCTYPE html>\n";
    if (!absl::StartsWith(text_, kDoctype)) Complain("no doctype");
    at_ = text_.find('\n') + 1;
    while (at_ < text_.size() && html_.complaints.size() < 10) {
      if (text_[at_] == '<') {
        Tag();
      } else {
        Text();
      }
    }
    if (!open_.empty()) Complain("not closed: " + open_.back());
    return html_;
  }

 private:
  void Complain(const std::string& what) {
    html_.complaints.push_back(absl::StrCat("at ", at_, ": ", what));
  }

  bool Skip(const std::string& what) {
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }

  std::string Word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalnum(text_[at_]) || text_[at_] == '-'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string Resolve(const std::string& raw) {
    static const auto& known = *new std::map<std::string, std::string>{
        {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"#39", "'"}};
    std::string out;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const auto c = static_cast<unsigned char>(raw[i]);
      if (c < ' ' && c != '\n' && c != '\t') Complain("a control character");
      if (raw[i] != '&') {
        out += raw[i];
        continue;
      }
      const std::size_t end = raw.find(';', i);
      const auto found = end == std::string::npos
                             ? known.end()
                             : known.find(raw.substr(i + 1, end - i - 1));
      if (found == known.end()) {
        Complain("& without a known reference");
        continue;
      }
      out += found->second;
      i = end;
    }
    return out;
  }

  void Text() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    const std::string raw = text_.substr(at_, end - at_);
    const bool style = !open_.empty() && open_.back() == "style";
    const std::string text = style ? "" : Resolve(raw);
    at_ = end;
    if (!absl::StripAsciiWhitespace(text).empty()) html_.texts.push_back(text);
  }

  void Attribute(const std::string& name) {
    if (name == "src" || name == "href" || absl::StartsWith(name, "on"))
      Complain("an attribute that has no place here: " + name);
    if (!Skip("=\"")) return Complain("an attribute without quotes: " + name);
    const std::size_t end = text_.find('"', at_);
    if (end == std::string::npos) {
      at_ = text_.size();
      return Complain("a quote that does not end");
    }
    const std::string raw = text_.substr(at_, end - at_);
    if (absl::StrContains(raw, "<")) Complain("< in an attribute");
    Resolve(raw);
    at_ = end + 1;
  }

  void Tag() {
    static const auto& forbidden = *new std::set<std::string>{
        "script", "iframe", "object", "img", "link", "form", "base"};
    ++at_;
    if (Skip("/")) {
      const std::string name = Word();
      if (open_.empty() || open_.back() != name)
        Complain("closed out of order: " + name);
      if (!open_.empty()) open_.pop_back();
      if (!Skip(">")) Complain("a tag that does not end");
      return;
    }
    const std::string name = Word();
    if (name.empty()) return Complain("< without a tag");
    if (forbidden.count(name) != 0)
      Complain("an element that has no place here: " + name);
    while (Skip(" ")) Attribute(Word());
    if (!Skip(">")) return Complain("a tag that does not end: " + name);
    if (name != "meta") open_.push_back(name);
  }

  const std::string text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  Html html_;
};

}  // namespace

Html ReadHtml(const std::string& document) { return Reader(document).Read(); }

}  // namespace sublite::testing
