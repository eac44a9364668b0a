-- Whether something rests on a rate. Of those on which nothing does each currency has one at most, the last that was known,
-- which is written anew in its place.
ALTER TABLE rates ADD COLUMN used INTEGER NOT NULL DEFAULT 1 CHECK (used IN (0, 1));
CREATE UNIQUE INDEX rates_unused ON rates (currency) WHERE used = 0;
