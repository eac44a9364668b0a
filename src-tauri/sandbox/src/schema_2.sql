-- Version 2: more faults, and an index of outputs by script.

ALTER TABLE meta ADD COLUMN broadcast TEXT NOT NULL DEFAULT 'ok'
    CHECK (broadcast IN ('ok', 'reject', 'timeout', 'forget'));            -- handling of broadcasts
ALTER TABLE meta ADD COLUMN keys_locked INTEGER NOT NULL DEFAULT 0 CHECK (keys_locked IN (0, 1));
ALTER TABLE meta ADD COLUMN fee_rate_sat_vb INTEGER CHECK (fee_rate_sat_vb >= 0);  -- NULL: the sandbox's own estimate
UPDATE meta SET broadcast = 'reject' WHERE broadcast_rejects = 1;
ALTER TABLE meta DROP COLUMN broadcast_rejects;

CREATE INDEX outputs_by_script ON outputs (script);
