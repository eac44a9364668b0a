// The window's words for the sentences of the gateway. A code without words fails the type check.
import type { Sentences } from "../bindings/Sentences";
import { ANOMALIES } from "./anomalies";
import { BACKUPS } from "./backups";
import { CHAIN } from "./chain";
import { FIELDS } from "./fields";
import { OTHERS } from "./others";
import { PAYMENTS } from "./payments";
import { PAYOUTS } from "./payouts";
import { SANDBOX } from "./sandbox";
import { SETTINGS } from "./settings";
import { WALLET } from "./wallet";

/**
 * The words of each code. They may use only the values that the sentence has. A sentence that is another program's words
 * has none here.
 */
export type Catalogue = {
  [Code in keyof Sentences]: ((v: Readonly<Record<Sentences[Code], string>>) => string) | undefined;
};

export const CATALOGUE: Catalogue = {
  ...ANOMALIES,
  ...BACKUPS,
  ...CHAIN,
  ...FIELDS,
  ...OTHERS,
  ...PAYMENTS,
  ...PAYOUTS,
  ...SANDBOX,
  ...SETTINGS,
  ...WALLET,
};
