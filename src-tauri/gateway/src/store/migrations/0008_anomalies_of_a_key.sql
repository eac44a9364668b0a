-- Each anomaly knows the API key that its payment was made with (null for the panel): the list of a key that sees what it
-- made alone costs nothing of what others made.
ALTER TABLE anomalies ADD COLUMN key_id INTEGER REFERENCES api_keys (key_id);
UPDATE anomalies SET key_id = (SELECT key_id FROM payments WHERE payments.seq = anomalies.payment_seq);
CREATE INDEX anomalies_by_key ON anomalies (key_id, created_at, seq);
