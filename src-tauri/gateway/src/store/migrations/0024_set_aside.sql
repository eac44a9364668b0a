-- What was replaced so often since that no look has to go by it any more: it stays gone until it is seen again. Whoever replaces a
-- payment a thousand times would else have all of them read again for each.
ALTER TABLE receipts ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0
    CHECK (set_aside = 0 OR (set_aside = 1 AND gone = 1 AND position = 'absent'));
CREATE INDEX receipts_not_set_aside ON receipts (payment_seq) WHERE set_aside = 0;
