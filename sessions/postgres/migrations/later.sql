-- What came later and has no version: nodes that do not know it go on working, and can
-- start, beside those that do. Each statement does nothing the second time. A change that
-- older nodes cannot bear is a migration with a number instead.

-- For whoever listens and comes back: which rows came since a time.
CREATE INDEX IF NOT EXISTS inbox_accepted ON inbox (accepted);
CREATE INDEX IF NOT EXISTS outbox_created ON outbox (created);

CREATE TABLE IF NOT EXISTS notes (
	kind  text   COLLATE "C" NOT NULL,
	owner text   COLLATE "C" NOT NULL,
	name  text   COLLATE "C" NOT NULL,
	due   bigint NOT NULL,
	at    bigint NOT NULL,
	data  text   NOT NULL,
	PRIMARY KEY (kind, owner, name)
);
CREATE INDEX IF NOT EXISTS notes_due ON notes (kind, due) WHERE due > -9223372036854775808;
CREATE INDEX IF NOT EXISTS notes_owner ON notes (owner);

-- A sum is its row in counts and its rows in additions. Nodes move additions to counts now
-- and then, in the background, so that no commit updates a row that others update too.
CREATE TABLE IF NOT EXISTS counts (
	kind  text   COLLATE "C" NOT NULL,
	owner text   COLLATE "C" NOT NULL,
	day   text   COLLATE "C" NOT NULL,
	n     bigint NOT NULL,
	PRIMARY KEY (kind, owner, day)
);
CREATE INDEX IF NOT EXISTS counts_owner ON counts (owner);

CREATE TABLE IF NOT EXISTS additions (
	kind  text   COLLATE "C" NOT NULL,
	owner text   COLLATE "C" NOT NULL,
	day   text   COLLATE "C" NOT NULL,
	n     bigint NOT NULL
);

-- With this key nodes seal what they notify each other of: who cannot read it can neither
-- read nor send that. sealed: a node does so; those of earlier versions do not.
CREATE TABLE IF NOT EXISTS note_key (one integer PRIMARY KEY CHECK (one = 1), key bytea NOT NULL);
INSERT INTO note_key (one, key) SELECT 1, sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')) ON CONFLICT DO NOTHING;
ALTER TABLE nodes ADD COLUMN IF NOT EXISTS sealed boolean NOT NULL DEFAULT false;

-- The id of a node's state directory, where that is, and a hash of its configuration.
ALTER TABLE nodes
	ADD COLUMN IF NOT EXISTS installation  text NOT NULL DEFAULT '',
	ADD COLUMN IF NOT EXISTS place         text NOT NULL DEFAULT '',
	ADD COLUMN IF NOT EXISTS configuration text NOT NULL DEFAULT '';
