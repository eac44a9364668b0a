// The faults of exchange rates, by their codes.
import type { Catalogue } from "./catalogue";

export const RATES = {
  MEDIAN_OUT_OF_RANGE: () => "the median quote is out of range",
  NO_RATE_DISAGREEMENT: () => "the sources disagree by more than 5 %",
  NO_RATE_JUMP: (v) =>
    `the quote of ${v.sourceName} jumped by more than 20 % in a minute, and no other source agrees yet`,
  NO_RATE_NO_FRESH_QUOTE: () => "no source has a fresh quote",
  NO_RATE_TOO_FEW: (v) =>
    `too few sources have a fresh quote (${v.fresh} of the ${v.wanted} that must agree)`,
  RATE_SOURCES_ALL_SILENT: () => "no rate source answers: check that this computer reaches the internet",
  RATE_SOURCES_SILENT: (v) => `the rate source ${v.name} does not answer: ${v.why}`,
  RATE_SOURCES_SOME_SILENT: (v) =>
    `${v.silent} of ${v.all} rate sources do not answer (${v.names}): check that this computer reaches the internet`,
  RATE_SOURCES_STRAYS: (v) =>
    `the rate source ${v.name} strays from the others by more than 5 % and is left out of ${v.currencies}`,
  RATE_UNAVAILABLE: (v) => `there is no fresh exchange rate for ${v.currency}: ${v.reason}`,
  UNFETCHED_BAD_URL: () => "the URL cannot be used",
  UNFETCHED_CERTIFICATES: (v) => `the system's certificates cannot be read: “${v._0}”`,
  UNFETCHED_COMPRESSED: () => "the server compressed its answer, and compressed answers are not read",
  UNFETCHED_CUT_OFF: () => "the answer was cut off",
  UNFETCHED_LATE: (v) => `the server did not answer within ${v.seconds} seconds`,
  UNFETCHED_REDIRECTS: (v) => `the server redirects (${v._0}), and redirects are not followed`,
  UNFETCHED_STATUS: (v) => `the server answered ${v._0}`,
  UNREADABLE_MISSING: (v) => `the answer has no ${v._0}`,
  UNREADABLE_NOT_JSON: (v) => `the answer is not the JSON that was expected: “${v._0}”`,
  UNREADABLE_NUMBER: (v) => `the answer's ${v.what} makes no sense: “${v.why}”`,
  UNREADABLE_OTHER_ASSET: () => "the answer is not about Bitcoin",
  UNREADABLE_REPORTED: (v) => `the source reports: “${v._0}”`,
} satisfies Partial<Catalogue>;
