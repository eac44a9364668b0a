-- Indexes that only lists and deadlines go by hold the payments that are filed: all up to one number, none above it.
-- Payments are numbered without gaps, and never deleted: the last number is how many there are. From here on
-- `keychains.next_index` is the next index that no filed payment has.

ALTER TABLE payments ADD COLUMN filed INTEGER NOT NULL DEFAULT 0 CHECK (filed IN (0, 1));
UPDATE payments SET filed = 1;

DROP INDEX payments_by_creation;
DROP INDEX payments_by_state;
DROP INDEX payments_by_merchant_transaction;
DROP INDEX payments_by_label;
DROP INDEX payments_due_at;
CREATE INDEX payments_by_creation ON payments (created_at, seq) WHERE filed = 1;
CREATE INDEX payments_by_state ON payments (state, created_at, seq) WHERE filed = 1;
CREATE INDEX payments_by_merchant_transaction ON payments (merchant_transaction_id, created_at, seq) WHERE filed = 1;
CREATE INDEX payments_by_label ON payments (label, created_at, seq) WHERE filed = 1;
CREATE INDEX payments_due_at ON payments (next_due_at) WHERE filed = 1 AND next_due_at IS NOT NULL;

CREATE TRIGGER payments_are_kept BEFORE DELETE ON payments BEGIN
    SELECT RAISE(ABORT, 'payments are never deleted');
END;
