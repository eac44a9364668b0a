-- Only a transaction that spends coins of this wallet, or makes its change, is a twin, and only a block settles it: what was
-- kept of others goes, and what was matched before a block held it.
DELETE FROM twin_outputs WHERE txid IN (SELECT txid FROM twins WHERE was_in_block = 0 OR moves_ours = 0);
DELETE FROM twins WHERE moves_ours = 0;
-- A block matches the outputs of these, as it does those of any new one.
UPDATE twins SET was_in_block = 0
WHERE NOT EXISTS (SELECT 1 FROM twin_outputs AS o WHERE o.txid = twins.txid) AND block_height IS NULL;
ALTER TABLE twins DROP COLUMN moves_ours;
ALTER TABLE twin_outputs DROP COLUMN is_for_else;

CREATE TABLE alarms_of_copies (
    kind         TEXT NOT NULL
        CHECK (kind = 'FAILED_PAYOUT_WAS_SENT' OR kind = 'PAYOUT_PAID_TWICE' OR kind = 'PAYOUT_SENT_BY_COPY'),
    payout_seq   INTEGER NOT NULL REFERENCES payouts (seq),
    at           INTEGER NOT NULL,
    dismissed_at INTEGER,
    PRIMARY KEY (kind, payout_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO alarms_of_copies SELECT kind, payout_seq, at, dismissed_at FROM alarms
WHERE kind <> 'PAYOUT_PAID_BY_ANOTHER';
DROP TABLE alarms;
ALTER TABLE alarms_of_copies RENAME TO alarms;
CREATE INDEX alarms_open ON alarms (at) WHERE dismissed_at IS NULL;
