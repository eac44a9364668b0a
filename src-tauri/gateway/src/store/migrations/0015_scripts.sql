-- What a backend that asks about single scripts remembers of each, in its own form.
CREATE TABLE script_states (
    script BLOB NOT NULL PRIMARY KEY,
    state  BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- How far the round has come in which such a backend asks about the scripts that do not matter just now: the next payment,
-- or the next index of our change, or of the addresses that were given to no payment.
CREATE TABLE script_round (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    part TEXT NOT NULL CHECK (part = 'payments' OR part = 'change' OR part = 'skipped'),
    next INTEGER NOT NULL CHECK (next >= 0)
) STRICT;

-- What is not settled is found without passing over what is.
CREATE INDEX receipts_in_blocks ON receipts (block_height) WHERE block_height IS NOT NULL;
CREATE INDEX receipts_in_no_block ON receipts (position, absent_since) WHERE block_height IS NULL;
CREATE INDEX coins_of_no_payment ON coins (keychain, derivation_index) WHERE payment_seq IS NULL;
CREATE INDEX coins_of_no_payment_by_height ON coins (block_height) WHERE payment_seq IS NULL;
CREATE INDEX versions_by_height ON versions (block_height);
CREATE INDEX twins_by_height ON twins (block_height);
