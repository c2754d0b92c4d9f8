-- Times are Unix nanoseconds; the smallest number is "no time" and sorts first.
-- Data that no query looks into is JSON in columns of type text: jsonb cannot hold
-- a NUL, and people send them. Text that is looked up by equality and may hold one
-- is stored as a hash or as bytea.

CREATE TABLE meta (
	one     integer PRIMARY KEY CHECK (one = 1),
	name    text    NOT NULL,
	prefix  text    NOT NULL,              -- of delivery ids
	facts   bigint  NOT NULL DEFAULT 0,    -- the highest id that a fact had
	checked bigint  NOT NULL DEFAULT 0
);
INSERT INTO meta (one, name, prefix) SELECT 1, r, r FROM substr(md5(gen_random_uuid()::text), 1, 8) r;

-- Epochs of claims and numbers of wake-ups; each is used once.
CREATE SEQUENCE epochs;

-- A row is locked for every change of its key. A row that is not known exists only
-- to lock a key during its first change.
CREATE TABLE keys (
	id           bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	key          text    COLLATE "C" NOT NULL UNIQUE,
	known        boolean NOT NULL DEFAULT false,
	seq          bigint  NOT NULL DEFAULT 0,
	msg_seq      bigint  NOT NULL DEFAULT 0,
	waiting      integer NOT NULL DEFAULT 0,
	updated      bigint,                      -- NULL without a transcript
	conversation text    NOT NULL DEFAULT '',
	version      bigint  NOT NULL DEFAULT 0,  -- counts changes
	due          bigint,                      -- when the key has work; NULL: never
	rest         bigint  NOT NULL DEFAULT 0,  -- until when a key rests whose handler failed
	failures     integer NOT NULL DEFAULT 0,
	wake         bigint  NOT NULL DEFAULT 0,  -- number of the pending wake-up; 0: none
	live         bigint  NOT NULL DEFAULT 0,  -- epoch of the live claim; 0: none
	node         text    NOT NULL DEFAULT ''  -- that has it
) WITH (fillfactor = 80);
CREATE INDEX keys_updated ON keys (updated, key) WHERE updated IS NOT NULL;
CREATE INDEX keys_due ON keys (due) WHERE due IS NOT NULL AND wake = 0;
CREATE INDEX keys_node ON keys (node) WHERE node <> '';

CREATE TABLE inbox (
	key_id     bigint  NOT NULL,
	seq        bigint  NOT NULL,
	state      text    NOT NULL,
	beat       boolean NOT NULL,
	due        bigint  NOT NULL,
	accepted   bigint  NOT NULL,
	dedupe     text    NOT NULL UNIQUE,  -- hash
	message_id text    NOT NULL,         -- hash, or ''
	about      bytea   NOT NULL,         -- the network's id of the message, or of the one that it edits
	data       text    NOT NULL,         -- the fields that may change
	inbound    text    NOT NULL,         -- the message
	PRIMARY KEY (key_id, seq)
);
CREATE INDEX inbox_waiting ON inbox (key_id, seq) WHERE state = 'waiting';
CREATE INDEX inbox_message ON inbox (key_id, message_id) WHERE message_id <> '';

CREATE TABLE outbox (
	key_id    bigint  NOT NULL,
	seq       bigint  NOT NULL,
	state     text    NOT NULL,
	due       bigint  NOT NULL,
	created   bigint  NOT NULL,
	uncertain boolean NOT NULL,
	id        text    NOT NULL UNIQUE,  -- hash of the delivery's id
	data      text    NOT NULL,
	PRIMARY KEY (key_id, seq)
);
CREATE INDEX outbox_open ON outbox (key_id, seq) WHERE state IN ('queued', 'sending', 'unknown', 'dead');

CREATE TABLE messages (
	key_id  bigint NOT NULL,
	seq     bigint NOT NULL,
	role    text   NOT NULL,
	at      bigint NOT NULL,
	words   tsvector,
	data    text   NOT NULL,
	content text   NOT NULL,
	PRIMARY KEY (key_id, seq)
);
CREATE INDEX messages_words ON messages USING gin (words);

CREATE TABLE steps (
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	key_id bigint NOT NULL,
	turn   text   NOT NULL,  -- hash
	data   text   NOT NULL
);
CREATE INDEX steps_turn ON steps (key_id, turn);

CREATE TABLE generations (
	key_id bigint NOT NULL,
	first  bigint NOT NULL,
	name   text   NOT NULL UNIQUE,
	data   text   NOT NULL
);
CREATE INDEX generations_key ON generations (key_id, first);

CREATE TABLE summaries (
	key_id     bigint NOT NULL,
	covers     bigint NOT NULL,
	generation text   NOT NULL,
	data       text   NOT NULL,
	PRIMARY KEY (key_id, covers)
);

-- Hashes of messages that were accepted and then deleted.
CREATE TABLE marks (hash text COLLATE "C" PRIMARY KEY);

CREATE TABLE days (day text PRIMARY KEY, begun bigint NOT NULL);

-- Records that belong to no key. a, b and n are the name.
CREATE TABLE records (
	kind text    NOT NULL,
	a    bytea   NOT NULL,
	b    bytea   NOT NULL,
	n    bigint  NOT NULL,
	kept boolean NOT NULL,  -- not dropped
	data text    NOT NULL,
	PRIMARY KEY (kind, a, b, n)
);
CREATE INDEX records_quarantined ON records (kind) WHERE kind = 'quarantined' AND kept;

-- The processes that work on keys or hold leases, and until when each counts as
-- alive, by the clock of the database.
CREATE TABLE nodes (
	id      text        PRIMARY KEY,
	host    text        NOT NULL,
	expires timestamptz NOT NULL
);

-- A lease is for something that only one node may have. It is valid while its node lives.
CREATE TABLE leases (
	name text PRIMARY KEY,
	node text NOT NULL
);
