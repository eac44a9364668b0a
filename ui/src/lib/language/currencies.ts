// Codes of currencies and regions. Wuchale looks for no texts in this folder, so that codes do not count as words.
import { locale } from "./locale";

/** The currencies that the gateway knows. */
export const KNOWN_CURRENCIES: readonly string[] = (
  "AED ARS AUD BDT BGN BHD BRL CAD CHF CLP CNY COP CRC CZK DKK DOP EGP EUR GBP GEL GTQ HKD HUF IDR ILS INR ISK JOD " +
  "JPY KES KRW KWD KZT LKR MAD MXN MYR NGN NOK NZD OMR PEN PHP PKR PLN PYG QAR RON RSD SAR SEK SGD THB TND TRY TWD " +
  "UAH UGX USD UYU VND XAF XOF ZAR"
).split(" ");

/** The default of the setting `currencies`. While it holds, nobody has chosen the shop's currency. */
export const DEFAULT_CURRENCIES = "USD,EUR,GBP,AUD,JPY,CAD";

/** The regions of the default currencies but the first. Their codes are of ISO 3166. */
const REGIONS: Record<string, string> = {
  EUR: "AD AT AX BE BG BL CY DE EE ES FI FR GF GP GR HR IE IT LT LU LV MC ME MF MQ MT NL PM PT RE SI SK SM TF VA XK YT",
  GBP: "GB GG IM JE",
  AUD: "AU CC CX HM KI NF NR TV",
  JPY: "JP",
  CAD: "CA",
};

/** The currency of a region, if it is one of the default ones. */
export function currencyOf(region: string): string | undefined {
  return Object.keys(REGIONS).find((code) => REGIONS[code]?.split(" ").includes(region));
}

const names = new Intl.DisplayNames(locale, { type: "currency" });

/** A currency's code with its name: `CHF, Swiss Franc`. */
export function currencyWords(code: string): string {
  const name = names.of(code);
  return name === undefined || name === code ? code : `${code}, ${name}`;
}
