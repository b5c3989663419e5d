-- Row changes under every replica identity, the kinds of column values, types, names, TRUNCATE, logical messages and an
-- origin, each in a transaction of ordinary size.
--
-- capture: text since=14 proto_version=1 messages=true
-- capture: binary since=14 proto_version=1 messages=true binary=true
CREATE TABLE keyed (id integer PRIMARY KEY, name text, big text);
ALTER TABLE keyed ALTER COLUMN big SET STORAGE EXTERNAL;
CREATE TABLE by_index (a integer, b text NOT NULL, c text);
CREATE UNIQUE INDEX by_index_b ON by_index (b);
ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_b;
CREATE TABLE whole (a integer, b text);
ALTER TABLE whole REPLICA IDENTITY FULL;
CREATE TABLE unidentified (a varchar(10), b numeric(12,2));
ALTER TABLE unidentified REPLICA IDENTITY NOTHING;
CREATE SCHEMA "Grüße";
CREATE TYPE "Grüße".mood AS ENUM ('sad', 'happy');
CREATE DOMAIN small AS smallint CHECK (VALUE < 100);
CREATE TABLE "Grüße"."it's ""quoted""" (k bigint PRIMARY KEY, "a
b" "Grüße".mood, s small, f boolean, "🐘" text);
CREATE TABLE parent (id integer PRIMARY KEY);
CREATE TABLE child (id integer PRIMARY KEY, parent integer REFERENCES parent);
CREATE PUBLICATION golden FOR TABLE keyed, by_index, whole, unidentified, parent, child, "Grüße"."it's ""quoted""";
-- Before the slot, so that its 3000 characters are not in the capture.
INSERT INTO keyed VALUES (1, 'one', repeat('x', 3000));

-- slot

INSERT INTO keyed VALUES (2, 'two', NULL), (3, '', 'tab	newline
backslash \ quote '' "');
-- expect: {"message": "Begin"}
-- expect: {"message": "Insert", "table": "public.keyed", "new": ["2", "two", null]}
-- expect: {"message": "Insert", "table": "public.keyed", "new": ["3", "", "tab\tnewline\nbackslash \\ quote ' \""]}
-- expect: {"message": "Commit"}

-- The key stays: no old tuple. The big value is not sent again.
UPDATE keyed SET name = 'uno' WHERE id = 1;
-- expect: {"message": "Begin"}
-- expect: {"message": "Update", "table": "public.keyed", "new": ["1", "uno", {"unchanged": true}]}
-- expect: {"message": "Commit"}

-- The key changes: the old key comes first, its other columns null.
UPDATE keyed SET id = 20 WHERE id = 2;
DELETE FROM keyed WHERE id = 3;
-- expect: {"message": "Begin"}
-- expect: {"message": "Update", "table": "public.keyed", "old_key": ["2", null, null], "new": ["20", "two", null]}
-- expect: {"message": "Commit"}
-- expect: {"message": "Begin"}
-- expect: {"message": "Delete", "table": "public.keyed", "old_key": ["3", null, null]}
-- expect: {"message": "Commit"}

BEGIN;
INSERT INTO by_index VALUES (1, 'b1', 'c1');
UPDATE by_index SET a = -7 WHERE b = 'b1';
UPDATE by_index SET b = 'b2' WHERE b = 'b1';
DELETE FROM by_index;
COMMIT;
-- expect: {"message": "Begin"}
-- expect: {"message": "Insert", "table": "public.by_index", "new": ["1", "b1", "c1"]}
-- expect: {"message": "Update", "table": "public.by_index", "new": ["-7", "b1", "c1"]}
-- expect: {"message": "Update", "table": "public.by_index", "old_key": [null, "b1", null], "new": ["-7", "b2", "c1"]}
-- expect: {"message": "Delete", "table": "public.by_index", "old_key": [null, "b2", null]}
-- expect: {"message": "Commit"}

BEGIN;
INSERT INTO whole VALUES (1, NULL), (2147483647, 'é 🐘');
UPDATE whole SET b = 'two' WHERE a = 1;
DELETE FROM whole WHERE a = 1;
COMMIT;
-- expect: {"message": "Begin"}
-- expect: {"message": "Insert", "table": "public.whole", "new": ["1", null]}
-- expect: {"message": "Insert", "table": "public.whole", "new": ["2147483647", "é 🐘"]}
-- expect: {"message": "Update", "table": "public.whole", "old": ["1", null], "new": ["1", "two"]}
-- expect: {"message": "Delete", "table": "public.whole", "old": ["1", "two"]}
-- expect: {"message": "Commit"}

INSERT INTO unidentified VALUES ('v', NULL);
-- expect: {"message": "Begin"}
-- expect: {"message": "Insert", "table": "public.unidentified", "new": ["v", null]}
-- expect: {"message": "Commit"}

INSERT INTO "Grüße"."it's ""quoted""" VALUES (-9223372036854775808, 'happy', 99, true, NULL);
-- expect: {"message": "Begin"}
-- expect: {"message": "Insert", "table": "Grüße.it's \"quoted\"", "new": ["-9223372036854775808", "happy", "99", "t", null]}
-- expect: {"message": "Commit"}

TRUNCATE whole;
TRUNCATE by_index, keyed RESTART IDENTITY;
TRUNCATE parent CASCADE;
TRUNCATE parent, child RESTART IDENTITY CASCADE;
-- expect: {"message": "Begin"}
-- expect: {"message": "Truncate", "tables": ["public.whole"], "cascade": false, "restart_identity": false}
-- expect: {"message": "Commit"}
-- expect: {"message": "Begin"}
-- expect: {"message": "Truncate", "tables": ["public.by_index", "public.keyed"], "cascade": false, "restart_identity": true}
-- expect: {"message": "Commit"}
-- expect: {"message": "Begin"}
-- expect: {"message": "Truncate", "tables": ["public.parent", "public.child"], "cascade": true, "restart_identity": false}
-- expect: {"message": "Commit"}
-- expect: {"message": "Begin"}
-- expect: {"message": "Truncate", "tables": ["public.parent", "public.child"], "cascade": true, "restart_identity": true}
-- expect: {"message": "Commit"}

SELECT pg_logical_emit_message(true, 'in a transaction', 'content');
SELECT pg_logical_emit_message(false, 'outside', '\x00ff0a'::bytea);
SELECT pg_logical_emit_message(true, '', '');
-- expect: {"message": "Begin"}
-- expect: {"message": "Message", "transactional": true, "prefix": "in a transaction", "content": "content"}
-- expect: {"message": "Commit"}
-- expect: {"message": "Message", "transactional": false, "prefix": "outside", "content": {"text_hex": "00ff0a"}}
-- expect: {"message": "Begin"}
-- expect: {"message": "Message", "transactional": true, "prefix": "", "content": ""}
-- expect: {"message": "Commit"}

SELECT pg_replication_origin_create('über');
SELECT pg_replication_origin_session_setup('über');
BEGIN;
SELECT pg_replication_origin_xact_setup('1A2B3C/4D5E6F70', '2001-02-03 04:05:06.789+00');
INSERT INTO parent VALUES (7);
COMMIT;
SELECT pg_replication_origin_session_reset();
SELECT pg_replication_origin_drop('über');
-- expect: {"message": "Begin"}
-- expect: {"message": "Origin", "origin_lsn": "1A2B3C/4D5E6F70", "name": "über"}
-- expect: {"message": "Insert", "table": "public.parent", "new": ["7"]}
-- expect: {"message": "Commit"}
