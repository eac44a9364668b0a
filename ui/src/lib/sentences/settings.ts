// Refusals of settings, by their codes.
import type { Catalogue } from "./catalogue";

export const SETTINGS = {
  ROTATE_TOO_MANY: (v) =>
    `${v.keysMax} HMAC keys are in use, because a replaced key signs for another 24 hours: the next can be made at ${v._0}`,
  SETTING_BACKEND_URL: (v) =>
    `${v.url} is no address of a server of the kind ${v.backend}: write one like ${v.example}, or choose the other kind`,
  SETTING_FIXED: (v) =>
    `${v._0} is fixed since the wallet was made: another value needs a new installation (another --data-dir)`,
  SETTING_FIXED_RATES_IN_PRODUCTION: () =>
    "fixedRates must be empty in production: rates come from rateSources there",
  SETTING_FLOOR_ABOVE_CAP: (v) =>
    `feeFloorSatVb may not be above feeCapSatVb, and would be ${v.floor} above ${v.cap}: change the other one first`,
  SETTING_MINIMUM_ABOVE_DAILY: (v) =>
    `minPayoutBtc may not be above dailyLimitBtc, and would be ${v.minimum} above ${v.daily}, so that no payout could be made; lower the one or raise the other, both at once if need be`,
  SETTING_NO_SCHEME: (v) => `${v.name} must begin with a scheme: put ${v.schemes} in front`,
  SETTING_ONION_WITHOUT_PROXY: (v) =>
    `${v.url} can be reached through Tor alone: fill in the proxy too, like socks5h://127.0.0.1:9050`,
  SETTING_OVERRIDDEN: (v) => `${v.name} is given by ${v.by} at the start of the gateway: change it there`,
  SETTING_TWICE: (v) => `${v._0} is named twice: name each setting once`,
  SETTING_UNKNOWN: (v) => `there is no setting ${v._0}`,
  SETTING_VALUE: (v) => `${v.name} must be ${v.form}`,
} satisfies Partial<Catalogue>;
