-- A key may be bound to the records that it made, and to the hosts that its notifications go to (by commas; empty for all).
ALTER TABLE api_keys ADD COLUMN own_only INTEGER NOT NULL DEFAULT 0 CHECK (own_only IN (0, 1));
ALTER TABLE api_keys ADD COLUMN notify_hosts TEXT NOT NULL DEFAULT '';

-- Each notification knows the API key that its payment was made with (0 for the panel): places to send go round by it.

ALTER TABLE notifications ADD COLUMN key_id INTEGER NOT NULL DEFAULT 0;
UPDATE notifications
SET key_id = ifnull((SELECT key_id FROM payments WHERE payments.id = notifications.subject_id), 0)
WHERE subject_kind = 'payment';
UPDATE notifications
SET key_id = ifnull((SELECT p.key_id FROM anomalies AS a JOIN payments AS p ON p.seq = a.payment_seq
                     WHERE a.id = notifications.subject_id), 0)
WHERE subject_kind = 'anomaly';

DROP INDEX notifications_first_attempts;
DROP INDEX notifications_repeats;
CREATE INDEX notifications_first_attempts ON notifications (key_id, server, seq) WHERE head = 1 AND attempts = 0;
CREATE INDEX notifications_repeats ON notifications (key_id, server, next_attempt_at) WHERE head = 1 AND attempts > 0;
CREATE INDEX notifications_next_repeat ON notifications (next_attempt_at) WHERE head = 1 AND attempts > 0;

-- First answers are kept for an API key: one shop's Idempotency-Key is no other's.
CREATE TABLE answers (
    key_id         INTEGER NOT NULL,
    path           TEXT NOT NULL,
    key            TEXT NOT NULL,
    request_sha256 BLOB NOT NULL CHECK (length(request_sha256) = 32),
    answer         BLOB NOT NULL,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (key_id, path, key)
) STRICT, WITHOUT ROWID;
INSERT INTO answers
SELECT p.key_id, i.path, i.key, i.request_sha256, i.answer, i.created_at
FROM idempotency AS i
JOIN payments AS p ON p.id = CASE WHEN json_valid(CAST(i.answer AS TEXT))
                             THEN unhex(json_extract(CAST(i.answer AS TEXT), '$.paymentId')) END
WHERE p.key_id IS NOT NULL;
DROP TABLE idempotency;
ALTER TABLE answers RENAME TO idempotency;
CREATE INDEX idempotency_by_age ON idempotency (created_at);
