-- An empty store, but for the tables in schema.go, which older files lack. PRAGMA application_id is "DRAG"; user_version is the schema's version.
--
-- Rows of a key have the id: key id << 32 | seq. So they lie together, in order, and need
-- no second index. Times are Unix nanoseconds, 0 for none.
--
-- keys.seq and keys.msg_seq are the highest that were handed out; they survive the deletion of a
-- conversation. Ids of keys are not used twice either: meta.last_key is the highest one of
-- a deleted key. A deleted inbox row leaves the hash of its dedupe string in erased.
--
-- A delivery's id is made of meta.prefix and the row's id, unless did has one.

BEGIN IMMEDIATE;
PRAGMA application_id = 1146241351;
PRAGMA user_version = 3;

CREATE TABLE meta (
	one         INTEGER PRIMARY KEY CHECK (one = 1),
	name        TEXT    NOT NULL,
	incarnation INTEGER NOT NULL DEFAULT 0,
	checked     INTEGER NOT NULL DEFAULT 0,
	prefix      TEXT    NOT NULL DEFAULT '',
	last_key    INTEGER NOT NULL DEFAULT 0
);
INSERT INTO meta (one, name) VALUES (1, lower(hex(randomblob(4))));
UPDATE meta SET prefix = name;

CREATE TABLE keys (
	id      INTEGER PRIMARY KEY,
	key     TEXT    NOT NULL UNIQUE,
	seq     INTEGER NOT NULL DEFAULT 0,
	msg_seq INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE inbox (
	id         INTEGER PRIMARY KEY,
	dedupe     TEXT    NOT NULL UNIQUE,
	message_id TEXT    NOT NULL,
	origin     TEXT    NOT NULL,
	state      TEXT    NOT NULL,
	rev        INTEGER NOT NULL DEFAULT 0,
	attempts   INTEGER NOT NULL DEFAULT 0,
	due        INTEGER NOT NULL DEFAULT 0,
	accepted   INTEGER NOT NULL,
	turn       TEXT    NOT NULL DEFAULT '',
	why        TEXT    NOT NULL DEFAULT '',
	rest       BLOB    NOT NULL,
	text       TEXT    NOT NULL
);
CREATE INDEX inbox_waiting ON inbox (state) WHERE state = 'waiting';
CREATE INDEX inbox_accepted ON inbox (accepted);
CREATE INDEX inbox_message ON inbox (id >> 32, message_id) WHERE message_id <> '';

CREATE TABLE outbox (
	id         INTEGER PRIMARY KEY,
	state      TEXT    NOT NULL,
	uncertain  INTEGER NOT NULL DEFAULT 0,
	attempts   INTEGER NOT NULL DEFAULT 0,
	due        INTEGER NOT NULL DEFAULT 0,
	created    INTEGER NOT NULL,
	reply_to   TEXT    NOT NULL,
	edit       TEXT    NOT NULL,
	message_id TEXT    NOT NULL DEFAULT '',
	why        TEXT    NOT NULL DEFAULT '',
	text       TEXT    NOT NULL,
	did        TEXT    NOT NULL DEFAULT '',
	kind       TEXT    NOT NULL DEFAULT '',
	turn       TEXT    NOT NULL DEFAULT '',
	job        TEXT    NOT NULL DEFAULT '',
	part       INTEGER NOT NULL DEFAULT 0,
	parts      INTEGER NOT NULL DEFAULT 0,
	file       TEXT    NOT NULL DEFAULT '',
	form       TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX outbox_open ON outbox (state) WHERE state <> 'sent';
CREATE INDEX outbox_created ON outbox (created);
CREATE UNIQUE INDEX outbox_did ON outbox (did) WHERE did <> '';
CREATE TABLE erased (
	hash TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE aside (
	id      INTEGER PRIMARY KEY,
	channel TEXT    NOT NULL,
	msg_id  TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	dropped INTEGER NOT NULL DEFAULT 0,
	why     TEXT    NOT NULL,
	raw     BLOB    NOT NULL,
	UNIQUE (channel, msg_id)
);
CREATE INDEX aside_kept ON aside (dropped) WHERE dropped = 0;

CREATE TABLE steps (
	id     INTEGER PRIMARY KEY,
	key_id INTEGER NOT NULL,
	turn   TEXT    NOT NULL,
	data   BLOB    NOT NULL
);
CREATE INDEX steps_turn ON steps (key_id, turn);

CREATE TABLE conversations (
	key_id     INTEGER PRIMARY KEY REFERENCES keys (id),
	generation TEXT    NOT NULL,
	from_seq   INTEGER NOT NULL,
	covers     INTEGER NOT NULL DEFAULT 0,
	title      TEXT    NOT NULL DEFAULT '',
	created    INTEGER NOT NULL,
	updated    INTEGER NOT NULL,
	messages   INTEGER NOT NULL,
	input      INTEGER NOT NULL,
	output     INTEGER NOT NULL,
	cached     INTEGER NOT NULL,
	cost       REAL    NOT NULL DEFAULT 0,
	settings   TEXT    NOT NULL DEFAULT '',
	erasures   INTEGER NOT NULL DEFAULT 0,
	owners     TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX conversations_updated ON conversations (updated);

CREATE TABLE days (
	day   TEXT    PRIMARY KEY,
	begun INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE generations (
	id       INTEGER PRIMARY KEY,
	key_id   INTEGER NOT NULL,
	day      TEXT    NOT NULL,
	number   INTEGER NOT NULL,
	from_seq INTEGER NOT NULL,
	began    INTEGER NOT NULL,
	UNIQUE (day, number)
);
CREATE INDEX generations_key ON generations (key_id);

CREATE TABLE messages (
	id      INTEGER PRIMARY KEY,
	role    TEXT    NOT NULL,
	bytes   INTEGER NOT NULL,
	rest    BLOB    NOT NULL,
	content TEXT    NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5 (
	said, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0"
);

CREATE TABLE summaries (
	id         INTEGER PRIMARY KEY,
	generation TEXT    NOT NULL,
	model      TEXT    NOT NULL,
	at         INTEGER NOT NULL,
	text       TEXT    NOT NULL,
	fields     TEXT    NOT NULL DEFAULT '',
	origins    TEXT    NOT NULL DEFAULT ''
);

CREATE TABLE jobs (
	job TEXT    PRIMARY KEY,
	due INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE occurrences (
	job      TEXT    NOT NULL,
	due      INTEGER NOT NULL,
	outcome  TEXT    NOT NULL,
	why      TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	inbox_id INTEGER NOT NULL DEFAULT 0,
	changed  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (job, due)
) WITHOUT ROWID;
CREATE INDEX occurrences_due ON occurrences (due);
CREATE INDEX occurrences_inbox ON occurrences (inbox_id) WHERE inbox_id <> 0;

CREATE TABLE people (
	channel  TEXT    NOT NULL,
	person   TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	code     TEXT    NOT NULL,
	compare  TEXT    NOT NULL,
	expires  INTEGER NOT NULL,
	approved INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (channel, person)
) WITHOUT ROWID;
CREATE UNIQUE INDEX people_code ON people (compare) WHERE compare <> '';

CREATE TABLE facts (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	scope   TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	text    TEXT    NOT NULL,
	origins TEXT    NOT NULL DEFAULT '',
	marks   TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX facts_scope ON facts (scope);
COMMIT;
