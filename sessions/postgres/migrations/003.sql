-- Since when its node holds a lease. Only people read it.
ALTER TABLE leases ADD COLUMN since timestamptz NOT NULL DEFAULT clock_timestamp();
