-- Money is in integers named with their unit, times are milliseconds of the environment's clock,
-- identifiers are 20 bytes, txids 32 bytes in internal order. `seq` is the order of insertion.
-- A choice among more than two is spelled out: for IN with more, SQLite makes a table of them anew for each row.

-- The one row that says whose file this is.
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

-- The public descriptor of each keychain (0 external, 1 internal) and the next index never yet given.
CREATE TABLE keychains (
    keychain   INTEGER PRIMARY KEY CHECK (keychain IN (0, 1)),
    descriptor TEXT NOT NULL,
    next_index INTEGER NOT NULL CHECK (next_index BETWEEN 0 AND 2147483648)
) STRICT;

-- How far the chain was watched. The cursor belongs to the backend.
CREATE TABLE chain (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    cursor     INTEGER NOT NULL,
    tip_height INTEGER NOT NULL CHECK (tip_height >= 0),
    tip_hash   BLOB NOT NULL CHECK (length(tip_hash) = 32),
    tip_time   INTEGER NOT NULL,
    looked_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    key_id                    INTEGER PRIMARY KEY,
    name                      TEXT NOT NULL,
    secret_sha256             BLOB NOT NULL CHECK (length(secret_sha256) = 32),
    permissions               TEXT NOT NULL,
    notification_url_optional INTEGER NOT NULL CHECK (notification_url_optional IN (0, 1)),
    created_at                INTEGER NOT NULL,
    revoked_at                INTEGER
) STRICT;
CREATE UNIQUE INDEX api_keys_one_live_key_to_a_name ON api_keys (name) WHERE revoked_at IS NULL;

-- Each rate that was used, with the quotes that it was made of.
CREATE TABLE rates (
    rate_id  INTEGER PRIMARY KEY,
    currency TEXT NOT NULL CHECK (length(currency) = 3),
    rate     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    sources  TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX rates_by_currency ON rates (currency, at, rate);

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
    derivation_index         INTEGER NOT NULL CHECK (derivation_index >= 0),   -- given once, as its script is
    script                   BLOB NOT NULL UNIQUE,
    address                  TEXT NOT NULL,
    key_id                   INTEGER REFERENCES api_keys (key_id),
    label                    TEXT NOT NULL,
    message                  TEXT NOT NULL,
    merchant_transaction_id  TEXT NOT NULL,
    notification_url         TEXT,
    anomaly_notification_url TEXT,
    redirect_urls            TEXT,
    created_at               INTEGER NOT NULL,
    expires_at               INTEGER NOT NULL CHECK (expires_at > created_at),
    current_at               INTEGER NOT NULL,
    closed_at                INTEGER,
    confirmed_at             INTEGER,
    paid_sats                INTEGER NOT NULL DEFAULT 0 CHECK (paid_sats >= 0),
    accepted_sats            INTEGER CHECK (accepted_sats > 0),
    confirmations            INTEGER NOT NULL CHECK (confirmations >= 0),
    zero_conf_quiet_ms       INTEGER NOT NULL CHECK (zero_conf_quiet_ms >= 0),
    tolerance_per_mille      INTEGER NOT NULL CHECK (tolerance_per_mille BETWEEN 0 AND 100),
    overpayment              TEXT NOT NULL CHECK (overpayment IN ('confirm', 'invalidate')),
    anomaly_confirmations    INTEGER NOT NULL CHECK (anomaly_confirmations >= 1),
    offline_grace_ms         INTEGER NOT NULL CHECK (offline_grace_ms >= 0),
    next_due_at              INTEGER,
    next_due_height          INTEGER
) STRICT;
CREATE INDEX payments_by_creation ON payments (created_at, seq);
CREATE INDEX payments_by_state ON payments (state, created_at, seq);
CREATE INDEX payments_by_merchant_transaction ON payments (merchant_transaction_id, created_at, seq);
CREATE INDEX payments_by_label ON payments (label, created_at, seq);
CREATE INDEX payments_due_at ON payments (next_due_at) WHERE next_due_at IS NOT NULL;
CREATE INDEX payments_due_height ON payments (next_due_height) WHERE next_due_height IS NOT NULL;

-- Every transaction that ever paid an address of ours, to be broadcast again should it go missing.
CREATE TABLE transactions (
    txid          BLOB NOT NULL PRIMARY KEY CHECK (length(txid) = 32),
    raw           BLOB NOT NULL,
    first_seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What one transaction pays to one payment's address: facts of the newest look and kept verdicts.
CREATE TABLE receipts (
    payment_seq          INTEGER NOT NULL REFERENCES payments (seq),
    txid                 BLOB NOT NULL REFERENCES transactions (txid),
    amount_sats          INTEGER NOT NULL CHECK (amount_sats > 0),
    first_seen_at        INTEGER NOT NULL,
    last_seen_at         INTEGER NOT NULL,
    earliest_at          INTEGER NOT NULL,
    position             TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height         INTEGER,
    block_time           INTEGER,
    conflict_in_chain    INTEGER NOT NULL CHECK (conflict_in_chain IN (0, 1)),
    conflict_in_mempool  INTEGER NOT NULL CHECK (conflict_in_mempool IN (0, 1)),
    last_conflict_at     INTEGER,
    relays_well          INTEGER NOT NULL CHECK (relays_well IN (0, 1)),
    eligible_sats        INTEGER CHECK (eligible_sats >= 0),
    counted_sats         INTEGER NOT NULL DEFAULT 0 CHECK (counted_sats >= 0),
    gone                 INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)),
    missing              INTEGER NOT NULL DEFAULT 0 CHECK (missing IN (0, 1)),
    PRIMARY KEY (payment_seq, txid),
    CHECK ((position = 'block') = (block_height IS NOT NULL AND block_time IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_transaction ON receipts (txid);
CREATE INDEX receipts_missing ON receipts (missing) WHERE missing = 1;

-- Which receipts of one payment spend one of the same inputs (both directions).
CREATE TABLE receipt_conflicts (
    payment_seq INTEGER NOT NULL,
    txid        BLOB NOT NULL,
    other_txid  BLOB NOT NULL,
    PRIMARY KEY (payment_seq, txid, other_txid),
    FOREIGN KEY (payment_seq, txid) REFERENCES receipts (payment_seq, txid)
) STRICT, WITHOUT ROWID;

-- The single outputs behind the receipts: the wallet's coins.
CREATE TABLE coins (
    txid             BLOB NOT NULL,
    vout             INTEGER NOT NULL,
    payment_seq      INTEGER NOT NULL,
    derivation_index INTEGER NOT NULL,
    amount_sats      INTEGER NOT NULL CHECK (amount_sats > 0),
    PRIMARY KEY (txid, vout),
    FOREIGN KEY (payment_seq, txid) REFERENCES receipts (payment_seq, txid)
) STRICT, WITHOUT ROWID;

-- Each notified change of a payment, for people.
CREATE TABLE payment_history (
    payment_seq INTEGER NOT NULL REFERENCES payments (seq),
    at          INTEGER NOT NULL,
    from_state  TEXT NOT NULL,
    to_state    TEXT NOT NULL,
    paid_sats   INTEGER NOT NULL,
    cause       TEXT NOT NULL,
    PRIMARY KEY (payment_seq, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE anomalies (
    seq              INTEGER PRIMARY KEY,
    id               BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
    payment_seq      INTEGER NOT NULL REFERENCES payments (seq),
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
    created_at       INTEGER NOT NULL,
    current_at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX anomalies_one_to_a_ground ON anomalies (payment_seq, kind, ifnull(txid, x''));
CREATE INDEX anomalies_by_creation ON anomalies (created_at, seq);
CREATE INDEX anomalies_by_resolution ON anomalies (resolution, created_at, seq);

-- The outbox: each row is one notification, its body fixed in the transaction of the change.
-- `head` marks the one of each record (subject and URL) whose turn it is: only heads are ever
-- looked for, so that what waits behind them, or for another server, costs nothing. `server` is
-- scheme, host and port; `first_due_at` is when its turn came: its schedule counts from there.
CREATE TABLE notifications (
    seq             INTEGER PRIMARY KEY,
    id              BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
    subject_kind    TEXT NOT NULL CHECK (subject_kind = 'payment' OR subject_kind = 'anomaly' OR subject_kind = 'payout'),
    subject_id      BLOB NOT NULL CHECK (length(subject_id) = 20),
    url             TEXT NOT NULL,
    server          TEXT NOT NULL,
    body            BLOB,
    queued_at       INTEGER NOT NULL,
    state           TEXT NOT NULL CHECK (state = 'WAITING' OR state = 'DELIVERED' OR state = 'SUPERSEDED' OR state = 'GIVEN_UP'),
    head            INTEGER NOT NULL CHECK (head IN (0, 1)),
    attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    first_due_at    INTEGER,
    next_attempt_at INTEGER,
    last_attempt_at INTEGER,
    CHECK (head = 0 OR (state = 'WAITING' AND first_due_at IS NOT NULL)),
    CHECK ((head = 1) = (next_attempt_at IS NOT NULL)),
    CHECK (state <> 'WAITING' OR body IS NOT NULL),
    CHECK ((attempts > 0) = (last_attempt_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX notifications_one_head_to_a_record ON notifications (subject_id, url) WHERE head = 1;
CREATE INDEX notifications_first_attempts ON notifications (server, seq) WHERE head = 1 AND attempts = 0;
CREATE INDEX notifications_repeats ON notifications (server, next_attempt_at) WHERE head = 1 AND attempts > 0;
CREATE INDEX notifications_waiting ON notifications (subject_id, url, seq) WHERE state = 'WAITING';
CREATE INDEX notifications_given_up ON notifications (last_attempt_at, seq) WHERE state = 'GIVEN_UP';
CREATE INDEX notifications_of_subject ON notifications (subject_id, seq);
CREATE INDEX notifications_to_strip ON notifications (last_attempt_at) WHERE body IS NOT NULL AND state <> 'WAITING';

-- Each attempt to deliver a notification; `error` says why it failed, and is null where it did not.
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

-- Which of the keys in the secret store signs notifications. It is written after the key itself:
-- where this row is and its key is not, nothing may be sent.
CREATE TABLE hmac_key (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    key_id BLOB NOT NULL CHECK (length(key_id) = 20)
) STRICT;

-- First answers of requests with an Idempotency-Key, kept for 24 hours.
CREATE TABLE idempotency (
    path           TEXT NOT NULL,
    key            TEXT NOT NULL,
    request_sha256 BLOB NOT NULL CHECK (length(request_sha256) = 32),
    answer         BLOB NOT NULL,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (path, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Who did what, for administrative acts.
CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    act     TEXT NOT NULL,
    subject TEXT NOT NULL
) STRICT;
