-- The last refusal of a version that no backend has taken since: its time and the backend's words. There are no words where another
-- transaction spends the same coins.
ALTER TABLE versions ADD COLUMN refused_at INTEGER;
ALTER TABLE versions ADD COLUMN refusal TEXT CHECK (refused_at IS NOT NULL OR refusal IS NULL);

-- Warnings about payments, for as long as their cause lasts. The subject is a transaction or an anomaly.
CREATE TABLE payment_warnings (
    payment_seq INTEGER NOT NULL REFERENCES payments (seq),
    kind        TEXT NOT NULL,
    subject     BLOB NOT NULL CHECK (length(subject) = 32 OR length(subject) = 20),
    at          INTEGER NOT NULL,
    PRIMARY KEY (payment_seq, kind, subject)
) STRICT, WITHOUT ROWID;
