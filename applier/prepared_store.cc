#include "applier/prepared_store.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "schema/status.h"

namespace sublite {
namespace {

// Parts keep memory bounded when the work is written and when it is replayed. A
// record may go over from one to the next.
constexpr std::size_t kPartBytes = 128 * 1024;

}  // namespace

absl::Status PreparedStore::AddPart(std::int64_t id, int part,
                                    std::string_view data) {
  ASSIGN_OR_RETURN(Statement insert,
                   database_.Prepare("insert into sublite_staged (prepared_id, "
                                     "part, data) values (?1, ?2, ?3)"));
  RETURN_IF_ERROR(insert.BindInt(1, id));
  RETURN_IF_ERROR(insert.BindInt(2, part));
  RETURN_IF_ERROR(insert.BindBlob(3, data));
  return insert.Run();
}

absl::Status PreparedStore::Seal(const PreparedTransaction& transaction,
                                 Spool& spool) {
  ASSIGN_OR_RETURN(
      Statement insert,
      database_.Prepare("insert into sublite_prepared (gid, xid, prepare_lsn, "
                        "prepared_at, changes, bytes, "
                        "end_pos, source) values (?1, ?2, ?3, ?4, 0, 0, ?5, "
                        "?6) on conflict do nothing"));
  const std::string prepare_lsn = transaction.prepare_lsn.ToString();
  const std::string prepared_at = FormatPgTime(transaction.prepare_time);
  RETURN_IF_ERROR(insert.BindText(1, transaction.gid));
  RETURN_IF_ERROR(insert.BindInt(2, transaction.xid));
  RETURN_IF_ERROR(insert.BindText(3, prepare_lsn));
  RETURN_IF_ERROR(insert.BindText(4, prepared_at));
  RETURN_IF_ERROR(insert.BindInt(
      5, static_cast<std::int64_t>(transaction.end_lsn.value())));
  RETURN_IF_ERROR(insert.BindInt(6, transaction.source));
  RETURN_IF_ERROR(insert.Run());
  if (database_.changes() == 0) return absl::OkStatus();

  const std::int64_t id = database_.last_insert_rowid();
  std::int64_t changes = 0;
  std::int64_t bytes = 0;
  int part = 0;
  std::string data;
  const auto add = [&](std::string_view more) {
    while (!more.empty()) {
      const std::string_view piece = more.substr(0, kPartBytes - data.size());
      data.append(piece);
      more.remove_prefix(piece.size());
      if (data.size() < kPartBytes) break;
      bytes += static_cast<std::int64_t>(data.size());
      RETURN_IF_ERROR(AddPart(id, part++, data));
      data.clear();
    }
    return absl::OkStatus();
  };
  std::string header;
  RETURN_IF_ERROR(spool.ForEach([&](const StagedRecord& record) {
    if (!record.describes()) ++changes;
    header.clear();
    AppendRecordHeader(record, &header);
    RETURN_IF_ERROR(add(header));
    return add(record.message);
  }));
  bytes += static_cast<std::int64_t>(data.size());
  if (!data.empty()) RETURN_IF_ERROR(AddPart(id, part, data));
  return database_.Execute(
      absl::StrCat("update sublite_prepared set changes = ", changes,
                   ", bytes = ", bytes, " where id = ", id));
}

absl::StatusOr<std::optional<std::int64_t>> PreparedStore::Find(
    Xid xid, std::string_view gid, std::int64_t source) {
  ASSIGN_OR_RETURN(Statement select,
                   database_.Prepare("select id from sublite_prepared where "
                                     "xid = ?1 and gid = ?2 and source = ?3 "
                                     "order by id desc limit 1"));
  RETURN_IF_ERROR(select.BindInt(1, xid));
  RETURN_IF_ERROR(select.BindText(2, gid));
  RETURN_IF_ERROR(select.BindInt(3, source));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  return row ? std::optional<std::int64_t>(select.Int(0)) : std::nullopt;
}

absl::Status PreparedStore::ForEach(
    std::int64_t id,
    const std::function<absl::Status(const StagedRecord&)>& visit) {
  ASSIGN_OR_RETURN(Statement select,
                   database_.Prepare("select data from sublite_staged where "
                                     "prepared_id = ?1 and part = ?2"));
  RETURN_IF_ERROR(select.BindInt(1, id));
  std::string data;  // what is not visited yet
  for (int part = 0;; ++part) {
    RETURN_IF_ERROR(select.BindInt(2, part));
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) break;
    const std::string_view blob = select.Blob(0);
    // A huge record is put together in memory once, without growing.
    data.reserve(std::max(RecordSize(data), data.size() + blob.size()));
    data.append(blob);
    // No statement may be active while changes are applied: SQLite would refuse
    // to drop an index or a table.
    select.Reset();
    std::string_view rest = data;
    while (rest.size() >= RecordSize(rest)) {
      ASSIGN_OR_RETURN(const StagedRecord record, TakeRecord(&rest));
      RETURN_IF_ERROR(visit(record));
    }
    data.erase(0, data.size() - rest.size());
    if (data.capacity() > 8 * kPartBytes && RecordSize(data) < kPartBytes)
      data.shrink_to_fit();
  }
  return data.empty() ? absl::OkStatus()
                      : absl::DataLossError(
                            "a prepared transaction ends inside a record");
}

absl::StatusOr<PreparedStore::Totals> PreparedStore::ReadTotals() {
  ASSIGN_OR_RETURN(
      Statement select,
      database_.Prepare("select count(*), coalesce(sum(bytes), 0), "
                        "strftime('%s', min(prepared_at)) * 1000000 "
                        "from sublite_prepared"));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  Totals totals;
  if (!row) return totals;
  totals.transactions = select.Int(0);
  totals.bytes = select.Int(1);
  if (!select.IsNull(2)) totals.oldest_micros = select.Int(2);
  return totals;
}

absl::Status PreparedStore::Remove(std::int64_t id) {
  return database_.Execute(
      absl::StrCat("delete from sublite_staged where prepared_id = ", id,
                   "; delete from sublite_prepared where id = ", id));
}

}  // namespace sublite
