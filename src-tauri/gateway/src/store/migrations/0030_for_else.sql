-- Whether what moves nothing of this wallet was known to pay a payout when people gave that up: then it was for something else, and so is what
-- such a transaction pays the same payout later.
ALTER TABLE twin_outputs ADD COLUMN is_for_else INTEGER NOT NULL DEFAULT 0 CHECK (is_for_else IN (0, 1));
