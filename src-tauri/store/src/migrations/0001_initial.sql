-- Money is in integer columns named with their unit. Times are milliseconds of the environment's clock. Identifiers
-- have 20 bytes, txids 32 bytes in internal order. `seq` is the order of insertion. A CHECK with more than two choices
-- uses OR, because SQLite fills a temporary table for a longer IN at each insertion.

-- The owner of this file.
CREATE TABLE installation (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    installation_id BLOB NOT NULL CHECK (length(installation_id) = 20),
    merchant_id     BLOB NOT NULL CHECK (length(merchant_id) = 20),
    environment     TEXT NOT NULL CHECK (environment IN ('test', 'production')),
    created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Administrative acts, with their actor.
CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    act     TEXT NOT NULL,
    subject TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN SELECT raise(ABORT, 'an act in the audit never changes'); END;
CREATE TRIGGER audit_never_shrinks BEFORE DELETE ON audit
BEGIN SELECT raise(ABORT, 'an act in the audit is never deleted'); END;

-- The public descriptor of each keychain. Blocks up to `birth_height` hold no coins of the keychain; it is null before
-- the first address. Indexed payments have indices below `next_index`.
CREATE TABLE keychains (
    keychain     INTEGER PRIMARY KEY CHECK (keychain IN (0, 1)),             -- 0 external, 1 internal
    descriptor   TEXT NOT NULL,
    next_index   INTEGER NOT NULL CHECK (next_index BETWEEN 0 AND 2147483648),
    birth_height INTEGER CHECK (birth_height >= 0)
) STRICT;

-- The watched chain and the end of the last look. `instance` tells apart chains with the same first block.
CREATE TABLE chain (
    one           INTEGER PRIMARY KEY CHECK (one = 1),
    genesis       BLOB NOT NULL CHECK (length(genesis) = 32),
    instance      BLOB CHECK (length(instance) = 32),
    token         BLOB NOT NULL,                                             -- opaque to all but the backend
    tip_height    INTEGER NOT NULL CHECK (tip_height >= 0),
    tip_hash      BLOB NOT NULL CHECK (length(tip_hash) = 32),
    tip_time      INTEGER NOT NULL,
    looked_at     INTEGER NOT NULL,
    begun_anew_at INTEGER                                                    -- the last look that found another chain
) STRICT;

-- The state of each script, in the form of a backend that is asked about scripts.
CREATE TABLE script_states (
    script BLOB NOT NULL PRIMARY KEY,
    state  BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The position of the round over all scripts that are not hot: the next payment or the next index.
CREATE TABLE script_round (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    part TEXT NOT NULL CHECK (part = 'payments' OR part = 'change' OR part = 'skipped'),
    next INTEGER NOT NULL CHECK (next >= 0)
) STRICT;

CREATE TABLE api_keys (
    key_id                    INTEGER PRIMARY KEY,
    name                      TEXT NOT NULL,
    secret_sha256             BLOB NOT NULL CHECK (length(secret_sha256) = 32),
    permissions               TEXT NOT NULL,
    notification_url_optional INTEGER NOT NULL CHECK (notification_url_optional IN (0, 1)),
    own_only                  INTEGER NOT NULL DEFAULT 0 CHECK (own_only IN (0, 1)),
    notify_hosts              TEXT NOT NULL DEFAULT '',                      -- separated by commas; empty permits all
    created_at                INTEGER NOT NULL,
    revoked_at                INTEGER
) STRICT;
CREATE UNIQUE INDEX api_keys_one_live_key_to_a_name ON api_keys (name) WHERE revoked_at IS NULL;

-- Rates with all their quotes. Each currency has at most one unused rate, the last known one, which is overwritten.
CREATE TABLE rates (
    rate_id  INTEGER PRIMARY KEY,
    currency TEXT NOT NULL CHECK (length(currency) = 3),
    rate     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    sources  TEXT NOT NULL,
    used     INTEGER NOT NULL DEFAULT 1 CHECK (used IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX rates_by_currency ON rates (currency, at, rate, sources);
CREATE UNIQUE INDEX rates_unused ON rates (currency) WHERE used = 0;

-- `seq` has no gaps, so the highest `seq` is the number of payments. The indexes of lists and deadlines hold only
-- payments with `is_indexed` = 1: all payments up to some `seq`.
CREATE TABLE payments (
    seq                      INTEGER PRIMARY KEY,
    id                       BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
    state                    TEXT NOT NULL CHECK (state = 'NEW' OR state = 'UNDERPAID' OR state = 'UNCONFIRMED'
                                 OR state = 'CONFIRMED' OR state = 'EXPIRED' OR state = 'INVALID'),
    amount_sats              INTEGER NOT NULL CHECK (amount_sats > 0),
    price_minor              INTEGER NOT NULL CHECK (price_minor > 0),
    currency                 TEXT NOT NULL CHECK (length(currency) = 3),
    rate                     TEXT NOT NULL,
    rate_id                  INTEGER NOT NULL REFERENCES rates (rate_id),
    derivation_index         INTEGER NOT NULL CHECK (derivation_index >= 0), -- unique, because its script is
    script                   BLOB NOT NULL UNIQUE,
    address                  TEXT NOT NULL,
    key_id                   INTEGER REFERENCES api_keys (key_id),           -- null: made by staff
    label                    TEXT NOT NULL,
    message                  TEXT NOT NULL,
    merchant_transaction_id  TEXT NOT NULL,
    notification_url         TEXT,
    anomaly_notification_url TEXT,
    redirect_urls            TEXT,
    created_at               INTEGER NOT NULL,
    expires_at               INTEGER NOT NULL CHECK (expires_at >= created_at), -- equal if cancelled in the same second
    current_at               INTEGER NOT NULL,
    closed_at                INTEGER,
    confirmed_at             INTEGER,
    paid_sats                INTEGER NOT NULL DEFAULT 0 CHECK (paid_sats >= 0),
    conflict_seen            INTEGER NOT NULL DEFAULT 0
                                 CHECK (conflict_seen = 0 OR conflict_seen = 1 AND state = 'CONFIRMED'),
    accepted_sats            INTEGER CHECK (accepted_sats > 0),
    confirmations            INTEGER NOT NULL CHECK (confirmations >= 0),
    zero_conf_quiet_ms       INTEGER NOT NULL CHECK (zero_conf_quiet_ms >= 0),
    tolerance_per_mille      INTEGER NOT NULL CHECK (tolerance_per_mille BETWEEN 0 AND 100),
    overpayment              TEXT NOT NULL CHECK (overpayment IN ('confirm', 'invalidate')),
    anomaly_confirmations    INTEGER NOT NULL CHECK (anomaly_confirmations >= 1),
    offline_grace_ms         INTEGER NOT NULL CHECK (offline_grace_ms >= 0),
    next_due_at              INTEGER,
    next_due_height          INTEGER,
    is_indexed               INTEGER NOT NULL DEFAULT 0 CHECK (is_indexed IN (0, 1)),
    -- The best stored block when the address was given; a reorganisation lowers it. A coin in a block up to it was paid
    -- before this payment existed.
    given_above              INTEGER CHECK (given_above >= 0)
) STRICT;
CREATE INDEX payments_by_creation ON payments (created_at, seq) WHERE is_indexed = 1;
CREATE INDEX payments_by_state ON payments (state, created_at, seq) WHERE is_indexed = 1;
CREATE INDEX payments_by_merchant_transaction ON payments (merchant_transaction_id, created_at, seq) WHERE is_indexed = 1;
CREATE INDEX payments_by_label ON payments (label, created_at, seq) WHERE is_indexed = 1;
CREATE INDEX payments_by_key ON payments (key_id, created_at, seq) WHERE is_indexed = 1;
CREATE INDEX payments_due_at ON payments (next_due_at) WHERE is_indexed = 1 AND next_due_at IS NOT NULL;
CREATE INDEX payments_due_height ON payments (next_due_height) WHERE next_due_height IS NOT NULL;
-- The sums of takings read only this index. It holds `state` too, or SQLite would also read each payment.
CREATE INDEX payments_takings ON payments (currency, confirmed_at, state, price_minor, amount_sats, paid_sats, key_id)
    WHERE state = 'CONFIRMED';
CREATE TRIGGER payments_are_kept BEFORE DELETE ON payments BEGIN
    SELECT RAISE(ABORT, 'payments are never deleted');
END;

-- Each notified change of a payment.
CREATE TABLE payment_history (
    payment_seq INTEGER NOT NULL REFERENCES payments (seq),
    at          INTEGER NOT NULL,
    from_state  TEXT NOT NULL,
    to_state    TEXT NOT NULL,
    paid_sats   INTEGER NOT NULL,
    cause       TEXT NOT NULL,
    conflict    TEXT CHECK (conflict IN ('SEEN', 'GONE')), -- a change of conflict_seen
    PRIMARY KEY (payment_seq, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_history_by_time ON payment_history (at);

-- Warnings about payments while their cause lasts. The subject is a transaction or an anomaly.
CREATE TABLE payment_warnings (
    payment_seq INTEGER NOT NULL REFERENCES payments (seq),
    kind        TEXT NOT NULL,
    subject     BLOB NOT NULL CHECK (length(subject) = 32 OR length(subject) = 20),
    at          INTEGER NOT NULL,
    PRIMARY KEY (payment_seq, kind, subject)
) STRICT, WITHOUT ROWID;

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
    fiat_total_milli INTEGER NOT NULL CHECK (fiat_total_milli >= 0),         -- the total in thousandths, for searches
    network_fee_sats INTEGER NOT NULL CHECK (network_fee_sats > 0),
    balance_short    INTEGER NOT NULL CHECK (balance_short IN (0, 1)),
    key_id           INTEGER REFERENCES api_keys (key_id),                   -- null: requested by staff
    requested_by     TEXT NOT NULL,                                          -- the key's name, or cli:… or panel:…
    merchant_name    TEXT NOT NULL,
    comment          TEXT,
    notification_url TEXT,
    anomaly_seq      INTEGER REFERENCES anomalies (seq),                     -- the refunded anomaly
    created_at       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL CHECK (expires_at >= created_at),      -- equal if rejected in the same second
    approved_at      INTEGER,
    approved_by      TEXT,
    set_forward_ms   INTEGER NOT NULL DEFAULT 0 CHECK (set_forward_ms >= 0), -- forward steps of the clock while it waits
    sent_at          INTEGER,
    failed_at        INTEGER CHECK (failed_at IS NULL OR failure_reason IS NOT NULL),
    failure_reason   TEXT,
    given_up_by      TEXT CHECK (given_up_by IS NULL OR failure_reason IS NOT NULL),
    batch_seq        INTEGER REFERENCES batches (seq),                       -- written once
    txid             BLOB CHECK (length(txid) = 32),                         -- the transaction in its record
    booked_sats      INTEGER NOT NULL DEFAULT 0,                             -- its amount in the ledger
    booked_fee_sats  INTEGER NOT NULL DEFAULT 0,                             -- its share of the fee in the ledger
    current_at       INTEGER NOT NULL,
    -- The best stored block at the request; a reorganisation lowers it. No block up to it pays the payout. Null before
    -- the first look.
    asked_above      INTEGER CHECK (asked_above >= 0),
    CHECK ((approved_at IS NULL) = (state = 'NEW' OR state = 'EXPIRED')),
    CHECK ((approved_at IS NULL) = (approved_by IS NULL)),
    CHECK (state <> 'SENT' OR (sent_at IS NOT NULL AND txid IS NOT NULL)),
    -- An EXPIRED offer has a reason if staff ended it.
    CHECK (state = 'EXPIRED' OR (state = 'FAILED') = (failure_reason IS NOT NULL)),
    CHECK (batch_seq IS NULL OR approved_at IS NOT NULL)
) STRICT;
CREATE INDEX payouts_by_creation ON payouts (created_at, seq);
CREATE INDEX payouts_by_state ON payouts (state, created_at, seq);
CREATE INDEX payouts_by_key ON payouts (key_id, created_at, seq, state);
CREATE INDEX payouts_by_requester ON payouts (requested_by, created_at, seq);
CREATE INDEX payouts_by_script ON payouts (script, created_at, seq);
CREATE INDEX payouts_by_amount ON payouts (amount_sats, created_at, seq);
CREATE INDEX payouts_by_total ON payouts (fiat_total_milli, created_at, seq);
CREATE INDEX payouts_open ON payouts (expires_at) WHERE state = 'NEW';
CREATE INDEX payouts_queued ON payouts (approved_at, seq) WHERE state = 'QUEUED';
CREATE INDEX payouts_of_a_day ON payouts (approved_at, amount_sats, state) WHERE approved_at IS NOT NULL AND state <> 'FAILED';
CREATE INDEX payouts_approved_by_keys ON payouts (approved_at) WHERE instr(approved_by, ':') = 0;
CREATE INDEX payouts_failed ON payouts (failed_at) WHERE failed_at IS NOT NULL AND given_up_by IS NULL;
CREATE INDEX payouts_requested_by_keys ON payouts (created_at)
    WHERE key_id IS NOT NULL AND coalesce(instr(approved_by, ':'), 1) <> 0;
CREATE INDEX payouts_of_batch ON payouts (batch_seq) WHERE batch_seq IS NOT NULL;
-- A FAILED refund may still become SENT while another refund is under way. That raises an alarm; the look must not
-- fail.
CREATE UNIQUE INDEX payouts_one_live_to_an_anomaly ON payouts (anomaly_seq)
    WHERE anomaly_seq IS NOT NULL AND (state = 'NEW' OR state = 'QUEUED');
CREATE INDEX payouts_of_an_anomaly ON payouts (anomaly_seq) WHERE anomaly_seq IS NOT NULL;
CREATE TRIGGER payouts_stay_in_their_batch BEFORE UPDATE OF batch_seq ON payouts
WHEN OLD.batch_seq IS NOT NULL AND OLD.batch_seq IS NOT NEW.batch_seq BEGIN
    SELECT RAISE(ABORT, 'a payout stays in its batch');
END;

-- Broken expectations of payouts, until staff dismiss them.
CREATE TABLE alarms (
    kind         TEXT NOT NULL
        CHECK (kind = 'FAILED_PAYOUT_WAS_SENT' OR kind = 'PAYOUT_PAID_TWICE' OR kind = 'PAYOUT_SENT_BY_COPY'),
    payout_seq   INTEGER NOT NULL REFERENCES payouts (seq),
    at           INTEGER NOT NULL,
    dismissed_at INTEGER,
    PRIMARY KEY (kind, payout_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX alarms_open ON alarms (at) WHERE dismissed_at IS NULL;

-- Payouts that share a transaction. No other batch may spend the inputs of a live batch. A block may still settle a
-- pending batch.
CREATE TABLE batches (
    seq             INTEGER PRIMARY KEY,
    created_at      INTEGER NOT NULL,
    live            INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
    pending         INTEGER NOT NULL DEFAULT 1 CHECK (pending IN (0, 1)),
    booked_fee_sats INTEGER NOT NULL DEFAULT 0                               -- of the version that gave it up
) STRICT;
CREATE INDEX batches_pending ON batches (seq) WHERE pending = 1;

-- The signed transactions of a batch, by `number`. Each spends all inputs of the earlier ones.
CREATE TABLE versions (
    txid         BLOB NOT NULL PRIMARY KEY REFERENCES transactions (txid),
    batch_seq    INTEGER NOT NULL REFERENCES batches (seq),
    number       INTEGER NOT NULL CHECK (number >= 1),
    pays         INTEGER NOT NULL CHECK (pays IN (0, 1)),                    -- 0: gives the batch up
    fee_sats     INTEGER NOT NULL CHECK (fee_sats > 0),
    vsize        INTEGER NOT NULL CHECK (vsize > 0),
    created_at   INTEGER NOT NULL,
    made_by      TEXT,                                                       -- null: the sender itself
    accepted_at  INTEGER,                                                    -- first acceptance by a backend
    refused_at   INTEGER,                                                    -- last refusal since the last acceptance
    refusal      TEXT CHECK (refused_at IS NOT NULL OR refusal IS NULL),     -- null: its coins are spent
    position     TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height INTEGER CHECK (block_height >= 0),
    UNIQUE (batch_seq, number),
    CHECK ((position = 'block') = (block_height IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX versions_by_height ON versions (block_height);

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

-- Transactions of other copies of this wallet. Their outputs are matched with payouts when a block first holds them.
CREATE TABLE twins (
    txid            BLOB NOT NULL PRIMARY KEY REFERENCES transactions (txid),
    noticed_at      INTEGER NOT NULL,
    made_at         INTEGER, -- NULL while no backend told it: noticed_at stands in. The day's limit counts by it.
    position        TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height    INTEGER CHECK (block_height >= 0),
    conflict_height INTEGER CHECK (conflict_height >= 0),
    is_matched      INTEGER NOT NULL DEFAULT 0 CHECK (is_matched IN (0, 1)),
    booked_sats     INTEGER NOT NULL DEFAULT 0,
    CHECK ((position = 'block') = (block_height IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX twins_by_height ON twins (block_height);
CREATE INDEX twins_made ON twins (made_at);

-- The payouts that twins pay. Twins that replace one another pay the same payout.
CREATE TABLE twin_outputs (
    txid       BLOB NOT NULL REFERENCES twins (txid),
    vout       INTEGER NOT NULL CHECK (vout >= 0),
    payout_seq INTEGER NOT NULL REFERENCES payouts (seq),
    PRIMARY KEY (txid, vout),
    UNIQUE (payout_seq, txid)
) STRICT, WITHOUT ROWID;

-- While this table has a row, the sender signs nothing new.
CREATE TABLE sender_hold (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    since          INTEGER NOT NULL,
    reason         TEXT NOT NULL,
    is_of_restored INTEGER NOT NULL DEFAULT 0 CHECK (is_of_restored IN (0, 1))
) STRICT;

-- External indices that another copy of the wallet may have given. Coins that pay them are ours.
CREATE TABLE skipped_addresses (
    first_index INTEGER PRIMARY KEY CHECK (first_index >= 0),
    last_index  INTEGER NOT NULL CHECK (last_index >= first_index)
) STRICT;

-- Backup files of this installation. Only these are removed when they are old. Times are of the
-- machine's clock.
CREATE TABLE backups (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id      BLOB NOT NULL UNIQUE CHECK (length(file_id) = 32),
    path         TEXT NOT NULL,
    nightly      INTEGER NOT NULL CHECK (nightly = 0 OR nightly = 1),
    state        TEXT NOT NULL CHECK (state = 'WRITING' OR state = 'GOOD' OR state = 'FAILED' OR state = 'REMOVED'),
    begun_at     INTEGER NOT NULL,
    done_at      INTEGER CHECK ((done_at IS NULL) = (state = 'WRITING')),
    size_bytes   INTEGER CHECK (size_bytes >= 0 AND (size_bytes IS NULL) = (state = 'WRITING' OR state = 'FAILED')),
    checked_at   INTEGER CHECK (checked_at IS NULL OR state = 'GOOD' OR state = 'REMOVED'),
    failure      TEXT CHECK ((failure IS NULL) = (state <> 'FAILED')),
    missing_mark TEXT CHECK (missing_mark IS NULL OR state = 'FAILED')       -- the mark that its folder lacked
) STRICT;
CREATE INDEX backups_by_state ON backups (state, seq);

-- The folder of nightly backups, and the name of the file in it that marks it.
CREATE TABLE backup_folder (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    path TEXT NOT NULL,
    mark TEXT NOT NULL CHECK (length(mark) > 0)
) STRICT;

-- Since this time, the secrets hold a key for nightly backups.
CREATE TABLE backup_passphrase (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    set_at INTEGER NOT NULL
) STRICT;

-- The progress of a restored copy. The copy gives no address and sends nothing until its scan, from the wallet's birth
-- on, has reached the best block.
CREATE TABLE restore (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    source         TEXT NOT NULL CHECK (source = 'words' OR source = 'backup'),
    state          TEXT NOT NULL CHECK (state = 'AWAITED' OR state = 'SCANNING' OR state = 'STOPPED' OR state = 'LOOKED'),
    begun_at       INTEGER NOT NULL,
    birth_height   INTEGER NOT NULL CHECK (birth_height >= 0),
    looks_ahead    INTEGER NOT NULL CHECK (looks_ahead >= 1),                -- indices beyond the highest used one
    scanned_height INTEGER CHECK (scanned_height >= 0),                      -- null: no answer is stored yet
    next_address   INTEGER NOT NULL DEFAULT 0,                               -- first indices not asked about, for a
    next_change    INTEGER NOT NULL DEFAULT 0,                               -- backend that asks about single scripts
    unknown        INTEGER NOT NULL DEFAULT 0 CHECK (unknown >= 0),          -- own transactions that were not known
    looked_at      INTEGER,
    first_given    INTEGER CHECK (first_given >= 0),                         -- first address index given since
    CHECK ((state = 'LOOKED') = (looked_at IS NOT NULL)),
    CHECK ((state = 'LOOKED') = (first_given IS NOT NULL))
) STRICT;

-- The other address type of a restored wallet's words, while its look has not ended.
CREATE TABLE other_type (
    keychain   INTEGER PRIMARY KEY CHECK (keychain IN (0, 1)),               -- 0 external, 1 internal
    descriptor TEXT NOT NULL
) STRICT;

-- Coins at that type, as the last look found them. They are told, and never counted or spent.
CREATE TABLE other_coins (
    txid             BLOB NOT NULL CHECK (length(txid) = 32),
    vout             INTEGER NOT NULL CHECK (vout >= 0),
    keychain         INTEGER NOT NULL CHECK (keychain IN (0, 1)),
    derivation_index INTEGER NOT NULL CHECK (derivation_index >= 0),
    amount_sats      INTEGER NOT NULL CHECK (amount_sats > 0),
    is_spent         INTEGER NOT NULL DEFAULT 0 CHECK (is_spent IN (0, 1)),
    PRIMARY KEY (txid, vout)
) STRICT, WITHOUT ROWID;

-- Labels that staff imported from another wallet program (BIP329). They are shown and exported, and decide nothing.
CREATE TABLE imported_labels (
    seq       INTEGER PRIMARY KEY,
    kind      TEXT NOT NULL CHECK (kind = 'tx' OR kind = 'addr' OR kind = 'output'),
    reference TEXT NOT NULL,                                                 -- a txid, an address or an outpoint
    label     TEXT NOT NULL,
    UNIQUE (kind, reference)
) STRICT;

-- The movements of the balance. Rows are added, never changed.
CREATE TABLE ledger (
    seq         INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    kind        TEXT NOT NULL CHECK (kind = 'PAYMENT' OR kind = 'ANOMALY' OR kind = 'PAYOUT' OR kind = 'FEE'
                    OR kind = 'FEE_DIFFERENCE' OR kind = 'OTHER'),
    sats        INTEGER NOT NULL CHECK (sats <> 0),
    txid        BLOB CHECK (length(txid) = 32),
    payment_seq INTEGER REFERENCES payments (seq),
    payout_seq  INTEGER REFERENCES payouts (seq),
    rates_seq   INTEGER REFERENCES ledger_rates (seq)                        -- the exchange rates at `at`
) STRICT;
CREATE INDEX ledger_by_time ON ledger (at, seq, sats); -- `sats` for the balance at a time
CREATE TRIGGER ledger_rows_stay BEFORE UPDATE ON ledger BEGIN
    SELECT RAISE(ABORT, 'rows of the ledger are never changed');
END;
CREATE TRIGGER ledger_rows_are_kept BEFORE DELETE ON ledger BEGIN
    SELECT RAISE(ABORT, 'rows of the ledger are never deleted');
END;
CREATE TRIGGER ledger_rows_are_summed AFTER INSERT ON ledger BEGIN
    UPDATE ledger_sum SET sats = sats + NEW.sats;
END;

-- The sum of all rows of the ledger.
CREATE TABLE ledger_sum (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    sats INTEGER NOT NULL
) STRICT;
INSERT INTO ledger_sum (one, sats) VALUES (1, 0);

CREATE TABLE ledger_rates (
    seq   INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    rates TEXT NOT NULL                                                      -- {"USD": "50000.0000", …}
) STRICT;

-- Raw transactions that pay or spend our scripts. Missing ones are broadcast again.
CREATE TABLE transactions (
    txid          BLOB NOT NULL PRIMARY KEY CHECK (length(txid) = 32),
    raw           BLOB NOT NULL,
    first_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The outputs of one transaction that pay one payment: facts of the newest look and kept verdicts.
CREATE TABLE receipts (
    payment_seq         INTEGER NOT NULL REFERENCES payments (seq),
    txid                BLOB NOT NULL REFERENCES transactions (txid),
    amount_sats         INTEGER NOT NULL CHECK (amount_sats > 0),
    first_seen_at       INTEGER NOT NULL,
    last_seen_at        INTEGER NOT NULL,
    earliest_at         INTEGER NOT NULL,
    position            TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height        INTEGER,
    block_time          INTEGER,
    absent_since        INTEGER CHECK (position = 'absent' OR absent_since IS NULL), -- first look that missed it
    conflict_in_chain   INTEGER NOT NULL CHECK (conflict_in_chain IN (0, 1)),
    conflict_in_mempool INTEGER NOT NULL CHECK (conflict_in_mempool IN (0, 1)),
    last_conflict_at    INTEGER,
    -- Satoshis per 1,000 weight units; null if it is not accepted unconfirmed.
    zero_conf_sat_kwu   INTEGER CHECK (zero_conf_sat_kwu >= 0),
    eligible_sats       INTEGER CHECK (eligible_sats >= 0),
    counted_sats        INTEGER NOT NULL DEFAULT 0 CHECK (counted_sats >= 0),
    booked_sats         INTEGER NOT NULL DEFAULT 0,                          -- the counted part in the ledger
    booked_rest_sats    INTEGER NOT NULL DEFAULT 0,                          -- the uncounted part in the ledger
    gone                INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)),
    missing             INTEGER NOT NULL DEFAULT 0 CHECK (missing IN (0, 1)),
    -- 1: gone, and not read by looks until its transaction is seen again. Many replacements would slow looks down.
    set_aside           INTEGER NOT NULL DEFAULT 0
        CHECK (set_aside = 0 OR (set_aside = 1 AND gone = 1 AND position = 'absent')),
    PRIMARY KEY (payment_seq, txid),
    CHECK ((position = 'block') = (block_height IS NOT NULL AND block_time IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_transaction ON receipts (txid);
CREATE INDEX receipts_missing ON receipts (missing) WHERE missing = 1;
CREATE INDEX receipts_in_blocks ON receipts (block_height) WHERE block_height IS NOT NULL;
CREATE INDEX receipts_in_no_block ON receipts (position, absent_since) WHERE block_height IS NULL;
CREATE INDEX receipts_not_set_aside ON receipts (payment_seq) WHERE set_aside = 0;

-- Receipts of one payment that spend the same input, in both directions.
CREATE TABLE receipt_conflicts (
    payment_seq INTEGER NOT NULL,
    txid        BLOB NOT NULL,
    other_txid  BLOB NOT NULL,
    PRIMARY KEY (payment_seq, txid, other_txid),
    FOREIGN KEY (payment_seq, txid) REFERENCES receipts (payment_seq, txid)
) STRICT, WITHOUT ROWID;

-- Transactions of others that are ancestors of ours. They are kept while nodes may drop them, or a reorganisation may
-- remove them from the chain.
CREATE TABLE ancestors (
    txid BLOB NOT NULL PRIMARY KEY CHECK (length(txid) = 32),
    raw  BLOB NOT NULL
) STRICT;

-- The ancestors that a transaction of ours needs. An ancestor that no transaction needs is removed.
CREATE TABLE ancestor_needs (
    descendant BLOB NOT NULL REFERENCES transactions (txid),
    ancestor   BLOB NOT NULL REFERENCES ancestors (txid),
    PRIMARY KEY (descendant, ancestor)
) STRICT, WITHOUT ROWID;
CREATE INDEX ancestor_needs_by_ancestor ON ancestor_needs (ancestor);

-- All outputs of ours: customers' payments and change.
CREATE TABLE coins (
    txid             BLOB NOT NULL REFERENCES transactions (txid),
    vout             INTEGER NOT NULL CHECK (vout >= 0),
    keychain         INTEGER NOT NULL CHECK (keychain IN (0, 1)),            -- 0 external, 1 internal
    derivation_index INTEGER NOT NULL CHECK (derivation_index >= 0),
    payment_seq      INTEGER REFERENCES payments (seq),                      -- null: change, or a skipped address
    amount_sats      INTEGER NOT NULL CHECK (amount_sats > 0),
    is_coinbase      INTEGER NOT NULL DEFAULT 0 CHECK (is_coinbase IN (0, 1)),
    position         TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height     INTEGER CHECK (block_height >= 0),
    conflict_height  INTEGER CHECK (conflict_height >= 0),                   -- lowest block that rules it out
    spent_by         BLOB CHECK (length(spent_by) = 32),                     -- a transaction in a block or the mempool
    spent_height     INTEGER CHECK (spent_height >= 0),
    booked_sats      INTEGER NOT NULL DEFAULT 0,                             -- in the ledger, if it pays no payment
    PRIMARY KEY (txid, vout),
    CHECK ((position = 'block') = (block_height IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX coins_unspent ON coins (block_height) WHERE spent_by IS NULL;
CREATE INDEX coins_by_spender ON coins (spent_by) WHERE spent_by IS NOT NULL;
CREATE INDEX coins_by_amount ON coins (amount_sats) WHERE spent_by IS NULL;
CREATE INDEX coins_by_index ON coins (keychain, derivation_index, position);
CREATE INDEX coins_of_no_payment ON coins (keychain, derivation_index) WHERE payment_seq IS NULL;
CREATE INDEX coins_of_no_payment_by_height ON coins (block_height) WHERE payment_seq IS NULL;
CREATE INDEX coins_ruled_out ON coins (conflict_height) WHERE conflict_height IS NOT NULL;

CREATE TABLE anomalies (
    seq              INTEGER PRIMARY KEY,
    id               BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
    payment_seq      INTEGER NOT NULL REFERENCES payments (seq),
    key_id           INTEGER REFERENCES api_keys (key_id),                   -- the payment's key
    kind             TEXT NOT NULL CHECK (kind = 'LATE_PAYMENT' OR kind = 'EXTRA_PAYMENT'
                         OR kind = 'OVERPAYMENT' OR kind = 'UNDERPAYMENT' OR kind = 'REVERSED_PAYMENT'),
    txid             BLOB,
    paid_sats        INTEGER NOT NULL CHECK (paid_sats >= 0),
    txids            BLOB NOT NULL CHECK (length(txids) % 32 = 0),
    rate             TEXT NOT NULL,
    rate_at          INTEGER NOT NULL,
    resolution       TEXT NOT NULL CHECK (resolution = 'OPEN' OR resolution = 'REFUNDING' OR resolution = 'REFUNDED'
                         OR resolution = 'ACCEPTED' OR resolution = 'DISMISSED_BY_STAFF' OR resolution = 'DISMISSED_BY_SYSTEM'),
    dismissal_reason TEXT,
    payout_id        BLOB,
    asked_at         INTEGER,                                                -- the customer is asked where to refund
    refund_address   TEXT CHECK (refund_address IS NULL OR asked_at IS NOT NULL), -- the customer's answer
    answered_at      INTEGER CHECK ((answered_at IS NULL) = (refund_address IS NULL)),
    created_at       INTEGER NOT NULL,
    current_at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX anomalies_one_to_a_ground ON anomalies (payment_seq, kind, ifnull(txid, x''));
CREATE INDEX anomalies_by_creation ON anomalies (created_at, seq);
CREATE INDEX anomalies_by_resolution ON anomalies (resolution, created_at, seq);
CREATE INDEX anomalies_by_key ON anomalies (key_id, created_at, seq);
CREATE INDEX anomalies_answered ON anomalies (answered_at) WHERE answered_at IS NOT NULL;

-- The outbox. The transaction of a change stores the notification with its body. `head` marks the next notification of
-- a record and URL. Only heads are searched, so other rows are not read.
CREATE TABLE notifications (
    seq             INTEGER PRIMARY KEY,
    id              BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
    subject_kind    TEXT NOT NULL CHECK (subject_kind = 'payment' OR subject_kind = 'anomaly' OR subject_kind = 'payout'),
    subject_id      BLOB NOT NULL CHECK (length(subject_id) = 20),
    key_id          INTEGER NOT NULL DEFAULT 0,                              -- 0: made by staff
    url             TEXT NOT NULL,
    server          TEXT NOT NULL,                                           -- scheme, host and port
    body            BLOB,
    queued_at       INTEGER NOT NULL,
    is_resend       INTEGER NOT NULL DEFAULT 0 CHECK (is_resend IN (0, 1)),  -- reports no change
    state           TEXT NOT NULL CHECK (state = 'WAITING' OR state = 'DELIVERED' OR state = 'SUPERSEDED' OR state = 'GIVEN_UP'),
    head            INTEGER NOT NULL CHECK (head IN (0, 1)),
    attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    first_due_at    INTEGER,                                                 -- the retry schedule begins here
    next_attempt_at INTEGER,
    last_attempt_at INTEGER,
    CHECK (head = 0 OR (state = 'WAITING' AND first_due_at IS NOT NULL)),
    CHECK ((head = 1) = (next_attempt_at IS NOT NULL)),
    CHECK (state <> 'WAITING' OR body IS NOT NULL),
    CHECK ((attempts > 0) = (last_attempt_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX notifications_one_head_to_a_record ON notifications (subject_id, url) WHERE head = 1;
CREATE INDEX notifications_first_attempts ON notifications (key_id, server, seq) WHERE head = 1 AND attempts = 0;
CREATE INDEX notifications_repeats ON notifications (key_id, server, next_attempt_at) WHERE head = 1 AND attempts > 0;
CREATE INDEX notifications_next_repeat ON notifications (next_attempt_at) WHERE head = 1 AND attempts > 0;
CREATE INDEX notifications_waiting ON notifications (subject_id, url, seq) WHERE state = 'WAITING';
CREATE INDEX notifications_given_up ON notifications (last_attempt_at, seq) WHERE state = 'GIVEN_UP';
CREATE INDEX notifications_of_subject ON notifications (subject_id, seq);
CREATE INDEX notifications_to_strip ON notifications (last_attempt_at) WHERE body IS NOT NULL AND state <> 'WAITING';

-- Attempts to deliver a notification. `error` is null after a success.
CREATE TABLE deliveries (
    seq              INTEGER PRIMARY KEY,
    id               BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
    notification_seq INTEGER NOT NULL REFERENCES notifications (seq),
    attempt          INTEGER NOT NULL CHECK (attempt >= 1),
    started_at       INTEGER NOT NULL,
    duration_ms      INTEGER NOT NULL CHECK (duration_ms >= 0),
    status_code      INTEGER,
    error            TEXT,
    answer           BLOB CHECK (length(answer) <= 1024)
) STRICT;
CREATE INDEX deliveries_of_notification ON deliveries (notification_seq, seq);
CREATE INDEX deliveries_failed ON deliveries (seq) WHERE error IS NOT NULL;

-- The id of the signing key. The key itself is stored first, with the secrets. Deliveries wait while it is missing
-- there.
CREATE TABLE hmac_key (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    key_id BLOB NOT NULL CHECK (length(key_id) = 20)
) STRICT;

-- First answers to requests with an Idempotency-Key, for 24 hours.
CREATE TABLE idempotency (
    key_id         INTEGER NOT NULL,
    path           TEXT NOT NULL,
    key            TEXT NOT NULL,
    request_sha256 BLOB NOT NULL CHECK (length(request_sha256) = 32),
    answer         BLOB NOT NULL,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (key_id, path, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- The sales of the till: payments with a number, lines and a tip.
CREATE TABLE sales (
    number      INTEGER PRIMARY KEY,
    payment_seq INTEGER NOT NULL UNIQUE REFERENCES payments (seq),
    tip_minor   INTEGER NOT NULL CHECK (tip_minor >= 0)
) STRICT;

CREATE TABLE sale_lines (
    number        INTEGER NOT NULL REFERENCES sales (number),
    position      INTEGER NOT NULL,
    name          TEXT NOT NULL,
    price_minor   INTEGER NOT NULL CHECK (price_minor > 0),
    count         INTEGER NOT NULL CHECK (count > 0),
    tax_per_mille INTEGER CHECK (tax_per_mille BETWEEN 0 AND 1000),
    PRIMARY KEY (number, position)
) STRICT, WITHOUT ROWID;

-- The products of the till, in the order of their tiles.
CREATE TABLE products (
    position      INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    price_minor   INTEGER NOT NULL CHECK (price_minor > 0),
    currency      TEXT NOT NULL CHECK (length(currency) = 3),
    tax_per_mille INTEGER CHECK (tax_per_mille BETWEEN 0 AND 1000),
    color         TEXT NOT NULL
) STRICT;
