// Faults of the chain, by their codes.
import type { Catalogue } from "./catalogue";

export const CHAIN = {
  BACKEND_SANDBOX: (v) => `the sandbox cannot be opened: ${v._0}`,
  BROADCAST_REFUSAL_CONFLICT: (v) => `it conflicts with the mempool: ${v._0}`,
  BROADCAST_REFUSAL_IMMATURE_COINBASE: (v) =>
    `input ${v.outpoint} is a coinbase that can be spent from block ${v.fromHeight}`,
  BROADCAST_REFUSAL_INPUT_SPENT: (v) => `input ${v.outpoint} was spent in the chain by ${v.spender}`,
  BROADCAST_REFUSAL_INVALID: (v) => `it is not valid: ${v._0}`,
  BROADCAST_REFUSAL_LOCKED: (v) => `it is locked: ${v._0}`,
  BROADCAST_REFUSAL_MISSING_INPUTS: (v) =>
    `input ${v._0} is missing: its transaction is neither in the chain nor in the mempool`,
  BROADCAST_REFUSAL_POLICY: (v) => `it would not be relayed: ${v._0}`,
  BROADCAST_REFUSAL_REFUSED: (v) => `it was refused: ${v._0}`,
  BROADCAST_REFUSAL_REPLACEMENT_FEE_TOO_LOW: (v) =>
    `it conflicts with the mempool and pays ${v.feeSats} satoshis; a replacement must pay at least ${v.minSats}`,
  BROADCAST_REFUSAL_SCRIPT_INVALID: (v) => `the script or signature of input ${v.input} is not valid`,
  BROADCAST_REFUSAL_UNANSWERED: () => "the sandbox is set not to answer broadcasts",
  CHAIN_DOWN: (v) => `the Bitcoin backend cannot be asked: ${v._0}`,
  WATCH_BEHIND_BACKUP: (v) =>
    `the wallet was restored from a database that knows block ${v.knownHeight}, but the best block of the backend is ${v.tipHeight}: the look through the chain starts once the backend has caught up`,
  WATCH_INTERRUPTED: () => "the look was interrupted",
  WATCH_NOT_BORN: (v) =>
    `the wallet was restored with a birthday above the best block, ${v.tipHeight}: the look through the chain starts once the backend has block ${v.birthHeight}; if the birthday is wrong, restore the wallet once more with another`,
  WATCH_OTHER_NETWORK: (v) =>
    `this data directory belongs to the network that begins with block ${v.known}, but the backend is on the network that begins with block ${v.found}: correct the backend's settings, or name another --data-dir`,
  WATCH_STOPPED: () =>
    "the restored wallet's look through the chain was stopped: resume it, or restore the wallet once more",
} satisfies Partial<Catalogue>;
