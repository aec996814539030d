BEGIN TRANSACTION;
CREATE TABLE applications (
        name TEXT PRIMARY KEY,
        label TEXT NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0,
        batch_id INTEGER,
        batch_epoch INTEGER,
        ranges BLOB) WITHOUT ROWID;
INSERT INTO "applications" VALUES('app','a172cedcae47',1,0,1,X'90');
CREATE TABLE extras (
        application TEXT NOT NULL REFERENCES applications(name) ON DELETE CASCADE,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (application, name)) WITHOUT ROWID;
INSERT INTO "extras" VALUES('app','x','y');
CREATE TABLE group_offsets (
        group_id TEXT NOT NULL,
        topic_id INTEGER NOT NULL REFERENCES topics(id) ON DELETE CASCADE,
        partition INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        committed_ms INTEGER NOT NULL,
        PRIMARY KEY (group_id, topic_id, partition)) WITHOUT ROWID;
INSERT INTO "group_offsets" VALUES('app',1,0,1,'n',1000000);
CREATE TABLE leases (
        application TEXT PRIMARY KEY REFERENCES applications(name) ON DELETE CASCADE,
        epoch INTEGER NOT NULL,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        process TEXT NOT NULL,
        note TEXT NOT NULL,
        since_ms INTEGER NOT NULL,
        renewed INTEGER NOT NULL,
        expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE partitions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        topic_id INTEGER NOT NULL REFERENCES topics(id) ON DELETE CASCADE,
        partition INTEGER NOT NULL,
        start_offset INTEGER NOT NULL DEFAULT 0,
        end_offset INTEGER NOT NULL DEFAULT 0,
        cleaned_offset INTEGER NOT NULL DEFAULT 0,
        UNIQUE (topic_id, partition));
INSERT INTO "partitions" VALUES(1,1,0,0,2,0);
INSERT INTO "partitions" VALUES(2,1,1,0,1,0);
CREATE TABLE producers (
        id TEXT PRIMARY KEY,
        sequence INTEGER NOT NULL,
        ranges BLOB NOT NULL,
        used_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE seal (commits INTEGER NOT NULL, digest INTEGER NOT NULL, numbers INTEGER NOT NULL);
INSERT INTO "seal" VALUES(8,-1128502912342262326,-7545708253359453367);
CREATE TABLE segments (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        partition_id INTEGER NOT NULL REFERENCES partitions(id) ON DELETE CASCADE,
        base_offset INTEGER NOT NULL,
        next_offset INTEGER NOT NULL,
        records INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        min_timestamp INTEGER NOT NULL,
        max_timestamp INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        sparse INTEGER NOT NULL DEFAULT 0,
        file TEXT UNIQUE,
        chunks BLOB NOT NULL,
        payload BLOB,
        UNIQUE (partition_id, next_offset));
INSERT INTO "segments" VALUES(1,1,0,1,1,392,5,5,2011813031,0,NULL,X'919700010100CD0188CE77E9D4A705',X'FFFFFFFF4801000014000000000000000C0016000600050008000C000C0000000003040018000000380000000000000000000A0018000C00040008000A000000CC000000100000000100000000000000000000000B00000000000000000000000000000000000000000000000000000008000000000000000800000000000000000000000000000008000000000000000800000000000000100000000000000001000000000000001800000000000000000000000000000018000000000000000800000000000000200000000000000001000000000000002800000000000000010000000000000030000000000000000800000000000000380000000000000000000000000000000000000004000000010000000000000000000000000000000100000000000000000000000000000001000000000000000000000000000000010000000000000001000000000000000500000000000000000000000100000061000000000000000000000001000000310000000000000000000000000000000000000000000000');
INSERT INTO "segments" VALUES(2,2,0,1,1,392,7,7,1046604457,0,NULL,X'919700010100CD0188CE3E61EAA907',X'FFFFFFFF4801000014000000000000000C0016000600050008000C000C0000000003040018000000380000000000000000000A0018000C00040008000A000000CC000000100000000100000000000000000000000B00000000000000000000000000000000000000000000000000000008000000000000000800000000000000000000000000000008000000000000000800000000000000100000000000000001000000000000001800000000000000000000000000000018000000000000000800000000000000200000000000000001000000000000002800000000000000010000000000000030000000000000000800000000000000380000000000000000000000000000000000000004000000010000000000000000000000000000000100000000000000000000000000000001000000000000000000000000000000010000000000000001000000000000000700000000000000000000000100000062000000000000000000000001000000320000000000000000000000000000000000000000000000');
INSERT INTO "segments" VALUES(4,1,1,2,1,392,9,9,2983652227,0,NULL,X'919700010100CD0188CEB1D6EB8309',X'FFFFFFFF4801000014000000000000000C0016000600050008000C000C0000000003040018000000380000000000000000000A0018000C00040008000A000000CC000000100000000100000000000000000000000B00000000000000000000000000000000000000000000000000000008000000000000000800000000000000000000000000000008000000000000000800000000000000100000000000000001000000000000001800000000000000000000000000000018000000000000000800000000000000200000000000000001000000000000002800000000000000010000000000000030000000000000000800000000000000380000000000000000000000000000000000000004000000010000000000000000000000000000000100000000000000000000000000000001000000000000000000000000000000010000000000000001000000000000000900000000000000000000000100000063000000000000000000000001000000330000000000000000000000000000000000000000000000');
CREATE TABLE topics (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        config TEXT NOT NULL,
        created_ms INTEGER NOT NULL);
INSERT INTO "topics" VALUES(1,'clicks','{"retention.ms": "100"}',1000000);
CREATE INDEX small_segments ON segments (partition_id, next_offset, bytes) WHERE file IS NULL;
CREATE INDEX group_offsets_by_topic ON group_offsets (topic_id);
CREATE TRIGGER topics_insert AFTER INSERT ON topics BEGIN SELECT headrace_note('topics', new.id, new.name, new.config, new.created_ms); END;
CREATE TRIGGER topics_delete AFTER DELETE ON topics BEGIN SELECT headrace_note('topics', old.id, old.name, old.config, old.created_ms); END;
CREATE TRIGGER topics_update AFTER UPDATE ON topics BEGIN SELECT headrace_note('topics', old.id, old.name, old.config, old.created_ms), headrace_note('topics', new.id, new.name, new.config, new.created_ms); END;
CREATE TRIGGER partitions_insert AFTER INSERT ON partitions BEGIN SELECT headrace_note('partitions', new.id, new.topic_id, new.partition, new.start_offset, new.end_offset, new.cleaned_offset); END;
CREATE TRIGGER partitions_delete AFTER DELETE ON partitions BEGIN SELECT headrace_note('partitions', old.id, old.topic_id, old.partition, old.start_offset, old.end_offset, old.cleaned_offset); END;
CREATE TRIGGER partitions_update AFTER UPDATE ON partitions BEGIN SELECT headrace_note('partitions', old.id, old.topic_id, old.partition, old.start_offset, old.end_offset, old.cleaned_offset), headrace_note('partitions', new.id, new.topic_id, new.partition, new.start_offset, new.end_offset, new.cleaned_offset); END;
CREATE TRIGGER segments_insert AFTER INSERT ON segments BEGIN SELECT headrace_note('segments', new.id, new.partition_id, new.base_offset, new.next_offset, new.records, new.bytes, new.min_timestamp, new.max_timestamp, new.checksum, new.sparse, new.file, new.chunks); END;
CREATE TRIGGER segments_delete AFTER DELETE ON segments BEGIN SELECT headrace_note('segments', old.id, old.partition_id, old.base_offset, old.next_offset, old.records, old.bytes, old.min_timestamp, old.max_timestamp, old.checksum, old.sparse, old.file, old.chunks); END;
CREATE TRIGGER segments_update AFTER UPDATE ON segments BEGIN SELECT headrace_note('segments', old.id, old.partition_id, old.base_offset, old.next_offset, old.records, old.bytes, old.min_timestamp, old.max_timestamp, old.checksum, old.sparse, old.file, old.chunks), headrace_note('segments', new.id, new.partition_id, new.base_offset, new.next_offset, new.records, new.bytes, new.min_timestamp, new.max_timestamp, new.checksum, new.sparse, new.file, new.chunks); END;
CREATE TRIGGER group_offsets_insert AFTER INSERT ON group_offsets BEGIN SELECT headrace_note('group_offsets', new.group_id, new.topic_id, new.partition, new.offset, new.metadata, new.committed_ms); END;
CREATE TRIGGER group_offsets_delete AFTER DELETE ON group_offsets BEGIN SELECT headrace_note('group_offsets', old.group_id, old.topic_id, old.partition, old.offset, old.metadata, old.committed_ms); END;
CREATE TRIGGER group_offsets_update AFTER UPDATE ON group_offsets BEGIN SELECT headrace_note('group_offsets', old.group_id, old.topic_id, old.partition, old.offset, old.metadata, old.committed_ms), headrace_note('group_offsets', new.group_id, new.topic_id, new.partition, new.offset, new.metadata, new.committed_ms); END;
CREATE TRIGGER producers_insert AFTER INSERT ON producers BEGIN SELECT headrace_note('producers', new.id, new.sequence, new.ranges, new.used_ms); END;
CREATE TRIGGER producers_delete AFTER DELETE ON producers BEGIN SELECT headrace_note('producers', old.id, old.sequence, old.ranges, old.used_ms); END;
CREATE TRIGGER producers_update AFTER UPDATE ON producers BEGIN SELECT headrace_note('producers', old.id, old.sequence, old.ranges, old.used_ms), headrace_note('producers', new.id, new.sequence, new.ranges, new.used_ms); END;
CREATE TRIGGER applications_insert AFTER INSERT ON applications BEGIN SELECT headrace_note('applications', new.name, new.label, new.epoch, new.batch_id, new.batch_epoch, new.ranges); END;
CREATE TRIGGER applications_delete AFTER DELETE ON applications BEGIN SELECT headrace_note('applications', old.name, old.label, old.epoch, old.batch_id, old.batch_epoch, old.ranges); END;
CREATE TRIGGER applications_update AFTER UPDATE ON applications BEGIN SELECT headrace_note('applications', old.name, old.label, old.epoch, old.batch_id, old.batch_epoch, old.ranges), headrace_note('applications', new.name, new.label, new.epoch, new.batch_id, new.batch_epoch, new.ranges); END;
CREATE TRIGGER extras_insert AFTER INSERT ON extras BEGIN SELECT headrace_note('extras', new.application, new.name, new.value); END;
CREATE TRIGGER extras_delete AFTER DELETE ON extras BEGIN SELECT headrace_note('extras', old.application, old.name, old.value); END;
CREATE TRIGGER extras_update AFTER UPDATE ON extras BEGIN SELECT headrace_note('extras', old.application, old.name, old.value), headrace_note('extras', new.application, new.name, new.value); END;
CREATE TRIGGER leases_insert AFTER INSERT ON leases BEGIN SELECT headrace_note('leases', new.application, new.epoch, new.host, new.pid, new.process, new.note, new.since_ms, new.renewed, new.expires); END;
CREATE TRIGGER leases_delete AFTER DELETE ON leases BEGIN SELECT headrace_note('leases', old.application, old.epoch, old.host, old.pid, old.process, old.note, old.since_ms, old.renewed, old.expires); END;
CREATE TRIGGER leases_update AFTER UPDATE ON leases BEGIN SELECT headrace_note('leases', old.application, old.epoch, old.host, old.pid, old.process, old.note, old.since_ms, old.renewed, old.expires), headrace_note('leases', new.application, new.epoch, new.host, new.pid, new.process, new.note, new.since_ms, new.renewed, new.expires); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('topics',2);
INSERT INTO "sqlite_sequence" VALUES('partitions',3);
INSERT INTO "sqlite_sequence" VALUES('segments',4);
COMMIT;
