-- The folder of nightly backups as it was last named, and what its mark is called: the file in it by which it is known again.
CREATE TABLE backup_folder (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    path TEXT NOT NULL,
    mark TEXT NOT NULL CHECK (length(mark) > 0)
) STRICT;
