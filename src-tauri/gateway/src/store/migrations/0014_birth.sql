-- Where a wallet began: blocks up to this height hold nothing of it. Null: it has given no address yet. Where an older
-- program made the wallet nobody knows, so that nothing is left out.
ALTER TABLE keychains ADD COLUMN birth_height INTEGER CHECK (birth_height >= 0);
UPDATE keychains SET birth_height = 0;
