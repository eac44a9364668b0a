-- This copy of the wallet was restored, from its words or from a backup. Until it has looked from the wallet's birth to the
-- best block it gives no address and sends nothing: another copy may have gone on.
CREATE TABLE restore (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    source          TEXT NOT NULL CHECK (source = 'words' OR source = 'backup'),
    state           TEXT NOT NULL CHECK (state = 'AWAITED' OR state = 'SCANNING' OR state = 'STOPPED' OR state = 'LOOKED'),
    begun_at        INTEGER NOT NULL,
    birth_height    INTEGER NOT NULL CHECK (birth_height >= 0),
    gap             INTEGER NOT NULL CHECK (gap >= 1),                  -- indices that are known beyond the highest used
    scanned_height  INTEGER CHECK (scanned_height >= 0),                -- null: no answer of the look is stored yet
    next_address    INTEGER NOT NULL DEFAULT 0,                         -- the first indices that were not asked about, by
    next_change     INTEGER NOT NULL DEFAULT 0,                         -- a backend that asks about single scripts
    unknown         INTEGER NOT NULL DEFAULT 0 CHECK (unknown >= 0),    -- transactions of ours that this database did not know
    looked_at       INTEGER,
    first_given     INTEGER CHECK (first_given >= 0),                   -- the first receive index that is given since
    CHECK ((state = 'LOOKED') = (looked_at IS NOT NULL)),
    CHECK ((state = 'LOOKED') = (first_given IS NOT NULL))
) STRICT;

-- Which indices were used: another wallet's program has to pass over the longest run of those that were not.
CREATE INDEX coins_by_index ON coins (keychain, derivation_index, position);
