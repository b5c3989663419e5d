#include "applier/wire/decode_transaction.h"

#include "applier/wire/decode_fields.h"

namespace sublite {
namespace {

// No flag is known yet in the messages that reserve a byte for them.
void ReadNoFlags(Cursor& cursor) { ReadFlags(cursor, 0, "flags"); }

// What Prepare and Stream Prepare share behind their first byte.
template <typename Prepared>
Prepared ReadPrepared(Cursor& cursor) {
  Prepared message;
  message.prepare_lsn = ReadValidLsn(cursor, "prepare LSN");
  message.end_lsn = ReadEndLsn(cursor, message.prepare_lsn, "end LSN");
  message.prepare_time = ReadTime(cursor, "prepare time");
  message.xid = ReadXid(cursor, "transaction id");
  message.gid = cursor.String("GID");
  return message;
}

}  // namespace

BeginMessage DecodeBegin(Cursor& cursor) {
  BeginMessage message;
  message.final_lsn = ReadValidLsn(cursor, "final LSN");
  message.commit_time = ReadTime(cursor, "commit time");
  message.xid = ReadXid(cursor, "transaction id");
  return message;
}

CommitMessage DecodeCommit(Cursor& cursor) {
  CommitMessage message;
  ReadNoFlags(cursor);
  message.commit_lsn = ReadValidLsn(cursor, "commit LSN");
  message.end_lsn = ReadEndLsn(cursor, message.commit_lsn, "end LSN");
  message.commit_time = ReadTime(cursor, "commit time");
  return message;
}

OriginMessage DecodeOrigin(Cursor& cursor) {
  OriginMessage message;
  // Zero where the origin's commit is not known (yet), as in a stream block.
  message.origin_lsn = ReadLsn(cursor, "origin LSN");
  message.name = cursor.String("origin name");
  return message;
}

StreamStartMessage DecodeStreamStart(Cursor& cursor) {
  StreamStartMessage message;
  message.xid = ReadXid(cursor, "transaction id");
  message.first_segment = ReadFlags(cursor, 1, "first segment flag") != 0;
  return message;
}

StreamCommitMessage DecodeStreamCommit(Cursor& cursor) {
  StreamCommitMessage message;
  message.xid = ReadXid(cursor, "transaction id");
  ReadNoFlags(cursor);
  message.commit_lsn = ReadValidLsn(cursor, "commit LSN");
  message.end_lsn = ReadEndLsn(cursor, message.commit_lsn, "end LSN");
  message.commit_time = ReadTime(cursor, "commit time");
  return message;
}

StreamAbortMessage DecodeStreamAbort(Cursor& cursor,
                                     const DecodeContext& context) {
  StreamAbortMessage message;
  message.xid = ReadXid(cursor, "transaction id");
  message.subxid = ReadXid(cursor, "subtransaction id");
  if (context.parallel_streaming) {
    // Zero where the server crashed before it wrote an abort record.
    message.abort_lsn = ReadLsn(cursor, "abort LSN");
    message.abort_time = ReadTime(cursor, "abort time");
  }
  return message;
}

BeginPrepareMessage DecodeBeginPrepare(Cursor& cursor) {
  return ReadPrepared<BeginPrepareMessage>(cursor);
}

PrepareMessage DecodePrepare(Cursor& cursor) {
  ReadNoFlags(cursor);
  return ReadPrepared<PrepareMessage>(cursor);
}

CommitPreparedMessage DecodeCommitPrepared(Cursor& cursor) {
  CommitPreparedMessage message;
  ReadNoFlags(cursor);
  message.commit_lsn = ReadValidLsn(cursor, "commit LSN");
  message.end_lsn = ReadEndLsn(cursor, message.commit_lsn, "end LSN");
  message.commit_time = ReadTime(cursor, "commit time");
  message.xid = ReadXid(cursor, "transaction id");
  message.gid = cursor.String("GID");
  return message;
}

RollbackPreparedMessage DecodeRollbackPrepared(Cursor& cursor) {
  RollbackPreparedMessage message;
  ReadNoFlags(cursor);
  message.prepare_end_lsn = ReadValidLsn(cursor, "prepare end LSN");
  message.rollback_end_lsn =
      ReadEndLsn(cursor, message.prepare_end_lsn, "rollback end LSN");
  message.prepare_time = ReadTime(cursor, "prepare time");
  message.rollback_time = ReadTime(cursor, "rollback time");
  message.xid = ReadXid(cursor, "transaction id");
  message.gid = cursor.String("GID");
  return message;
}

StreamPrepareMessage DecodeStreamPrepare(Cursor& cursor) {
  ReadNoFlags(cursor);
  return ReadPrepared<StreamPrepareMessage>(cursor);
}

}  // namespace sublite
