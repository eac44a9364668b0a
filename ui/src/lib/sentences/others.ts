// Faults of the machine and the program, by their codes.
import type { Catalogue } from "./catalogue";

export const OTHERS = {
  DISK_NEARLY_FULL: () =>
    "the disk is nearly full: new records and resends are refused; everything else continues",
  REFUSAL_CUSTOMERS_DISPLAY: () => "The customer's display can only show a payment.",
  REFUSAL_DATABASE: () => "the database could not be read or written: try again",
  REFUSAL_FILE_NOT_SAVED: (v) =>
    `${v.path} cannot be written (${v.error}). Free some space, or move old files.`,
  REFUSAL_COMMAND_FAILED: () => "The command failed. The log on standard error says why.",
  REFUSAL_GATEWAY_DOWN: (v) => `Tillgate could not start here: ${v.why}`,
  REFUSAL_GATEWAY_ELSEWHERE: (v) =>
    `Another Tillgate serves this data directory, at ${v.api}. Use its own window, or the command line. To work in this window, stop it and choose “Try again”. (${v.why})`,
  REFUSAL_GATEWAY_FAILED: () => "The gateway failed. Its log on standard error says why.",
  REFUSAL_GATEWAY_STOPPED: () => "The gateway was stopped.",
  REFUSAL_OTHER_ENVIRONMENT: (v) =>
    `The command is for the environment ${v._0}, which does not run in this window.`,
  REFUSAL_GATEWAY_OPENING: () => "The gateway opens its database.",
  REFUSAL_INTERNAL: () => "something failed inside Tillgate: its log says more",
  REFUSAL_NO_BROWSER: () => "This desktop has no browser set up. Copy the page's address instead.",
  REFUSAL_NO_MAIL_PROGRAM: () => "This desktop has no mail program set up. Copy the page's address instead.",
  REFUSAL_NO_PAGE: () => "This payment has no page that a browser can open. Check the setting publicUrl.",
  REFUSAL_NO_SECOND_WINDOW: () => "The desktop did not open a second window. Use the view in this window.",
  REFUSAL_NO_WALLET: () => "there is no wallet yet",
  REFUSAL_PASSWORD_NOT_STORED: (v) => `the password could not be stored: ${v._0}`,
  STORE_BAD_VALUE: (v) => `the database holds an unreadable value in ${v._0}: restore the last backup`,
  STORE_CLOSED: () => "the gateway is shutting down",
  STORE_COMMIT_FAILED: (v) => `nothing was stored: ${v._0}`,
  STORE_CORRUPT: (v) => `the database is damaged (${v._0}): restore the last backup`,
  STORE_DISK_FULL: () => "the disk that holds the database is full: make room on it",
  STORE_IO: (v) => `${v.action} failed: ${v.source}`,
  STORE_LOCKED: () => "the database is locked by another process: close the program that uses it",
  STORE_NEWER_SCHEMA: (v) =>
    `the database ${v.file} has schema version ${v.found}, newer than this program's ${v.known}: install the newer Tillgate again`,
  STORE_NOT_OURS: (v) => `${v.file} is not a Tillgate database: move it away, or name another --data-dir`,
  STORE_OUT_OF_FILES: () =>
    "no more files can be opened: raise the limit of files that a program may open (ulimit -n, LimitNOFILE)",
  STORE_READ_ONLY: () =>
    "the database cannot be written: check the permissions of its folder and whether it is mounted read-only",
  STORE_SQLITE: (v) => `the database failed: ${v._0}`,
  STORE_TOO_MANY_READS: () => "too many database reads run at this moment: try again",
  UNTRUSTED_LINK: (v) =>
    `${v.path} is a symbolic link, and Tillgate does not follow links to its data: find out who made it and remove it, or name another --data-dir`,
  UNTRUSTED_OF_ANOTHER: (v) =>
    `${v.path} belongs to another user (uid ${v.uid}), who could forge its content: run Tillgate as that user, or name a --data-dir of your own`,
  UNTRUSTED_OPEN_TO_ALL: (v) =>
    `everybody may write in ${v.path}: close it with chmod o-w ${v.path}, or name another --data-dir`,
  UNTRUSTED_SEVERAL_NAMES: (v) =>
    `${v.path} is one file under several names (hard links), and a write by Tillgate would change it under all names: copy it, remove this name, and put the copy in its place`,
  UNTRUSTED_UNREADABLE: (v) => `looking at ${v.path} failed: ${v.source}`,
} satisfies Partial<Catalogue>;
