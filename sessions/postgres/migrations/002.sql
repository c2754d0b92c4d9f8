-- What nodes show of themselves.
ALTER TABLE nodes
	ADD COLUMN version text        NOT NULL DEFAULT '',
	ADD COLUMN roles   text[]      NOT NULL DEFAULT '{}',
	ADD COLUMN since   timestamptz NOT NULL DEFAULT clock_timestamp();
