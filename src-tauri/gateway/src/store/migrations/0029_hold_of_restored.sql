-- Whether the sender holds because this copy was restored: staff compare what waits then. What was stored before tells it by its sentence.
ALTER TABLE sender_hold ADD COLUMN is_of_restored INTEGER NOT NULL DEFAULT 0 CHECK (is_of_restored IN (0, 1));
UPDATE sender_hold SET is_of_restored = 1 WHERE instr(reason, 'the wallet was restored from') > 0;
