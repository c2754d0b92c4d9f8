-- For whoever listens and comes back: which rows came since a time.
CREATE INDEX inbox_accepted ON inbox (accepted);
CREATE INDEX outbox_created ON outbox (created);
