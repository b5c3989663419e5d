// sublite's own tables in the replica file, drawn once.
//
// CONTRACT.md section 4 names the columns that readers may rely on; the others
// are sublite's. Every write to them is in the SQLite transaction of the rows
// that it speaks of. LSNs for readers are text `X/Y`, LSNs for sublite are
// integers (column names end in `_at` for times, `_pos` for integer positions).
// Times have the form of a stored timestamptz.
//
//   sublite_state     one row: where this replica stands; readers see it
//   through the view sublite_status sublite_tables    one row a published table
//   sublite_columns   one row a column of a replicated table, as the table was
//   made sublite_indexes   the indexes that sublite made sublite_prepared
//   transactions prepared at the publisher and not yet decided sublite_staged
//   their changes: records of applier/staging.h, in parts sublite_messages
//   logical decoding messages, if asked for sublite_events    what a person may
//   want to know, newest last; the oldest go when there are more than 10,000
//   sublite_changes   which rows changed, if asked for, newest last
//   sublite_slot      one row: what the slot keeps at the publisher, when last
//   asked sublite_requests  what `sublite resync` and `sublite skip` ask of the
//   running process
#ifndef SUBLITE_SCHEMA_BOOKKEEPING_H_
#define SUBLITE_SCHEMA_BOOKKEEPING_H_

namespace sublite {

// Stored in sublite_state.format. A file with a higher number was written by a
// newer sublite. Columns that only add something do not raise it: they are
// added to files that lack them (kAddedColumns), and an older sublite leaves
// them alone.
inline constexpr int kFileFormat = 1;
// PRAGMA application_id: "subl".
inline constexpr int kApplicationId = 0x7375626c;

// Columns that a file of an earlier sublite may lack.
struct AddedColumn {
  const char* table;
  const char* column;
  const char* type;
};
inline constexpr AddedColumn kAddedColumns[] = {
    {"sublite_state", "slot_from", "text not null default ''"},
    {"sublite_state", "slot_asked", "text not null default ''"},
    {"sublite_state", "slot_making", "integer not null default 0"},
    {"sublite_state", "slot_passed", "integer not null default 0"},
    {"sublite_state", "slot_note", "text"},
    {"sublite_state", "file_id", "text not null default ''"},
    {"sublite_state", "home_machine", "text not null default ''"},
    {"sublite_state", "home_path", "text not null default ''"},
    {"sublite_tables", "unpublished_since", "text"},
    {"sublite_tables", "labels", "text not null default ''"},
    {"sublite_tables", "failed_as", "text"},
    {"sublite_tables", "retry_at", "text"},
    {"sublite_state", "shown_pos", "integer"},
    {"sublite_state", "shown_commit_time", "text"},
    {"sublite_state", "shown_consistent", "integer not null default 0"},
};

inline constexpr char kVersion[] = "0.1.0";

inline constexpr char kBookkeepingSql[] = R"sql(
create table if not exists sublite_state (
  one integer primary key check (one = 1),
  format integer not null,
  state text not null,               -- copying, streaming, disconnected, failed
  applied_pos integer,               -- end position of all that is applied; NULL until the slot exists
  applied_commit_time text,
  shown_pos integer,                 -- while all tables are copied again after a gap: where the rows that readers see are from;
  shown_commit_time text,            -- applied_pos is then that of the copies. All take the tables' names at once
  shown_consistent integer not null default 0,
  contact_at text,
  publications text not null default '',
  slot text not null default '',
  slot_pos integer,                  -- the slot's consistent point
  slot_snapshot text,                -- what had committed before it
  slot_timeline integer,             -- the publisher's when the slot was made
  slot_on_standby integer not null default 0, -- it was made on a standby
  slot_from text not null default '',  -- while `slot` is not this file's yet: the slot that the position comes from
  slot_asked text not null default '', -- publisher.slot where that is another replica's, and `slot` one of its own
  slot_making integer not null default 0, -- 1: the slot is being made anew; else it was made there, and the copies are not through
  slot_passed integer not null default 0, -- how often it had moved past the file and was taken again
  slot_note text,                    -- what a person has to know of the slot that was left alone
  file_id text not null default '',  -- random: which replica this is; a copy of the file gets another
  home_machine text not null default '', -- where it was last followed: "" if not known
  home_path text not null default '',
  system_identifier text,
  timeline integer,                  -- the publisher's at the last connect
  timeline_began integer,            -- where that left its parent; NULL if not known
  source integer not null default 0, -- counts publishers: another system identifier is another source
  server_version text,
  activity text,                     -- what a long wait is for, while it lasts
  last_error text,
  last_error_at text,
  sublite_version text not null
);
create table if not exists sublite_tables (
  id integer primary key,
  pg_schema text not null,
  pg_table text not null,
  sqlite_table text not null,
  state text not null,               -- pending, copying, ready, failed, unpublished
  rows_copied integer not null default 0,
  rows_estimated integer,
  copied_at text,
  error text,
  unpublished_since text,
  oid integer not null,
  replica_identity text not null,
  publishes_changes integer not null default 1,  -- update or delete, not only insert and truncate
  published_as text not null default '',         -- these three as in PublishedTable
  attributes text not null default '',
  storage text not null default '',
  labels text not null default '',               -- of the enums in its rows, see schema/enum_labels.h
  snapshot text,                     -- with copy_pos: transactions that the copied rows already hold
  copy_pos integer,                  -- from this position on nothing is in the copy; NULL once applied_pos passed it
  missing_rows integer not null default 0,   -- updates and deletes that found no row
  replaced_rows integer not null default 0,  -- inserts that found their key taken
  failed_as text,                    -- while it is failed: what it was at the publisher, as in sublite_copies
  retry_at text,                     -- while it is failed: when it is tried again by itself; NULL if never
  unique (pg_schema, pg_table)
);
create table if not exists sublite_columns (
  sqlite_table text not null,
  "column" text not null,
  position integer not null,
  pg_type text not null,
  sqlite_type text not null,
  "key" integer not null,
  table_id integer not null,
  pg_column text not null,
  type_oid integer not null,
  type_modifier integer not null,
  codec text not null,               -- ColumnType::Encode
  key_place integer,                 -- place in the primary key, from 1
  identity_place integer,            -- place in the replica identity index, from 1
  not_null integer not null,
  attnum integer not null,
  primary key (table_id, position)
) without rowid;
create table if not exists sublite_indexes (
  name text primary key,             -- of an index that sublite made; all others are a local administrator's
  table_id integer not null,
  columns text not null,
  is_unique integer not null
) without rowid;
create table if not exists sublite_copies (
  table_id integer primary key,
  made_as text not null,             -- what the table was when the copy began, see applier/partial_copy.h
  upto text not null,                -- the key of the last row that is there
  complete integer not null,
  chunks text not null,              -- whose snapshots the stream has not passed yet
  rows integer not null
);
create table if not exists sublite_prepared (
  id integer primary key,
  gid text not null,
  xid integer not null,
  prepare_lsn text not null,
  prepared_at text not null,
  changes integer not null,
  bytes integer not null,
  end_pos integer not null,
  source integer not null,
  unique (xid, gid, prepare_lsn, source)
);
create table if not exists sublite_staged (
  prepared_id integer not null,
  part integer not null,
  data blob not null,
  primary key (prepared_id, part)
);
create table if not exists sublite_messages (
  id integer primary key autoincrement,
  lsn text not null,
  transactional integer not null,
  prefix text not null,
  content blob not null,
  sent_at text,
  source integer not null,
  unique (source, lsn)
);
create table if not exists sublite_events (
  id integer primary key autoincrement,
  at text not null,
  kind text not null,
  sqlite_table text,
  lsn text,
  detail text
);
create table if not exists sublite_changes (
  id integer primary key autoincrement,
  sqlite_table text not null,
  "key" text,                        -- see applier/change_feed.h
  kind text not null,                -- insert, update, delete, truncate, copied
  lsn text not null,
  committed_at text,
  applied_at text not null
);
create table if not exists sublite_slot (
  one integer primary key check (one = 1),
  observed_at text not null,         -- when the publisher was asked
  wal_pos integer not null,          -- the end of its WAL then
  restart_pos integer,               -- the oldest WAL that the slot needs
  wal_status text,                   -- these two as in pg_replication_slots
  safe_bytes integer,
  keep_bytes integer,                -- max_slot_wal_keep_size; NULL without a limit
  idle_timeout_seconds integer,      -- idle_replication_slot_timeout; NULL without one
  wal_rate integer not null          -- bytes a second that the publisher writes; 0 if not known
);
create table if not exists sublite_requests (
  id integer primary key autoincrement,
  kind text not null check (kind in ('resync', 'skip')),
  argument text not null,            -- resync: sublite_tables.id or '*'; skip: an LSN as text
  at text not null
);
create view if not exists sublite_status as
select s.state,
  s.applied_pos is not null
    and case when s.shown_pos is not null then s.shown_consistent = 1
      else not exists (select 1 from sublite_tables t where t.state not in ('ready', 'unpublished') or t.copy_pos > s.applied_pos)
    end
    and not exists (select 1 from sublite_requests r where r.kind = 'resync') as consistent,
  printf('%X/%X', (coalesce(s.shown_pos, s.applied_pos) >> 32) & 4294967295,
    coalesce(s.shown_pos, s.applied_pos) & 4294967295) as applied_lsn,
  case when s.shown_pos is null then s.applied_commit_time else s.shown_commit_time end as applied_commit_time, s.contact_at, s.publications, s.slot, s.system_identifier, s.server_version,
  (select count(*) from sublite_prepared) as prepared,
  s.last_error, s.last_error_at, s.sublite_version, s.timeline, s.activity, s.file_id, s.slot_note,
  (select coalesce(sum(missing_rows), 0) from sublite_tables) as missing_rows,
  (select coalesce(sum(replaced_rows), 0) from sublite_tables) as replaced_rows
from sublite_state s;
)sql";

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_BOOKKEEPING_H_
