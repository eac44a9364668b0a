// The window's words for the sentences of the gateway. A code without words fails the type check.
import { ANOMALIES } from "./anomalies";
import { BACKUPS } from "./backups";
import type { Catalogue } from "./catalogue";
import { CHAIN } from "./chain";
import { FIELDS } from "./fields";
import { OTHERS } from "./others";
import { PAYMENTS } from "./payments";
import { PAYOUTS } from "./payouts";
import { RATES } from "./rates";
import { SANDBOX } from "./sandbox";
import { SERVERS } from "./servers";
import { SETTINGS } from "./settings";
import { STATUS } from "./status";
import { WAITS } from "./waits";
import { WALLET } from "./wallet";

export const CATALOGUE: Catalogue = {
  ...ANOMALIES,
  ...BACKUPS,
  ...CHAIN,
  ...FIELDS,
  ...OTHERS,
  ...PAYMENTS,
  ...PAYOUTS,
  ...RATES,
  ...SANDBOX,
  ...SERVERS,
  ...SETTINGS,
  ...STATUS,
  ...WAITS,
  ...WALLET,
};
