// Faults of fields, by their codes.
import type { Catalogue } from "./catalogue";

export const FIELDS = {
  AMBIGUOUS: () => "could mean two prices: write it without marks between thousands, like 1234.50",
  AMOUNT_NOT_A_NUMBER: () =>
    "must be a decimal number with a point and no comma, like 10.00, or 0.001 in Bitcoin",
  AMOUNT_NOT_POSITIVE: () => "must be more than 0",
  AMOUNT_TOO_LARGE: () => "is too large: check its digits",
  AMOUNT_NO_DECIMALS: () => "may have no decimals",
  AMOUNT_TOO_MANY_DECIMALS: (v) => `may have at most ${v._0} decimals`,
  ARGUMENT_FAULT_COLOR: () => "must be a colour like #1d6f42",
  ARGUMENT_FAULT_CURRENCY: () => "must be an ISO 4217 code, like USD",
  ARGUMENT_FAULT_ENTRIES: (v) => `must have from ${v.least} to ${v.most} entries`,
  ARGUMENT_FAULT_FEE_RATE: (v) => `must be from ${v.least} to ${v.most} sat/vB`,
  ARGUMENT_FAULT_NAME: (v) => `must have 1 to ${v.most} characters and no control character`,
  ARGUMENT_FAULT_NO_LIMIT: () => "say what to change: the daily limit, the minimum, or both",
  ARGUMENT_FAULT_LOW_RATE: (v) => `must be at least ${v.least} sat/vB now: the Bitcoin backend refuses less`,
  ARGUMENT_FAULT_NO_PRICES: () => "must be one of the currencies of your prices",
  ARGUMENT_FAULT_PLACE: () => "must be the `next` of the previous page",
  ARGUMENT_FAULT_RANGE: (v) => `must be from ${v.least} to ${v.most}`,
  ARGUMENT_FAULT_SERVER: (v) => `must name a server, like ${v.example}`,
  ARGUMENT_FAULT_TIME: () => "must be a time like 2026-01-12T12:06:20Z, or a date like 2026-01-12",
  ARGUMENT_FAULT_WORD_COUNT: () => "must be 12 or 24",
  FAULT_BLANK_URL: () => "may hold no control characters and no spaces at its ends",
  FAULT_BOTH_AMOUNTS: () => "may not be given together with btcAmount: give one of them",
  FAULT_CONTROL_CHARACTERS: () => "may hold no control characters but tabs and line breaks",
  FAULT_HALF_CHARACTER: () =>
    "holds half a character: an escape like \\ud83c needs its second half, like \\udf89",
  FAULT_LOGIN: () => "may hold no user name or password",
  FAULT_LONG_URL: () => "may have at most 2048 bytes",
  FAULT_NOT_A_CURRENCY: (v) => `must be BTC or one of ${v._0}`,
  FAULT_NOT_ONE_OF: (v) => `must be one of ${v._0}`,
  FAULT_NOT_THE_REFUND: (v) => `must be ${v._0}, which is the whole refund, or be left out`,
  FAULT_NO_AMOUNT: () => "or fiatAmount is required: give one of them",
  FAULT_NO_NUMBER: () => "must be a number, or a string that holds one",
  FAULT_NO_OBJECT: () => "must be an object",
  FAULT_NO_SATOSHI: () => "is worth less than a satoshi: ask for more",
  FAULT_NO_STRING: () => "must be a string",
  FAULT_NO_URL: () => "must be a URL like https://shop.example/hook",
  FAULT_OTHER_HOST: (v) => `must be at ${v._0}: this API key may notify no other host`,
  FAULT_OTHER_SCHEME: () => "must begin with http:// or https://",
  FAULT_OWN_ADDRESS: () =>
    "is one of this wallet's own: coins sent there would never leave it, give the recipient's address",
  FAULT_REQUIRED: () => "is required",
  FAULT_TEXTS_TOO_LONG: (v) =>
    `must be shorter: all texts and URLs of a payment may have ${v.most} bytes together, and these have ${v.inAll}`,
  FAULT_TOO_MANY_CHARACTERS: (v) => `may have at most ${v.most} characters`,
  FOREIGN_CHARACTER_ASCII: (v) =>
    `holds the character “${v._0}”, which no address has: give the address alone`,
  FOREIGN_CHARACTER_CONTROL: (v) =>
    `holds an invisible character, U+${v._0}, which no address has: give the address alone`,
  FOREIGN_CHARACTER_NAMED: (v) =>
    `holds an invisible character, U+${v.code} (${v.name}), which no address has: give the address alone`,
  FOREIGN_CHARACTER_OTHER: (v) =>
    `holds the character “${v.character}” (U+${v.code}), which no address has: give the address alone`,
  SMALL_SALES_OBSTACLE_NO_ESTIMATE: () =>
    "needs a Bitcoin server that knows which fees are usual: try again in some hours",
  SMALL_SALES_OBSTACLE_NO_MEMPOOL: () =>
    "needs a Bitcoin server that shows payments before a block holds them: choose another server",
} satisfies Partial<Catalogue>;
