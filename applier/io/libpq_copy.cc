#include "applier/io/libpq_copy.h"

#include <libpq-fe.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "applier/io/libpq_catalog.h"
#include "applier/io/libpq_error.h"
#include "applier/io/libpq_standby.h"
#include "schema/identifier.h"
#include "schema/status.h"
#include "schema/table.h"

namespace sublite {
namespace {

constexpr char kBegin[] =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    " SET LOCAL row_security = off";

// A part of a table must not cost a scan of all of it.
constexpr char kByIndex[] =
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;"
    " SET LOCAL enable_bitmapscan = off";

// The position for the next record of WAL whose last page is full: it lies
// behind the header of a page that is not there yet, and no walsender tells of
// it before something is written. What was committed is before the page.
Lsn BeforePageHeader(Lsn insert) {
  constexpr std::uint64_t kPage = 8192;
  constexpr std::uint64_t kShortHeader = 24;
  constexpr std::uint64_t kLongHeader = 40;
  const std::uint64_t offset = insert.value() % kPage;
  return offset == kShortHeader || offset == kLongHeader
             ? Lsn(insert.value() - offset)
             : insert;
}

// A session that has read larger rows than this is not kept.
constexpr std::size_t kKeptRowMax = 1 << 20;

std::string QualifiedName(const std::string& pg_schema,
                          const std::string& pg_table) {
  return absl::StrCat(QuoteIdentifier(pg_schema), ".",
                      QuoteIdentifier(pg_table));
}

// A partitioned table's rows are its partitions'; any other table's are its
// own, without those of tables that inherit from it.
std::string FromItem(const std::string& pg_schema, const std::string& pg_table,
                     char relkind) {
  return absl::StrCat(relkind == 'p' ? "" : "ONLY ",
                      QualifiedName(pg_schema, pg_table));
}

class LibpqTableReader final : public TableReader {
 public:
  LibpqTableReader(std::shared_ptr<OrdinarySessions> sessions,
                   std::string pg_schema, std::string pg_table,
                   std::vector<std::string> publications, CopyRequest request)
      : sessions_(std::move(sessions)),
        pg_schema_(std::move(pg_schema)),
        pg_table_(std::move(pg_table)),
        publications_(std::move(publications)),
        request_(std::move(request)),
        doing_(absl::StrCat("copying ", QualifiedName(pg_schema_, pg_table_))) {
  }

  // One that is still copying is closed by its destructor: the server notices
  // when it sends the next row.
  ~LibpqTableReader() override = default;

  absl::Status Open();

  const Snapshot& snapshot() const override { return snapshot_; }
  Lsn snapshot_lsn() const override { return snapshot_lsn_; }
  const PublishedTable& table() const override { return table_; }
  const PgTypes& types() const override { return types_; }
  CopyForm form() const override { return form_; }
  absl::StatusOr<bool> Next(std::string_view* message) override;

 private:
  absl::Status FindTable();
  absl::Status Lock();
  absl::Status LockByReading();
  absl::Status TakeSnapshot();
  absl::Status Describe();
  absl::Status NotThere() const;
  // For waits that may last: on locks, and for a row that matches a filter.
  WaitLimits Patient() const;

  const std::shared_ptr<OrdinarySessions> sessions_;
  const std::string pg_schema_;
  const std::string pg_table_;
  const std::vector<std::string> publications_;
  const CopyRequest request_;
  const std::string doing_;

  std::unique_ptr<Connection> session_;  // null once the rows have ended
  std::unique_ptr<Connection> guard_;    // see LockByReading
  std::uint32_t oid_ = 0;
  char relkind_ = 'r';
  bool on_standby_ = false;
  Snapshot snapshot_;
  Lsn snapshot_lsn_;
  PublishedTable table_;
  PgTypes types_;
  CopyForm form_ = CopyForm::kText;
  std::size_t largest_row_ = 0;
};

WaitLimits LibpqTableReader::Patient() const {
  WaitLimits limits;
  limits.timeout = absl::InfiniteDuration();
  limits.probe = [this] { return sessions_->Probe(session_->backend_pid()); };
  return limits;
}

absl::Status LibpqTableReader::NotThere() const {
  return absl::NotFoundError(absl::StrCat(
      "the publisher has no table ", QualifiedName(pg_schema_, pg_table_)));
}

// Which kind of table it is decides how to lock it, and has to be known before.
absl::Status LibpqTableReader::FindTable() {
  ASSIGN_OR_RETURN(
      const Result result,
      session_->Query(
          absl::StrCat(
              "SELECT c.oid, c.relkind, pg_catalog.pg_is_in_recovery()"
              " FROM pg_catalog.pg_class c"
              " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
              " WHERE n.nspname = ",
              QuoteLiteral(pg_schema_),
              " AND c.relname = ", QuoteLiteral(pg_table_)),
          doing_));
  if (result.rows() == 0) return NotThere();
  if (!absl::SimpleAtoi(View(result.Get(0, 0)), &oid_)) {
    return absl::DataLossError("a table's OID is not a number");
  }
  relkind_ = result.Get(0, 1)[0];
  // Once false it stays so.
  on_standby_ = result.Get(0, 2) == "t";
  return absl::OkStatus();
}

absl::Status LibpqTableReader::Lock() {
  RETURN_IF_ERROR(session_->Query(kBegin, doing_).status());
  // Of a partitioned table all partitions are locked, since one that is
  // rewritten (SET LOGGED, another access method) would look empty as well.
  const absl::Status locked =
      session_
          ->Query(absl::StrCat("LOCK TABLE ",
                               FromItem(pg_schema_, pg_table_, relkind_),
                               " IN ACCESS SHARE MODE"),
                  doing_, Patient())
          .status();
  const std::string sqlstate = SqlState(locked);
  if (sqlstate == "42P01" || sqlstate == "3F000") return NotThere();
  if (sqlstate != "42501") return locked;
  // LOCK asks for SELECT on the whole table. A role that may read only the
  // published columns can still lock by reading.
  RETURN_IF_ERROR(session_->Query("ROLLBACK", doing_).status());
  const absl::Status read = LockByReading();
  return read.ok() ? session_->Query(kBegin, doing_).status() : read;
}

// Holds the lock in a second session until COPY has taken its own.
absl::Status LibpqTableReader::LockByReading() {
  RETURN_IF_ERROR(session_->Query(kBegin, doing_).status());
  absl::StatusOr<Publications> published =
      ReadPublished(*session_, publications_, oid_);
  RETURN_IF_ERROR(published.status());
  RETURN_IF_ERROR(session_->Query("ROLLBACK", doing_).status());
  if (published->tables.empty()) return NotThere();
  ASSIGN_OR_RETURN(guard_, sessions_->Take());
  PublishedTable unfiltered = published->tables[0];
  unfiltered.row_filter.clear();
  return guard_
      ->Query(absl::StrCat(kBegin, "; ", SelectRows(unfiltered, CopyRequest()),
                           " LIMIT 0"),
              doing_, Patient())
      .status();
}

absl::Status LibpqTableReader::TakeSnapshot() {
  if (on_standby_) {
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> helper, sessions_->Take());
    ASSIGN_OR_RETURN(snapshot_, SetKnownSnapshot(*session_, *helper, doing_));
    sessions_->Give(std::move(helper));
  }
  // Else the snapshot is taken when this statement begins, so the position that
  // it computes is not before any commit that the snapshot sees.
  ASSIGN_OR_RETURN(
      const Result result,
      session_->Query(
          absl::StrCat(
              "SELECT ",
              View(CurrentSnapshotFunction(session_->server_version())),
              "::text, ", View(VisibleLsnExpression()),
              ", (SELECT c.relkind FROM pg_catalog.pg_class c"
              " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
              " WHERE n.nspname = ",
              QuoteLiteral(pg_schema_), " AND c.relname = ",
              QuoteLiteral(pg_table_), " AND c.oid = ", oid_, ")"),
          doing_));
  if (result.rows() != 1 || !Lsn::Parse(result.Get(0, 1), &snapshot_lsn_)) {
    return absl::DataLossError(
        absl::StrCat(doing_, ": no snapshot or position"));
  }
  snapshot_lsn_ = BeforePageHeader(snapshot_lsn_);
  if (result.IsNull(0, 2) || result.Get(0, 2)[0] != relkind_) {
    return absl::UnavailableError(
        absl::StrCat(doing_, ": the table was replaced at this moment"));
  }
  if (!on_standby_) {
    ASSIGN_OR_RETURN(snapshot_, Snapshot::Parse(result.Get(0, 0)));
  }
  return absl::OkStatus();
}

absl::Status LibpqTableReader::Describe() {
  ASSIGN_OR_RETURN(Publications published,
                   ReadPublished(*session_, publications_, oid_));
  if (published.tables.empty()) {
    return absl::NotFoundError(absl::StrCat(
        QualifiedName(pg_schema_, pg_table_), " is not published"));
  }
  table_ = std::move(published.tables[0]);
  types_ = std::move(published.types);
  if (table_.problem.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(doing_, ": ", table_.problem));
}

absl::Status LibpqTableReader::Open() {
  bool kept = false;
  ASSIGN_OR_RETURN(session_, sessions_->Take(&kept));
  absl::Status found = FindTable();
  if (kept && IsConnectionLost(found)) {
    ASSIGN_OR_RETURN(session_, sessions_->Take());
    found = FindTable();
  }
  if (absl::IsNotFound(found)) sessions_->Give(std::move(session_));
  RETURN_IF_ERROR(found);
  RETURN_IF_ERROR(Lock());
  RETURN_IF_ERROR(TakeSnapshot());
  RETURN_IF_ERROR(Describe());
  if (request_.limit > 0)
    RETURN_IF_ERROR(session_->Query(kByIndex, doing_).status());
  if (request_.binary &&
      FindUncopyable(ShapeFor(table_, types_, NamingOptions())) == nullptr) {
    form_ = CopyForm::kBinary;
  }
  ASSIGN_OR_RETURN(
      const Result result,
      session_->Query(
          absl::StrCat("COPY (", SelectRows(table_, request_), ") TO STDOUT",
                       form_ == CopyForm::kBinary ? " (FORMAT binary)" : ""),
          doing_, Patient()));
  if (!result.IsCopyOut()) {
    return absl::DataLossError(absl::StrCat(doing_, ": COPY did not begin"));
  }
  if (guard_ != nullptr) {
    RETURN_IF_ERROR(guard_->Query("ROLLBACK", doing_).status());
    sessions_->Give(std::move(guard_));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LibpqTableReader::Next(std::string_view* message) {
  if (session_ == nullptr) return false;
  ASSIGN_OR_RETURN(const bool more,
                   session_->CopyRow(message, doing_, Patient()));
  if (more) {
    largest_row_ = std::max(largest_row_, message->size());
    return true;
  }
  RETURN_IF_ERROR(session_->Query("COMMIT", doing_).status());
  // libpq's buffer grows with the largest row and never shrinks.
  if (largest_row_ <= kKeptRowMax) sessions_->Give(std::move(session_));
  session_.reset();
  return false;
}

}  // namespace

std::string SelectRows(const PublishedTable& table,
                       const CopyRequest& request) {
  const auto quoted = [](std::string* out, const std::string& name) {
    out->append(QuoteIdentifier(name));
  };
  std::string sql = absl::StrCat(
      "SELECT ",
      absl::StrJoin(table.columns, ",",
                    [](std::string* out, const PublishedColumn& column) {
                      out->append(QuoteIdentifier(column.name));
                    }),
      " FROM ", FromItem(table.pg_schema, table.pg_table, table.relkind));
  std::vector<std::string> conditions;
  if (!table.row_filter.empty())
    conditions.push_back(absl::StrCat("(", table.row_filter, ")"));
  const bool ordered = request.limit > 0 && !table.primary_key.empty();
  const std::string key = absl::StrJoin(table.primary_key, ",", quoted);
  if (ordered && request.after.size() == table.primary_key.size()) {
    conditions.push_back(absl::StrCat(
        "(", key, ") > (",
        absl::StrJoin(request.after, ",",
                      [](std::string* out, const std::string& value) {
                        out->append(QuoteLiteral(value));
                      }),
        ")"));
  }
  if (!conditions.empty())
    absl::StrAppend(&sql, " WHERE ", absl::StrJoin(conditions, " AND "));
  if (ordered)
    absl::StrAppend(&sql, " ORDER BY ", key, " LIMIT ", request.limit);
  return sql;
}

absl::StatusOr<std::unique_ptr<TableReader>> OpenTableReader(
    std::shared_ptr<OrdinarySessions> sessions, const std::string& pg_schema,
    const std::string& pg_table, const std::vector<std::string>& publications,
    const CopyRequest& request) {
  auto reader = std::make_unique<LibpqTableReader>(
      std::move(sessions), pg_schema, pg_table, publications, request);
  RETURN_IF_ERROR(reader->Open());
  return reader;
}

}  // namespace sublite
