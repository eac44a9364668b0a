-- The time at which another copy of the wallet made a transaction: the day's limit counts what it paid.
ALTER TABLE twins ADD COLUMN made_at INTEGER;
UPDATE twins SET made_at = noticed_at;
CREATE INDEX twins_made ON twins (made_at);
