// Refusals of the sandbox, by their codes.
import type { Catalogue } from "./catalogue";

export const SANDBOX = {
  BODY_FAULT_ADDRESS: () => "must be an address of the sandbox's network (regtest), like bcrt1q…",
  BODY_FAULT_BTC: () => "must be a decimal number like 0.00100000",
  BODY_FAULT_CONTRADICTS: (v) => `contradicts "broadcast": "${v._0}"`,
  BODY_FAULT_CURRENCY: () => "is not the code of a known currency",
  BODY_FAULT_FLAG: () => "must be true or false",
  BODY_FAULT_IMPOSSIBLE: (v) => `is not possible: ${v._0}`,
  BODY_FAULT_NOTHING_REMAINS: () => "is required, because nothing remains to be paid of this payment",
  BODY_FAULT_ONLY_TO_OTHERS: () => 'is allowed only with "toCustomer": false',
  BODY_FAULT_RATE: () => "must be a decimal number like 65000.00, or null",
  BODY_FAULT_THOUSANDTHS: (v) => `must be a number from 0 to ${v.most} with at most 3 decimals`,
  BODY_FAULT_WHOLE: (v) => `must be a whole number from ${v.least} to ${v.most}`,
  CALL_INTERRUPTED: () => "the call was interrupted",
  CALL_INVALID: () => "the request is not valid",
  CALL_METHOD_NOT_ALLOWED: (v) => `this path accepts only ${v._0}`,
  CALL_NO_SUCH_PATH: () => "there is no such path",
  MISSING_PAYMENT: (v) => `there is no payment ${v._0}`,
  MISSING_TRANSACTION: (v) => `there is no transaction ${v._0}`,
  SANDBOX_ALREADY_CONFIRMED: (v) =>
    `transaction ${v._0} is in a block already; a reorganisation could undo that`,
  SANDBOX_AMOUNT_TOO_SMALL: (v) =>
    `an output of ${v.amountSats} sat is too small: the network relays none below ${v.minSats} sat`,
  SANDBOX_BLOCK_COUNT: (v) =>
    `${v.count} blocks cannot be mined in one call: at most ${v.max}, and at least 1`,
  SANDBOX_CANNOT_PAY: (v) =>
    `the customer has ${v.availableSats} satoshis in confirmed coins and needs ${v.neededSats}: mine a block to confirm its change, or request less`,
  SANDBOX_CLOCK_OUT_OF_RANGE: (v) => `the clock cannot be moved forward by ${v.seconds} s`,
  SANDBOX_CLOCK_TOO_FAR_BEHIND: (v) =>
    `the next block's time would have to be ${v.neededS} s, too far from the clock's ${v.clockS} s: move the sandbox's clock forward`,
  SANDBOX_DAMAGED: (v) => `the sandbox's file is damaged: ${v._0}`,
  SANDBOX_ENTROPY: () => "the operating system gave no random bytes",
  SANDBOX_FEE_RATE: (v) => `a fee rate of ${v.rateSatVb} sat/vB is out of range: from ${v.min} to ${v.max}`,
  SANDBOX_FILE: (v) => `the sandbox's file could not be created: ${v._0}`,
  SANDBOX_INVALID_BLOCK: (v) => `the block breaks the rules of consensus: ${v._0}`,
  SANDBOX_NEWER_SCHEMA: (v) =>
    `the sandbox's file has schema version ${v.found}, this program knows versions up to ${v.supported}: use the newer program`,
  SANDBOX_NOT_A_SANDBOX: () => "the file is an SQLite database, but not a sandbox's",
  SANDBOX_NOT_IN_MEMPOOL: (v) => `transaction ${v._0} is not in the mempool any more`,
  SANDBOX_NOT_THE_CUSTOMERS: (v) =>
    `transaction ${v._0} does not spend the customer's own coins, so the customer cannot replace it`,
  SANDBOX_PART_COUNT: (v) => `a payment cannot be made in ${v.parts} parts: at most ${v.max}, and at least 1`,
  SANDBOX_PAYEE_COUNT: (v) =>
    `one transaction cannot pay ${v.payees} scripts: at most ${v.max}, and at least 1`,
  SANDBOX_PAYS_NOBODY_ELSE: (v) => `transaction ${v._0} pays only the customer's own addresses`,
  SANDBOX_REFUSED: (v) => `the mempool refused the customer's transaction: ${v._0}`,
  SANDBOX_REORG_DEPTH: (v) =>
    `the last ${v.depth} blocks cannot be replaced: ${v.max} blocks were mined since the sandbox was created`,
  SANDBOX_STORAGE: (v) => `the sandbox's file could not be read or written: ${v._0}`,
  SANDBOX_UNKNOWN_TRANSACTION: (v) => `transaction ${v._0} is not known to the sandbox`,
} satisfies Partial<Catalogue>;
