#include "applier/change_feed.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "applier/clock.h"
#include "applier/log.h"
#include "schema/sql_value_json.h"
#include "schema/status.h"

namespace sublite {
namespace {

// What a row takes besides its texts, about.
constexpr std::int64_t kRowBytes = 24;
constexpr char kBytesSql[] =
    "length(sqlite_table) + coalesce(length(\"key\"), 0) + length(kind) + "
    "length(lsn) + coalesce(length(committed_at), 0) + length(applied_at) + 24";
// So many go in one step.
constexpr int kStepRows = 5000;
constexpr absl::Duration kPruneEvery = absl::Minutes(1);
// Readers are told when the position moved, at the end of this line.
constexpr int kNotifyWidth = 17;  // of the longest LSN

}  // namespace

absl::Status ChangeFeed::Open() {
  ASSIGN_OR_RETURN(
      insert_,
      database_.Prepare("insert into sublite_changes (sqlite_table, \"key\", "
                        "kind, lsn, committed_at, applied_at) values (?1, ?2, "
                        "?3, ?4, ?5, ?6)"));
  ASSIGN_OR_RETURN(
      bytes_, database_.QueryInt(absl::StrCat("select coalesce(sum(", kBytesSql,
                                              "), 0) from sublite_changes")));
  committed_bytes_ = bytes_;
  return absl::OkStatus();
}

absl::Status ChangeFeed::Clear(Database& database) {
  return database.Execute("delete from sublite_changes");
}

void ChangeFeed::RolledBack() {
  bytes_ = committed_bytes_;
  added_ = false;
}

void ChangeFeed::Begin(Lsn commit_lsn, PgTime commit_time, absl::Time now) {
  lsn_ = commit_lsn.ToString();
  committed_at_ = FormatPgTime(commit_time);
  applied_at_ = FormatPgTime(ToPgTime(now));
}

bool ChangeFeed::ReadKey(const TableShape& table, Tuple row, std::string* key) {
  std::vector<int> places = table.KeyColumns();
  if (places.empty()) places = table.IdentityColumns();
  if (places.empty()) return false;
  key->assign("{");
  for (int place : places) {
    const TableColumn& column = table.columns[place];
    if (static_cast<std::size_t>(place) >= row.size() ||
        row[place].is_unchanged())
      return false;
    SqlValue value;
    // A value that cannot be stored has failed before.
    if (!ToSqlValue(row[place], column.type, &scratch_, &value).ok())
      return false;
    if (key->size() > 1) key->append(",");
    AppendTextAsJson(column.name, key);
    key->append(":");
    AppendSqlValueAsJson(value, key);
  }
  key->append("}");
  return true;
}

absl::Status ChangeFeed::Add(const TableShape& table, std::string_view kind,
                             const std::string* key) {
  RETURN_IF_ERROR(insert_.BindText(1, table.name));
  RETURN_IF_ERROR(key == nullptr ? insert_.BindNull(2)
                                 : insert_.BindText(2, *key));
  RETURN_IF_ERROR(insert_.BindText(3, kind));
  RETURN_IF_ERROR(insert_.BindText(4, lsn_));
  RETURN_IF_ERROR(committed_at_.empty() ? insert_.BindNull(5)
                                        : insert_.BindText(5, committed_at_));
  RETURN_IF_ERROR(insert_.BindText(6, applied_at_));
  RETURN_IF_ERROR(insert_.Run());
  added_ = true;
  bytes_ += kRowBytes + static_cast<std::int64_t>(
                            table.name.size() + kind.size() + lsn_.size() +
                            committed_at_.size() + applied_at_.size() +
                            (key == nullptr ? 0 : key->size()));
  // A transaction may be larger than what is kept.
  if (bytes_ > options_.bytes + options_.bytes / 4)
    return DropOldest(absl::InfinitePast());
  return absl::OkStatus();
}

absl::Status ChangeFeed::Insert(const TableShape& table, Tuple row) {
  return Add(table, "insert", ReadKey(table, row, &key_) ? &key_ : nullptr);
}

absl::Status ChangeFeed::Update(const TableShape& table, OldTuple old_kind,
                                Tuple old_row, Tuple new_row) {
  bool known = ReadKey(table, new_row, &key_);
  if (old_kind != OldTuple::kNone && ReadKey(table, old_row, &old_key_)) {
    // What was not sent anew is what it was.
    if (!known) key_ = old_key_;
    known = true;
    if (old_key_ != key_) {
      RETURN_IF_ERROR(Add(table, "delete", &old_key_));
      return Add(table, "insert", &key_);
    }
  }
  return Add(table, "update", known ? &key_ : nullptr);
}

absl::Status ChangeFeed::Delete(const TableShape& table, Tuple old_row) {
  return Add(table, "delete", ReadKey(table, old_row, &key_) ? &key_ : nullptr);
}

absl::Status ChangeFeed::Truncate(const TableShape& table) {
  return Add(table, "truncate", nullptr);
}

absl::Status ChangeFeed::Copied(const TableShape& table,
                                std::optional<Lsn> as_of, absl::Time now) {
  const std::string lsn = std::move(lsn_);
  const std::string committed_at = std::move(committed_at_);
  const std::string applied_at = std::move(applied_at_);
  lsn_ = as_of.value_or(Lsn()).ToString();
  committed_at_.clear();
  applied_at_ = FormatPgTime(ToPgTime(now));
  const absl::Status added = Add(table, "copied", nullptr);
  // It may have come in the midst of a transaction's changes.
  lsn_ = lsn;
  committed_at_ = committed_at;
  applied_at_ = applied_at;
  return added;
}

// Rows from the front while they are older than `cutoff`, or all are too much.
absl::Status ChangeFeed::DropOldest(absl::Time cutoff) {
  const std::string oldest = cutoff == absl::InfinitePast()
                                 ? std::string()
                                 : FormatPgTime(ToPgTime(cutoff));
  while (true) {
    std::int64_t last = -1;
    std::int64_t bytes = bytes_;
    int rows = 0;
    {
      ASSIGN_OR_RETURN(
          Statement select,
          database_.Prepare(absl::StrCat("select id, applied_at, ", kBytesSql,
                                         " from sublite_changes order by id "
                                         "limit ",
                                         kStepRows)));
      while (true) {
        ASSIGN_OR_RETURN(const bool row, select.Step());
        if (!row || (bytes <= options_.bytes && select.Text(1) >= oldest))
          break;
        last = select.Int(0);
        bytes -= select.Int(2);
        ++rows;
      }
    }
    if (rows == 0) return absl::OkStatus();
    RETURN_IF_ERROR(database_.Execute(
        absl::StrCat("delete from sublite_changes where id <= ", last)));
    bytes_ = bytes;
    if (rows < kStepRows) return absl::OkStatus();
  }
}

absl::Status ChangeFeed::Prune(absl::Time now) {
  const bool due = now - pruned_at_ >= kPruneEvery || now < pruned_at_;
  if (bytes_ <= options_.bytes && !due) return absl::OkStatus();
  pruned_at_ = now;
  return DropOldest(now - options_.age);
}

void ChangeFeed::Committed(Lsn applied) {
  committed_bytes_ = bytes_;
  if (!added_ && applied == notified_) return;
  added_ = false;
  notified_ = applied;
  Notify(applied);
}

void ChangeFeed::Notify(Lsn applied) {
  std::string line = applied.ToString();
  // Always as long, so that nobody reads a half.
  if (line.size() < kNotifyWidth) line.resize(kNotifyWidth, ' ');
  line += '\n';
  const std::string path = path_ + "-notify";
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  bool written = file >= 0 && write(file, line.data(), line.size()) ==
                                  static_cast<ssize_t>(line.size());
  const int error = errno;
  if (file >= 0 && close(file) != 0) written = false;
  if (!written && !notify_failed_) {
    LogWarn("cannot tell readers of a change; the change itself is there",
            {{"file", path}, {"error", std::strerror(error)}});
  }
  notify_failed_ = !written;
}

}  // namespace sublite
