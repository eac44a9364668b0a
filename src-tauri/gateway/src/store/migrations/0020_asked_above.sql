-- The best block that was stored when a payout was asked for; a reorganisation that leaves blocks below lowers it. No block up to
-- it holds what pays the payout. Null: an older program made it, or nothing was seen of the chain.
ALTER TABLE payouts ADD COLUMN asked_above INTEGER CHECK (asked_above >= 0);
