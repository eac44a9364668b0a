-- Where a look ended belongs to the chain that it looked at: its network's first block and, for one of several chains
-- of a network, what tells it from the others. An older schema does not say which chain that was: the next look finds
-- out, and begins with the chain's first block.
CREATE TABLE new_chain (
    one           INTEGER PRIMARY KEY CHECK (one = 1),
    genesis       BLOB CHECK (length(genesis) = 32),
    instance      BLOB CHECK (length(instance) = 32),
    token         BLOB,
    tip_height    INTEGER NOT NULL CHECK (tip_height >= 0),
    tip_hash      BLOB NOT NULL CHECK (length(tip_hash) = 32),
    tip_time      INTEGER NOT NULL,
    looked_at     INTEGER NOT NULL,
    begun_anew_at INTEGER,                  -- when a look last found another chain than the one before it had seen
    CHECK ((genesis IS NULL) = (token IS NULL))
) STRICT;
INSERT INTO new_chain (one, tip_height, tip_hash, tip_time, looked_at)
    SELECT one, tip_height, tip_hash, tip_time, looked_at FROM chain;
DROP TABLE chain;
ALTER TABLE new_chain RENAME TO chain;

-- Every output of ours, a customer's payment or our own change.
CREATE TABLE new_coins (
    txid             BLOB NOT NULL REFERENCES transactions (txid),
    vout             INTEGER NOT NULL CHECK (vout >= 0),
    keychain         INTEGER NOT NULL CHECK (keychain IN (0, 1)),          -- 0 external, 1 internal
    derivation_index INTEGER NOT NULL CHECK (derivation_index >= 0),
    payment_seq      INTEGER REFERENCES payments (seq),                    -- null: change
    amount_sats      INTEGER NOT NULL CHECK (amount_sats > 0),
    position         TEXT NOT NULL CHECK (position = 'block' OR position = 'mempool' OR position = 'absent'),
    block_height     INTEGER CHECK (block_height >= 0),
    spent_by         BLOB CHECK (length(spent_by) = 32),                   -- a transaction in a block or the mempool
    locked_by        BLOB CHECK (length(locked_by) = 32),                  -- a stored transaction of our own
    PRIMARY KEY (txid, vout),
    CHECK ((position = 'block') = (block_height IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO new_coins (txid, vout, keychain, derivation_index, payment_seq, amount_sats, position, block_height)
    SELECT txid, vout, 0, derivation_index, payment_seq, c.amount_sats, position, block_height
    FROM coins AS c JOIN receipts USING (payment_seq, txid);
DROP TABLE coins;
ALTER TABLE new_coins RENAME TO coins;
CREATE INDEX coins_unspent ON coins (block_height) WHERE spent_by IS NULL;
CREATE INDEX coins_by_spender ON coins (spent_by) WHERE spent_by IS NOT NULL;
