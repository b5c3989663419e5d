#include "applier/partial_copy.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "schema/status.h"
#include "schema/value.h"

namespace sublite {
namespace {

// An empty key's place in a line.
constexpr char kOpenEnd[] = "-";

std::string OrOpenEnd(const CopyKey& key) {
  return key.empty() ? kOpenEnd : FormatCopyKey(key);
}

absl::StatusOr<CopyKey> ParseEnd(std::string_view text) {
  return text == kOpenEnd ? CopyKey() : ParseCopyKey(text);
}

}  // namespace

std::string FormatChunks(const std::deque<CopyChunk>& chunks) {
  return absl::StrJoin(
      chunks, "\n", [](std::string* out, const CopyChunk& chunk) {
        absl::StrAppend(out, OrOpenEnd(chunk.after), " ", OrOpenEnd(chunk.upto),
                        " ", chunk.lsn.ToString(), " ",
                        chunk.snapshot.ToString());
      });
}

absl::StatusOr<std::deque<CopyChunk>> ParseChunks(std::string_view text) {
  std::deque<CopyChunk> chunks;
  if (text.empty()) return chunks;
  for (const absl::string_view line : absl::StrSplit(View(text), '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    CopyChunk chunk;
    if (parts.size() != 4 || !Lsn::Parse(parts[2], &chunk.lsn)) {
      return absl::DataLossError(
          absl::StrCat("sublite_copies holds the broken chunk ", line));
    }
    ASSIGN_OR_RETURN(chunk.after, ParseEnd(parts[0]));
    ASSIGN_OR_RETURN(chunk.upto, ParseEnd(parts[1]));
    ASSIGN_OR_RETURN(chunk.snapshot, Snapshot::Parse(parts[3]));
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

std::string CopyMadeAs(const PublishedTable& published,
                       const TableShape& shape) {
  // A plain table gets other files without other rows (VACUUM FULL); a
  // partition may have been emptied without a word in the stream.
  std::string text = absl::StrCat(
      shape.oid, "\n", shape.name, "\n", std::string(1, shape.replica_identity),
      "\n", published.published_as, "\n", published.attributes, "\n",
      published.relkind == 'p' ? published.storage : "", "\n",
      published.row_filter);
  for (const TableColumn& column : shape.columns) {
    absl::StrAppend(&text, "\n", column.attnum, " ", column.type_oid, " ",
                    column.type_modifier, " ", column.type.Encode(), " ",
                    column.not_null ? 1 : 0, " ", column.key_place, " ",
                    column.name);
  }
  return text;
}

bool CanCopyInChunks(const TableShape& shape) {
  const std::vector<int> key = shape.KeyColumns();
  // With another identity an old row does not tell its key.
  return !key.empty() && shape.replica_identity != 'i' &&
         std::all_of(key.begin(), key.end(), [&](int place) {
           return IsCopyKeyType(shape.columns[place].type);
         });
}

PartialCopy::Place PartialCopy::PlaceOf(const CopyKey& row, Xid xid,
                                        Lsn commit_lsn) const {
  if (!complete && (upto.empty() || row > upto)) return Place::kAhead;
  // A stream that is far behind leaves many.
  const auto chunk = std::partition_point(
      chunks.begin(), chunks.end(), [&](const CopyChunk& passed) {
        return !passed.upto.empty() && row > passed.upto;
      });
  const bool held =
      chunk != chunks.end() && chunk->Has(row) && chunk->Sees(xid, commit_lsn);
  return held ? Place::kHeld : Place::kHere;
}

bool PartialCopy::AllSee(Xid xid, Lsn commit_lsn) const {
  if (upto.empty() && !complete) return true;  // nothing is there
  return !chunks.empty() && chunks.front().after.empty() &&
         std::all_of(chunks.begin(), chunks.end(), [&](const CopyChunk& chunk) {
           return chunk.Sees(xid, commit_lsn);
         });
}

void PartialCopy::ForgetPassed(Lsn applied) {
  while (!chunks.empty() && chunks.front().lsn <= applied) chunks.pop_front();
}

absl::StatusOr<CopyKey> PartialCopy::KeyOf(Tuple row) const {
  CopyKey values;
  values.reserve(key.size());
  std::string scratch;
  for (int place : key) {
    const ColumnType& type = shape.columns[place].type;
    SqlValue value;
    absl::StatusOr<CopyKeyPart> part = absl::OutOfRangeError("");
    if (static_cast<std::size_t>(place) < row.size() &&
        !row[place].is_unchanged() &&
        ToSqlValue(row[place], type, &scratch, &value).ok()) {
      part = ToCopyKeyPart(value, type);
    }
    if (!part.ok()) {
      return absl::OutOfRangeError(absl::StrCat(
          "table ", shape.FullName(), ": a row without a key to compare"));
    }
    values.push_back(*std::move(part));
  }
  return values;
}

std::vector<std::string> PartialCopy::UptoTexts() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < upto.size() && i < key.size(); ++i)
    texts.push_back(CopyKeyText(upto[i], shape.columns[key[i]].type));
  return texts;
}

}  // namespace sublite
