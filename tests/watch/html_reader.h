// Reads an HTML document as strictly as an XML parser would, for tests.
//
// Every element is closed in its order (void ones are not), every attribute is
// quoted, every `&` begins a reference that is known, a `<` begins a tag. What
// a page without scripts and without the network may not have is a complaint:
// the elements script, iframe, object, img, link, form and base; the attributes
// src, href, and those that begin with `on`.
#ifndef SUBLITE_TESTS_WATCH_HTML_READER_H_
#define SUBLITE_TESTS_WATCH_HTML_READER_H_

#include <string>
#include <vector>

namespace sublite::testing {

struct Html {
  std::vector<std::string> complaints;
  std::vector<std::string> texts;  // between tags, references resolved; of
                                   // those that hold more than white space
};

Html ReadHtml(const std::string& document);

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_WATCH_HTML_READER_H_
