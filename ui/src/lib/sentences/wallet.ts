// Refusals of wallets and secrets, by their codes.
import type { Catalogue } from "./catalogue";

export const WALLET = {
  BAD_WORDS_CHECKSUM: () =>
    "each word is in the list, but the checksum is wrong: one word was written down wrong, or two changed places",
  BAD_WORDS_COUNT: (v) => `a wallet has 12, 15, 18, 21 or 24 words, and ${v._0} were given`,
  BAD_WORDS_DESCRIPTOR: () =>
    "this is a descriptor, not words: restore it in a program that reads descriptors, and send the coins to a new wallet of Tillgate",
  BAD_WORDS_ELECTRUM: () =>
    "these are the words of an Electrum seed, which makes other keys than BIP39's: restore it in Electrum, and send its coins to a new wallet of Tillgate",
  BAD_WORDS_EXTENDED_KEY: () =>
    "this is an extended key (like xprv or xpub), not words: restore it in a program that reads such keys, and send the coins to a new wallet of Tillgate",
  BAD_WORDS_NOT_IN_LIST: (v) =>
    `word ${v._0} is not in the list of BIP39's English words: look at its spelling`,
  BAD_WORDS_OTHER_LANGUAGE: (v) =>
    `these are ${v._0} words, and only English words are read: restore them in a program that knows ${v._0} words, and send the coins to a new wallet of Tillgate`,
  BAD_WORDS_PASSPHRASE: (v) =>
    `the first ${v._0} words are a wallet's, and a word follows: a passphrase (25th word) is not supported; restore the wallet in a program that takes it, and send the coins to a new wallet of Tillgate`,
  BAD_WORDS_SEED_QR: () =>
    "these are the digits of a SeedQR: let the device that shows it show the words, and type the words",
  BAD_WORDS_SLIP39: (v) =>
    `${v._0} words are a share of SLIP39 (Trezor's Shamir backup), not BIP39's words: restore the shares in a device or program that reads them, and send the coins to a new wallet of Tillgate`,
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
  OTHER_LANGUAGE_CHINESE: () => "Chinese",
  OTHER_LANGUAGE_CZECH: () => "Czech",
  OTHER_LANGUAGE_FRENCH: () => "French",
  OTHER_LANGUAGE_ITALIAN: () => "Italian",
  OTHER_LANGUAGE_JAPANESE: () => "Japanese",
  OTHER_LANGUAGE_KOREAN: () => "Korean",
  OTHER_LANGUAGE_PORTUGUESE: () => "Portuguese",
  OTHER_LANGUAGE_SPANISH: () => "Spanish",
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
