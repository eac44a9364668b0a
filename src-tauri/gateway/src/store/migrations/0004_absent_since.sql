-- The start of the first look that missed what is in neither mempool nor chain: after 14 days of looks that all missed
-- it, it is gone. What was taken for gone stays so; for the rest the last look made so far is the first that counts.

ALTER TABLE receipts ADD COLUMN absent_since INTEGER CHECK (position = 'absent' OR absent_since IS NULL);
UPDATE receipts
    SET absent_since = CASE gone WHEN 1 THEN last_seen_at ELSE ifnull((SELECT looked_at FROM chain), last_seen_at) END
    WHERE position = 'absent';
