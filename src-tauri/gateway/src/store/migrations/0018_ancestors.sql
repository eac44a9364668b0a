-- Transactions of strangers that one of ours rests on, as long as a reorganisation may take them out of the chain together
-- or the network may drop them: what rests on them can be broadcast again behind them alone.
CREATE TABLE ancestors (
    txid BLOB NOT NULL PRIMARY KEY CHECK (length(txid) = 32),
    raw  BLOB NOT NULL
) STRICT;

-- Which transaction of ours needs which. Whoever is needed by none is removed.
CREATE TABLE ancestor_needs (
    descendant BLOB NOT NULL REFERENCES transactions (txid),
    ancestor   BLOB NOT NULL REFERENCES ancestors (txid),
    PRIMARY KEY (descendant, ancestor)
) STRICT, WITHOUT ROWID;
CREATE INDEX ancestor_needs_by_ancestor ON ancestor_needs (ancestor);
