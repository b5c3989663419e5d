// Writers for what a publisher sends: one function for each pgoutput message,
// and for the envelope around it.
//
// Each gives the bytes of a whole message ("Logical Replication Message
// Formats"), with the fields in the protocol's order. They write what they are
// told, impossible values too, so that tests can make malformed messages. They
// share no code with the decoder; both are held against the golden captures.
// `xid` as a last argument is the transaction id of a message inside a stream
// block; leave it out outside one.
#ifndef SUBLITE_TESTS_SUPPORT_ENCODE_H_
#define SUBLITE_TESTS_SUPPORT_ENCODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "applier/wire/lsn.h"
#include "applier/wire/message.h"

namespace sublite::encode {

// One column of TupleData. `bytes` counts for kinds 't' and 'b' only.
struct Value {
  char kind = 'n';
  std::string bytes;
};

Value Null();
Value Unchanged();
Value Text(std::string text);
Value Binary(std::string bytes);

using Values = std::vector<Value>;
// {Text("1"), Text("a")}
Values Texts(const std::vector<std::string>& texts);

struct Column {
  std::string name;
  Oid type = 25;  // text
  bool key = false;
  std::int32_t type_modifier = -1;
};

using MaybeXid = std::optional<Xid>;

std::string Begin(Lsn final_lsn, PgTime commit_time, Xid xid);
std::string LogicalMessage(bool transactional, Lsn lsn, std::string_view prefix,
                           std::string_view content, MaybeXid xid = {});
std::string Commit(Lsn commit_lsn, Lsn end_lsn, PgTime commit_time);
std::string Origin(Lsn origin_lsn, std::string_view name);
// `pg_namespace` as it is on the wire: empty for pg_catalog.
std::string Relation(Oid relation, std::string_view pg_namespace,
                     std::string_view name, char identity,
                     const std::vector<Column>& columns, MaybeXid xid = {});
std::string Type(Oid type, std::string_view pg_namespace, std::string_view name,
                 MaybeXid xid = {});
std::string Insert(Oid relation, const Values& new_values, MaybeXid xid = {});
// Without an old tuple.
std::string Update(Oid relation, const Values& new_values, MaybeXid xid = {});
// With the old key ('K') or the old row ('O').
std::string UpdateWithOld(Oid relation, char old_kind, const Values& old_values,
                          const Values& new_values, MaybeXid xid = {});
std::string Delete(Oid relation, char old_kind, const Values& old_values,
                   MaybeXid xid = {});
// `options`: 1 CASCADE, 2 RESTART IDENTITY.
std::string Truncate(const std::vector<Oid>& relations, int options = 0,
                     MaybeXid xid = {});
std::string StreamStart(Xid xid, bool first_segment);
std::string StreamStop();
std::string StreamCommit(Xid xid, Lsn commit_lsn, Lsn end_lsn,
                         PgTime commit_time);
// Without LSN and time: streaming off or on.
std::string StreamAbort(Xid xid, Xid subxid);
// With them: streaming parallel.
std::string StreamAbort(Xid xid, Xid subxid, Lsn abort_lsn, PgTime abort_time);
std::string BeginPrepare(Lsn prepare_lsn, Lsn end_lsn, PgTime prepare_time,
                         Xid xid, std::string_view gid);
std::string Prepare(Lsn prepare_lsn, Lsn end_lsn, PgTime prepare_time, Xid xid,
                    std::string_view gid);
std::string CommitPrepared(Lsn commit_lsn, Lsn end_lsn, PgTime commit_time,
                           Xid xid, std::string_view gid);
std::string RollbackPrepared(Lsn prepare_end_lsn, Lsn rollback_end_lsn,
                             PgTime prepare_time, PgTime rollback_time, Xid xid,
                             std::string_view gid);
std::string StreamPrepare(Lsn prepare_lsn, Lsn end_lsn, PgTime prepare_time,
                          Xid xid, std::string_view gid);

// The envelope: bodies of CopyData messages.
std::string XLogData(Lsn data_start, Lsn wal_end, PgTime server_time,
                     std::string_view payload);
std::string Keepalive(Lsn wal_end, PgTime server_time, bool reply_requested);

// Parts, for messages that no function above makes.
std::string Int8(int value);
std::string Int16(int value);
std::string Int32(std::uint32_t value);
std::string Int64(std::uint64_t value);
std::string CString(std::string_view text);  // with its zero byte
std::string TupleData(const Values& values);

}  // namespace sublite::encode

#endif  // SUBLITE_TESTS_SUPPORT_ENCODE_H_
