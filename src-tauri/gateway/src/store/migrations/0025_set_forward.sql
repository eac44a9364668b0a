-- By how much the clock was set forward since a payout was approved, in milliseconds: that time did not pass, and a payout is not
-- given up for it. When it was approved stays as it was told.
ALTER TABLE payouts ADD COLUMN set_forward_ms INTEGER NOT NULL DEFAULT 0 CHECK (set_forward_ms >= 0);
