-- What others paid somebody in our stead with was noticed under earlier schemas, too, where it moves no coins of this wallet, and stood as if
-- it did. A coin's `spent_by` does not tell: it is empty where the spender is absent.
UPDATE twins SET moves_ours = 0
WHERE NOT EXISTS (SELECT 1 FROM coins AS c WHERE c.txid = twins.txid)
AND NOT EXISTS (
    SELECT 1 FROM transactions AS t JOIN coins AS c ON instr(t.raw, c.txid) > 0 WHERE t.txid = twins.txid
);
