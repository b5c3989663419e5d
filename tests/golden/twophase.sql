-- Prepared transactions: committed, rolled back, and streamed before they were prepared. See stream.sql for filler.
--
-- capture: plain since=15 proto_version=3 two_phase=on
-- capture: stream since=15 proto_version=3 streaming=on two_phase=on
-- capture: parallel since=16 proto_version=4 streaming=parallel two_phase=on
CREATE TABLE item (id integer PRIMARY KEY, name text);
CREATE TABLE filler (id integer, pad text);
CREATE PUBLICATION golden FOR TABLE item;

-- slot

BEGIN;
INSERT INTO item VALUES (1, 'to be committed');
PREPARE TRANSACTION 'commit me';
SELECT json_build_object('fact', 'prepared', 'gid', gid, 'xid', transaction::text::bigint, 'time', prepared || ':00')
  FROM pg_prepared_xacts;
COMMIT PREPARED 'commit me';
-- expect: {"message": "Begin Prepare", "gid": "commit me"}
-- expect: {"message": "Insert", "table": "public.item", "new": ["1", "to be committed"]}
-- expect: {"message": "Prepare", "gid": "commit me"}
-- expect: {"message": "Commit Prepared", "gid": "commit me"}

BEGIN;
INSERT INTO item VALUES (2, 'to be rolled back');
PREPARE TRANSACTION 'roll "me" back; é';
SELECT json_build_object('fact', 'prepared', 'gid', gid, 'xid', transaction::text::bigint, 'time', prepared || ':00')
  FROM pg_prepared_xacts;
ROLLBACK PREPARED 'roll "me" back; é';
-- expect: {"message": "Begin Prepare", "gid": "roll \"me\" back; é"}
-- expect: {"message": "Insert", "table": "public.item", "new": ["2", "to be rolled back"]}
-- expect: {"message": "Prepare", "gid": "roll \"me\" back; é"}
-- expect: {"message": "Rollback Prepared", "gid": "roll \"me\" back; é"}

-- Larger than the server's decoding memory.
BEGIN;
INSERT INTO item VALUES (3, 'large');
INSERT INTO filler SELECT g, repeat('x', 500) FROM generate_series(1, 200) g;
UPDATE item SET name = 'larger' WHERE id = 3;
PREPARE TRANSACTION 'large';
SELECT json_build_object('fact', 'prepared', 'gid', gid, 'xid', transaction::text::bigint, 'time', prepared || ':00')
  FROM pg_prepared_xacts;
COMMIT PREPARED 'large';
-- expect[plain]: {"message": "Begin Prepare", "gid": "large"}
-- expect: {"message": "Insert", "table": "public.item", "new": ["3", "large"]}
-- expect: {"message": "Update", "table": "public.item", "new": ["3", "larger"]}
-- expect[plain]: {"message": "Prepare", "gid": "large"}
-- expect[stream]: {"message": "Stream Prepare", "gid": "large"}
-- expect: {"message": "Commit Prepared", "gid": "large"}

-- A GID may be used again.
BEGIN;
INSERT INTO item VALUES (4, 'again');
PREPARE TRANSACTION 'large';
SELECT json_build_object('fact', 'prepared', 'gid', gid, 'xid', transaction::text::bigint, 'time', prepared || ':00')
  FROM pg_prepared_xacts;
ROLLBACK PREPARED 'large';
-- expect: {"message": "Begin Prepare", "gid": "large"}
-- expect: {"message": "Insert", "table": "public.item", "new": ["4", "again"]}
-- expect: {"message": "Prepare", "gid": "large"}
-- expect: {"message": "Rollback Prepared", "gid": "large"}
