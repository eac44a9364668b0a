-- The sandbox's file, version 1. Amounts are in satoshis; the name of a time ends in its unit.

CREATE TABLE meta (
    id                INTEGER PRIMARY KEY CHECK (id = 1),
    seed              BLOB    NOT NULL CHECK (length(seed) = 32),      -- of the simulated customer's keys
    initial_height    INTEGER NOT NULL CHECK (initial_height >= 0),    -- no reorganisation reaches below it
    clock_offset_ms   INTEGER NOT NULL CHECK (clock_offset_ms >= 0),
    blocks_mined      INTEGER NOT NULL CHECK (blocks_mined >= 0),      -- ever, also those reorganised away
    chain_down        INTEGER NOT NULL CHECK (chain_down IN (0, 1)),
    broadcast_rejects INTEGER NOT NULL CHECK (broadcast_rejects IN (0, 1)),
    latency_ms        INTEGER NOT NULL CHECK (latency_ms >= 0)
) STRICT;

CREATE TABLE rates (
    currency TEXT PRIMARY KEY,
    rate     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The best chain only.
CREATE TABLE blocks (
    height INTEGER PRIMARY KEY CHECK (height >= 0),
    hash   BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    header BLOB    NOT NULL CHECK (length(header) = 80),
    time_s INTEGER NOT NULL
) STRICT;

-- Every transaction ever accepted. A parent's tx_id is always smaller than its child's, because
-- a transaction is accepted only after those whose outputs it spends: the order of tx_id is topological.
CREATE TABLE transactions (
    tx_id                INTEGER PRIMARY KEY,
    txid                 BLOB    NOT NULL UNIQUE CHECK (length(txid) = 32),
    raw                  BLOB    NOT NULL,
    weight               INTEGER NOT NULL CHECK (weight > 0),
    sigop_cost           INTEGER NOT NULL CHECK (sigop_cost >= 0),
    fee_sats             INTEGER CHECK (fee_sats >= 0),                -- NULL: a coinbase
    fee_rate_sat_kvb     INTEGER CHECK (fee_rate_sat_kvb >= 0),
    is_own               INTEGER NOT NULL CHECK (is_own IN (0, 1)),    -- spends only the customer's coins
    block_height         INTEGER,
    block_index          INTEGER CHECK (block_index >= 0),
    entered_ms           INTEGER,                                      -- not NULL: in the mempool
    evicted_after_blocks INTEGER,                                      -- meta.blocks_mined at its eviction
    changed_seq          INTEGER NOT NULL UNIQUE,
    CHECK (block_height IS NULL OR entered_ms IS NULL),
    CHECK ((block_height IS NULL) = (block_index IS NULL)),
    CHECK ((fee_sats IS NULL) = (fee_rate_sat_kvb IS NULL))
) STRICT;
CREATE UNIQUE INDEX transactions_by_block ON transactions (block_height, block_index) WHERE block_height IS NOT NULL;
CREATE INDEX transactions_by_fee_rate ON transactions (fee_rate_sat_kvb DESC, tx_id) WHERE entered_ms IS NOT NULL;

-- Spendable outputs (no OP_RETURN) of the transactions above.
CREATE TABLE outputs (
    tx_id          INTEGER NOT NULL REFERENCES transactions (tx_id),
    vout           INTEGER NOT NULL CHECK (vout >= 0),
    amount_sats    INTEGER NOT NULL CHECK (amount_sats >= 0),
    script         BLOB    NOT NULL,
    customer_key   INTEGER,                                            -- NULL: not the customer's
    is_initial     INTEGER NOT NULL DEFAULT 0 CHECK (is_initial IN (0, 1)),  -- of the initial chain: never reorganised
    spendable_from INTEGER,  -- height of the first block that the customer may spend it in; NULL: not at all
    PRIMARY KEY (tx_id, vout)
) STRICT, WITHOUT ROWID;
CREATE INDEX customer_coins ON outputs (is_initial, amount_sats, spendable_from) WHERE spendable_from IS NOT NULL;

-- The inputs of every transaction ever accepted. Conflicting transactions have rows of the same outpoint.
CREATE TABLE spends (
    prev_tx_id    INTEGER NOT NULL REFERENCES transactions (tx_id),
    prev_vout     INTEGER NOT NULL,
    spender_tx_id INTEGER NOT NULL REFERENCES transactions (tx_id),
    PRIMARY KEY (prev_tx_id, prev_vout, spender_tx_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX spends_by_spender ON spends (spender_tx_id);

CREATE TABLE customer_scripts (
    script    BLOB PRIMARY KEY,
    key_index INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

-- Shares its sequence with transactions.changed_seq.
CREATE TABLE reorgs (
    seq         INTEGER PRIMARY KEY,
    fork_height INTEGER NOT NULL                                       -- the last block that stayed
) STRICT;
