-- A payout may be paid by somebody who is no copy of this wallet: staff must hear of that, too.
CREATE TABLE alarms_of_three_kinds (
    kind         TEXT NOT NULL
        CHECK (kind = 'FAILED_PAYOUT_WAS_SENT' OR kind = 'PAYOUT_PAID_TWICE' OR kind = 'PAYOUT_PAID_BY_ANOTHER'),
    payout_seq   INTEGER NOT NULL REFERENCES payouts (seq),
    at           INTEGER NOT NULL,
    dismissed_at INTEGER,
    PRIMARY KEY (kind, payout_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO alarms_of_three_kinds SELECT kind, payout_seq, at, dismissed_at FROM alarms;
DROP TABLE alarms;
ALTER TABLE alarms_of_three_kinds RENAME TO alarms;
CREATE INDEX alarms_untold ON alarms (at) WHERE dismissed_at IS NULL;
