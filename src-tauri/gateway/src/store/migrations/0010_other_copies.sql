-- Indices of addresses that were given to no payment here: another copy of the wallet gave them, or one of them. What comes to
-- them is ours, and whoever spends it is that copy.
CREATE TABLE skipped_addresses (
    first_index INTEGER PRIMARY KEY CHECK (first_index >= 0),
    last_index  INTEGER NOT NULL CHECK (last_index >= first_index)
) STRICT;
