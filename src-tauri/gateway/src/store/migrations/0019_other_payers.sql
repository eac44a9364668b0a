-- The best block that was stored when a payment's address was given; a reorganisation that leaves blocks below lowers it. What
-- a block up to it holds was paid before anybody had the address from this payment. Null: an older program made the payment.
ALTER TABLE payments ADD COLUMN given_above INTEGER CHECK (given_above >= 0);

-- Transactions in no block that pay what an open payout is to pay, and were not made here: staff were told of each once.
CREATE TABLE payers_told (
    txid BLOB NOT NULL PRIMARY KEY CHECK (length(txid) = 32)
) STRICT, WITHOUT ROWID;
