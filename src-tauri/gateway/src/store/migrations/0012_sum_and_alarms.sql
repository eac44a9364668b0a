-- What all rows of the ledger add up to, so that nobody has to add them up to tell the balance.
CREATE TABLE ledger_sum (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    sats INTEGER NOT NULL
) STRICT;
INSERT INTO ledger_sum (one, sats) SELECT 1, ifnull(sum(sats), 0) FROM ledger;
CREATE TRIGGER ledger_rows_are_summed AFTER INSERT ON ledger BEGIN
    UPDATE ledger_sum SET sats = sats + NEW.sats;
END;

-- Of which money staff must hear, until they say that they did: whatever happens to the program meanwhile.
CREATE TABLE alarms (
    kind         TEXT NOT NULL CHECK (kind = 'FAILED_PAYOUT_WAS_SENT' OR kind = 'PAYOUT_PAID_TWICE'),
    payout_seq   INTEGER NOT NULL REFERENCES payouts (seq),
    at           INTEGER NOT NULL,
    dismissed_at INTEGER,
    PRIMARY KEY (kind, payout_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX alarms_untold ON alarms (at) WHERE dismissed_at IS NULL;

-- What one key asked for is looked for after it was stolen.
CREATE INDEX payouts_by_requester ON payouts (requested_by, created_at, seq);
