-- Whether a transaction that pays somebody in our stead moves coins of this wallet, as only a copy of it can: the sender held for it then.
-- What was first known by whom it pays alone may show later that it does. What was noticed before is told apart by the schema after next.
ALTER TABLE twins ADD COLUMN moves_ours INTEGER NOT NULL DEFAULT 1 CHECK (moves_ours IN (0, 1));
