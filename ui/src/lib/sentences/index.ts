// The window's words for the sentences of the gateway. A code without words fails the type check.
import { ANOMALIES } from "./anomalies";
import { BACKUPS } from "./backups";
import type { Catalogue } from "./catalogue";
import { CHAIN } from "./chain";
import { FIELDS } from "./fields";
import { OTHERS } from "./others";
import { PAYMENTS } from "./payments";
import { PAYOUTS } from "./payouts";
import { SANDBOX } from "./sandbox";
import { SETTINGS } from "./settings";
import { WALLET } from "./wallet";

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
