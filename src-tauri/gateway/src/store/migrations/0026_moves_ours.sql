-- Whether a transaction of which others pay somebody in our stead moves coins of this wallet, as only a copy of it can: the sender held for
-- it then. What was first known by whom it pays alone may show later that it does. Of what was noticed under the schemas that were released
-- all did.
ALTER TABLE twins ADD COLUMN moves_ours INTEGER NOT NULL DEFAULT 1 CHECK (moves_ours IN (0, 1));
