-- The best block that was stored when a payment's address was given; a reorganisation that leaves blocks below lowers it. What
-- a block up to it holds was paid before anybody had the address from this payment. Null: an older program made the payment.
ALTER TABLE payments ADD COLUMN given_above INTEGER CHECK (given_above >= 0);
