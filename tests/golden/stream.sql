-- Streamed transactions: committed, rolled back whole and in part, with every kind of message that can stand inside a
-- stream block. The table filler is not published: its rows only fill the server's decoding memory (64 kB), so that it
-- streams, and pg_temp.sent() waits until what was written has been decoded, so that it streams before it sees the end.
--
-- capture: off since=14 proto_version=2 streaming=off messages=true
-- capture: on since=14 proto_version=2 streaming=on messages=true
-- capture: on-binary since=14 proto_version=2 streaming=on messages=true binary=true
-- capture: on-v4 since=16 proto_version=4 streaming=on messages=true
-- capture: parallel since=16 proto_version=4 streaming=parallel messages=true
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE item (id integer PRIMARY KEY, name text, m mood);
CREATE TABLE log (line text);
ALTER TABLE log REPLICA IDENTITY FULL;
CREATE TABLE filler (id integer, pad text);
CREATE PUBLICATION golden FOR TABLE item, log;

-- slot

SET synchronous_commit = off;
CREATE PROCEDURE pg_temp.fill() LANGUAGE sql AS
  $$ INSERT INTO filler SELECT g, repeat('x', 500) FROM generate_series(1, 200) g $$;
CREATE PROCEDURE pg_temp.sent() LANGUAGE plpgsql AS $$
  DECLARE target pg_lsn := pg_switch_wal();
  BEGIN
    WHILE NOT coalesce((SELECT bool_or(sent_lsn >= target) FROM pg_stat_replication), false) LOOP
      PERFORM pg_sleep(0.01);
    END LOOP;
  END $$;

-- Committed; a savepoint inside is rolled back.
BEGIN;
INSERT INTO item VALUES (1, 'kept', 'sad');
SELECT pg_logical_emit_message(true, 'in a stream', 'content');
CALL pg_temp.fill();
SAVEPOINT a;
INSERT INTO item VALUES (2, 'rolled back', NULL);
CALL pg_temp.fill();
SELECT json_build_object('fact', 'row_xid', 'id', id, 'xid', xmin::text::bigint) FROM item ORDER BY id;
CALL pg_temp.sent();
ROLLBACK TO a;
INSERT INTO item VALUES (3, 'after', 'happy');
UPDATE item SET name = 'kept on' WHERE id = 1;
UPDATE item SET id = 4 WHERE id = 1;
DELETE FROM item WHERE id = 3;
INSERT INTO log VALUES ('l1');
UPDATE log SET line = 'l2';
DELETE FROM log;
TRUNCATE log;
COMMIT;
-- expect[plain]: {"message": "Begin"}
-- expect: {"message": "Insert", "table": "public.item", "new": ["1", "kept", "sad"]}
-- expect: {"message": "Message", "transactional": true, "prefix": "in a stream", "content": "content"}
-- expect[stream]: {"message": "Insert", "table": "public.item", "new": ["2", "rolled back", null]}
-- expect[stream]: {"message": "Stream Abort", "whole": false}
-- expect: {"message": "Insert", "table": "public.item", "new": ["3", "after", "happy"]}
-- expect: {"message": "Update", "table": "public.item", "new": ["1", "kept on", "sad"]}
-- expect: {"message": "Update", "table": "public.item", "old_key": ["1", null, null], "new": ["4", "kept on", "sad"]}
-- expect: {"message": "Delete", "table": "public.item", "old_key": ["3", null, null]}
-- expect: {"message": "Insert", "table": "public.log", "new": ["l1"]}
-- expect: {"message": "Update", "table": "public.log", "old": ["l1"], "new": ["l2"]}
-- expect: {"message": "Delete", "table": "public.log", "old": ["l2"]}
-- expect: {"message": "Truncate", "tables": ["public.log"], "cascade": false, "restart_identity": false}
-- expect[plain]: {"message": "Commit"}
-- expect[stream]: {"message": "Stream Commit"}

-- Rolled back whole. Written while it is open: a message that is in no transaction.
BEGIN;
INSERT INTO item VALUES (5, 'never', NULL);
CALL pg_temp.fill();
SELECT pg_logical_emit_message(false, 'outside', 'any');
CALL pg_temp.sent();
ROLLBACK;
-- expect[stream]: {"message": "Insert", "table": "public.item", "new": ["5", "never", null]}
-- expect: {"message": "Message", "transactional": false, "prefix": "outside", "content": "any"}
-- expect[stream]: {"message": "Stream Abort", "whole": true}

-- With an origin.
SELECT pg_replication_origin_create('elsewhere');
SELECT pg_replication_origin_session_setup('elsewhere');
BEGIN;
SELECT pg_replication_origin_xact_setup('0/AB', '2001-02-03 04:05:06+00');
INSERT INTO item VALUES (6, 'from elsewhere', NULL);
CALL pg_temp.fill();
CALL pg_temp.sent();
COMMIT;
SELECT pg_replication_origin_session_reset();
SELECT pg_replication_origin_drop('elsewhere');
-- expect[plain]: {"message": "Begin"}
-- expect[plain]: {"message": "Origin", "origin_lsn": "0/AB", "name": "elsewhere"}
-- expect[stream]: {"message": "Origin", "origin_lsn": "0/0", "name": "elsewhere"}
-- expect: {"message": "Insert", "table": "public.item", "new": ["6", "from elsewhere", null]}
-- expect[plain]: {"message": "Commit"}
-- expect[stream]: {"message": "Stream Commit"}
