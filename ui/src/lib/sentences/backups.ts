// Faults of backups, by their codes.
import type { Catalogue } from "./catalogue";

export const BACKUPS = {
  BACKUP_BAD_STORED_KEY: () => "the stored key of backups is unreadable",
  BACKUP_BUSY: () => "another backup is still being made or checked: try again later",
  BACKUP_DAMAGED: () =>
    "the backup is damaged: bytes were changed or are missing, and no part of it is used; take another backup",
  BACKUP_DAMAGED_DATABASE: (v) => `the database in the backup is damaged (${v._0}): take another backup`,
  BACKUP_DAMAGED_SOURCE: (v) =>
    `the database is damaged (${v._0}), so it is not backed up: restore the last good backup`,
  BACKUP_EXISTS: (v) => `${v._0} exists, and a backup never overwrites a file: name another file`,
  BACKUP_FILE: (v) => `${v.action} ${v.path} failed: ${v.source}`,
  BACKUP_GREEDY: () =>
    "opening the backup needs more memory or time than Tillgate's backups do: the file was changed",
  BACKUP_INTERRUPTED: () => "the backup was interrupted, because the gateway stops",
  BACKUP_KEY: (v) => `the key could not be derived from the passphrase: ${v._0}`,
  BACKUP_NEWER_FORM: () =>
    "the backup has a format that this version does not know: install a newer Tillgate",
  BACKUP_NOT_A_BACKUP: () => "this is not a backup of Tillgate: name the right file",
  BACKUP_NOT_A_FILE: (v) => `${v._0} is not the absolute path of a file`,
  BACKUP_NOT_A_FOLDER: (v) => `${v._0} is not a folder: name a folder`,
  BACKUP_NOT_TEXT: (v) => `the path ${v._0} is not text in UTF-8: name another path`,
  BACKUP_NO_FOLDER: () => "no folder for backups is set: name a file",
  BACKUP_NO_HMAC_KEY: () => "the key that signs notifications is missing: make a new one first",
  BACKUP_NO_PASSPHRASE: () => "no passphrase is stored for backups",
  BACKUP_NO_ROOM: (v) =>
    `a backup needs ${v.neededMb} MB on the disk of ${v.folder}, and ${v.freeMb} MB are free: make room`,
  BACKUP_NO_SUCH_FILE: (v) =>
    `file must be the absolute path of a backup, and there is none at ${v._0}: check the spelling, and that its disk is connected`,
  BACKUP_NO_SUCH_FOLDER: (v) =>
    `there is no folder ${v._0}: make it, connect its disk, or name another folder`,
  BACKUP_NO_WALLET: () => "this installation has no wallet yet that a backup could restore",
  BACKUP_NO_WORDS: () =>
    "the wallet's words are missing, and without them its coins could not be spent: restore the words first",
  BACKUP_OCCUPIED: (v) =>
    `${v._0} holds this environment already, and a restore never overwrites it: name another --data-dir, or move that folder away`,
  BACKUP_OTHER_ENVIRONMENT: (v) =>
    `the backup is of the environment ${v.found}, not of ${v.wanted}: restore or check it there (on the command line with --environment ${v.found})`,
  BACKUP_OTHER_FOLDER: (v) =>
    `${v.folder} is not the folder that was named, or its disk is not connected: the file ${v.mark} that Tillgate wrote there is missing. Connect the disk; if it is the right folder nevertheless, name it again`,
  BACKUP_OTHER_KEY: () =>
    "the backup was made with a passphrase other than the stored one: enter its passphrase",
  BACKUP_OTHER_WALLET: () => "the backup is of another wallet than this installation's",
  BACKUP_OTHER_WORDS: () =>
    "the wallet's words do not belong to its database, so its coins could not be spent: restore the right words, or take another backup",
  BACKUP_PANICKED: () => "the backup failed unexpectedly: see the log",
  BACKUP_SHORT_PASSPHRASE: (v) => `the passphrase of a backup must have at least ${v._0} characters`,
  BACKUP_SILENT_DISK: (v) =>
    `the disk of the folder ${v._0} did not answer: check that it is connected, or name another folder`,
  BACKUP_SILENT_DISKS: () =>
    "the disks of several folders that were named earlier still do not answer: restart Tillgate, then name another folder",
  BACKUP_STREAM: (v) => `${v.action} failed: ${v.source}`,
  BACKUP_TAKES_NO_FILES: (v) =>
    `no file can be written to the folder ${v.folder} (${v.source}): let the user who runs Tillgate write there, or name another folder`,
  BACKUP_WRONG_PASSPHRASE: () => "the backup does not open: the passphrase is wrong, or the file was changed",
} satisfies Partial<Catalogue>;
