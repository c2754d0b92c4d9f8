-- Notes and counts. These tables have no version: nodes of versions that do not know them
-- go on working beside those that do. So a change of them must be one that both can bear.

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
