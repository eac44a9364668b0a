-- Of a backup that failed because its folder was not the one that was named: what the mark is called that was missing there. What was
-- stored before tells it by its sentence alone, and is taken for any other failure until the next night.
ALTER TABLE backups ADD COLUMN missing_mark TEXT CHECK (missing_mark IS NULL OR state = 'FAILED');
