#include "schema/enum_labels.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

// By OID; what is no line of the form is left out.
std::map<std::uint32_t, std::string_view> ByOid(std::string_view lines) {
  std::map<std::uint32_t, std::string_view> labels;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string oid(line.substr(0, space));
    labels[static_cast<std::uint32_t>(std::strtoul(oid.c_str(), nullptr, 10))] =
        line.substr(space + 1);
  }
  return labels;
}

}  // namespace

std::string EnumLabels(const std::vector<std::uint32_t>& columns,
                       const PgTypes& types) {
  std::vector<std::uint32_t> left = columns;
  std::set<std::uint32_t> seen;
  std::map<std::uint32_t, std::string_view> labels;
  while (!left.empty()) {
    const std::uint32_t oid = left.back();
    left.pop_back();
    const auto found = types.find(oid);
    if (oid == 0 || found == types.end() || !seen.insert(oid).second) continue;
    const PgType& type = found->second;
    for (const std::uint32_t part : {type.element, type.base, type.subtype})
      left.push_back(part);
    left.insert(left.end(), type.fields.begin(), type.fields.end());
    if (type.kind != 'e') continue;
    const auto own = ByOid(type.labels);
    labels.insert(own.begin(), own.end());
  }
  std::string lines;
  for (const auto& [oid, label] : labels) {
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", oid, " ",
                    absl::string_view(label.data(), label.size()));
  }
  return lines;
}

bool LabelsRenamed(std::string_view before, std::string_view after) {
  if (before == after) return false;
  const auto now = ByOid(after);
  for (const auto& [oid, label] : ByOid(before)) {
    const auto found = now.find(oid);
    if (found != now.end() && found->second != label) return true;
  }
  return false;
}

}  // namespace sublite
