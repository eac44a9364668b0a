-- A notification that tells of no change may be replaced by the next one of its kind; of those that are there nobody knows.
ALTER TABLE notifications ADD COLUMN is_resend INTEGER NOT NULL DEFAULT 0 CHECK (is_resend IN (0, 1));

-- A key that sees what it made alone is shown lists of it: they cost nothing of what others made.
CREATE INDEX payments_by_key ON payments (key_id, created_at, seq) WHERE filed = 1;
