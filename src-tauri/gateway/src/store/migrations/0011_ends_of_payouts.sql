-- When a payout FAILED: its record's `currentTime` moves with each notification that is sent again. And which person gave it
-- up while nothing was signed for it, or made a version (null: the sender by itself).
ALTER TABLE payouts ADD COLUMN failed_at INTEGER CHECK (failed_at IS NULL OR failure_reason IS NOT NULL);
ALTER TABLE payouts ADD COLUMN given_up_by TEXT CHECK (given_up_by IS NULL OR failure_reason IS NOT NULL);
ALTER TABLE versions ADD COLUMN made_by TEXT;

-- Of older rows: the ledger tells when one failed that had been SENT, the audit when one was given up before anything was
-- signed, the outbox when the change was notified; where nobody was to be notified, `current_at` never moved since.
UPDATE payouts SET given_up_by = (SELECT actor FROM audit WHERE act = 'payouts abandon' AND subject = lower(hex(payouts.id))
    ORDER BY seq DESC LIMIT 1)
WHERE state = 'FAILED' AND batch_seq IS NULL;
UPDATE payouts SET failed_at = coalesce(
    (SELECT max(at) FROM ledger WHERE payout_seq = payouts.seq AND kind = 'PAYOUT' AND sats > 0),
    (SELECT max(at) FROM audit WHERE payouts.given_up_by IS NOT NULL AND act = 'payouts abandon'
        AND subject = lower(hex(payouts.id))),
    (SELECT max(queued_at) FROM notifications WHERE subject_id = payouts.id AND is_resend = 0),
    current_at)
WHERE state = 'FAILED';
UPDATE versions SET made_by = (SELECT actor FROM audit WHERE at = versions.created_at
    AND act = CASE pays WHEN 1 THEN 'payouts bump' ELSE 'payouts abandon' END ORDER BY seq DESC LIMIT 1)
WHERE number > 1;
