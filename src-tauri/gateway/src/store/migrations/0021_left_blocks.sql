-- Whether a block ever held a transaction of another copy of the wallet: work was done for its id then, so that it was signed, whatever
-- signatures were told with it, of which no id says anything. A payout is SENT by one that no block held only where its signatures hold.
ALTER TABLE twins ADD COLUMN was_in_block INTEGER NOT NULL DEFAULT 0 CHECK (was_in_block IN (0, 1));
UPDATE twins SET was_in_block = 1
WHERE position = 'block' OR txid IN (SELECT txid FROM payouts WHERE state = 'SENT' AND txid IS NOT NULL);

-- What blocks rule out of which some were left: a reorganisation takes that back.
CREATE INDEX coins_ruled_out ON coins (conflict_height) WHERE conflict_height IS NOT NULL;
