-- The labels of deliveries, in JSON; '' in the rows of nodes that do not know labels. They
-- read what the texts say, and rewrite data, but no column that they do not know.
ALTER TABLE outbox ADD COLUMN label text NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN labels boolean NOT NULL DEFAULT false; -- it knows them
