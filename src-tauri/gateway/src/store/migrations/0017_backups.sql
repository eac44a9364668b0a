-- Backups that this installation made: where each lies, so that the old ones among the nightly can be removed, and no other file.
-- The times are the machine's own.
CREATE TABLE backups (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id    BLOB NOT NULL UNIQUE CHECK (length(file_id) = 32),
    path       TEXT NOT NULL,
    nightly    INTEGER NOT NULL CHECK (nightly = 0 OR nightly = 1),
    state      TEXT NOT NULL CHECK (state = 'WRITING' OR state = 'GOOD' OR state = 'FAILED' OR state = 'REMOVED'),
    begun_at   INTEGER NOT NULL,
    done_at    INTEGER CHECK ((done_at IS NULL) = (state = 'WRITING')),
    size_bytes INTEGER CHECK (size_bytes >= 0 AND (size_bytes IS NULL) = (state = 'WRITING' OR state = 'FAILED')),
    checked_at INTEGER CHECK (checked_at IS NULL OR state = 'GOOD' OR state = 'REMOVED'),
    failure    TEXT CHECK ((failure IS NULL) = (state <> 'FAILED'))
) STRICT;
CREATE INDEX backups_by_state ON backups (state, seq);

-- Since when a key for nightly backups lies with the secrets.
CREATE TABLE backup_passphrase (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    set_at INTEGER NOT NULL
) STRICT;
