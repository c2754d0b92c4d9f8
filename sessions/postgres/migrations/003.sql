-- Since when a node holds what it holds, for people.
ALTER TABLE leases ADD COLUMN since timestamptz NOT NULL DEFAULT clock_timestamp();
