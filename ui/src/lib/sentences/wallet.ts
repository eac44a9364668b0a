// Refusals of wallets and secrets, by their codes.
import type { Catalogue } from "./catalogue";

export const WALLET = {
  DATA_DIR_IN_USE: (v) =>
    `the data directory ${v.path} is in use already, by another Tillgate${v.process}: stop it first, or name another --data-dir`,
  DATA_DIR_IO: (v) => `${v.action} ${v.path} failed: ${v.source}`,
  DATA_DIR_MISSING: (v) => `there is no data directory ${v.path}: check --data-dir and --environment`,
  DATA_DIR_NO_HOME: () => "this user has no home folder to keep data in: name a folder with --data-dir",
  LABELS_FILE_NOT_UTF8: (v) => `line ${v.line} is not UTF-8: save the file as UTF-8. Nothing was imported`,
  LABELS_FILE_NO_OBJECT: (v) =>
    `line ${v.line} is no JSON object (${v.error}): mend it, or export the labels as BIP329 (.jsonl) again. Nothing was imported`,
  LABELS_FILE_NO_TEXT: (v) =>
    `line ${v.line} has no text \`${v.member}\`: mend it, or export the labels as BIP329 (.jsonl) again. Nothing was imported`,
  LABELS_FILE_TOO_LARGE: (v) =>
    `the file has more than ${v.mebibytes} MiB: split it between two lines. Nothing was imported`,
  LABELS_FILE_UNREADABLE: (v) => `${v.path} cannot be read (${v.error}): nothing was imported`,
  SECRET: (v) => `the store of secrets answers: “${v._0}”`,
  SETUP_BIRTHDAY: () =>
    "birthday must be the height of a block, or a date like 2024-05-31, and not in the future",
  SETUP_EXISTS: () =>
    "there is a wallet already, and an environment never has another: for a second wallet name another --data-dir",
  SETUP_GAP: (v) => `the gap must be from 1 to ${v._0}`,
  SETUP_INTERRUPTED: () => "the program is stopping: start it again, and look whether the wallet was made",
  SETUP_NOT_LOOKING: () => "there is no scan of a restored wallet to stop or to continue",
  SETUP_NO_HEIGHT: (v) =>
    `the block of a birthday's date is looked up by the Bitcoin backend, which does not answer (${v._0}): set the backend first, or name a height`,
  SETUP_NO_WORDS: () => "there are no words to make a wallet from",
  SETUP_OTHER_WALLET: () =>
    "these words belong to another wallet than this installation's: for a second wallet name another --data-dir",
  SETUP_OTHER_WORDS: (v) =>
    `${v._0} holds other words for this installation, of a wallet whose making was interrupted; to restore these words name another --data-dir`,
  SETUP_PRUNED: (v) =>
    `the node has pruned all blocks below ${v.first}, but the wallet's coins are searched from block ${v.from} on: let the node download the chain again (-reindex) without pruning, use another backend, or name a later birthday if you are sure`,
  WALLET_BAD_DESCRIPTOR: () =>
    "the wallet's descriptor in the database is unreadable: restore the last backup",
  WALLET_BAD_MNEMONIC: () =>
    "the wallet's words in the secret store are not a BIP39 mnemonic: restore them from your backup",
  WALLET_NO_ADDRESS: (v) => `no address can be derived at index ${v._0}`,
  WALLET_THREAD: (v) => `the thread that derives addresses could not be started: ${v._0}`,
} satisfies Partial<Catalogue>;
