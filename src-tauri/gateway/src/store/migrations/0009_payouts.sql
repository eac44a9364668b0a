-- Payouts: offers, what staff approved, and the transactions that send it. A payout's batch is written once.

CREATE TABLE payouts (
    seq              INTEGER PRIMARY KEY,
    id               BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
    state            TEXT NOT NULL CHECK (state = 'NEW' OR state = 'EXPIRED' OR state = 'QUEUED' OR state = 'SENT'
                         OR state = 'FAILED'),
    amount_sats      INTEGER NOT NULL CHECK (amount_sats > 0),
    script           BLOB NOT NULL,
    address          TEXT NOT NULL,
    currency         TEXT NOT NULL CHECK (length(currency) = 3),
    rate             TEXT NOT NULL,
    rate_id          INTEGER NOT NULL REFERENCES rates (rate_id),
    fiat_minor       INTEGER NOT NULL CHECK (fiat_minor >= 0),
    fiat_total_minor INTEGER NOT NULL CHECK (fiat_total_minor >= 0),
    fiat_total_milli INTEGER NOT NULL CHECK (fiat_total_milli >= 0),     -- the same in thousandths, to be looked for by
    network_fee_sats INTEGER NOT NULL CHECK (network_fee_sats > 0),
    balance_short    INTEGER NOT NULL CHECK (balance_short IN (0, 1)),
    key_id           INTEGER REFERENCES api_keys (key_id),               -- null: asked for by people
    requested_by     TEXT NOT NULL,                                      -- the key's name, or cli:… or panel:…
    merchant_name    TEXT NOT NULL,
    comment          TEXT,
    notification_url TEXT,
    anomaly_seq      INTEGER REFERENCES anomalies (seq),                 -- whose coins it sends back
    created_at       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL CHECK (expires_at > created_at),
    approved_at      INTEGER,
    approved_by      TEXT,
    sent_at          INTEGER,
    failure_reason   TEXT,
    batch_seq        INTEGER REFERENCES batches (seq),
    txid             BLOB CHECK (length(txid) = 32),                     -- the transaction that its record names
    booked_sats      INTEGER NOT NULL DEFAULT 0,                         -- what the ledger holds of it: its amount
    booked_fee_sats  INTEGER NOT NULL DEFAULT 0,                         -- and its share of the fee
    current_at       INTEGER NOT NULL,
    CHECK ((approved_at IS NULL) = (state = 'NEW' OR state = 'EXPIRED')),
    CHECK ((approved_at IS NULL) = (approved_by IS NULL)),
    CHECK (state <> 'SENT' OR (sent_at IS NOT NULL AND txid IS NOT NULL)),
    CHECK ((state = 'FAILED') = (failure_reason IS NOT NULL)),
    CHECK (batch_seq IS NULL OR approved_at IS NOT NULL)
) STRICT;
CREATE INDEX payouts_by_creation ON payouts (created_at, seq);
CREATE INDEX payouts_by_state ON payouts (state, created_at, seq);
CREATE INDEX payouts_by_key ON payouts (key_id, created_at, seq, state);
CREATE INDEX payouts_by_script ON payouts (script, created_at, seq);
CREATE INDEX payouts_by_amount ON payouts (amount_sats, created_at, seq);
CREATE INDEX payouts_by_total ON payouts (fiat_total_milli, created_at, seq);
CREATE INDEX payouts_open ON payouts (expires_at) WHERE state = 'NEW';
CREATE INDEX payouts_queued ON payouts (approved_at, seq) WHERE state = 'QUEUED';
CREATE INDEX payouts_of_a_day ON payouts (approved_at, amount_sats, state) WHERE approved_at IS NOT NULL AND state <> 'FAILED';
CREATE INDEX payouts_of_batch ON payouts (batch_seq) WHERE batch_seq IS NOT NULL;
-- An anomaly whose coins were sent is not OPEN, so no other is offered. One that FAILED may be SENT all the same while
-- another is on its way: that is an alarm, and no reason for a look to fail.
CREATE UNIQUE INDEX payouts_one_live_to_an_anomaly ON payouts (anomaly_seq)
    WHERE anomaly_seq IS NOT NULL AND (state = 'NEW' OR state = 'QUEUED');
CREATE TRIGGER payouts_stay_in_their_batch BEFORE UPDATE OF batch_seq ON payouts
WHEN OLD.batch_seq IS NOT NULL AND OLD.batch_seq IS NOT NEW.batch_seq BEGIN
    SELECT RAISE(ABORT, 'a payout stays in its batch');
END;

-- Payouts that share a transaction. While a batch is live nothing else may spend its inputs; while it is pending it is
-- looked at with each block. What is final, or can never be mined, is neither.
CREATE TABLE batches (
    seq             INTEGER PRIMARY KEY,
    created_at      INTEGER NOT NULL,
    live            INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
    pending         INTEGER NOT NULL DEFAULT 1 CHECK (pending IN (0, 1)), -- each block may decide something
    booked_fee_sats INTEGER NOT NULL DEFAULT 0                           -- of a transaction that gave it up
) STRICT;
CREATE INDEX batches_pending ON batches (seq) WHERE pending = 1;

-- Every signed transaction of a batch, in the order in which they were made. All spend the inputs of those before.
CREATE TABLE versions (
    txid            BLOB NOT NULL PRIMARY KEY REFERENCES transactions (txid),
    batch_seq       INTEGER NOT NULL REFERENCES batches (seq),
    number          INTEGER NOT NULL CHECK (number >= 1),
    pays            INTEGER NOT NULL CHECK (pays IN (0, 1)),             -- 0: gives the batch up
    fee_sats        INTEGER NOT NULL CHECK (fee_sats > 0),
    vsize           INTEGER NOT NULL CHECK (vsize > 0),
    created_at      INTEGER NOT NULL,
    accepted_at     INTEGER,                                             -- a backend took it for the first time
    position        TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height    INTEGER CHECK (block_height >= 0),
    UNIQUE (batch_seq, number),
    CHECK ((position = 'block') = (block_height IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE version_outputs (
    txid       BLOB NOT NULL REFERENCES versions (txid),
    vout       INTEGER NOT NULL CHECK (vout >= 0),
    payout_seq INTEGER NOT NULL REFERENCES payouts (seq),
    PRIMARY KEY (txid, vout),
    UNIQUE (txid, payout_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_inputs (
    txid      BLOB NOT NULL,
    vout      INTEGER NOT NULL,
    batch_seq INTEGER NOT NULL REFERENCES batches (seq),
    live      INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
    PRIMARY KEY (txid, vout, batch_seq),
    FOREIGN KEY (txid, vout) REFERENCES coins (txid, vout)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX batch_inputs_of_one_live_batch ON batch_inputs (txid, vout) WHERE live = 1;
CREATE INDEX batch_inputs_of_batch ON batch_inputs (batch_seq);

-- Transactions that spend our coins and are none of ours: another copy of this wallet made them.
CREATE TABLE twins (
    txid         BLOB NOT NULL PRIMARY KEY REFERENCES transactions (txid),
    noticed_at   INTEGER NOT NULL,
    position     TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height INTEGER CHECK (block_height >= 0),
    conflict_height INTEGER CHECK (conflict_height >= 0),
    booked_sats  INTEGER NOT NULL DEFAULT 0,
    CHECK ((position = 'block') = (block_height IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- The approved payouts that twins pay. One copy of the wallet may replace its transaction as we do: a payout has several then,
-- which spend the same coins.
CREATE TABLE twin_outputs (
    txid       BLOB NOT NULL REFERENCES twins (txid),
    vout       INTEGER NOT NULL CHECK (vout >= 0),
    payout_seq INTEGER NOT NULL REFERENCES payouts (seq),
    PRIMARY KEY (txid, vout),
    UNIQUE (payout_seq, txid)
) STRICT, WITHOUT ROWID;

-- While a row is here nothing new is signed, until staff remove it.
CREATE TABLE sender_hold (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    since  INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;

-- What each movement did to the balance: rows are added, never changed. `rates_seq` names the rates of its moment.
CREATE TABLE ledger_rates (
    seq   INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    rates TEXT NOT NULL                                                  -- {"USD": "50000.0000", …}
) STRICT;
CREATE TABLE ledger (
    seq         INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    kind        TEXT NOT NULL CHECK (kind = 'PAYMENT' OR kind = 'ANOMALY' OR kind = 'PAYOUT' OR kind = 'FEE'
                    OR kind = 'FEE_DIFFERENCE' OR kind = 'OTHER'),
    sats        INTEGER NOT NULL CHECK (sats <> 0),
    txid        BLOB CHECK (length(txid) = 32),
    payment_seq INTEGER REFERENCES payments (seq),
    payout_seq  INTEGER REFERENCES payouts (seq),
    rates_seq   INTEGER REFERENCES ledger_rates (seq)
) STRICT;
CREATE INDEX ledger_by_time ON ledger (at, seq);
CREATE TRIGGER ledger_rows_stay BEFORE UPDATE ON ledger BEGIN
    SELECT RAISE(ABORT, 'rows of the ledger are never changed');
END;
CREATE TRIGGER ledger_rows_are_kept BEFORE DELETE ON ledger BEGIN
    SELECT RAISE(ABORT, 'rows of the ledger are never deleted');
END;

-- What the ledger holds of a receipt: of what counts, and of the rest.
ALTER TABLE receipts ADD COLUMN booked_sats INTEGER NOT NULL DEFAULT 0;
ALTER TABLE receipts ADD COLUMN booked_rest_sats INTEGER NOT NULL DEFAULT 0;
UPDATE receipts SET booked_sats = counted_sats, booked_rest_sats = amount_sats - counted_sats WHERE position = 'block';
INSERT INTO ledger (at, kind, sats, txid, payment_seq)
    SELECT block_time, 'PAYMENT', booked_sats, txid, payment_seq FROM receipts WHERE booked_sats > 0
    ORDER BY block_time, payment_seq, txid;
INSERT INTO ledger (at, kind, sats, txid, payment_seq)
    SELECT block_time, 'ANOMALY', booked_rest_sats, txid, payment_seq FROM receipts WHERE booked_rest_sats > 0
    ORDER BY block_time, payment_seq, txid;

-- A coin's spender may stand in a block; the transaction that makes a coin may be ruled out by one in a block. Which coins
-- belong to a batch stands in `batch_inputs`. What the ledger holds of a coin stands with it where no payment is paid.
ALTER TABLE coins DROP COLUMN locked_by;
ALTER TABLE coins ADD COLUMN spent_height INTEGER CHECK (spent_height >= 0);
ALTER TABLE coins ADD COLUMN conflict_height INTEGER CHECK (conflict_height >= 0);
ALTER TABLE coins ADD COLUMN is_coinbase INTEGER NOT NULL DEFAULT 0 CHECK (is_coinbase IN (0, 1));
ALTER TABLE coins ADD COLUMN booked_sats INTEGER NOT NULL DEFAULT 0;
CREATE INDEX coins_by_amount ON coins (amount_sats) WHERE spent_by IS NULL;
